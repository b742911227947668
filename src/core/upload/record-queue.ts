/**
 * The queue between a producer and the service (spec 07 section 5): `submit` appends or drops, and that is all it does. It
 * waits for nothing, does no I/O, makes no promise, and its time depends on the number of records handed in alone. What
 * was admitted counts against the budget until it is settled, not until it is taken, so that what is in flight is inside.
 *
 * Whoever sends asks `next()` again and again: for a record to be measured, or for a write to be sent; and tells
 * `measured`, `refuse` and `settle`. Every record that was submitted ends in exactly one counter. No clock of its own.
 */
import type { LineFormat } from '../scan/types.js';
import { type DropWarning, DropWarnings } from './drop-warnings.js';
import { DEFAULT_TARGET_BATCH_BYTES } from './limits.js';
import { SizeEstimate } from './size-estimate.js';
import type { CountedAs } from './strikes.js';

/** What a producer hands in. `bytes` of the record as it will travel, where they are known already. */
export type Submitted<R> = { readonly record: R; readonly format: LineFormat; readonly bytes?: number | null };

/** A record in the queue. What `record` refers to is the sender's from `measured` on. */
export type QueuedRecord<R> = {
  /** Admitted records are numbered from 0, in order. */
  readonly sequence: number;
  readonly format: LineFormat;
  readonly record: R;
  /** Exact; null until somebody has measured it. */
  readonly bytes: number | null;
};

/** Records of one format, in order, that are sent at once. */
export type QueuedWrite<R> = {
  readonly format: LineFormat;
  readonly records: readonly QueuedRecord<R>[];
  readonly bytes: number;
};

/** What is to be done next. */
export type QueueWork<R> =
  | { readonly kind: 'measure'; readonly record: QueuedRecord<R> }
  | { readonly kind: 'write'; readonly write: QueuedWrite<R> };

/**
 * Records, never batches. `submitted = admitted + dropped + afterClose`; once nothing is queued any more,
 * `admitted = stored + failed + rejected + skipped + unsent + unknown` (section 5.4).
 */
export type QueueCounts = Readonly<Record<CountedAs, number>> & {
  readonly submitted: number;
  readonly admitted: number;
  /** Did not fit. */
  readonly dropped: number;
  readonly afterClose: number;
  /** Left waiting when the queue was abandoned. */
  readonly unsent: number;
  /** In flight when the queue was abandoned: they may be stored. */
  readonly unknown: number;
};

export type QueueSnapshot = QueueCounts & {
  /** Waiting and in flight. */
  readonly queuedRecords: number;
  /** Exact for what was measured, estimated for what was not. */
  readonly queuedBytes: number;
  readonly inFlightRecords: number;
  readonly inFlightBytes: number;
  /** The most `queuedBytes` ever were. */
  readonly peakBytes: number;
};

export type RecordQueueOptions = {
  /** Bytes of encoded records, waiting and in flight; default 4 GiB. */
  readonly budgetBytes?: number;
  /** Records, waiting and in flight; default 65,536. A batch of more is never admitted: it is its producer's to cut. */
  readonly maxRecords?: number;
  /** Bytes of one write; default 30 MiB. A record above it goes alone. */
  readonly writeBytes?: number;
  /** Monotonic; read when records are dropped. */
  readonly nowMs: () => number;
  /** Told within `submit` and `close`, so it must return at once. */
  readonly onWarning: (warning: DropWarning) => void;
  /** Told within `submit` that `next` has something new; it must return at once. */
  readonly onWork?: () => void;
};

export const RECORD_QUEUE_DEFAULTS = {
  budgetBytes: 4 * 1024 ** 3,
  maxRecords: 65_536,
  writeBytes: DEFAULT_TARGET_BATCH_BYTES,
} as const;

type Entry<R> = { readonly sequence: number; readonly format: LineFormat; record: R; bytes: number | null };
type Barrier = { readonly sequence: number; readonly onReached: (isSettled: boolean) => void };

/** The part of the waiting records that will be the next write, as far as it has been looked at. */
type Forming = { count: number; bytes: number };

