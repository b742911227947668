/** Tells of dropped records without flooding a log (R-Q-5): the first at once, then one line in ten seconds at most. */

/** `records` since the last warning, so that all of them add up to `total`. */
export type DropWarning = { readonly records: number; readonly total: number };

const WARNING_INTERVAL_MS = 10_000;

export class DropWarnings {
  readonly #onWarning: (warning: DropWarning) => void;
  #warnedAtMs = Number.NEGATIVE_INFINITY;
  #untold = 0;
  #total = 0;

  constructor(onWarning: (warning: DropWarning) => void) {
    this.#onWarning = onWarning;
  }

  /** Records dropped so far. */
  get total(): number {
    return this.#total;
  }

  drop(records: number, nowMs: number): void {
    this.#total += records;
    this.#untold += records;
    if (nowMs - this.#warnedAtMs < WARNING_INTERVAL_MS) return;
    this.#warnedAtMs = nowMs;
    this.#tell();
  }

  /** The closing summary: what no warning has told. */
  close(): void {
    if (this.#untold > 0) this.#tell();
  }

  #tell(): void {
    const records = this.#untold;
    this.#untold = 0;
    this.#onWarning({ records, total: this.#total });
  }
}
