/**
 * One HTTP request and its answer, with a deadline on progress instead of on total time (U13), and with the body
 * stopped as soon as a final status is there (U15). The path is passed raw: WHATWG URL parsing would climb on `%2E%2E`.
 */
import type { Agent, Dispatcher } from 'undici';
import type { BandwidthLimit } from '../core/upload/bandwidth.js';
import { MAX_ANSWER_BYTES, PROGRESS_TIMEOUT_MS } from '../core/upload/limits.js';
import { SenderBody } from './sender-body.js';
import { type ExchangeProgress, StallError } from './sender-failure.js';

export type Exchange = {
  readonly origin: string;
  /** Path and query exactly as they go on the wire. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly slices: readonly Buffer[];
  readonly bodyBytes: number;
};

export type ExchangeAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
  /** False when the connection broke, or our patience ended, before the whole body of the answer was read. */
  readonly isWhole: boolean;
};

export type ExchangeOptions = {
  readonly agent: Agent;
  readonly signal: AbortSignal;
  /** Milliseconds without a byte either way before the exchange fails; default 60,000. */
  readonly progressTimeoutMs?: number;
  /** Milliseconds from the last byte of the body to the answer; default as above. */
  readonly answerTimeoutMs?: number;
  /** Shared by all exchanges that it limits; null or left out: none. */
  readonly bandwidth?: BandwidthLimit | null;
  /** Told of every stretch of body bytes the socket takes over. */
  readonly onAccepted?: (bytes: number) => void;
};

export type ExchangeResult =
  | { readonly ok: true; readonly answer: ExchangeAnswer; readonly progress: ExchangeProgress }
  | {
      readonly ok: false;
      readonly error: unknown;
      readonly progress: ExchangeProgress;
      /** True when the whole body had been taken and no answer came in time. */
      readonly isUnanswered: boolean;
    };

/** Reading the body of an early answer: the header is what counts, the rest is a courtesy. */
const EARLY_ANSWER_GRACE_MS = 2_000;
/** What kernels on the way may hold of a body after the last byte was accepted from us. */
const MAX_KERNEL_BYTES = 16 * 1024 * 1024;

/** Runs one POST. Never rejects: a fault of peer or network is a result. */
export async function exchange(request: Exchange, options: ExchangeOptions): Promise<ExchangeResult> {
  const progressMs = options.progressTimeoutMs ?? PROGRESS_TIMEOUT_MS;
  const watch = new ProgressWatch(progressMs, options.answerTimeoutMs ?? progressMs, request.bodyBytes);
  const body = new SenderBody(request.slices, {
    bandwidth: options.bandwidth ?? null,
    onAccepted: (bytes) => {
      watch.accepted(bytes);
      options.onAccepted?.(bytes);
    },
    onOwnWait: (waitMs) => watch.waiting(waitMs),
  });
  const progress = (): ExchangeProgress => ({
    origin: request.origin,
    acceptedBytes: body.acceptedBytes,
    bodyBytes: request.bodyBytes,
  });
  try {
    const { origin, path, headers } = request;
    const signal = AbortSignal.any([options.signal, watch.signal]);
    const response = await options.agent.request({
      origin,
      path,
      method: 'POST',
      headers: { ...headers },
      body,
      signal,
    });
    const isEarly = !body.isComplete;
    body.stop();
    watch.answering(isEarly ? EARLY_ANSWER_GRACE_MS : null);
    const answer = await readAnswer(response, watch);
    return { ok: true, answer, progress: progress() };
  } catch (error) {
    const isUnanswered = watch.stall !== null && body.isComplete;
    return { ok: false, error: watch.stall ?? error, progress: progress(), isUnanswered };
  } finally {
    watch.end();
    // Of a body that was not sent whole this closes the connection as well: it is in the middle of a message.
    body.destroy();
  }
}

