/**
 * Cuts a chunk into physical lines at LF (0x0A) alone; CR is data (spec 01, conventions). Pieces of any size go in,
 * whole lines come out. A line that arrives in thousands of pieces is gathered in one buffer that grows by doubling
 * and is kept for the next line, so each byte is copied at most twice; a line beyond the cap is counted, never held.
 */
import type { LeasedBytes, LineMemory } from './line-memory.js';
import type { FramedLine } from './types.js';

const LF = 0x0a;
const FIRST_HELD_BYTES = 65_536;

export type FramerOptions = {
  /** Uncompressed offset of the first byte that will be pushed; a line starts there. */
  readonly startOffset: number;
  /** 1-based number of that line. */
  readonly startLineNumber: number;
  /** Longest line that is handed out with its bytes, counted without the LF but with a CR (spec 06 section 3). */
  readonly maxLineBytes: number;
  /** Where lines are put; default memory of their own. */
  readonly memory?: LineMemory | undefined;
};

/** Turns consecutive pieces of one chunk into lines. The bytes of a line are its receiver's; pieces may be reused. */
export class LineFramer {
  readonly #maxLineBytes: number;
  readonly #memory: LineMemory | undefined;
  #lineOffset: number;
  #lineNumber: number;
  /** Bytes of the open line so far, held or not. */
  #openBytes = 0;
  #held = Buffer.alloc(0);

  constructor(options: FramerOptions) {
    this.#maxLineBytes = options.maxLineBytes;
    this.#memory = options.memory;
    this.#lineOffset = options.startOffset;
    this.#lineNumber = options.startLineNumber;
  }

  /** Offset of the first byte of the line that is open; equals the offset of the next byte when none is. */
  get lineOffset(): number {
    return this.#lineOffset;
  }

  /** Offset of the next byte that will be pushed. */
  get offset(): number {
    return this.#lineOffset + this.#openBytes;
  }

  /** Number of the line that is open or comes next. */
  get lineNumber(): number {
    return this.#lineNumber;
  }

  /** Takes the next piece and hands out each line that ends in it. */
  *push(piece: Buffer): Generator<FramedLine, void> {
    let start = 0;
    for (;;) {
      const found = piece.indexOf(LF, start);
      if (found < 0) break;
      yield this.#complete(piece, start, found + 1);
      start = found + 1;
    }
    if (start < piece.length) this.#hold(piece, start, piece.length);
  }

  /** Ends the chunk: the last line when it has no LF, else null. */
  finish(): FramedLine | null {
    if (this.#openBytes === 0) return null;
    if (this.#openBytes > this.#maxLineBytes) return this.#emit(null, this.#openBytes, false);
    const line = this.#allocate(this.#openBytes);
    this.#held.copy(line.bytes, 0, 0, this.#openBytes);
    return this.#emit(line, this.#openBytes, false);
  }

  /**
   * Gives up the open line and whatever comes before `offset`, where the next piece will start; what is given up
   * counts as one line when it is not empty.
   */
  restart(offset: number, lineNumber = this.#lineNumber + (offset > this.#lineOffset ? 1 : 0)): void {
    this.#lineOffset = offset;
    this.#lineNumber = lineNumber;
    this.#openBytes = 0;
  }

  #complete(piece: Buffer, start: number, end: number): FramedLine {
    const length = this.#openBytes + end - start;
    if (length - 1 > this.#maxLineBytes) return this.#emit(null, length, true);
    const line = this.#allocate(length);
    this.#held.copy(line.bytes, 0, 0, this.#openBytes);
    piece.copy(line.bytes, this.#openBytes, start, end);
    return this.#emit(line, length, true);
  }

  #allocate(length: number): LeasedBytes {
    return this.#memory?.allocate(length) ?? { bytes: Buffer.allocUnsafe(length), lease: null };
  }

  #emit(leased: LeasedBytes | null, length: number, terminated: boolean): FramedLine {
    const { bytes = null, lease = null } = leased ?? {};
    const line = { offset: this.#lineOffset, length, terminated, lineNumber: this.#lineNumber, bytes, lease };
    this.#lineOffset += length;
    this.#lineNumber += 1;
    this.#openBytes = 0;
    return line;
  }

  #hold(piece: Buffer, start: number, end: number): void {
    const needed = this.#openBytes + end - start;
    if (needed <= this.#maxLineBytes) {
      this.#reserve(needed);
      piece.copy(this.#held, this.#openBytes, start, end);
    } else {
      this.#held = Buffer.alloc(0);
    }
    this.#openBytes = needed;
  }

  #reserve(needed: number): void {
    if (needed <= this.#held.length) return;
    const grown = Buffer.allocUnsafe(
      Math.max(FIRST_HELD_BYTES, needed, Math.min(this.#maxLineBytes, this.#held.length * 2)),
    );
    this.#held.copy(grown, 0, 0, this.#openBytes);
    this.#held = grown;
  }
}
