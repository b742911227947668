/**
 * The bytes of one request as they arrive, at the reader's pace (a slow reader holds the peer back through TCP), with a
 * cap on their number and on how slowly a peer may send them. Time spent waiting for ourselves is not the peer's.
 */
import type { IncomingMessage } from 'node:http';
import type { ServiceLimits } from './limits.js';
import { Refusal } from './refusal.js';

/** The peer went away before the end of its request: nobody is left to be answered. */
export class PeerGone extends Error {
  constructor() {
    super('the peer closed the connection before the end of its request');
    this.name = 'PeerGone';
  }
}

type Waiter = { resolve(result: IteratorResult<Buffer, undefined>): void; reject(error: Error): void };

export type BodyLimits = Pick<
  ServiceLimits,
  'requestBytes' | 'progressMs' | 'progressBytes' | 'lingerMs' | 'lingerBytes'
>;

/** What lies between the peer and the reader. */
export type BodyLink = {
  /** Resolves when the link may carry that many bytes: the place of the bandwidth fault. */
  readonly pass: (bytes: number) => Promise<void>;
  /** Called once, before the first byte is waited for: the place to answer `Expect: 100-continue`. */
  readonly invite: () => void;
  /** Aborted when the service closes. */
  readonly closing: AbortSignal;
};

/** Pull-based reader over a request. One `next` at a time; `close` must be called when the request is over. */
export class RequestBody implements AsyncIterator<Buffer, undefined> {
  readonly #request: IncomingMessage;
  readonly #limits: BodyLimits;
  readonly #link: BodyLink;
  readonly #timer: NodeJS.Timeout;
  readonly #arrived: Buffer[] = [];
  #waiter: Waiter | null = null;
  #failure: Error | null = null;
  #isEnded = false;
  #isInvited = false;
  #isDiscarding = false;
  #totalBytes = 0;
  #windowBytes = 0;
  #windowWaitedMs = 0;
  #waitingSinceMs = 0;

  constructor(request: IncomingMessage, limits: BodyLimits, link: BodyLink) {
    this.#request = request;
    this.#limits = limits;
    this.#link = link;
    this.#timer = setInterval(() => this.#judgeProgress(), limits.progressMs);
    request.on('data', (bytes: Buffer) => this.#take(bytes));
    request.on('end', () => this.#end());
    request.on('error', () => this.#fail(new PeerGone()));
    request.on('close', () => {
      if (!request.complete) this.#fail(new PeerGone());
    });
    request.pause();
  }

  /**
   * The next bytes of the body.
   *
   * @throws Refusal 413 above `requestBytes`, 408 when the peer sends too slowly; PeerGone when it left, and after
   *   `discard`.
   */
  async next(): Promise<IteratorResult<Buffer, undefined>> {
    if (this.#isDiscarding) throw new PeerGone();
    if (!this.#isInvited) this.#link.invite();
    this.#isInvited = true;
    const result = await this.#pull();
    if (this.#totalBytes > this.#limits.requestBytes) throw tooLarge(this.#limits.requestBytes);
    if (!result.done) await this.#link.pass(result.value.length);
    return result;
  }

  /** Whether the whole body has arrived, read or not. */
  get isComplete(): boolean {
    return this.#isEnded || this.#request.complete;
  }

  /**
   * After an early answer: reads and throws away what the peer still sends, within the linger bounds, so that the
   * answer is not lost in a reset; then cuts the connection if the peer has not come to its end. A service that closes
   * does not wait for it.
   */
  async discard(): Promise<void> {
    this.close();
    this.#isDiscarding = true;
    this.#arrived.length = 0;
    if (this.#failure instanceof PeerGone) return;
    this.#failure = null;
    const allowedBytes = this.#totalBytes + this.#limits.lingerBytes;
    const giveUp = (): void => this.#fail(new PeerGone());
    const timer = setTimeout(giveUp, this.#limits.lingerMs);
    this.#link.closing.addEventListener('abort', giveUp);
    try {
      if (this.#link.closing.aborted) throw new PeerGone();
      while (!(await this.#pull()).done) {
        if (this.#totalBytes > allowedBytes) throw new PeerGone();
      }
    } catch {
      // Whatever ended it, the answer has been given; only the connection is left to be cut.
      this.#request.destroy();
    } finally {
      clearTimeout(timer);
      this.#link.closing.removeEventListener('abort', giveUp);
    }
  }

  /** Stops the progress clock. */
  close(): void {
    clearInterval(this.#timer);
  }

  #pull(): Promise<IteratorResult<Buffer, undefined>> {
    const bytes = this.#arrived.shift();
    if (bytes !== undefined) return Promise.resolve({ done: false, value: bytes });
    if (this.#failure !== null) return Promise.reject(this.#failure);
    if (this.#isEnded) return Promise.resolve({ done: true, value: undefined });
    this.#waitingSinceMs = performance.now();
    return new Promise((resolve, reject) => {
      this.#waiter = { resolve, reject };
      this.#request.resume();
    });
  }

  #take(bytes: Buffer): void {
    this.#totalBytes += bytes.length;
    this.#windowBytes += bytes.length;
    this.#request.pause();
    const waiter = this.#stopWaiting();
    if (waiter === null) this.#arrived.push(bytes);
    else waiter.resolve({ done: false, value: bytes });
  }

  #end(): void {
    this.#isEnded = true;
    this.close();
    this.#stopWaiting()?.resolve({ done: true, value: undefined });
  }

  #fail(error: Error): void {
    if (this.#isEnded) return;
    this.#failure ??= error;
    this.#stopWaiting()?.reject(this.#failure);
  }

  #stopWaiting(): Waiter | null {
    const waiter = this.#waiter;
    this.#waiter = null;
    if (waiter !== null) this.#windowWaitedMs += performance.now() - this.#waitingSinceMs;
    return waiter;
  }

  /** At the end of each window: a peer that was waited for all through it must have sent enough. */
  #judgeProgress(): void {
    const { progressMs, progressBytes } = this.#limits;
    const waitedMs =
      this.#waiter === null
        ? this.#windowWaitedMs
        : this.#windowWaitedMs + Math.min(progressMs, performance.now() - this.#waitingSinceMs);
    const isTooSlow = waitedMs >= progressMs * 0.9 && this.#windowBytes < progressBytes;
    const bytes = this.#windowBytes;
    this.#windowBytes = 0;
    this.#windowWaitedMs = 0;
    if (!isTooSlow) return;
    const message = `the body stopped: ${bytes} bytes in ${progressMs} ms, at least ${progressBytes} are expected`;
    this.#fail(new Refusal(408, 'request_timeout', message));
  }
}

/**
 * Refuses a body by its declared length, before any of it is read.
 *
 * @throws Refusal 413 without a code, as a gateway answers.
 */
export function checkDeclaredLength(request: IncomingMessage, requestBytes: number): void {
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > requestBytes) throw tooLarge(requestBytes);
}

export function tooLarge(requestBytes: number): Refusal {
  return new Refusal(413, null, `Request Entity Too Large: at most ${requestBytes} bytes a request`);
}
