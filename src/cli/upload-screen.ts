/** Shows an upload while it runs, as a live view or as plain lines, whichever the stream suits (demands C4, C6). */
import type { UploadProgress, UploadSnapshot } from '../core/snapshot.js';
import type { Format } from './format.js';
import type { Output } from './output.js';
import { startProgressLines } from './progress-lines.js';
import { decideScreen } from './screen.js';
import { uploadIntro, uploadLine } from './upload-lines.js';
import { UploadMeter } from './upload-meter.js';

/** What a mounted view can do; `ui/mount` returns one. */
export type View = { print(line: string): void; end(): Promise<void> };

export type UploadScreenOptions = {
  readonly output: Output;
  readonly format: Format;
  readonly tui: boolean | undefined;
  /** Milliseconds between two plain lines; 0 prints none but the first. */
  readonly intervalMs: number;
  readonly read: () => UploadSnapshot;
  /** Draws the live view; only called where one is shown, since loading it takes 400 ms. Says when that is over. */
  readonly mount: (read: () => UploadProgress, onLoaded: () => void) => Promise<View>;
};

/** Starts showing; what it returns ends it, and resolves when the screen is free for the report. */
export async function showUpload(options: UploadScreenOptions): Promise<() => Promise<void>> {
  const { output, format, read, tui, intervalMs } = options;
  const meter = new UploadMeter({ read, nowMs: () => performance.now(), wallMs: () => Date.now() });
  const screen = decideScreen({
    tui,
    json: output.json,
    isTerminal: process.stderr.isTTY === true,
    environment: process.env,
  });
  if (screen === 'silent') return async () => {};
  if (screen === 'live') {
    // Until the view is loaded the same place says what is about to happen (demand C7).
    const intro = format.fit(uploadIntro(read(), format), (process.stderr.columns ?? 80) - 1);
    const view = await options.mount(() => meter.progress(), output.hold(intro));
    output.routeNotices((line) => view.print(line));
    return async () => {
      output.routeNotices(null);
      await view.end();
    };
  }
  const line = (): string => uploadLine(meter.progress(), format);
  // Before the first line: whoever has read it may ask for the next one.
  const end = startProgressLines({ intervalMs, line, write: (text) => output.progress(text), emitter: process });
  output.progress(uploadIntro(read(), format));
  return async () => end();
}
