/** Work in slices: whoever works asks now and then whether its slice is over, and then gives the event loop its turn. */
import type { Pace } from './types.js';

/**
 * The slices of one worker, whatever it does in them: encoding, rows, copying. A slice begins when the loop comes back;
 * so the first one begins with the first `giveBack`, and waiting for a disk uses it up.
 */
export class Slices {
  readonly #pace: Pace;
  #endAtMs = Number.NEGATIVE_INFINITY;

  constructor(pace: Pace) {
    this.#pace = pace;
  }

  /** Whether the loop should have its turn now. Bound, to be handed over as it is. */
  readonly isOver = (): boolean => this.#pace.nowMs() >= this.#endAtMs;

  /** Gives the loop its turn and begins a slice. */
  async giveBack(): Promise<void> {
    await this.#pace.giveBack();
    this.#endAtMs = this.#pace.nowMs() + this.#pace.sliceMs;
  }

  /** Takes steps to their end, with turns for the loop in between. */
  async run<R>(steps: Generator<void, R, void>): Promise<R> {
    for (let step = steps.next(); ; step = steps.next()) {
      if (step.done === true) return step.value;
      if (this.isOver()) await this.giveBack();
    }
  }
}
