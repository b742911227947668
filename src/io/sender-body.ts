/**
 * A request body that knows how much of it the socket has taken and can be told to stop. One per attempt: a consumed
 * stream is never sent again (U14).
 */
import { Readable } from 'node:stream';

/** Small enough that a stop takes effect within a slice or two, large enough to cost nothing at 1 GB/s. */
const SLICE_BYTES = 64 * 1024;

export class SenderBody extends Readable {
  readonly #slices: readonly Buffer[];
  readonly #onAccepted: (bytes: number) => void;
  #sliceIndex = 0;
  #sliceOffset = 0;
  #lastPushedBytes = 0;
  #isStopped = false;

  /** Bytes the socket has taken over. */
  acceptedBytes = 0;
  /** True when every byte was handed to the socket. */
  isComplete = false;

  /** @param onAccepted called with the bytes of a slice when the socket asks for the next one */
  constructor(slices: readonly Buffer[], onAccepted: (bytes: number) => void) {
    super({ highWaterMark: SLICE_BYTES });
    this.#slices = slices;
    this.#onAccepted = onAccepted;
    // Undici destroys the body with the request's error and reports that error itself.
    this.on('error', () => {});
  }

  /** Hands out nothing more; what the socket holds already may still leave. */
  stop(): void {
    this.#isStopped = true;
  }

  override _read(): void {
    this.#accept();
    if (this.#isStopped) return;
    const slice = this.#next();
    if (slice === null) this.isComplete = true;
    else this.#lastPushedBytes = slice.length;
    this.push(slice);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#isStopped = true;
    callback(error);
  }

  /** Being asked again means that the last slice was taken. */
  #accept(): void {
    if (this.#lastPushedBytes === 0) return;
    this.acceptedBytes += this.#lastPushedBytes;
    this.#onAccepted(this.#lastPushedBytes);
    this.#lastPushedBytes = 0;
  }

  #next(): Buffer | null {
    for (let slice = this.#slices[this.#sliceIndex]; slice !== undefined; slice = this.#slices[this.#sliceIndex]) {
      if (this.#sliceOffset < slice.length) {
        const start = this.#sliceOffset;
        this.#sliceOffset = Math.min(slice.length, start + SLICE_BYTES);
        return slice.subarray(start, this.#sliceOffset);
      }
      this.#sliceIndex += 1;
      this.#sliceOffset = 0;
    }
    return null;
  }
}
