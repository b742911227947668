/** A clock for the uploader that never waits. */
import type { Clock } from '../../src/core/upload/types.js';

/** Time moves only by sleeping: a sleep ends on the next turn of the loop, with the clock moved to its end. */
export class ManualClock implements Clock {
  #nowMs = 0;
  readonly sleeps: number[] = [];

  nowMs(): number {
    return this.#nowMs;
  }

  advance(ms: number): void {
    this.#nowMs += ms;
  }

  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.sleeps.push(ms);
    const dueMs = this.#nowMs + ms;
    await new Promise((resolve) => setImmediate(resolve));
    signal.throwIfAborted();
    this.#nowMs = Math.max(this.#nowMs, dueMs);
  }
}
