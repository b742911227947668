/** At most so many of a kind of work at once; the others wait in the order they came. */
export class Turns {
  readonly #limit: number;
  readonly #waiting: (() => void)[] = [];
  #taken = 0;

  /** @param limit 1 or more */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Runs `work` when it is its turn; resolves and rejects as it does. */
  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#taken >= this.#limit) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#taken += 1;
    try {
      return await work();
    } finally {
      // A turn that ends passes to whoever waits longest, so nobody can come in between.
      const next = this.#waiting.shift();
      if (next === undefined) this.#taken -= 1;
      else next();
    }
  }
}
