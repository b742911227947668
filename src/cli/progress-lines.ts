/**
 * Progress without a live view (demand C6): one plain line every so often, and one at once when the process gets SIGUSR1.
 * No carriage returns, so a log of them reads as written.
 */

export type ProgressLinesOptions = {
  /** Milliseconds between two lines; 0 prints lines on request only. */
  readonly intervalMs: number;
  /** The line of this moment. */
  readonly line: () => string;
  readonly write: (line: string) => void;
  /** Where SIGUSR1 comes from; the process. */
  readonly emitter: {
    on(signal: 'SIGUSR1', listener: () => void): unknown;
    off(signal: 'SIGUSR1', listener: () => void): unknown;
  };
};

/** Starts the lines; call what it returns before printing the summary. It never keeps the process alive. */
export function startProgressLines(options: ProgressLinesOptions): () => void {
  const print = (): void => options.write(options.line());
  options.emitter.on('SIGUSR1', print);
  const timer = options.intervalMs > 0 ? setInterval(print, options.intervalMs).unref() : undefined;
  return () => {
    options.emitter.off('SIGUSR1', print);
    clearInterval(timer);
  };
}
