/**
 * A token bucket over body bytes, shared by all requests of an upload (`--bwlimit`). Who takes bytes is told how long to
 * wait before they may leave; waits follow each other in the order they were asked for, so that nobody starves. The
 * clock is the caller's, and monotonic (U25).
 */

/** What an idle bucket gathers at most: so much of a burst goes unseen by whoever set the limit. */
const BURST_MS = 100;
/** A stretch of bytes takes about this long, so that a slow limit flows and does not come in gusts. */
const SLICE_MS = 50;
const MIN_SLICE_BYTES = 1024;
const MAX_SLICE_BYTES = 64 * 1024;
/** Shorter waits are no timer's work; they add up in the bucket until they are. */
const LEAST_WAIT_MS = 2;

export class BandwidthLimit {
  readonly #bytesPerSecond: number;
  /** The most that should be taken at once: 1 to 64 KiB. */
  readonly sliceBytes: number;
  /** When everything that was taken will have left. */
  #freeAtMs = Number.NEGATIVE_INFINITY;

  /** @param bytesPerSecond above 0 */
  constructor(bytesPerSecond: number) {
    this.#bytesPerSecond = bytesPerSecond;
    const slice = Math.round((bytesPerSecond * SLICE_MS) / 1000);
    this.sliceBytes = Math.min(MAX_SLICE_BYTES, Math.max(MIN_SLICE_BYTES, slice));
  }

  /** Takes bytes; returns the milliseconds until they may leave. What is taken and never sent stays taken. */
  take(bytes: number, nowMs: number): number {
    const startMs = Math.max(this.#freeAtMs, nowMs - BURST_MS);
    this.#freeAtMs = startMs + (bytes * 1000) / this.#bytesPerSecond;
    const waitMs = startMs - nowMs;
    return waitMs < LEAST_WAIT_MS ? 0 : waitMs;
  }
}
