/** Turns snapshots of an upload into rates and remaining time, for the live view and the plain lines alike. */
import type { UploadProgress, UploadSnapshot } from '../core/snapshot.js';
import { RateWindow } from './rate-window.js';

/** Figures of the queue's history kept for a view. */
const HISTORY_LENGTH = 30;

export type UploadMeterOptions = {
  readonly read: () => UploadSnapshot;
  /** Monotonic milliseconds, for rates. */
  readonly nowMs: () => number;
  /** Epoch milliseconds, for what is shown as wall time. */
  readonly wallMs: () => number;
};

export class UploadMeter {
  readonly #options: UploadMeterOptions;
  readonly #startedAtMs: number;
  readonly #window = new RateWindow<'bytes' | 'wireBytes' | 'verified'>();
  readonly #queueHistory: number[] = [];

  constructor(options: UploadMeterOptions) {
    this.#options = options;
    this.#startedAtMs = options.nowMs();
  }

  /** The snapshot of now, with what the last minute tells. */
  progress(): UploadProgress {
    const snapshot = this.#options.read();
    const nowMs = this.#options.nowMs();
    const { sent, verify, queued } = snapshot;
    const counts = { bytes: sent.bytes, wireBytes: sent.wireBytes, verified: verify?.done ?? 0 };
    if (this.#window.add(nowMs, counts)) this.#queueHistory.push(queued.bytes);
    if (this.#queueHistory.length > HISTORY_LENGTH) this.#queueHistory.shift();
    const bytesPerSecond = this.#window.perSecond('bytes');
    return {
      ...snapshot,
      takenAtMs: this.#options.wallMs(),
      elapsedMs: nowMs - this.#startedAtMs,
      bytesPerSecond,
      wireBytesPerSecond: this.#window.perSecond('wireBytes'),
      remainingMs: remaining(snapshot, bytesPerSecond, this.#window.perSecond('verified')),
      queueHistory: [...this.#queueHistory],
    };
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