export class RecordQueue<R> {
  readonly #limits: { readonly budgetBytes: number; readonly maxRecords: number; readonly writeBytes: number };
  readonly #nowMs: () => number;
  readonly #onWork: () => void;
  readonly #warnings: DropWarnings;
  readonly #estimate = new SizeEstimate();
  /** In order; those before `#head` are gone. */
  #waiting: Entry<R>[] = [];
  #head = 0;
  readonly #forming: Forming = { count: 0, bytes: 0 };
  /** In the order they were taken. */
  readonly #inFlight = new Set<QueuedWrite<R>>();
  #barriers: Barrier[] = [];
  readonly #counts = { submitted: 0, admitted: 0, afterClose: 0, unsent: 0, unknown: 0 };
  readonly #settled = { stored: 0, failed: 0, rejected: 0, skipped: 0 };
  /** Of measured records, waiting and in flight. */
  #exactBytes = 0;
  #unmeasured = 0;
  #inFlightRecords = 0;
  #inFlightBytes = 0;
  #peakBytes = 0;
  #isClosed = false;

  constructor(options: RecordQueueOptions) {
    const { budgetBytes, maxRecords, writeBytes } = { ...RECORD_QUEUE_DEFAULTS, ...options };
    this.#limits = { budgetBytes, maxRecords, writeBytes };
    this.#nowMs = options.nowMs;
    this.#onWork = options.onWork ?? (() => {});
    this.#warnings = new DropWarnings(options.onWarning);
  }

  snapshot(): QueueSnapshot {
    return {
      ...this.#counts,
      ...this.#settled,
      dropped: this.#warnings.total,
      queuedRecords: this.#queuedRecords,
      queuedBytes: this.#queuedBytes,
      inFlightRecords: this.#inFlightRecords,
      inFlightBytes: this.#inFlightBytes,
      peakBytes: this.#peakBytes,
    };
  }

  /** Closed, and every record settled. */
  get isDrained(): boolean {
    return this.#isClosed && this.#queuedRecords === 0;
  }

  /**
   * Admits all records of a batch, or none (section 5.3): by their bytes where they are known, by `SizeEstimate` where they
   * are not, so that what was measured never makes more than the budget. A queue that is idle lets one batch of any size
   * through.
   *
   * @returns false when they were dropped, or came after `close`
   */
  submit(batch: readonly Submitted<R>[]): boolean {
    const records = batch.length;
    this.#counts.submitted += records;
    if (this.#isClosed) {
      this.#counts.afterClose += records;
      return false;
    }
    if (records === 0) return true;
    if (!this.#hasRoomFor(batch)) {
      this.#warnings.drop(records, this.#nowMs());
      return false;
    }
    for (const one of batch) this.#append(one);
    this.#peakBytes = Math.max(this.#peakBytes, this.#queuedBytes);
    this.#onWork();
    return true;
  }

  /**
   * Asks to be told when everything submitted before is settled. Exempt from both limits (R-Q-6), and the end of a write:
   * what comes later is not sent with what came before.
   *
   * @param onReached with false when the queue was abandoned first; called at once when nothing is outstanding
   */
  barrier(onReached: (isSettled: boolean) => void): void {
    this.#barriers.push({ sequence: this.#counts.admitted, onReached });
    this.#reachBarriers();
  }

