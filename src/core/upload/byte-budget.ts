/**
 * A budget in bytes that several owners share (U7). Who wants more waits in line, and the line moves strictly from its
 * front, so that a large owner is not passed by for ever. An owner that nobody else could make room for goes above the
 * budget alone: one batch or one line may be larger than everything allowed, and must be sent all the same (U8, R05).
 */
type Waiter = {
  readonly share: Share;
  /** What the share will hold. */
  readonly bytes: number;
  readonly wake: () => void;
};

export class ByteBudget {
  readonly budgetBytes: number;
  readonly #waiters: Waiter[] = [];
  #usedBytes = 0;
  #peakBytes = 0;

  /** @param budgetBytes above 0 */
  constructor(budgetBytes: number) {
    this.budgetBytes = budgetBytes;
  }

  /** Held now by all owners together; above the budget only where one owner went alone, or held more than it thought. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** The most that was held at once. */
  get peakBytes(): number {
    return this.#peakBytes;
  }

  /** A share that holds nothing yet. */
  share(): Share {
    return new Share({
      wait: (share, bytes, signal) => this.#wait(share, bytes, signal),
      add: (bytes) => this.#add(bytes),
    });
  }

  #add(bytes: number): void {
    this.#usedBytes += bytes;
    this.#peakBytes = Math.max(this.#peakBytes, this.#usedBytes);
    if (bytes < 0) this.#admit();
  }

  #wait(share: Share, bytes: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
        this.#admit(); // whoever stood behind a large one may fit now
        reject(signal.reason);
      };
      const wake = (): void => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      const waiter = { share, bytes, wake };
      this.#waiters.push(waiter);
      signal.addEventListener('abort', onAbort, { once: true });
      this.#admit();
    });
  }

  #admit(): void {
    for (let first = this.#waiters[0]; first !== undefined && this.#fits(first); first = this.#waiters[0]) {
      this.#waiters.shift();
      first.share.settle(first.bytes);
      first.wake();
    }
  }

  #fits({ share, bytes }: Waiter): boolean {
    const othersBytes = this.#usedBytes - share.bytes;
    return othersBytes === 0 || othersBytes + bytes <= this.budgetBytes;
  }
}

type Account = {
  readonly wait: (share: Share, bytes: number, signal: AbortSignal) => Promise<void>;
  /** Below 0 gives back. */
  readonly add: (bytes: number) => void;
};

/**
 * What one owner holds. An owner that waits for more while it holds something must be the only one that does: two of
 * them would wait for each other.
 */
export class Share {
  readonly #account: Account;
  #bytes = 0;

  constructor(account: Account) {
    this.#account = account;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Holds `bytes` from now on: less at once, more when they fit. Rejects with the reason of the signal, unchanged. */
  async resize(bytes: number, signal: AbortSignal): Promise<void> {
    if (bytes <= this.#bytes) return this.settle(bytes);
    signal.throwIfAborted();
    await this.#account.wait(this, bytes, signal);
  }

  /** States what is held in truth, without waiting: the bytes are there already. */
  settle(bytes: number): void {
    const change = bytes - this.#bytes;
    this.#bytes = bytes;
    if (change !== 0) this.#account.add(change);
  }

  /** Hands `bytes` of it, at most all, over to an owner of their own. */
  split(bytes: number): Share {
    const part = new Share(this.#account);
    part.#bytes = Math.min(bytes, this.#bytes);
    this.#bytes -= part.#bytes;
    return part;
  }

  /** Gives everything back; may be called again. */
  release(): void {
    this.settle(0);
  }
}
