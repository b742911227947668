/** Puts the numbers of lines into rows that were made without them, because nobody knew how many rows come before. */
import { RowBuffer } from './row-buffer.js';

/** Most digits of a line number, which is at most 2^53. */
const MAX_DIGITS = 16;

/** One per writer: its memory is used again for every batch. */
export class RowNumberer {
  readonly #buffer = new RowBuffer(1_048_576);
  #line: number;

  /** `line`: the number of the first row, from 1. */
  constructor(line = 1) {
    this.#line = line;
  }

  /** The number that the next row gets. */
  get line(): number {
    return this.#line;
  }

  /**
   * The rows of a batch as they stand in a file; valid until the next call. `lineAt`: for each row, in order, where in
   * `rows` its number belongs.
   */
  number(rows: Uint8Array, lineAt: Uint32Array): Uint8Array {
    const buffer = this.#buffer;
    buffer.clear();
    buffer.reserve(rows.length + lineAt.length * MAX_DIGITS);
    let from = 0;
    for (let index = 0; index < lineAt.length; index += 1) {
      const at = lineAt[index] as number;
      buffer.writeBytes(rows, from, at - from);
      buffer.writeDigits(this.#line);
      this.#line += 1;
      from = at;
    }
    buffer.writeBytes(rows, from, rows.length - from);
    return buffer.view();
  }
}
