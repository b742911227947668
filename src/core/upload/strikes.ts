/**
 * When a sink is given up (spec 07 section 3): three whole writes in a row that failed for a passing reason, or one that
 * failed for good. Ends of writes are told in the order they end in. What is retired stays so for the run, unless there
 * is a cooldown. `prl upload` has no strikes: it keeps trying (U12).
 */
import type { Verdict } from './delivery.js';

/**
 * Why a write failed: `transient` after all attempts; `rejected` for these records alone; `permanent` for any; and
 * `not_enabled` where the account is not admitted to the service, which is nobody's fault.
 */
export type WriteFailure = 'transient' | 'rejected' | 'permanent' | 'not_enabled';

/** What the records of a write are counted as. `skipped` is counted as no failure: the sink has switched itself off. */
export type CountedAs = 'stored' | 'rejected' | 'failed' | 'skipped';

export type StrikesOptions = {
  /** Whole writes in a row; default 3. */
  readonly limit?: number;
  /** A retired sink is tried again after it, with no strikes; default never. */
  readonly cooldownMs?: number;
  /** Told once for each strike and for each retirement, one line each. */
  readonly onNotice: (message: string) => void;
};

const DEFAULT_LIMIT = 3;

export class Strikes {
  readonly #limit: number;
  readonly #cooldownMs: number;
  readonly #onNotice: (message: string) => void;
  #strikes = 0;
  #retiredAtMs: number | null = null;
  #isOff = false;

  constructor({ limit = DEFAULT_LIMIT, cooldownMs = Number.POSITIVE_INFINITY, onNotice }: StrikesOptions) {
    this.#limit = limit;
    this.#cooldownMs = cooldownMs;
    this.#onNotice = onNotice;
  }

  /** What records are counted as that are not to be sent now; null when they are. To be asked before each write. */
  passesBy(nowMs: number): CountedAs | null {
    if (this.#isOff) return 'skipped';
    if (this.#retiredAtMs === null) return null;
    if (nowMs - this.#retiredAtMs < this.#cooldownMs) return 'failed';
    this.#retiredAtMs = null;
    this.#strikes = 0;
    return null;
  }

  /** A write was stored. One that began before the sink was retired brings it back no more. */
  stored(): void {
    this.#strikes = 0;
  }

  /** A write failed; returns what its records are counted as. `message` says why, in one line. */
  failed(failure: WriteFailure, message: string, nowMs: number): CountedAs {
    switch (failure) {
      case 'rejected':
        return 'rejected';
      case 'not_enabled':
        if (!this.#isOff) this.#onNotice(`nothing is sent to the service: ${message}`);
        this.#isOff = true;
        return 'skipped';
      case 'permanent':
        this.#retire(message, nowMs);
        return 'failed';
      case 'transient':
        this.#strike(message, nowMs);
        return 'failed';
    }
  }

  #strike(message: string, nowMs: number): void {
    if (this.#retiredAtMs !== null) return;
    this.#strikes += 1;
    if (this.#strikes >= this.#limit) this.#retire(`${this.#strikes} writes in a row failed: ${message}`, nowMs);
    else this.#onNotice(`a write failed (${this.#strikes} of ${this.#limit} in a row): ${message}`);
  }

  #retire(message: string, nowMs: number): void {
    if (this.#retiredAtMs !== null) return;
    this.#retiredAtMs = nowMs;
    this.#onNotice(`the service gets no more records: ${message}`);
  }
}

/** What a verdict on a write means for its sink; null when it was stored. */
export function writeFailureOf(verdict: Verdict): WriteFailure | null {
  switch (verdict.outcome) {
    case 'stored':
      return null;
    case 'refused':
      return 'rejected';
    case 'gave_up':
      return 'transient';
    case 'stop':
      return verdict.status === 403 && verdict.code === 'service_not_enabled' ? 'not_enabled' : 'permanent';
  }
}
