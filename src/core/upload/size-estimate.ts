/**
 * How large a record is that nobody has encoded yet (R-Q-3, spec 07 section 5.1): the larger of the mean of all and of the
 * mean of the last 64 that were measured, so that a shift to larger records tells soon and one to smaller ones late.
 */
const RECENT_RECORDS = 64;
const UNMEASURED_BYTES = 1024 * 1024;

export class SizeEstimate {
  readonly #recent: number[] = [];
  #count = 0;
  #sumBytes = 0;
  #recentBytes = 0;

  /** Bytes of a record; 1 MiB before the first measurement. */
  get bytes(): number {
    if (this.#count === 0) return UNMEASURED_BYTES;
    return Math.max(this.#sumBytes / this.#count, this.#recentBytes / this.#recent.length);
  }

  add(bytes: number): void {
    const place = this.#count % RECENT_RECORDS;
    this.#recentBytes += bytes - (this.#recent[place] ?? 0);
    this.#recent[place] = bytes;
    this.#count += 1;
    this.#sumBytes += bytes;
  }
}
