/**
 * Reads a JSON document as if it were JSONL: each record one line without white space between its tokens, at the
 * offset where it stands in the document. What lies between the records is reported as structure, so that all bytes
 * of the file are accounted for. Memory is one record.
 */
import { messageOf } from '../core/errors.js';
import { JsonCompactor } from '../core/scan/compact.js';
import type { DamageKind } from '../core/scan/types.js';
import type { LineEvent } from './chunk-reader.js';
import type { ChunkSource } from './chunk-source.js';
import { DocumentCutter, type DocumentMark } from './document-cutter.js';

const FIRST_HELD_BYTES = 65_536;
const LF = 0x0a;
const NOTHING = Buffer.alloc(0);
const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

export type ReadDocumentOptions = { readonly maxLineBytes: number; readonly signal?: AbortSignal };

/**
 * The records of a document, in order. A line's `length` counts bytes of the document, `bytes` are the compacted
 * record and an LF; `lineNumber` is the record's position from 1. Behind a syntax error nothing can be told apart, so
 * the rest of the document is one loss.
 */
export async function* readDocument(
  source: ChunkSource,
  options: ReadDocumentOptions,
): AsyncGenerator<LineEvent, void> {
  const reader = new DocumentReader(options.maxLineBytes);
  for await (const piece of source.pieces(0, Number.POSITIVE_INFINITY, options.signal)) {
    if (piece.kind === 'lost') {
      yield reader.lose(source.uncompressedBytes ?? piece.offset + piece.bytes, piece.damage, piece.reason);
      return;
    }
    yield* reader.take(piece.bytes);
    if (reader.fault === null) continue;
    const end = source.uncompressedBytes ?? reader.offset;
    yield reader.lose(
      end,
      'invalid_json',
      `${reader.fault}, near byte ${reader.offset}; the rest cannot be told apart`,
    );
    return;
  }
  yield* reader.end();
}

class DocumentReader {
  readonly #cutter = new DocumentCutter();
  readonly #held: RecordBuffer;
  /** Everything before this offset has been reported. */
  #settled = 0;
  #recordStart: number | null = null;
  #recordNumber = 0;
  #hasOther = false;
  #bomBytes = 0;
  /** Why the text is no JSON, once it is not. */
  fault: string | null = null;

  constructor(maxLineBytes: number) {
    this.#held = new RecordBuffer(maxLineBytes);
  }

  get offset(): number {
    return this.#cutter.offset + this.#bomBytes;
  }

  *take(bytes: Buffer): Generator<LineEvent, void> {
    let rest = bytes;
    if (this.offset === 0 && bytes.subarray(0, BOM.length).equals(BOM)) {
      this.#bomBytes = BOM.length;
      yield this.lose(BOM.length, 'bom', 'byte order mark before the document, passed over');
      rest = bytes.subarray(BOM.length);
    }
    while (rest.length > 0) {
      let taken: { readonly length: number; readonly marks: readonly DocumentMark[] };
      try {
        taken = this.#cutter.take(rest);
      } catch (error) {
        this.fault = messageOf(error);
        return;
      }
      const piece = rest.subarray(0, taken.length);
      if (this.#recordStart !== null) this.#held.append(piece);
      for (const mark of taken.marks) yield* this.#follow(mark, piece);
      rest = rest.subarray(taken.length);
    }
  }

  *#follow(mark: DocumentMark, piece: Buffer): Generator<LineEvent, void> {
    if (mark.kind === 'other') {
      this.#hasOther = true;
    } else if (mark.kind === 'open') {
      const start = mark.start + this.#bomBytes;
      yield* this.#between(start);
      this.#recordStart = start;
      this.#held.clear();
      this.#held.append(piece.subarray(-1));
    } else if (this.#recordStart !== null) {
      yield this.#record(this.#recordStart, mark.end + this.#bomBytes);
    }
  }

  #record(start: number, end: number): LineEvent {
    this.#recordStart = null;
    this.#settled = end;
    this.#recordNumber += 1;
    const line = { offset: start, length: end - start, terminated: true, lineNumber: this.#recordNumber };
    return { type: 'line', line: { ...line, bytes: this.#held.lineBytes() } };
  }

  /** Reports what lies between the last record and `end`. */
  *#between(end: number): Generator<LineEvent, void> {
    if (end === this.#settled) return;
    if (this.#hasOther) {
      yield this.lose(end, 'wrong_unit', 'a value that is no object, where a record belongs');
    } else {
      yield { type: 'structure', bytes: end - this.#settled };
    }
    this.#hasOther = false;
    this.#settled = end;
  }

  lose(end: number, kind: DamageKind, reason: string): LineEvent {
    const offset = this.#settled;
    this.#settled = end;
    return { type: 'lost', lost: { offset, bytes: end - offset, kind, reason } };
  }

  *end(): Generator<LineEvent, void> {
    let isSettled = false;
    try {
      for (const mark of this.#cutter.settle()) yield* this.#follow(mark, NOTHING);
      isSettled = true;
      for (const mark of this.#cutter.end()) yield* this.#follow(mark, NOTHING);
    } catch (error) {
      const reason = isSettled ? `the document ends too early: ${messageOf(error)}` : messageOf(error);
      yield this.lose(this.offset, isSettled ? 'torn' : 'invalid_json', reason);
      return;
    }
    yield* this.#between(this.offset);
  }
}

/** The open record without white space; grows by doubling up to the cap, and only counts beyond it. */
class RecordBuffer {
  readonly #maxBytes: number;
  #bytes = Buffer.allocUnsafe(FIRST_HELD_BYTES);
  #length = 0;
  #isTooLarge = false;
  #compactor = new JsonCompactor();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  clear(): void {
    this.#length = 0;
    this.#isTooLarge = false;
    this.#compactor = new JsonCompactor();
  }

  append(piece: Buffer): void {
    if (this.#isTooLarge) return;
    const needed = this.#length + piece.length;
    if (needed > this.#bytes.length) {
      const grown = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2));
      this.#bytes.copy(grown, 0, 0, this.#length);
      this.#bytes = grown;
    }
    this.#length = this.#compactor.write(piece, this.#bytes, this.#length);
    this.#isTooLarge = this.#length > this.#maxBytes;
  }

  /** A copy of the record with an LF behind it, null when it is over the cap. */
  lineBytes(): Buffer | null {
    if (this.#isTooLarge) return null;
    const line = Buffer.allocUnsafe(this.#length + 1);
    this.#bytes.copy(line, 0, 0, this.#length);
    line[this.#length] = LF;
    return line;
  }
}
