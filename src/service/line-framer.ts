/**
 * Cuts a stream of bytes into lines at LF (0x0A) only, holding one line at most (spec 03 section 1). Not the framer of
 * core/scan: that one passes over a line that is too long and keeps its buffer for the next line; here such a line ends
 * the upload at once, and between two lines nothing is held, as many uploads share the memory.
 */

/** One line with its exact bytes; `bytes` keeps the LF, when there was one. */
export type Line = {
  /** 1-based; every physical line counts. */
  readonly lineNumber: number;
  readonly bytes: Buffer;
};

/** Fed with parts of any size; calls back for every line, in order. */
export class LineFramer {
  readonly #lineBytes: number;
  readonly #tooLong: (lineNumber: number) => Error;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #lineNumber = 0;

  /** `lineBytes`: the most a line may have without its LF; `tooLong` makes the error thrown as soon as it has more. */
  constructor(lineBytes: number, tooLong: (lineNumber: number) => Error) {
    this.#lineBytes = lineBytes;
    this.#tooLong = tooLong;
  }

  *push(part: Buffer): Generator<Line, void> {
    let from = 0;
    for (;;) {
      const at = part.indexOf(0x0a, from);
      if (at < 0) break;
      yield this.#line(part.subarray(from, at + 1), 1);
      from = at + 1;
    }
    if (from === part.length) return;
    this.#hold(part.subarray(from));
  }

  /** The last line, when the stream did not end with LF. */
  *end(): Generator<Line, void> {
    if (this.#heldBytes > 0) yield this.#line(Buffer.alloc(0), 0);
  }

  #line(last: Buffer, lfBytes: 0 | 1): Line {
    const contentBytes = this.#heldBytes + last.length - lfBytes;
    this.#lineNumber += 1;
    if (contentBytes > this.#lineBytes) throw this.#tooLong(this.#lineNumber);
    const bytes = this.#held.length === 0 ? last : Buffer.concat([...this.#held, last], contentBytes + lfBytes);
    this.#held = [];
    this.#heldBytes = 0;
    return { lineNumber: this.#lineNumber, bytes };
  }

  #hold(part: Buffer): void {
    this.#heldBytes += part.length;
    if (this.#heldBytes > this.#lineBytes) throw this.#tooLong(this.#lineNumber + 1);
    this.#held.push(part);
  }
}
