/**
 * Compares rebuilt rows with the index on disk as they come (`--check`). As long as both are the same this is a
 * comparison of memory; behind the first difference it goes row by row, and falls into step again.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { type Growth, IndexComparer, type IndexComparison } from '../core/index/compare.js';
import { compareAddresses, readRow } from '../core/index/row-text.js';
import { LineFramer } from '../core/scan/framing.js';
import { systemErrorCode } from './run-fault.js';

const READ_BYTES = 1_048_576;

/** No row is longer; what has no LF for so long is no index. */
const MAX_ROW_BYTES = 67_108_864;

const LF = 0x0a;
const UNREADABLE = Buffer.from('\n');

export class IndexCheck {
  readonly #comparer: IndexComparer;
  /** Null when there is no index: then every row is missing. */
  readonly #descriptor: number | null;
  #position = 0;
  readonly #scratch = Buffer.allocUnsafe(READ_BYTES);
  /** Lines from the first difference on; null before it. */
  #lines: Generator<Buffer, void> | null = null;

  /** @throws the system's error when there is an index that cannot be opened */
  constructor(indexPath: string, extentOf: (chunk: number) => number | null, growth?: Growth) {
    this.#comparer = new IndexComparer(extentOf, growth);
    this.#descriptor = openIfThere(indexPath);
  }

  /** `count` rebuilt rows, one behind the other; 0 of them is a line that is no row. */
  add(rows: Uint8Array, count: number): void {
    const bytes = Buffer.from(rows.buffer, rows.byteOffset, rows.byteLength);
    if (count === 0) {
      if (bytes.length > 0) this.#addRemark(bytes);
      return;
    }
    if (this.#lines === null && this.#isSameOnDisk(bytes)) {
      this.#position += bytes.length;
      const last = readRow(bytes.subarray(bytes.lastIndexOf(LF, bytes.length - 2) + 1));
      if (last !== null) this.#comparer.addEqual(count, last);
      return;
    }
    this.#lines ??= this.#readLines();
    for (let start = 0; start < bytes.length; ) {
      const end = bytes.indexOf(LF, start) + 1;
      this.#addRow(bytes.subarray(start, end));
      start = end;
    }
  }

  /** The block of a chunk at `offset` is not what it was when it was indexed. */
  addChangedData(chunk: number, offset: number): void {
    this.#comparer.addChangedData(chunk, offset);
  }

  end(): IndexComparison {
    this.#lines ??= this.#readLines();
    for (const line of this.#lines) this.#comparer.addDisk(line);
    return this.#comparer.end();
  }

  close(): void {
    if (this.#descriptor !== null) closeSync(this.#descriptor);
  }

  #addRemark(bytes: Buffer): void {
    this.#comparer.addRemark(bytes);
    if (this.#lines !== null || !this.#isSameOnDisk(bytes)) return;
    this.#position += bytes.length;
    this.#comparer.addDisk(bytes);
  }

  #addRow(bytes: Buffer): void {
    const comparer = this.#comparer;
    const row = readRow(bytes);
    if (row === null) throw new Error('a rebuilt row that is no row');
    while (!comparer.isAwaited(row)) {
      const next = this.#lines?.next();
      if (next === undefined || next.done === true) break;
      if (next.value.equals(bytes)) {
        comparer.addEqual(1, row);
        return;
      }
      const disk = comparer.addDisk(next.value);
      if (disk !== null && compareAddresses(disk, row) >= 0) break;
    }
    comparer.addRebuilt(row);
  }

  #isSameOnDisk(rows: Buffer): boolean {
    if (this.#descriptor === null) return false;
    for (let at = 0; at < rows.length; ) {
      const wanted = Math.min(READ_BYTES, rows.length - at);
      const read = readSync(this.#descriptor, this.#scratch, 0, wanted, this.#position + at);
      if (read === 0 || !this.#scratch.subarray(0, read).equals(rows.subarray(at, at + read))) return false;
      at += read;
    }
    return true;
  }

  *#readLines(): Generator<Buffer, void> {
    if (this.#descriptor === null) return;
    const framer = new LineFramer({ startOffset: 0, startLineNumber: 1, maxLineBytes: MAX_ROW_BYTES });
    const part = Buffer.allocUnsafe(READ_BYTES);
    for (;;) {
      const read = readSync(this.#descriptor, part, 0, READ_BYTES, this.#position);
      if (read === 0) break;
      this.#position += read;
      for (const { bytes } of framer.push(part.subarray(0, read))) yield bytes ?? UNREADABLE;
    }
    const last = framer.finish();
    if (last !== null) yield last.bytes ?? UNREADABLE;
  }
}

function openIfThere(path: string): number | null {
  try {
    return openSync(path, 'r');
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return null;
    throw error;
  }
}
