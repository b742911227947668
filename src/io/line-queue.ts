/**
 * Lines on their way into a chunk: which of their parts are still in memory, which are in the file, and who waits for
 * them. No I/O. A part is let go once its bytes are in the file or given up, and never before; lines are settled in the
 * order they were opened in.
 */
import type { PrlError } from '../core/errors.js';
import type { LinePart, RecordPlace } from './stream-types.js';

/** What Linux takes in one vectored write (IOV_MAX). */
const MAX_BATCH_PARTS = 1024;

/** Bytes of one write, so that a failure and the lines behind it are noticed soon. A longer part goes alone. */
const MAX_BATCH_BYTES = 16_777_216;

const LF = Uint8Array.of(0x0a);

export class QueuedLine {
  /** Lines are numbered as they are opened. */
  readonly number: number;
  /** The line that was opened behind it, as long as it is in the queue. */
  next: QueuedLine | undefined;
  #state: 'open' | 'committed' | 'given-up' = 'open';
  #pending: LinePart[] = [];
  #bytes = 0;
  /** Of them in the file, from `offset` on. */
  writtenBytes = 0;
  /** Where the line begins, once some of it is written. */
  offset = 0;
  /** Why it will never be in the stream; null as long as it may. */
  failure: PrlError | null = null;
  #settled = Promise.withResolvers<RecordPlace | null>();

  constructor(number: number) {
    this.number = number;
    // Who commits or aborts gets the promise; until then a failure must not count as unhandled.
    this.#settled.promise.catch(() => {});
  }

  /** All that is known of the line, its LF once it is committed. */
  get bytes(): number {
    return this.#bytes;
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  get isGivenUp(): boolean {
    return this.#state === 'given-up';
  }

  /** Whether there is something to do for it. */
  get isReady(): boolean {
    return this.isGivenUp || this.#pending.length > 0;
  }

  /** Whether all of it is in the file. */
  get isWhole(): boolean {
    return this.#state === 'committed' && this.writtenBytes === this.#bytes;
  }

  add(part: LinePart): void {
    if (this.#state === 'committed') throw new Error('a part behind the end of its line');
    if (this.#state === 'given-up' || this.failure !== null || bytesOf(part).length === 0) {
      letGo(part);
      return;
    }
    this.#bytes += bytesOf(part).length;
    this.#pending.push(part);
  }

  /** Resolves with its place; rejects with the failure. */
  async commit(): Promise<RecordPlace> {
    if (this.#state !== 'open') throw new Error('a line that was ended before');
    if (this.failure === null && this.#bytes === 0) {
      this.#state = 'given-up';
      throw new Error('a line without bytes');
    }
    this.add(LF);
    this.#state = 'committed';
    const place = await this.#settled.promise;
    if (place === null) throw new Error('a committed line that was given up');
    return place;
  }

  /** Resolves when nothing of it is in the file any more, or would be taken for data. */
  async giveUp(): Promise<void> {
    if (this.#state === 'committed') throw new Error('a line that was ended before');
    this.#state = 'given-up';
    this.#letGoPending();
    if (this.failure === null) await this.#settled.promise;
  }

  /** Takes parts out for a write, up to the limits. */
  take(maxParts: number, maxBytes: number): LineShare {
    let count = 0;
    let bytes = 0;
    for (const part of this.#pending) {
      const { length } = bytesOf(part);
      if (count === maxParts || (bytes > 0 && bytes + length > maxBytes)) break;
      bytes += length;
      count += 1;
    }
    return { line: this, parts: this.#pending.splice(0, count), bytes };
  }

  /** Puts parts that were not written back before the others. */
  putBack(parts: readonly LinePart[]): void {
    this.#pending.unshift(...parts);
    if (this.isGivenUp) this.#letGoPending();
  }

  settle(place: RecordPlace | null): void {
    this.#settled.resolve(place);
  }

  fail(failure: PrlError): void {
    this.failure = failure;
    this.#letGoPending();
    this.#settled.reject(failure);
  }

  #letGoPending(): void {
    for (const part of this.#pending.splice(0)) letGo(part);
  }
}

/** The parts of one line that are being written. */
export type LineShare = { readonly line: QueuedLine; readonly parts: readonly LinePart[]; readonly bytes: number };

/** A chain, since an array moves all lines that wait when the first one leaves. */
export class LineQueue {
  #head: QueuedLine | undefined;
  #last: QueuedLine | undefined;
  #opened = 0;
  #lines = 0;

  /** The first line that is not settled. */
  get head(): QueuedLine | undefined {
    return this.#head;
  }

  get lines(): number {
    return this.#lines;
  }

  /** Bytes that are known and not in the file. */
  get pendingBytes(): number {
    let bytes = 0;
    for (let line = this.#head; line !== undefined; line = line.next) bytes += line.bytes - line.writtenBytes;
    return bytes;
  }

  open(): QueuedLine {
    const line = new QueuedLine(this.#opened);
    if (this.#head === undefined) this.#head = line;
    else if (this.#last !== undefined) this.#last.next = line;
    this.#last = line;
    this.#opened += 1;
    this.#lines += 1;
    return line;
  }

  /** Takes the head out. */
  shift(): void {
    this.#head = this.#head?.next;
    this.#lines -= 1;
  }

  /**
   * What one write can take into a chunk that ends at `endBytes`: of the head whatever it has, of the lines behind it
   * what the chunk has room for. Empty when the head was given up.
   */
  take(endBytes: number, chunkBytes: number): readonly LineShare[] {
    const shares: LineShare[] = [];
    let end = endBytes;
    let parts = MAX_BATCH_PARTS;
    for (let line = this.#head; line !== undefined; line = line.next) {
      const isFull = parts === 0 || end - endBytes >= MAX_BATCH_BYTES;
      if (line.isGivenUp || isFull || (shares.length > 0 && end + line.bytes > chunkBytes)) break;
      if (line.writtenBytes === 0) line.offset = end;
      const share = line.take(parts, MAX_BATCH_BYTES - (end - endBytes));
      shares.push(share);
      end += share.bytes;
      parts -= share.parts.length;
      if (line.isOpen || line.isReady) break;
    }
    return shares;
  }

  /**
   * Accounts for the first `bytes` of what was taken. Parts that are in the file are let go, and those of the first line
   * that is not; lines behind that get theirs back.
   */
  finish(shares: readonly LineShare[], bytes: number, onWhole: (line: QueuedLine) => void): void {
    let left = bytes;
    let hasFailed = false;
    for (const { line, parts, bytes: share } of shares) {
      if (hasFailed) {
        line.putBack(parts);
        continue;
      }
      line.writtenBytes += Math.min(left, share);
      hasFailed = left < share;
      left -= share;
      for (const part of parts) letGo(part);
      if (!line.isWhole) continue;
      this.shift();
      onWhole(line);
    }
  }
}

export function bytesOf(part: LinePart): Uint8Array {
  return part instanceof Uint8Array ? part : part.bytes;
}

/** Tells whoever lent a part that it is not needed any more. */
function letGo(part: LinePart): void {
  if (!(part instanceof Uint8Array)) part.release();
}
