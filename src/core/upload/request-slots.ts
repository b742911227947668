/**
 * The right to have a request in flight: at most as many at once as the limit says at the moment, the others in the
 * order they came. A limit that falls takes no right away; nobody follows until enough have left.
 */
export class RequestSlots {
  readonly #limit: { readonly limit: number };
  readonly #waiting: (() => void)[] = [];
  #taken = 0;

  constructor(limit: { readonly limit: number }) {
    this.#limit = limit;
  }

  /** Rejects with the reason of the signal. */
  async enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#waiting.length === 0 && this.#taken < this.#limit.limit) this.#taken += 1;
    else await this.#wait(signal);
  }

  /** To be called once for each right, after the limit has been told how the request ended. */
  leave(): void {
    this.#taken -= 1;
    while (this.#waiting.length > 0 && this.#taken < this.#limit.limit) {
      this.#taken += 1;
      this.#waiting.shift()?.();
    }
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(wake), 1);
        reject(signal.reason);
      };
      const wake = (): void => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      this.#waiting.push(wake);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }
}
