/** Hands rows to stdout, whose reader may have stopped to read: a signal ends the wait for it, never the rows on their way. */
import type { Output } from './output.js';
import { visibleJson } from './text.js';

export class RowsOutput {
  readonly #output: Pick<Output, 'data'>;
  readonly #signal: AbortSignal;
  #last: Promise<void> = Promise.resolve();

  readonly #isTerminal: boolean;

  /** `isTerminal`: what does not show goes out as escapes of JSON, and the bytes are other ones (demand C19). */
  constructor(output: Pick<Output, 'data'>, signal: AbortSignal, isTerminal: boolean) {
    this.#output = output;
    this.#signal = signal;
    this.#isTerminal = isTerminal;
  }

  /**
   * Takes whole lines. Resolves when the rows are handed over, or when their reader left.
   *
   * @throws the reason of the signal, with the rows still on their way; the system's error when they cannot be written
   */
  async write(rows: Uint8Array): Promise<void> {
    const signal = this.#signal;
    signal.throwIfAborted();
    this.#last = this.#output.data(this.#isTerminal ? visibleJson(Buffer.from(rows).toString('utf8')) : rows);
    let stop = (): void => {};
    const stopped = new Promise<never>((_resolve, reject) => {
      stop = () => reject(signal.reason as Error);
      signal.addEventListener('abort', stop, { once: true });
    });
    try {
      await Promise.race([this.#last, stopped]);
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  /** Resolves when the last rows are handed over; the grace time of a signal bounds how long that may take. */
  settled(): Promise<void> {
    return this.#last;
  }
}
