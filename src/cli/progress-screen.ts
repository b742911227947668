/** Shows work while it runs, as a live view or as plain lines, whichever the stream suits (demands C4, C6). */
import type { Format } from './format.js';
import type { Output } from './output.js';
import { startProgressLines } from './progress-lines.js';
import { decideScreen } from './screen.js';

/** What a mounted view can do; `ui/mount` returns one. */
export type View = { print(line: string): void; end(): Promise<void> };

export type ProgressScreenOptions<Progress> = {
  readonly output: Output;
  readonly format: Format;
  /** `--tui` true, `--no-tui` false, neither undefined. */
  readonly tui: boolean | undefined;
  /** Milliseconds between two plain lines; 0 prints none but the first. */
  readonly intervalMs: number;
  /** Prints nothing unless SIGUSR1 asks: stdout carries rows, and nobody asked for lines. */
  readonly isQuiet?: boolean;
  /**
   * Milliseconds that the work has before a view is drawn, unless `--tui` asks for it; default 0. What is over by then
   * never pays for a view.
   */
  readonly delayMs?: number;
  /** What is about to happen; safe text. */
  readonly intro: string;
  readonly progress: () => Progress;
  readonly line: (progress: Progress) => string;
  /** Draws the live view; only called where one is shown, since loading it takes 400 ms. Says when that is over. */
  readonly mount: (read: () => Progress, onLoaded: () => void) => Promise<View>;
};

/** Starts showing; what it returns ends it, and resolves when the screen is free for the report. */
export async function showProgress<Progress>(options: ProgressScreenOptions<Progress>): Promise<() => Promise<void>> {
  const { output, tui, intervalMs, isQuiet = false, intro, progress } = options;
  const screen = decideScreen({
    tui,
    json: output.json,
    isTerminal: process.stderr.isTTY === true,
    environment: process.env,
  });
  if (screen === 'silent') return async () => {};
  if (screen === 'live' && !isQuiet) return showLive(options);
  // Before the first line: whoever has read it may ask for the next one.
  const end = startProgressLines({
    intervalMs: isQuiet ? 0 : intervalMs,
    line: () => options.line(progress()),
    write: (text) => output.progress(text),
    emitter: process,
  });
  if (!isQuiet) output.progress(intro);
  return async () => end();
}

async function showLive<Progress>(options: ProgressScreenOptions<Progress>): Promise<() => Promise<void>> {
  const { output, format, progress, mount, tui, delayMs = 0 } = options;
  // Until the view is loaded the same place says what is about to happen (demand C7), below whatever is printed.
  const intro = format.fit(options.intro, (process.stderr.columns ?? 80) - 1);
  let release = output.hold(intro);
  output.routeNotices((line) => {
    release();
    output.failure(line);
    release = output.hold(intro);
  });
  const draw = async (): Promise<View> => {
    const view = await mount(progress, () => release());
    output.routeNotices((line) => view.print(line));
    return view;
  };
  let drawing: Promise<View> | null = null;
  const timer = setTimeout(() => {
    drawing ??= draw();
    // Whoever ends it learns of a failure; until then it must not count as unhandled.
    drawing.catch(() => {});
  }, delayMs);
  if (delayMs === 0 || tui === true) {
    drawing = draw();
    await drawing;
  }
  return async () => {
    clearTimeout(timer);
    const view = await drawing;
    output.routeNotices(null);
    if (view === null) release();
    else await view.end();
  };
}
