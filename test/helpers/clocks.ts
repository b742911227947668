/** Virtual time for the uploader: minutes of waiting in milliseconds, in the order real time would bring. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../src/core/upload/types.js';

/** Turns of the event loop without a new sleeper after which nothing but time can go on. */
const IDLE_TURNS = 4;
/** What Node takes; no test waits so long. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

type Sleeper = { readonly dueMs: number; readonly wake: () => void };

/** Time stands still while there is work, and jumps to the next sleeper when there is none. */
export class VirtualClock implements Clock {
  #nowMs = 0;
  #sleepers: Sleeper[] = [];
  #isPumping = false;
  #activity = 0;

  nowMs(): number {
    return this.#nowMs;
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const onAbort = (): void => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        reject(signal.reason);
      };
      const wake = (): void => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      const sleeper = { dueMs: this.#nowMs + ms, wake };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#sleepers.push(sleeper);
      this.#activity += 1;
      if (!this.#isPumping) void this.#pump();
    });
  }

  async #pump(): Promise<void> {
    this.#isPumping = true;
    while (this.#sleepers.length > 0) {
      await this.#idle();
      this.#sleepers.sort((a, b) => a.dueMs - b.dueMs);
      const next = this.#sleepers.shift();
      if (next === undefined) break;
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      next.wake();
    }
    this.#isPumping = false;
  }

  async #idle(): Promise<void> {
    for (let turns = 0; turns < IDLE_TURNS; turns += 1) {
      const before = this.#activity;
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#activity !== before) turns = -1;
    }
  }
}

/** Real time, faster: for uploads over real sockets, where nothing tells when time may jump. */
export class FastClock implements Clock {
  readonly #factor: number;

  constructor(factor: number) {
    this.#factor = factor;
  }

  nowMs(): number {
    return performance.now() * this.#factor;
  }

  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    await delay(Math.min(ms / this.#factor, LONGEST_TIMER_MS), undefined, { signal });
  }
}
