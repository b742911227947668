/**
 * How many requests may be in flight. Grows by one after a window of answers while latency stays flat, goes back by one
 * when it does not, halves when the service or the link is overloaded. Latency is judged by the best of a window, which
 * noise makes no worse, against a minimum that moves slowly; both for requests of about one size, since a small request
 * is no proof that large ones are fast. It grows only while the limit is what holds requests back: where the budget, or
 * compression, holds them back first, it stays. No clock of its own.
 */
import { MAX_ADAPTIVE_CONCURRENCY } from './limits.js';
import type { Attempt } from './types.js';

/** How a request ended, as far as the number of requests is concerned; `other` tells nothing about it. */
export type RequestEnd = 'answered' | 'overloaded' | 'no_descriptors' | 'other';

export type EndedRequest = {
  readonly end: RequestEnd;
  /** Monotonic. */
  readonly nowMs: number;
  /** From the start of the request, waits before it not counted. */
  readonly latencyMs: number;
  /** Of its body. */
  readonly bytes: number;
};

export type AdaptiveLimitOptions = {
  /** The limit, which then never moves, unless the system has no descriptors for it; left out it adapts, up to 8. */
  readonly fixed?: number | undefined;
  /** What the system has descriptors for; default any number. */
  readonly most?: number | undefined;
};

/** Where it starts, and what latency alone never goes below: one request travels while another is answered. */
const FIRST_LIMIT = 2;
/** A window is flat when its best latency is at most this times the minimum. Of seven at once, one more than the service works on tells by 1.17. */
const FLAT_RATIO = 1.2;
/** So many windows in a row that are not flat are no noise. */
const STEEP_WINDOWS = 2;
/** Below it nothing is told by a ratio. */
const LEAST_LATENCY_MS = 1;
/** How much of the way to a lower, and to a higher best the minimum moves in one window. */
const FALL_SHARE = 0.5;
const RISE_SHARE = 0.1;

export class AdaptiveLimit {
  readonly #isFixed: boolean;
  #max: number;
  #limit: number;
  #inFlight = 0;
  /** Only what started in the window tells of its limit. */
  #windowSinceMs = Number.NEGATIVE_INFINITY;
  #windowAnswers = 0;
  #windowPeak = 0;
  /** Least latency by size class. */
  #windowBest = new Map<number, number>();
  /** Windows in a row that were not flat. */
  #steepWindows = 0;
  #halvedAtMs = Number.NEGATIVE_INFINITY;
  readonly #minimum = new Map<number, number>();

  constructor({ fixed, most = Number.POSITIVE_INFINITY }: AdaptiveLimitOptions = {}) {
    this.#isFixed = fixed !== undefined;
    this.#max = Math.min(fixed ?? MAX_ADAPTIVE_CONCURRENCY, most);
    this.#limit = Math.min(fixed ?? FIRST_LIMIT, most);
  }

  /** Requests that may be in flight, 1 or more. */
  get limit(): number {
    return this.#limit;
  }

  /** A request has been started. */
  started(): void {
    this.#inFlight += 1;
    this.#windowPeak = Math.max(this.#windowPeak, this.#inFlight);
  }

  /** It has ended; each that was started is told once. */
  ended(request: EndedRequest): void {
    this.#inFlight -= 1;
    if (request.end === 'no_descriptors') this.#bound();
    if (this.#isFixed) return;
    if (request.end === 'overloaded') this.#halve(request);
    if (request.end === 'answered') this.#answered(request);
  }

  /** What the system has no descriptors for will not be there next time either (U22). */
  #bound(): void {
    this.#max = Math.max(1, Math.min(this.#max, this.#inFlight));
    this.#limit = Math.min(this.#limit, this.#max);
  }

  /** Requests that were on their way when it was halved are part of what it was halved for. */
  #halve({ nowMs, latencyMs }: EndedRequest): void {
    if (nowMs - latencyMs < this.#halvedAtMs) return;
    this.#halvedAtMs = nowMs;
    this.#limit = Math.max(1, Math.floor(this.#limit / 2));
    this.#openWindow(nowMs);
  }

  #answered({ nowMs, latencyMs, bytes }: EndedRequest): void {
    if (nowMs - latencyMs < this.#windowSinceMs) return;
    const size = sizeClassOf(bytes);
    const best = Math.min(latencyMs, this.#windowBest.get(size) ?? Number.POSITIVE_INFINITY);
    this.#windowBest.set(size, Math.max(best, LEAST_LATENCY_MS));
    this.#windowAnswers += 1;
    if (this.#windowAnswers >= this.#limit) this.#closeWindow(nowMs);
  }

  #closeWindow(nowMs: number): void {
    const isFlat = this.#ratio() <= FLAT_RATIO;
    this.#steepWindows = isFlat ? 0 : this.#steepWindows + 1;
    // At the floor nothing is left to go back to: the service has become slower, and that is the new minimum.
    if (isFlat || this.#limit <= FIRST_LIMIT) this.#moveMinimum(isFlat);
    if (this.#windowPeak >= this.#limit) {
      if (isFlat) this.#limit = Math.min(this.#max, this.#limit + 1);
      else if (this.#steepWindows >= STEEP_WINDOWS && this.#limit > FIRST_LIMIT) this.#stepBack();
    }
    this.#openWindow(nowMs);
  }

  #stepBack(): void {
    this.#limit -= 1;
    this.#steepWindows = 0;
  }

  /** Of the size that did best; sizes that are new have nothing to be compared with. */
  #ratio(): number {
    const ratios = [...this.#windowBest].map(([size, best]) => best / (this.#minimum.get(size) ?? best));
    return Math.min(...ratios);
  }

  #moveMinimum(isFlat: boolean): void {
    for (const [size, best] of this.#windowBest) {
      const minimum = this.#minimum.get(size) ?? best;
      const share = best < minimum || !isFlat ? FALL_SHARE : RISE_SHARE;
      this.#minimum.set(size, minimum + (best - minimum) * share);
    }
  }

  #openWindow(nowMs: number): void {
    this.#windowSinceMs = nowMs;
    this.#windowAnswers = 0;
    this.#windowPeak = this.#inFlight;
    this.#windowBest.clear();
  }
}

/** What an attempt tells: 429, 503, time-outs, gateways without an answer and broken connections are overload. */
export function requestEndOf(attempt: Attempt): RequestEnd {
  if (attempt.outcome === 'stored') return 'answered';
  if (attempt.outcome !== 'retry' || attempt.code === 'aborted') return 'other';
  if (attempt.code === 'too_many_files') return 'no_descriptors';
  return attempt.status === null || OVERLOADED.has(attempt.status) ? 'overloaded' : 'other';
}

const OVERLOADED: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);

/** Sizes within a factor of two. */
function sizeClassOf(bytes: number): number {
  return Math.ceil(Math.log2(bytes + 1));
}
