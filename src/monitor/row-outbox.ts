/**
 * Index rows on their way into the index file. While one append is under way the rows that come collect for the next,
 * so that a burst of small calls costs few writes. Rows keep their order whatever fails: what an append could not write
 * goes first in the next one, since a row behind a gap would hide the gap from whoever catches up (spec 03 section 6).
 */
import { PrlError } from '../core/errors.js';
import type { IndexAppender } from '../io/index-appender.js';

/** Rows kept for a file that takes none. Beyond that the index is left behind for `prl index`. */
const MAX_UNSAVED_BYTES = 67_108_864;

export class RowOutbox {
  readonly #appender: Pick<IndexAppender, 'append'>;
  readonly #maxUnsavedBytes: number;
  #unsaved: Uint8Array[] = [];
  #unsavedBytes = 0;
  /** The append that takes what is unsaved now; null when all is saved. */
  #next: Promise<void> | null = null;
  #last: Promise<void> = Promise.resolve();
  #isGivenUp = false;

  constructor(appender: Pick<IndexAppender, 'append'>, maxUnsavedBytes = MAX_UNSAVED_BYTES) {
    this.#appender = appender;
    this.#maxUnsavedBytes = maxUnsavedBytes;
  }

  /** Takes a row, which is copied. */
  add(row: Uint8Array): void {
    if (this.#isGivenUp) return;
    this.#unsaved.push(Buffer.from(row));
    this.#unsavedBytes += row.length;
  }

  /**
   * Resolves when all rows taken so far are in the file.
   * @throws PrlError of the append; the rows are kept for the next one
   */
  saved(): Promise<void> {
    if (this.#isGivenUp) return Promise.reject(this.#left());
    if (this.#unsaved.length === 0) return this.#last;
    if (this.#next === null) {
      const append = (): Promise<void> => this.#append();
      this.#next = this.#last.then(append, append);
      this.#last = this.#next;
    }
    return this.#next;
  }

  async #append(): Promise<void> {
    const rows = this.#unsaved;
    this.#unsaved = [];
    this.#unsavedBytes = 0;
    this.#next = null;
    try {
      await this.#appender.append(Buffer.concat(rows));
    } catch (error) {
      this.#keep(rows);
      throw error;
    }
  }

  #keep(rows: Uint8Array[]): void {
    this.#unsaved = [...rows, ...this.#unsaved];
    this.#unsavedBytes += rows.reduce((sum, { length }) => sum + length, 0);
    if (this.#unsavedBytes <= this.#maxUnsavedBytes) return;
    this.#isGivenUp = true;
    this.#unsaved = [];
  }

  #left(): PrlError {
    return new PrlError(
      'PRL_ERR_LIMIT',
      `the index took no rows until more than ${this.#maxUnsavedBytes} bytes waited`,
      {
        hint: 'the records are in the stream; make their rows with `prl index` when the run is over',
      },
    );
  }
}
