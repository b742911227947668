/** When to try again: own back-off, and the one gate that all requests of an upload share. Monotonic time only. */
import { FIRST_BACKOFF_MS, MAX_BACKOFF_MS } from './limits.js';
import type { Clock } from './types.js';

/**
 * Own back-off before attempt `failures + 1`: min(30 s, 2^(failures - 1) s), times a jitter between 1 and 1.5.
 * Jitter only adds (U10): no client comes back earlier than the plain back-off.
 *
 * @param failures failed attempts so far, 1 or more
 * @param random 0 inclusive to 1 exclusive
 */
export function backoffMs(failures: number, random: number): number {
  const plainMs = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (failures - 1));
  return plainMs * (1 + random / 2);
}

/** The right to send one request. A probe is the only request under way after a closed gate. */
export type Pass = { readonly isProbe: boolean };

/**
 * Closed by a Retry-After, for everybody (spec 06 section 6, U10). When the time is over one request goes first, the
 * probe; the others follow when the service has taken it, and wait on when it has not.
 */
export class RetryGate {
  readonly #clock: Clock;
  #state: 'open' | 'closed' = 'open';
  #closedUntilMs = 0;
  #isProbing = false;
  #waiters: (() => void)[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Monotonic time until which nobody starts; null while the gate is open. */
  get closedUntilMs(): number | null {
    return this.#state === 'open' ? null : this.#closedUntilMs;
  }

  /** Waits for the right to send. Rejects with the signal's reason. */
  async enter(signal: AbortSignal): Promise<Pass> {
    for (;;) {
      signal.throwIfAborted();
      if (this.#state === 'open') return { isProbe: false };
      const waitMs = this.#closedUntilMs - this.#clock.nowMs();
      if (waitMs > 0) await this.#clock.sleep(waitMs, signal);
      else if (!this.#isProbing) {
        this.#isProbing = true;
        return { isProbe: true };
      } else await this.#changed(signal);
    }
  }

  /** Closes for at least `waitMs` from now; an earlier, longer wait stands. */
  close(waitMs: number): void {
    this.#closedUntilMs = Math.max(this.#state === 'closed' ? this.#closedUntilMs : 0, this.#clock.nowMs() + waitMs);
    this.#state = 'closed';
  }

  /** Ends a pass. Only a probe that the service answered for good opens the gate; `retryMs` is the wait after one that it did not. */
  leave(pass: Pass, wasAnswered: boolean, retryMs: number): void {
    if (!pass.isProbe) return;
    this.#isProbing = false;
    if (wasAnswered) this.#state = 'open';
    else this.close(retryMs);
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) wake();
  }

  #changed(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => reject(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiters.push(() => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      });
    });
  }
}
