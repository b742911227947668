/**
 * Brings one packed batch to a verdict: attempts with back-off, as many at once as the limit allows, all of them through
 * one gate, the same bytes each time. Counts what it does. No clock of its own.
 */
import { type AdaptiveLimit, requestEndOf } from './adaptive-limit.js';
import { DEFAULT_MAX_WAIT_MS, FIRST_ATTEMPTS } from './limits.js';
import { RequestSlots } from './request-slots.js';
import { backoffMs, type Pass, RetryGate } from './retry.js';
import type { Attempt, Clock, PackedBatch, Sender } from './types.js';

export type DeliveryOptions = {
  readonly sender: Sender;
  readonly clock: Clock;
  /** Requests in flight; told how each of them ends. */
  readonly limit: AdaptiveLimit;
  /** 0 inclusive to 1 exclusive. */
  readonly random: () => number;
  /** Attempts for one batch, the first included, 1 or more; default 5, and no limit once the service has settled a batch. */
  readonly maxAttempts?: number | undefined;
  /** Longest Retry-After that is waited for, in milliseconds; default 15 min. */
  readonly maxWaitMs?: number;
};

/** Plain numbers; `requests` and `wireBytes` count every attempt. */
export type DeliveryStatus = {
  readonly requests: number;
  readonly wireBytes: number;
  readonly retries: number;
  readonly inFlight: { readonly requests: number; readonly bytes: number };
  /** Requests that may be in flight at the moment. */
  readonly limit: number;
  /** While no request may start, or none is left but batches in a back-off of their own. */
  readonly waiting: Waiting | null;
};

/** Until when (monotonic), the code that was answered, and whether the service named the time. */
type Waiting = { readonly untilMs: number; readonly code: string; readonly isAsked: boolean };

/** Why a batch got no verdict: the attempts are used up, or the service asks for more patience than allowed. */
export type GaveUp = { readonly outcome: 'gave_up'; readonly message: string };
export type Verdict = Exclude<Attempt, { outcome: 'retry' }> | GaveUp;

export type DeliveryEnds = {
  /** Ends waiting: for a turn, for the gate, and between attempts. */
  readonly halt: AbortSignal;
  /** Ends the request under way as well. */
  readonly signal: AbortSignal;
  /** Told when an attempt starts: before the first the service knows nothing of the batch. */
  readonly onAttempt?: () => void;
  /** Awaited while the request still has its turn: so no more are stored and not remembered than may be in flight (U3). */
  readonly onStored?: () => Promise<void>;
};

/** An attempt, and how long its batch has to wait by itself; null where the gate sees to that, or nothing is to be waited for. */
type Tried = { readonly attempt: Attempt; readonly waitMs: number | null };

type Retry = Extract<Attempt, { outcome: 'retry' }>;

/** A wait asked for is prolonged by at most this, so that many clients do not return in one moment. */
const MAX_ASKED_JITTER_MS = 1_000;

export class Delivery {
  readonly #options: DeliveryOptions;
  readonly #gate: RetryGate;
  readonly #slots: RequestSlots;
  #maxAttempts: number;
  readonly #maxWaitMs: number;
  #requests = 0;
  #wireBytes = 0;
  #retries = 0;
  #inFlightRequests = 0;
  #inFlightBytes = 0;
  #closedBy = { code: '', isAsked: false };
  /** Batches in a back-off of their own. */
  readonly #backOffs = new Set<Waiting>();

  constructor(options: DeliveryOptions) {
    this.#options = options;
    this.#gate = new RetryGate(options.clock);
    this.#slots = new RequestSlots(options.limit);
    this.#maxAttempts = options.maxAttempts ?? FIRST_ATTEMPTS;
    this.#maxWaitMs = options.maxWaitMs ?? DEFAULT_MAX_WAIT_MS;
  }

