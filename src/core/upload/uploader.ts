/**
 * Drives batches to a service: up to `concurrency` batches under way, another one read only when a slot is free
 * (memory is bounded by concurrency + 1 batches), refused batches split until the bad line stands alone. Reports come
 * in the order of the batches; the journal is written as each one is settled, so that a kill costs the requests in
 * flight and nothing else (U3). No I/O, no clock of its own.
 */
import type { PrlErrorCode } from '../errors.js';
import { Delivery, type DeliveryOptions, type DeliveryStatus } from './delivery.js';
import { GATEWAY_REQUEST_BYTES } from './limits.js';
import { canSplit, halve, type Refusal, rangeOf, rejectAll } from './split.js';
import type { Batch, BatchRange, PackedBatch, Receipt, RejectedLine, SourceRange, UploadJournal } from './types.js';

export type UploaderOptions = DeliveryOptions & {
  /** May reject once the signal is aborted; any other rejection ends the upload. */
  readonly pack: (batch: Batch, signal: AbortSignal) => Promise<PackedBatch>;
  readonly journal: UploadJournal;
  /** Batches under way, 1 or more. */
  readonly concurrency: number;
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
  /** Read and not yet in a request: batches that are packed or wait for their turn. */
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

type Working = {
  readonly stored: { range: BatchRange; receipt: Receipt }[];
  readonly rejected: RejectedLine[];
  readonly unsent: UnsentRange[];
};

export class Uploader {
  readonly #options: UploaderOptions;
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
    this.#delivery = new Delivery(options);
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
    const slots = new Set<Promise<void>>();
    let reported: Promise<void> = Promise.resolve();
    try {
      for await (const batch of untilAborted(batches, this.#halt.signal)) {
        const settling = this.#settle(batch, signal);
        reported = this.#reportAfter(reported, settling);
        reported.catch((error) => this.#halt.abort(error)); // awaited below; meanwhile nothing new starts
        const slot: Promise<void> = settling.then(
          () => void slots.delete(slot),
          () => void slots.delete(slot),
        );
        slots.add(slot);
        if (slots.size >= this.#options.concurrency) await Promise.race(slots);
      }
    } finally {
      await Promise.all(slots);
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

  async #settle(batch: Batch, signal: AbortSignal): Promise<Working> {
    const working: Working = { stored: [], rejected: [], unsent: [] };
    await this.#settlePart(batch, working, signal);
    return working;
  }

  async #settlePart(batch: Batch, working: Working, signal: AbortSignal): Promise<void> {
    if (this.#halt.signal.aborted) return leave(batch, working);
    const packed = await this.#pack(batch);
    if (packed === null) return leave(batch, working);
    const range = rangeOf(batch, packed);
    if (packed.bodyBytes > GATEWAY_REQUEST_BYTES) this.#options.onNotice?.(largeRequest(range, packed));
    await this.#options.journal.planned(range);
    this.#unanswered += range.lines;
    const verdict = await this.#delivery.deliver(packed, this.#halt.signal, signal);
    // Who gave up may have lost the answer to an attempt that was stored.
    if (verdict !== null && verdict.outcome !== 'gave_up') this.#unanswered -= range.lines;
    if (verdict === null) return leave(batch, working);
    switch (verdict.outcome) {
      case 'stored':
        return this.#store(batch, range, verdict.receipt, working);
      case 'refused':
        if (!canSplit(batch, verdict)) return this.#reject(batch, verdict, packed, working);
        for (const half of halve(batch)) await this.#settlePart(half, working, signal);
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

  /** Null when the upload was halted meanwhile. */
  async #pack(batch: Batch): Promise<PackedBatch | null> {
    this.#queued.episodes += batch.lines.length;
    this.#queued.bytes += batch.batchBytes;
    try {
      return await this.#options.pack(batch, this.#halt.signal);
    } catch (error) {
      if (this.#halt.signal.aborted) return null;
      throw error;
    } finally {
      this.#queued.episodes -= batch.lines.length;
      this.#queued.bytes -= batch.batchBytes;
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

  async #reject(batch: Batch, refusal: Refusal, packed: PackedBatch, working: Working): Promise<void> {
    const lines = rejectAll(batch, refusal, packed);
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

/** Ends with the signal even while the source is waiting for more input, as standard input may for ever. */
async function* untilAborted<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const iterator = source[Symbol.asyncIterator]();
  let isWaiting = false;
  try {
    for (;;) {
      if (signal.aborted) return;
      const reading = iterator.next();
      isWaiting = true;
      const next = await orAborted(reading, signal);
      if (next === 'aborted') {
        reading.catch(() => {}); // its source is being abandoned
        return;
      }
      isWaiting = false;
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    // Returning from a source that is still reading would wait for that read.
    const returning = iterator.return?.();
    if (isWaiting) returning?.catch(() => {});
    else await returning;
  }
}

/**
 * Not Promise.race with one promise for the abort: each race would leave its winner, a whole batch, reachable from that
 * promise for the length of the upload.
 */
function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | 'aborted'> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => resolve('aborted');
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
