/** Turns snapshots of an indexing into a rate and remaining time, for the live view and the plain lines alike. */
import type { IndexProgress, IndexSnapshot } from '../core/snapshot.js';
import { RateWindow } from './rate-window.js';

export type IndexMeterOptions = {
  readonly read: () => IndexSnapshot;
  /** Monotonic milliseconds, for the rate. */
  readonly nowMs: () => number;
  /** Epoch milliseconds, for what is shown as wall time. */
  readonly wallMs: () => number;
};

export class IndexMeter {
  readonly #options: IndexMeterOptions;
  readonly #startedAtMs: number;
  readonly #window = new RateWindow<'bytes'>();

  constructor(options: IndexMeterOptions) {
    this.#options = options;
    this.#startedAtMs = options.nowMs();
    // So that even the first figure has a beginning to grow from.
    this.#window.add(this.#startedAtMs, { bytes: options.read().bytes });
  }

  /** The snapshot of now, with what the last minute tells. */
  progress(): IndexProgress {
    const snapshot = this.#options.read();
    const nowMs = this.#options.nowMs();
    this.#window.add(nowMs, { bytes: snapshot.bytes });
    const bytesPerSecond = this.#window.perSecond('bytes');
    const { totalBytes, bytes } = snapshot;
    const isKnown = totalBytes !== null && bytesPerSecond !== null;
    return {
      ...snapshot,
      takenAtMs: this.#options.wallMs(),
      elapsedMs: nowMs - this.#startedAtMs,
      bytesPerSecond,
      remainingMs: isKnown ? (Math.max(0, totalBytes - bytes) * 1000) / bytesPerSecond : null,
    };
  }
}