async function readAnswer(response: Dispatcher.ResponseData, watch: ProgressWatch): Promise<ExchangeAnswer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  let isWhole = true;
  try {
    for await (const part of response.body) {
      watch.received();
      parts.push(part as Buffer);
      bytes += (part as Buffer).length;
      if (bytes > MAX_ANSWER_BYTES) break;
    }
  } catch {
    isWhole = false; // the status is known and decides; for a receipt the caller asks for the whole body
  }
  const body = Buffer.concat(parts).toString('utf8', 0, MAX_ANSWER_BYTES);
  return { status: response.statusCode, headers: response.headers, body, isWhole };
}

/** A gap between two accepted slices from which on the peer, not we, sets the pace. */
const PACED_GAP_MS = 20;

/** Fails the exchange when nothing moves. One timer, re-armed when it fires early; monotonic time only. */
class ProgressWatch {
  readonly #controller = new AbortController();
  readonly #budgetMs: number;
  readonly #answerBudgetMs: number;
  readonly #bodyBytes: number;
  #deadlineMs: number;
  #timer: NodeJS.Timeout | null = null;
  #acceptedBytes = 0;
  #lastAcceptedMs = performance.now();
  /** Since when the peer sets the pace, and the bytes it took since. */
  #pacedSinceMs: number | null = null;
  #pacedBytes = 0;
  stall: StallError | null = null;

  constructor(budgetMs: number, answerBudgetMs: number, bodyBytes: number) {
    this.#budgetMs = budgetMs;
    this.#answerBudgetMs = answerBudgetMs;
    this.#bodyBytes = bodyBytes;
    this.#deadlineMs = this.#lastAcceptedMs + budgetMs;
    this.#arm();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  accepted(bytes: number): void {
    const nowMs = performance.now();
    if (this.#pacedSinceMs === null && nowMs - this.#lastAcceptedMs > PACED_GAP_MS) {
      this.#pacedSinceMs = this.#lastAcceptedMs;
    }
    this.#lastAcceptedMs = nowMs;
    this.#acceptedBytes += bytes;
    if (this.#pacedSinceMs !== null) this.#pacedBytes += bytes;
    const isLast = this.#acceptedBytes >= this.#bodyBytes;
    this.#deadlineMs = nowMs + (isLast ? this.#answerBudgetMs + this.#unseenMs(nowMs) : this.#budgetMs);
    if (isLast) this.#arm();
  }

  /** We are about to wait, or have waited, for our own bandwidth limit: no time that the peer can be blamed for. */
  waiting(waitMs: number): void {
    const nowMs = performance.now();
    this.#lastAcceptedMs = nowMs + waitMs;
    if (this.#pacedSinceMs !== null) this.#pacedSinceMs += waitMs;
    this.#deadlineMs = Math.max(this.#deadlineMs, nowMs + waitMs + this.#budgetMs);
  }

  received(): void {
    this.#deadlineMs = Math.max(this.#deadlineMs, performance.now() + this.#budgetMs);
  }

  /** The header is here. `graceMs` bounds the reading of an early answer's body in total. */
  answering(graceMs: number | null): void {
    this.#deadlineMs = performance.now() + Math.min(this.#budgetMs, graceMs ?? this.#budgetMs);
    this.#arm();
  }

  end(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  /**
   * After the last byte the kernels on the way may hold megabytes that move without our seeing it: the answer gets the
   * time they need at the peer's pace on top of the budget, so that a slow reader is not taken for a dead one.
   */
  #unseenMs(nowMs: number): number {
    if (this.#pacedSinceMs === null || this.#pacedBytes === 0) return 0;
    const msPerByte = (nowMs - this.#pacedSinceMs) / this.#pacedBytes;
    return msPerByte * Math.min(this.#bodyBytes, MAX_KERNEL_BYTES);
  }

  #arm(): void {
    this.end();
    this.#timer = setTimeout(() => this.#check(), Math.max(1, this.#deadlineMs - performance.now()));
  }

  #check(): void {
    if (performance.now() < this.#deadlineMs - 1) {
      this.#arm();
      return;
    }
    const silentMs = performance.now() - this.#lastAcceptedMs;
    this.stall = new StallError(`nothing moved for ${(silentMs / 1000).toFixed(silentMs < 10_000 ? 1 : 0)} s`);
    this.#controller.abort(this.stall);
  }
}
