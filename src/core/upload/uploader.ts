/**
 * Drives batches to a service: as many requests as the limit allows, and two batches more under way, so that one is packed
 * when a request ends; another one is read only then. Refused batches are split until the bad line stands alone. Reports
 * come in the order of the batches; the journal is written as each one is settled, so that a kill costs the requests in
 * flight and nothing else (U3). No I/O, no clock of its own.
 */
import type { PrlErrorCode } from '../errors.js';
import { AdaptiveLimit } from './adaptive-limit.js';
import { Delivery, type DeliveryOptions, type DeliveryStatus, type Verdict } from './delivery.js';
import { GATEWAY_REQUEST_BYTES } from './limits.js';
import { canSplit, halve, type Refusal, rangeOf, rejectAll } from './split.js';
import type { Batch, BatchRange, PackedBatch, Receipt, RejectedLine, SourceRange, UploadJournal } from './types.js';
import { untilAborted } from './until-aborted.js';
import type { BatchMemory, UploadMemory } from './upload-memory.js';

export type UploaderOptions = Omit<DeliveryOptions, 'limit'> & {
  /** May reject once the signal is aborted; any other rejection ends the upload. */
  readonly pack: (batch: Batch, signal: AbortSignal) => Promise<PackedBatch>;
  readonly journal: UploadJournal;
  /** Requests in flight, 1 or more; `adaptive` finds between 1 and 8 what the service takes. */
  readonly concurrency: number | 'adaptive';
  /** The most in either case: what the system has descriptors for; default any number. */
  readonly mostRequests?: number;
  /** Counts what batches hold; whoever reads the source waits for it there. Left out: nobody counts. */
  readonly memory?: UploadMemory;
  /** Told of each stored request while its lines are still at hand, before it is counted; `--verify` hashes there. */
  readonly onStored?: (batch: Batch, receipt: Receipt) => void | Promise<void>;
  /** Told what a user should know and no failure is: a request larger than gateways take. One line each. */
  readonly onNotice?: (message: string) => void;
  /** Told in the order of the source, once a batch is settled. */
  readonly onSettled?: (settled: SettledBatch) => void | Promise<void>;
};

/** What became of one batch of the source: the parts that were stored, the lines that will not be, what is left. */
export type SettledBatch = {
  readonly stored: readonly { readonly range: BatchRange; readonly receipt: Receipt }[];
  readonly rejected: readonly RejectedLine[];
  readonly unsent: readonly UnsentRange[];
};

export type UnsentRange = SourceRange & { readonly lines: number };

/** Plain numbers for a view; a fresh object each time. `waiting.untilMs` is monotonic, of the clock given. */
export type UploaderSnapshot = DeliveryStatus & {
  readonly sent: UploadTotals;
  /** Read and not yet in a request: batches that are being packed, or wait for their turn. */
  readonly queued: { readonly episodes: number; readonly bytes: number };
  /** Lines that were handed over and got no verdict: in flight, or left so when the upload ended. They may be stored. */
  readonly unanswered: number;
  readonly rejected: { readonly count: number; readonly lastCode: string | null };
  readonly phase: 'idle' | 'sending' | 'stopping' | 'done';
};

/** `episodes` counts stored lines, `bytes` their uncompressed bytes as sent; `requests` and `wireBytes` every attempt. */
export type UploadTotals = {
  readonly episodes: number;
  readonly bytes: number;
  readonly wireBytes: number;
  readonly requests: number;
};

export type UploadResult = {
  readonly sent: UploadTotals;
  readonly rejected: readonly RejectedLine[];
  /** Batches taken from the source and not settled. What was never read is not in it. */
  readonly unsent: readonly UnsentRange[];
  readonly retries: number;
  /** Receipts that named another upload or status, one line each. */
  readonly mismatches: readonly string[];
  /** Why the upload ended early; null when the source was drained. */
  readonly stopped: UploadStop | null;
  /** True when the caller's signal ended it. */
  readonly interrupted: boolean;
};

export type UploadStop = {
  readonly errorCode: PrlErrorCode;
  readonly message: string;
  readonly hint: string | null;
  /** What the service called it; absent when attempts or patience were used up. */
  readonly code?: string;
};

/** Batches beside those in flight: one that is packed and waits, and one that is being packed. */
const READ_AHEAD_BATCHES = 2;

type Working = {
  readonly stored: { range: BatchRange; receipt: Receipt }[];
  readonly rejected: RejectedLine[];
  readonly unsent: UnsentRange[];
};

/** Batches get in line for their requests in the order of the source, whichever is packed first. */
type Place = { readonly after: Promise<void>; readonly isLined: () => void; readonly signal: AbortSignal };

