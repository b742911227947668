/** Waits that end: early, because somebody says so, or late, because time is over. */

/** What a timer takes. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** A wait that anybody can end, and that keeps no process alive. */
export class Nap {
  #wake: () => void = () => {};

  /** Resolves after `ms`, or with the next `wake`. One at a time. */
  async sleep(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, Math.min(ms, MAX_TIMER_MS));
    timer.unref();
    this.#wake = resolve;
    await promise;
    clearTimeout(timer);
  }

  wake(): void {
    this.#wake();
  }
}

/** What comes of some work; `late` when nothing has after `ms`. Keeps the process alive until then. */
export async function within<T>(ms: number, work: Promise<T>): Promise<T | 'late'> {
  const { promise, resolve } = Promise.withResolvers<'late'>();
  const timer = setTimeout(() => resolve('late'), Math.max(0, Math.min(ms, MAX_TIMER_MS)));
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
