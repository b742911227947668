/** Makes the trouble that `faults.ts` names. What is random comes from a seed, so a trial can be run again. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Faults } from './faults.js';
import { Refusal } from './refusal.js';

/** The answers of the fault `errors`, in turn: refusals of the service and of a gateway (spec 06 section 5). */
const ERRORS: readonly (() => Refusal)[] = [
  () => new Refusal(503, 'ingest_unavailable', 'declined by --fault errors', { retryAfterSeconds: 1 }),
  () => new Refusal(429, 'rate_limited', 'declined by --fault errors', { retryAfterSeconds: 1 }),
  () => new Refusal(502, null, 'Bad Gateway (--fault errors)'),
];

/** What the simulated link makes up for at most. */
const MOST_ARREARS_MS = 100;

/** One per service. Waits end early when the service closes. */
export class FaultInjector {
  readonly #faults: Faults;
  readonly #random: () => number;
  readonly #closing: AbortSignal;
  #windowFromMs: number | null = null;
  #declined = 0;
  #linkFreeAtMs = Number.NEGATIVE_INFINITY;

  constructor(faults: Faults, seed: number, closing: AbortSignal) {
    this.#faults = faults;
    this.#random = randomFrom(seed);
    this.#closing = closing;
  }

  /** Begins the span of `storm` and `stall` anew, from now. */
  restartWindows(): void {
    this.#windowFromMs = performance.now();
  }

  /**
   * Before a request is read: waits out a stall, declines in a storm and by chance.
   *
   * @throws Refusal 429, 502 or 503.
   */
  async beforeRequest(isUpload: boolean): Promise<void> {
    if (isUpload && this.#windowFromMs === null) this.restartWindows();
    const stallMs = this.#leftMs(this.#faults.stallMs);
    if (stallMs > 0) await this.#wait(stallMs);
    const stormMs = this.#leftMs(this.#faults.stormMs);
    if (stormMs > 0) {
      const retryAfterSeconds = Math.ceil(stormMs / 1000);
      throw new Refusal(503, 'ingest_unavailable', 'declined by --fault storm', { retryAfterSeconds });
    }
    if (this.#faults.errorsRatio > 0 && this.#random() < this.#faults.errorsRatio) {
      const refuse = ERRORS[this.#declined % ERRORS.length] as () => Refusal;
      this.#declined += 1;
      throw refuse();
    }
  }

  /** Before an answer is sent. */
  async beforeAnswer(): Promise<void> {
    if (this.#faults.latencyMs > 0) await this.#wait(this.#faults.latencyMs);
  }

  /** Whether this stored upload's receipt is to get lost. */
  losesResponse(): boolean {
    return this.#faults.lostResponseRatio > 0 && this.#random() < this.#faults.lostResponseRatio;
  }

  /**
   * Resolves when the shared link carries these bytes. What it did not carry while this process was busy with others, up to
   * 100 ms, it makes up for: a real link fills the buffers of the system meanwhile.
   */
  async pass(bytes: number): Promise<void> {
    const rate = this.#faults.bandwidthBytesPerSecond;
    if (rate === 0) return;
    const nowMs = performance.now();
    this.#linkFreeAtMs = Math.max(nowMs - MOST_ARREARS_MS, this.#linkFreeAtMs) + (bytes / rate) * 1000;
    const waitMs = this.#linkFreeAtMs - nowMs;
    // Timers are good to a millisecond: shorter waits are owed and add up in `linkFreeAtMs`.
    if (waitMs >= 1) await this.#wait(waitMs);
  }

  #leftMs(spanMs: number): number {
    return this.#windowFromMs === null ? 0 : this.#windowFromMs + spanMs - performance.now();
  }

  async #wait(spanMs: number): Promise<void> {
    await sleep(spanMs, undefined, { signal: this.#closing }).catch(() => {
      // The service is closing: go on at once.
    });
  }
}

/** Mulberry32: a small generator whose sequence depends on the seed alone; 0 up to, not including, 1. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
