/** Shows an indexing while it runs. */
import type { IndexProgress, IndexSnapshot } from '../core/snapshot.js';
import { type IndexIntro, indexIntro, indexLine } from './index-lines.js';
import { IndexMeter } from './index-meter.js';
import { type ProgressScreenOptions, showProgress } from './progress-screen.js';

export type IndexScreenOptions = Pick<
  ProgressScreenOptions<IndexProgress>,
  'output' | 'format' | 'tui' | 'intervalMs' | 'isQuiet' | 'mount'
> & { readonly read: () => IndexSnapshot; readonly about: IndexIntro };

/** Most runs are indexed sooner than a view is loaded. */
const VIEW_DELAY_MS = 300;

/** Starts showing; what it returns ends it, and resolves when the screen is free for the report. */
export function showIndex(options: IndexScreenOptions): Promise<() => Promise<void>> {
  const { format, read, about } = options;
  const meter = new IndexMeter({ read, nowMs: () => performance.now(), wallMs: () => Date.now() });
  return showProgress({
    ...options,
    delayMs: VIEW_DELAY_MS,
    intro: indexIntro(about, format),
    progress: () => meter.progress(),
    line: (progress) => indexLine(progress, format),
  });
}
