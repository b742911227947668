/**
 * Finds the episodes that arrived at an earlier step than one before them in the stream (I12). The step of an arrival
 * never goes back in what one writer wrote (spec 02 section 2, stamps), so a run was taken up at an earlier step, or
 * lines stand in another order.
 */
import type { OutOfOrderEpisode } from './outcome.js';

/** Digits and sign of 2^53. */
const MAX_STEP_BYTES = 17;

/** What is known of a stream up to some row. */
export type StepsSoFar = {
  /** Null when no episode says a step. */
  readonly largestStep: number | null;
  /** Episodes out of order. */
  readonly outOfOrder: number;
};

export const NO_STEPS: StepsSoFar = { largestStep: null, outOfOrder: 0 };

export class StepOrder {
  readonly #mostListed: number;
  readonly #first: OutOfOrderEpisode[] = [];
  #count = 0;
  #largest = Number.NEGATIVE_INFINITY;
  #beforeLast = NO_STEPS;

  /** `mostListed`: episodes that are listed; all are counted. */
  constructor(mostListed: number) {
    this.#mostListed = mostListed;
  }

  /** Takes over what was found in the rows before; `first` are those of them that were listed. */
  restore({ largestStep, outOfOrder }: StepsSoFar, first: readonly OutOfOrderEpisode[]): void {
    this.#largest = largestStep ?? Number.NEGATIVE_INFINITY;
    this.#count = outOfOrder;
    this.#first.push(...first);
    this.#beforeLast = this.soFar;
  }

  /** Takes the steps of the rows from number `firstLine` on, one a row, NaN where it says none. */
  add(steps: Float64Array, firstLine: number): void {
    const last = steps.length - 1;
    for (let row = 0; row <= last; row += 1) {
      if (row === last) this.#beforeLast = this.soFar;
      const step = steps[row] as number;
      // Both comparisons are false for NaN.
      if (step > this.#largest) this.#largest = step;
      else if (step < this.#largest) this.#note({ line: firstLine + row, step, after: this.#largest });
    }
  }

  get soFar(): StepsSoFar {
    return { largestStep: Number.isFinite(this.#largest) ? this.#largest : null, outOfOrder: this.#count };
  }

  /** The same without the last row. */
  get beforeLast(): StepsSoFar {
    return this.#beforeLast;
  }

  get found(): { readonly count: number; readonly first: readonly OutOfOrderEpisode[] } {
    return { count: this.#count, first: this.#first };
  }

  #note(episode: OutOfOrderEpisode): void {
    this.#count += 1;
    if (this.#first.length < this.#mostListed) this.#first.push(episode);
  }
}

/** The step that a number of JSON says: an integer literal that a number holds exactly; NaN for any other. */
export function stepOf(bytes: Uint8Array, start: number, length: number): number {
  if (length > MAX_STEP_BYTES) return Number.NaN;
  const text = String.fromCharCode(...bytes.subarray(start, start + length));
  const step = /^-?\d+$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(step) ? step : Number.NaN;
}
