/**
 * A request body that knows how much of it the socket has taken, waits for the bandwidth limit before each slice, and can
 * be told to stop. One per attempt: a consumed stream is never sent again (U14).
 */
import { Readable } from 'node:stream';
import type { BandwidthLimit } from '../core/upload/bandwidth.js';

/** Small enough that a stop takes effect within a slice or two, large enough to cost nothing at 1 GB/s. */
const SLICE_BYTES = 64 * 1024;

export type SenderBodyOptions = {
  /** Null or left out: as fast as the socket takes it. */
  readonly bandwidth?: BandwidthLimit | null;
  /** Called with the bytes of a slice when the socket asks for the next one. */
  readonly onAccepted: (bytes: number) => void;
  /** Called before a wait of our own, in milliseconds, and with 0 when it is over. */
  readonly onOwnWait?: (waitMs: number) => void;
};

export class SenderBody extends Readable {
  readonly #slices: readonly Buffer[];
  readonly #options: SenderBodyOptions;
  readonly #sliceBytes: number;
  #sliceIndex = 0;
  #sliceOffset = 0;
  #lastPushedBytes = 0;
  #isStopped = false;
  #timer: NodeJS.Timeout | null = null;

  /** Bytes the socket has taken over. */
  acceptedBytes = 0;
  /** True when every byte was handed to the socket. */
  isComplete = false;

  constructor(slices: readonly Buffer[], options: SenderBodyOptions) {
    const sliceBytes = options.bandwidth?.sliceBytes ?? SLICE_BYTES;
    super({ highWaterMark: sliceBytes });
    this.#slices = slices;
    this.#options = options;
    this.#sliceBytes = sliceBytes;
    // Undici destroys the body with the request's error and reports that error itself.
    this.on('error', () => {});
  }

  /** Hands out nothing more; what the socket holds already may still leave. */
  stop(): void {
    this.#isStopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  override _read(): void {
    this.#accept();
    if (this.#isStopped) return;
    const slice = this.#next();
    if (slice === null) {
      this.isComplete = true;
      this.push(null);
      return;
    }
    const waitMs = this.#options.bandwidth?.take(slice.length, performance.now()) ?? 0;
    if (waitMs === 0) this.#hand(slice);
    else this.#handAfter(waitMs, slice);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.stop();
    callback(error);
  }

  #handAfter(waitMs: number, slice: Buffer): void {
    this.#options.onOwnWait?.(waitMs);
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#options.onOwnWait?.(0);
      this.#hand(slice);
    }, waitMs);
  }

  #hand(slice: Buffer): void {
    this.#lastPushedBytes = slice.length;
    this.push(slice);
  }

  /** Being asked again means that the last slice was taken. */
  #accept(): void {
    if (this.#lastPushedBytes === 0) return;
    this.acceptedBytes += this.#lastPushedBytes;
    this.#options.onAccepted(this.#lastPushedBytes);
    this.#lastPushedBytes = 0;
  }

  #next(): Buffer | null {
    for (let slice = this.#slices[this.#sliceIndex]; slice !== undefined; slice = this.#slices[this.#sliceIndex]) {
      if (this.#sliceOffset < slice.length) {
        const start = this.#sliceOffset;
        this.#sliceOffset = Math.min(slice.length, start + this.#sliceBytes);
        return slice.subarray(start, this.#sliceOffset);
      }
      this.#sliceIndex += 1;
      this.#sliceOffset = 0;
    }
    return null;
  }
}