/** What the parts of one batch have in common. */
type Settling = Place & { readonly working: Working; readonly memory: BatchMemory | null };

type Delivered = { readonly verdict: Verdict; readonly range: BatchRange };

export class Uploader {
  readonly #options: UploaderOptions;
  readonly #limit: AdaptiveLimit;
  readonly #delivery: Delivery;
  /** Ends waiting, not requests: set by a stop, an exhausted batch, a fault or the caller. */
  readonly #halt = new AbortController();
  readonly #rejected: RejectedLine[] = [];
  readonly #unsent: UnsentRange[] = [];
  readonly #mismatches: string[] = [];
  readonly #queued = { episodes: 0, bytes: 0 };
  #stored = { episodes: 0, bytes: 0 };
  #lastRejectedCode: string | null = null;
  #rejectedCount = 0;
  #unanswered = 0;
  #phase: UploaderSnapshot['phase'] = 'idle';
  #stopped: UploadResult['stopped'] = null;

  constructor(options: UploaderOptions) {
    this.#options = options;
    const { concurrency, mostRequests: most } = options;
    this.#limit = new AdaptiveLimit({ fixed: concurrency === 'adaptive' ? undefined : concurrency, most });
    this.#delivery = new Delivery({ ...options, limit: this.#limit });
  }