  status(): DeliveryStatus {
    return {
      requests: this.#requests,
      wireBytes: this.#wireBytes,
      retries: this.#retries,
      inFlight: { requests: this.#inFlightRequests, bytes: this.#inFlightBytes },
      limit: this.#options.limit.limit,
      waiting: this.#waiting(),
    };
  }

  /** @returns null when either signal came first */
  async deliver(packed: PackedBatch, ends: DeliveryEnds): Promise<Verdict | null> {
    for (let failures = 1; ; failures += 1) {
      const tried = await this.#try(packed, failures, ends);
      if (tried === null) return null;
      const { attempt, waitMs } = tried;
      if (attempt.outcome !== 'retry') return attempt;
      if (ends.signal.aborted) return null;
      const gaveUp = this.#patienceLeft(attempt, failures);
      if (gaveUp !== null) return gaveUp;
      this.#retries += 1;
      if (waitMs === null) continue;
      if (!(await this.#backOff(waitMs, attempt.code, ends.halt))) return null;
    }
  }

  /** One attempt, once it is its turn and the gate is open. The gate learns of its end before the next one's turn comes. */
  async #try(packed: PackedBatch, failures: number, ends: DeliveryEnds): Promise<Tried | null> {
    const { halt, signal, onAttempt, onStored } = ends;
    const hasTurn = await unlessAborted(this.#slots.enter(halt).then(() => true));
    if (hasTurn === null) return null;
    try {
      const pass = await unlessAborted(this.#gate.enter(halt));
      if (pass === null) return null;
      onAttempt?.();
      const attempt = await this.#sendOnce(packed, signal);
      if (attempt.outcome === 'retry') return { attempt, waitMs: this.#retryLater(pass, attempt, failures) };
      this.#gate.leave(pass, true, 0);
      if (this.#options.maxAttempts === undefined) this.#maxAttempts = Number.POSITIVE_INFINITY;
      if (attempt.outcome === 'stored') await onStored?.();
      return { attempt, waitMs: null };
    } finally {
      this.#slots.leave();
    }
  }

  #waiting(): Waiting | null {
    const untilMs = this.#gate.closedUntilMs;
    if (untilMs !== null) return { untilMs, ...this.#closedBy };
    if (this.#inFlightRequests > 0) return null;
    const [first = null] = [...this.#backOffs].sort((a, b) => a.untilMs - b.untilMs);
    return first;
  }

  /** False when the wait was ended. */
  async #backOff(waitMs: number, code: string, halt: AbortSignal): Promise<boolean> {
    const { clock } = this.#options;
    const waiting = { untilMs: clock.nowMs() + waitMs, code, isAsked: false };
    this.#backOffs.add(waiting);
    const slept = await unlessAborted(clock.sleep(waitMs, halt).then(() => true));
    this.#backOffs.delete(waiting);
    return slept !== null;
  }

  /** Closes the gate when the service named a time; else returns the wait of this batch alone. */
  #retryLater(pass: Pass, attempt: Retry, failures: number): number | null {
    const random = this.#options.random();
    const ownMs = backoffMs(failures, random);
    // 0 is a time in the past: no wish, so the own back-off holds (U10).
    const askedMs = attempt.retryAfterMs === null || attempt.retryAfterMs === 0 ? null : attempt.retryAfterMs;
    if (askedMs !== null) this.#gate.close(askedMs + random * Math.min(askedMs / 10, MAX_ASKED_JITTER_MS));
    if (askedMs !== null || pass.isProbe) this.#closedBy = { code: attempt.code, isAsked: askedMs !== null };
    this.#gate.leave(pass, false, askedMs ?? ownMs);
    return askedMs === null ? ownMs : null;
  }

  #patienceLeft({ retryAfterMs, message, code }: Retry, failures: number): GaveUp | null {
    if (retryAfterMs !== null && retryAfterMs > this.#maxWaitMs) {
      const [asked, allowed] = [retryAfterMs, this.#maxWaitMs].map((ms) => `${Math.ceil(ms / 1000)} s`);
      return {
        outcome: 'gave_up',
        message: `the service asks to wait ${asked}, allowed are ${allowed}: ${message} (${code})`,
      };
    }
    if (failures < this.#maxAttempts) return null;
    return {
      outcome: 'gave_up',
      message: `gave up after ${failures} ${failures === 1 ? 'attempt' : 'attempts'}: ${message} (${code})`,
    };
  }

  async #sendOnce(packed: PackedBatch, signal: AbortSignal): Promise<Attempt> {
    const { sender, limit, clock } = this.#options;
    const bytes = packed.bodyBytes;
    const startedMs = clock.nowMs();
    this.#requests += 1;
    this.#inFlightRequests += 1;
    this.#inFlightBytes += bytes;
    limit.started();
    const attempt = await sender.send(packed, signal);
    const nowMs = clock.nowMs();
    limit.ended({ end: requestEndOf(attempt), nowMs, latencyMs: nowMs - startedMs, bytes });
    this.#inFlightRequests -= 1;
    this.#inFlightBytes -= bytes;
    this.#wireBytes += attempt.outcome === 'retry' ? (attempt.acceptedBytes ?? bytes) : bytes;
    return attempt;
  }
}

/** Waits reject only with an abort here; the caller gives up without a verdict. */
async function unlessAborted<T>(waiting: Promise<T>): Promise<T | null> {
  try {
    return await waiting;
  } catch {
    return null;
  }
}
