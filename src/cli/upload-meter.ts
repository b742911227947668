/**
 * Turns snapshots of an upload into rates and remaining time. It is asked about ten times a second by the live view or
 * once in 30 s by the plain lines, and answers the same to both: rates are over the last 60 s (demand P1).
 */
import type { UploadProgress, UploadSnapshot } from '../core/snapshot.js';

/** The span that rates are taken over, in milliseconds. */
export const RATE_WINDOW_MS = 60_000;

/** Least time between two samples that are kept, so that a window holds at most 61 of them. */
const SAMPLE_INTERVAL_MS = 1000;

/** Figures of the queue's history kept for a view. */
const HISTORY_LENGTH = 30;

/** The counts whose growth is a rate. */
type Sample = { readonly atMs: number; readonly bytes: number; readonly wireBytes: number; readonly verified: number };

export type UploadMeterOptions = {
  readonly read: () => UploadSnapshot;
  /** Monotonic milliseconds, for rates. */
  readonly nowMs: () => number;
  /** Epoch milliseconds, for what is shown as wall time. */
  readonly wallMs: () => number;
};

/** Growth per second between two samples; null when no time passed or nothing grew. */
function growth(first: Sample, last: Sample, count: 'bytes' | 'wireBytes' | 'verified'): number | null {
  const spanMs = last.atMs - first.atMs;
  const grown = last[count] - first[count];
  return spanMs > 0 && grown > 0 ? (grown * 1000) / spanMs : null;
}

export class UploadMeter {
  readonly #options: UploadMeterOptions;
  readonly #startedAtMs: number;
  /** Oldest first, at least `SAMPLE_INTERVAL_MS` apart; the first may be older than the window, never the second. */
  readonly #samples: Sample[] = [];
  readonly #queueHistory: number[] = [];

  constructor(options: UploadMeterOptions) {
    this.#options = options;
    this.#startedAtMs = options.nowMs();
  }

  /** The snapshot of now, with what the last minute tells. */
  progress(): UploadProgress {
    const snapshot = this.#options.read();
    const nowMs = this.#options.nowMs();
    const { sent, verify } = snapshot;
    const now = { atMs: nowMs, bytes: sent.bytes, wireBytes: sent.wireBytes, verified: verify?.done ?? 0 };
    const first = this.#keep(now, snapshot.queued.bytes);
    const bytesPerSecond = growth(first, now, 'bytes');
    return {
      ...snapshot,
      takenAtMs: this.#options.wallMs(),
      elapsedMs: nowMs - this.#startedAtMs,
      bytesPerSecond,
      wireBytesPerSecond: growth(first, now, 'wireBytes'),
      remainingMs: remaining(snapshot, bytesPerSecond, growth(first, now, 'verified')),
      queueHistory: [...this.#queueHistory],
    };
  }

  /** Keeps the sample when the last one is old enough, and returns the oldest that the rates start from. */
  #keep(now: Sample, queuedBytes: number): Sample {
    const last = this.#samples.at(-1);
    if (last === undefined || now.atMs - last.atMs >= SAMPLE_INTERVAL_MS) {
      this.#samples.push(now);
      this.#queueHistory.push(queuedBytes);
      if (this.#queueHistory.length > HISTORY_LENGTH) this.#queueHistory.shift();
    }
    while (now.atMs - (this.#samples[1]?.atMs ?? now.atMs) >= RATE_WINDOW_MS) this.#samples.shift();
    return this.#samples[0] ?? now;
  }
}

/** Milliseconds to the end of the phase; null when nothing moves or the end is not known. */
function remaining(
  snapshot: UploadSnapshot,
  bytesPerSecond: number | null,
  verifiedPerSecond: number | null,
): number | null {
  const { phase, plan, sent, already, verify } = snapshot;
  if (phase === 'send' && bytesPerSecond !== null) {
    return (Math.max(0, plan.bytes - sent.bytes - already.bytes) * 1000) / bytesPerSecond;
  }
  if (phase === 'verify' && verify !== null && verifiedPerSecond !== null) {
    return ((verify.total - verify.done) * 1000) / verifiedPerSecond;
  }
  return null;
}
