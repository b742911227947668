/**
 * Memory for the bytes of long lines that is used again. Left to the engine, it costs an upload a collection for every 17 MB
 * that are read and a page fault for every 4 KiB: 15 % of its processor time (Node 24, lines of 2.3 MiB). Whoever gives
 * nothing back loses nothing: then the engine collects as ever.
 */

/** The memory of one line; nobody reads it any more once it was given back. */
export type LineLease = {
  /** May be called again, to no effect. */
  release(): void;
};

export type LeasedBytes = {
  /** Not initialized. */
  readonly bytes: Buffer;
  /** Null for memory that is not worth to be kept. */
  readonly lease: LineLease | null;
};

/** Shorter lines are what the engine is made for. */
const LEAST_BYTES = 64 * 1024;
/** Buffers are a little longer than what they are made for, so that the next line fits as well. */
const SLACK_RATIO = 33 / 32;
/** And not much longer than the line in them: memory that no budget counts. */
const MOST_WASTE_RATIO = 1.25;

export class LineMemory {
  readonly #mostFreeBytes: number;
  /** In the order they were given back. */
  readonly #free: Buffer[] = [];
  #freeBytes = 0;

  /** @param mostFreeBytes kept for lines to come; what is given back beyond it is left to the engine */
  constructor(mostFreeBytes: number) {
    this.#mostFreeBytes = mostFreeBytes;
  }

  /** Bytes that wait for lines to come. */
  get freeBytes(): number {
    return this.#freeBytes;
  }

  allocate(length: number): LeasedBytes {
    if (length < LEAST_BYTES) return { bytes: Buffer.allocUnsafe(length), lease: null };
    const whole = this.#take(length) ?? Buffer.allocUnsafeSlow(Math.ceil(length * SLACK_RATIO));
    let isLeased = true;
    const release = (): void => {
      if (isLeased) this.#give(whole);
      isLeased = false;
    };
    return { bytes: whole.subarray(0, length), lease: { release } };
  }

  /** The shortest that is long enough. */
  #take(length: number): Buffer | null {
    let found = -1;
    for (const [index, { length: capacity }] of this.#free.entries()) {
      if (capacity < length || capacity > length * MOST_WASTE_RATIO) continue;
      if (found < 0 || capacity < (this.#free[found] as Buffer).length) found = index;
    }
    const [taken = null] = found < 0 ? [] : this.#free.splice(found, 1);
    this.#freeBytes -= taken?.length ?? 0;
    return taken;
  }

  #give(whole: Buffer): void {
    this.#free.push(whole);
    this.#freeBytes += whole.length;
    while (this.#freeBytes > this.#mostFreeBytes) this.#freeBytes -= this.#free.shift()?.length ?? 0;
  }
}