  snapshot(): UploaderSnapshot {
    return {
      ...this.#delivery.status(),
      sent: this.#totals(),
      queued: { ...this.#queued },
      unanswered: this.#unanswered,
      rejected: { count: this.#rejectedCount, lastCode: this.#lastRejectedCode },
      phase: this.#phase,
    };
  }

  /**
   * Sends every batch of the source. To be called once.
   *
   * @param signal aborts requests and waits; what was not settled is reported as unsent
   * @throws what the source, the packing or a callback throws, after the requests in flight have ended
   */
  async run(batches: AsyncIterable<Batch>, signal: AbortSignal): Promise<UploadResult> {
    const onAbort = (): void => this.#halt.abort(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    this.#phase = 'sending';
    try {
      await this.#drain(batches, signal);
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#phase = 'done';
    }
    return {
      sent: this.#totals(),
      rejected: this.#rejected,
      unsent: this.#unsent,
      retries: this.#delivery.status().retries,
      mismatches: this.#mismatches,
      stopped: this.#stopped,
      interrupted: signal.aborted,
    };
  }

  async #drain(batches: AsyncIterable<Batch>, signal: AbortSignal): Promise<void> {
    const underWay = new Set<Promise<void>>();
    let reported: Promise<void> = Promise.resolve();
    let lined: Promise<void> = Promise.resolve();
    try {
      for await (const batch of untilAborted(batches, this.#halt.signal)) {
        const isLined = Promise.withResolvers<void>();
        const settling = this.#settle(batch, { after: lined, isLined: isLined.resolve, signal });
        lined = isLined.promise;
        reported = this.#reportAfter(reported, settling);
        reported.catch((error) => this.#halt.abort(error)); // awaited below; meanwhile nothing new starts
        const ended: Promise<void> = settling.then(
          () => void underWay.delete(ended),
          () => void underWay.delete(ended),
        );
        underWay.add(ended);
        while (underWay.size >= this.#limit.limit + READ_AHEAD_BATCHES) await Promise.race(underWay);
      }
    } finally {
      await Promise.all(underWay);
      await reported;
    }
  }

  async #reportAfter(earlier: Promise<void>, settling: Promise<Working>): Promise<void> {
    await earlier;
    const settled = await settling;
    this.#rejected.push(...settled.rejected);
    this.#unsent.push(...settled.unsent);
    for (const { receipt } of settled.stored) if (receipt.mismatch !== null) this.#mismatches.push(receipt.mismatch);
    await this.#options.onSettled?.(settled);
  }

  async #settle(batch: Batch, place: Place): Promise<Working> {
    const working: Working = { stored: [], rejected: [], unsent: [] };
    const memory = this.#options.memory?.take(batch) ?? null;
    try {
      await this.#settlePart(batch, { ...place, working, memory });
    } finally {
      place.isLined();
      memory?.release();
      for (const { lease } of batch.lines) lease?.release();
    }
    return working;
  }

  async #settlePart(batch: Batch, settling: Settling): Promise<void> {
    const { working } = settling;
    const delivered = this.#halt.signal.aborted ? null : await this.#deliver(batch, settling);
    if (delivered === null) return leave(batch, working);
    const { verdict, range } = delivered;
    switch (verdict.outcome) {
      case 'stored':
        return this.#store(batch, range, verdict.receipt, working);
      case 'refused':
        if (!canSplit(batch, verdict)) return this.#reject(batch, verdict, range, working);
        for (const half of halve(batch)) await this.#settlePart(half, settling);
        return;
      case 'stop':
        this.#stop({
          errorCode: verdict.errorCode,
          message: verdict.message,
          hint: verdict.hint ?? null,
          code: verdict.code,
        });
        return leave(batch, working);
      case 'gave_up':
        this.#stop({
          errorCode: 'PRL_ERR_TEMPORARY',
          message: `${verdict.message}; not sent: ${placeOf(range)}`,
          hint: null,
        });
        return leave(batch, working);
    }
  }

  /** The body lives only in here: halves are packed when it is gone. Null when the upload was halted meanwhile. */
  async #deliver(batch: Batch, { memory, after, isLined, signal }: Settling): Promise<Delivered | null> {
    const leaveQueue = this.#enqueue(batch);
    try {
      const packed = await this.#pack(batch);
      if (packed === null) return null;
      memory?.packed(packed.bodyBytes);
      const range = rangeOf(batch, packed);
      if (packed.bodyBytes > GATEWAY_REQUEST_BYTES) this.#options.onNotice?.(largeRequest(range, packed));
      await this.#options.journal.planned(range);
      let isStarted = false;
      const onAttempt = (): void => {
        if (!isStarted) this.#unanswered += range.lines;
        isStarted = true;
        leaveQueue();
      };
      await after;
      const delivering = this.#delivery.deliver(packed, { halt: this.#halt.signal, signal, onAttempt });
      isLined();
      const verdict = await delivering;
      // Who gave up may have lost the answer to an attempt that was stored.
      if (verdict !== null && verdict.outcome !== 'gave_up') this.#unanswered -= range.lines;
      return verdict === null ? null : { verdict, range };
    } finally {
      leaveQueue();
    }
  }

  /** Counts a batch as queued until what it returns is called, once or more. */
  #enqueue({ lines, batchBytes }: Batch): () => void {
    let isQueued = true;
    const count = (sign: 1 | -1): void => {
      this.#queued.episodes += sign * lines.length;
      this.#queued.bytes += sign * batchBytes;
    };
    count(1);
    return () => {
      if (isQueued) count(-1);
      isQueued = false;
    };
  }

  /** Null when the upload was halted meanwhile. */
  async #pack(batch: Batch): Promise<PackedBatch | null> {
    try {
      return await this.#options.pack(batch, this.#halt.signal);
    } catch (error) {
      if (this.#halt.signal.aborted) return null;
      throw error;
    }
  }

  async #store(batch: Batch, range: BatchRange, receipt: Receipt, working: Working): Promise<void> {
    await this.#options.onStored?.(batch, receipt);
    await this.#options.journal.stored(range);
    this.#stored = {
      episodes: this.#stored.episodes + range.lines,
      bytes: this.#stored.bytes + range.sentBytes,
    };
    working.stored.push({ range, receipt });
  }

  async #reject(batch: Batch, refusal: Refusal, range: BatchRange, working: Working): Promise<void> {
    const lines = rejectAll(batch, refusal, range);
    // A batch without a usable receipt may be stored; not remembering it makes the next run ask again.
    if (refusal.code !== 'bad_receipt') for (const line of lines) await this.#options.journal.rejected(line);
    this.#rejectedCount += lines.length;
    this.#lastRejectedCode = refusal.code;
    working.rejected.push(...lines);
  }

  /** The first reason stands; what follows from it is not news. */
  #stop(stop: UploadStop): void {
    this.#stopped ??= stop;
    this.#phase = 'stopping';
    this.#halt.abort(new Error(stop.message));
  }

  #totals(): UploadTotals {
    const { wireBytes, requests } = this.#delivery.status();
    return { ...this.#stored, wireBytes, requests };
  }
}

function leave(batch: Batch, working: Working): void {
  const { chunk, start, end, lines } = rangeOf(batch, { digest: '', lineDigests: [] });
  working.unsent.push({ chunk, start, end, lines });
}

/** A46: upstream's target keeps batches below the cap, so what is above it is one large line or a larger `--batch`. */
function largeRequest(range: BatchRange, { bodyBytes }: PackedBatch): string {
  return `a request of ${bodyBytes} bytes is above the ${GATEWAY_REQUEST_BYTES} that gateways before the service may take: ${placeOf(range)}`;
}

function placeOf({ chunk, start, end, lines }: BatchRange): string {
  return `chunk ${chunk}, bytes ${start} to ${end} (${lines} ${lines === 1 ? 'line' : 'lines'})`;
}
