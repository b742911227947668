/**
 * When something that crashed is started again: after a back-off that doubles, and so many times in a window of time
 * only; then it rests until the window has moved on. It is never given up (U12). Times are handed in.
 */

export type RestartsOptions = {
  /** Starts within the window; default 5. */
  readonly limit?: number;
  readonly windowMs?: number;
};

const DEFAULT_LIMIT = 5;
const DEFAULT_WINDOW_MS = 600_000;
const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 30_000;

export class Restarts {
  readonly #limit: number;
  readonly #windowMs: number;
  /** Those within the window, oldest first. */
  #startsMs: number[] = [];

  constructor({ limit = DEFAULT_LIMIT, windowMs = DEFAULT_WINDOW_MS }: RestartsOptions = {}) {
    this.#limit = limit;
    this.#windowMs = windowMs;
  }

  /**
   * Notes a crash. Returns how long to wait before the next start, in ms.
   * @param nowMs monotonic
   */
  crashed(nowMs: number): number {
    this.#startsMs = this.#startsMs.filter((atMs) => nowMs - atMs < this.#windowMs);
    const backoffMs = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** this.#startsMs.length);
    const [oldestMs] = this.#startsMs.slice(-this.#limit);
    const isResting = this.#startsMs.length >= this.#limit && oldestMs !== undefined;
    const startMs = isResting ? Math.max(nowMs + backoffMs, oldestMs + this.#windowMs) : nowMs + backoffMs;
    this.#startsMs.push(startMs);
    return startMs - nowMs;
  }
}
