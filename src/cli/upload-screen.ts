/** Shows an upload while it runs. */
import type { UploadProgress, UploadSnapshot } from '../core/snapshot.js';
import { type ProgressScreenOptions, showProgress } from './progress-screen.js';
import { uploadIntro, uploadLine } from './upload-lines.js';
import { UploadMeter } from './upload-meter.js';

export type UploadScreenOptions = Pick<
  ProgressScreenOptions<UploadProgress>,
  'output' | 'format' | 'tui' | 'intervalMs' | 'mount'
> & { readonly read: () => UploadSnapshot };

/** Starts showing; what it returns ends it, and resolves when the screen is free for the report. */
export function showUpload(options: UploadScreenOptions): Promise<() => Promise<void>> {
  const { format, read } = options;
  const meter = new UploadMeter({ read, nowMs: () => performance.now(), wallMs: () => Date.now() });
  return showProgress({
    ...options,
    intro: uploadIntro(read(), format),
    progress: () => meter.progress(),
    line: (progress) => uploadLine(progress, format),
  });
}