  /** What is to be done next; null while there is nothing, or what is waited for is being measured elsewhere. */
  next(): QueueWork<R> | null {
    const forming = this.#forming;
    for (;;) {
      const entry = this.#waiting[this.#head + forming.count];
      if (entry === undefined || this.#isCutBefore(entry)) break;
      if (entry.bytes === null) return { kind: 'measure', record: entry };
      if (forming.count > 0 && forming.bytes + entry.bytes > this.#limits.writeBytes) break;
      forming.count += 1;
      forming.bytes += entry.bytes;
    }
    return forming.count === 0 ? null : { kind: 'write', write: this.#take() };
  }

  /**
   * The exact size of a record that `next` asked for, LF included.
   *
   * @param encoded what is kept in its place: bytes rather than the objects they were made of
   */
  measured(record: QueuedRecord<R>, bytes: number, encoded: R = record.record): void {
    const entry = record as Entry<R>; // only this queue makes them
    if (entry.bytes === null) this.#unmeasured -= 1;
    this.#exactBytes += bytes - (entry.bytes ?? 0);
    entry.bytes = bytes;
    entry.record = encoded;
    this.#estimate.add(bytes);
    this.#peakBytes = Math.max(this.#peakBytes, this.#queuedBytes);
  }

  /** A record that `next` asked for cannot be encoded: it is taken out and counted as rejected. */
  refuse(record: QueuedRecord<R>): void {
    const at = this.#head + this.#forming.count;
    if (this.#waiting[at] !== record) throw new Error(`record ${record.sequence} is not the one to be measured`);
    this.#waiting.splice(at, 1);
    this.#unmeasured -= 1;
    this.#settled.rejected += 1;
    this.#reachBarriers();
  }

  /** A write has ended; every one of its records is counted. Of a write that was abandoned it is too late to tell. */
  settle(write: QueuedWrite<R>, counts: Partial<Record<CountedAs, number>>): void {
    const { stored = 0, failed = 0, rejected = 0, skipped = 0 } = counts;
    if (stored + failed + rejected + skipped !== write.records.length) {
      throw new Error(`a write of ${write.records.length} records was settled as ${JSON.stringify(counts)}`);
    }
    if (!this.#inFlight.delete(write)) return;
    this.#settled.stored += stored;
    this.#settled.failed += failed;
    this.#settled.rejected += rejected;
    this.#settled.skipped += skipped;
    this.#land(write);
    this.#reachBarriers();
  }

  /** Takes no more records, and tells of drops that no warning has told yet. What waits is still to be sent. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#warnings.close();
  }

  /**
   * Gives up what is not settled, when time is over: closes the queue and empties it.
   *
   * @returns writes in flight, which may be stored (sending the same bytes again is safe), and what was still waiting
   */
  abandon(): { readonly unknown: readonly QueuedWrite<R>[]; readonly unsent: readonly QueuedRecord<R>[] } {
    this.close();
    const unknown = [...this.#inFlight];
    const unsent = this.#waiting.slice(this.#head);
    this.#counts.unknown += this.#inFlightRecords;
    this.#counts.unsent += unsent.length;
    this.#inFlight.clear();
    for (const write of unknown) this.#land(write);
    this.#waiting = [];
    this.#head = 0;
    Object.assign(this.#forming, { count: 0, bytes: 0 });
    this.#exactBytes = 0;
    this.#unmeasured = 0;
    const barriers = this.#barriers;
    this.#barriers = [];
    for (const { onReached } of barriers) onReached(false);
    return { unknown, unsent };
  }

  get #queuedRecords(): number {
    return this.#waiting.length - this.#head + this.#inFlightRecords;
  }

  get #queuedBytes(): number {
    return this.#exactBytes + this.#unmeasured * this.#estimate.bytes;
  }

  #hasRoomFor(batch: readonly Submitted<R>[]): boolean {
    const { budgetBytes, maxRecords } = this.#limits;
    if (this.#queuedRecords + batch.length > maxRecords) return false;
    if (this.#queuedRecords === 0) return true;
    const estimate = this.#estimate.bytes;
    let bytes = this.#queuedBytes;
    for (const one of batch) bytes += one.bytes ?? estimate;
    return bytes <= budgetBytes;
  }

  #append({ record, format, bytes = null }: Submitted<R>): void {
    this.#waiting.push({ sequence: this.#counts.admitted, format, record, bytes });
    this.#counts.admitted += 1;
    if (bytes === null) this.#unmeasured += 1;
    else this.#exactBytes += bytes;
  }

  #take(): QueuedWrite<R> {
    const { count, bytes } = this.#forming;
    const records = this.#waiting.slice(this.#head, this.#head + count);
    const write = { format: (records[0] as Entry<R>).format, records, bytes };
    this.#head += count;
    if (this.#head > this.#waiting.length / 2) {
      this.#waiting.splice(0, this.#head);
      this.#head = 0;
    }
    Object.assign(this.#forming, { count: 0, bytes: 0 });
    this.#inFlight.add(write);
    this.#inFlightRecords += count;
    this.#inFlightBytes += bytes;
    return write;
  }

  /** Takes a write out of the account. */
  #land({ records, bytes }: QueuedWrite<R>): void {
    this.#inFlightRecords -= records.length;
    this.#inFlightBytes -= bytes;
    this.#exactBytes -= bytes;
  }

  #reachBarriers(): void {
    const [oldest] = this.#inFlight;
    const waiting = this.#waiting[this.#head];
    const settledUpTo = oldest?.records[0]?.sequence ?? waiting?.sequence ?? this.#counts.admitted;
    while ((this.#barriers[0]?.sequence ?? Number.POSITIVE_INFINITY) <= settledUpTo) {
      this.#barriers.shift()?.onReached(true);
    }
  }

  /** A write holds one format, and nothing from both sides of a barrier. */
  #isCutBefore({ format, sequence }: Entry<R>): boolean {
    const first = this.#waiting[this.#head] as Entry<R>;
    if (first.sequence === sequence) return false;
    if (first.format !== format) return true;
    const barrier = this.#barriers.find((one) => one.sequence > first.sequence);
    return barrier !== undefined && barrier.sequence <= sequence;
  }
}
