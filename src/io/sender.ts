/**
 * Hands one packed batch to a traces service over HTTP: headers of spec 06 section 2, redirects, answer to Attempt.
 * One call is one attempt; it never retries and never throws for a peer's doing. The key goes into one header and
 * nowhere else: it is cut out of whatever the peer says.
 */
import { Agent } from 'undici';
import { PrlError } from '../core/errors.js';
import { attemptOf, CHECK_URL_HINT } from '../core/upload/answer.js';
import { BandwidthLimit } from '../core/upload/bandwidth.js';
import { isLoopbackHost, normalizeBaseUrl, travelsInClear } from '../core/upload/base-url.js';
import { CONNECT_TIMEOUT_MS, MAX_REDIRECTS, PROGRESS_TIMEOUT_MS } from '../core/upload/limits.js';
import type { Attempt, PackedBatch, Sender } from '../core/upload/types.js';
import { followLocation, type Target } from './redirect.js';
import { type ExchangeAnswer, type ExchangeOptions, exchange } from './sender-exchange.js';
import { abortedAttempt, failureOf } from './sender-failure.js';

export type ServiceAccess = {
  /** With or without `/api/v1`. */
  readonly baseUrl: string;
  /** Empty means none, which only a loopback service accepts. */
  readonly apiKey: string;
  /** Null or empty: personal. */
  readonly teamId: string | null;
  /** Version of prl, for User-Agent. */
  readonly version: string;
  /** Allows the key over plain HTTP to other machines (`--insecure`). */
  readonly insecure?: boolean;
  /** More certificate authorities, PEM, besides the built-in ones. */
  readonly certificateAuthority?: string;
  /** Default 60,000 ms without progress. */
  readonly progressTimeoutMs?: number;
  /** Bytes of request bodies a second, of all requests of one sender together (`--bwlimit`); null or left out: no limit. */
  readonly bytesPerSecond?: number | null;
};

export type HttpSender = Sender & {
  /** Body bytes that sockets have taken over since construction, repeats included. */
  readonly wireBytes: number;
  close(): Promise<void>;
};

/** Longest patience for an answer after the last byte. */
const MAX_ANSWER_TIMEOUT_MS = 4 * PROGRESS_TIMEOUT_MS;

/**
 * @param connections the most that are open at once to one service; default as many as there are requests
 * @throws PrlError `PRL_ERR_USAGE` for an unusable URL or key, and for a key that would travel in clear
 */
export function createSender(access: ServiceAccess, connections?: number): HttpSender {
  return new TracesSender(access, connections);
}

/** The checks that every client of the service makes before it sends anything. Returns the base URL, normalised. */
export function checkAccess(access: ServiceAccess): URL {
  const base = new URL(normalizeBaseUrl(access.baseUrl));
  if (access.apiKey !== '' && !/^[\x21-\x7e]+$/.test(access.apiKey)) {
    throw new PrlError('PRL_ERR_USAGE', 'the API key holds white space or characters outside ASCII');
  }
  if (access.teamId !== null && !/^[\x21-\x7e]*$/.test(access.teamId)) {
    throw new PrlError('PRL_ERR_USAGE', 'the team id holds white space or characters outside ASCII');
  }
  if (travelsInClear(base) && access.insecure !== true) {
    throw new PrlError(
      'PRL_ERR_USAGE',
      `${base.origin} is plain HTTP on another machine; key and records would travel in clear`,
      {
        hint: 'use https, or --insecure if the network is yours',
      },
    );
  }
  if (access.apiKey === '' && !isLoopbackHost(base.hostname)) {
    throw new PrlError('PRL_ERR_USAGE', `no API key for ${base.origin}`, { hint: 'set PRIME_API_KEY' });
  }
  return base;
}

/** The raw path of a resource under the base URL's own path. */
export function apiPath(base: URL, resource: string): string {
  return `${base.pathname.replace(/\/$/, '')}/api/v1${resource}`;
}

/** Headers that identify the caller. */
export function identityHeaders(access: ServiceAccess, sendsCredentials: boolean): Record<string, string> {
  const headers: Record<string, string> = { 'User-Agent': `prl/${access.version} node/${process.versions.node}` };
  if (!sendsCredentials) return headers;
  if (access.apiKey !== '') headers.Authorization = `Bearer ${access.apiKey}`;
  if (access.teamId !== null && access.teamId !== '') headers['X-Prime-Team-ID'] = access.teamId;
  return headers;
}

/** A connection pool without time limits of its own: progress is watched per exchange. */
export function createAgent(access: ServiceAccess, connections?: number): Agent {
  const { certificateAuthority: ca } = access;
  return new Agent({
    // A request that ends leaves its connection a moment later than its place, and a new one would be opened for the next.
    ...(connections === undefined ? {} : { connections }),
    connect: { timeout: CONNECT_TIMEOUT_MS, ...(ca === undefined ? {} : { ca }) },
    headersTimeout: 0,
    bodyTimeout: 0,
    // One request a connection at a time: a cut body must cost no other request.
    pipelining: 1,
    allowH2: false,
  });
}

class TracesSender implements HttpSender {
  readonly #access: ServiceAccess;
  readonly #base: URL;
  readonly #agent: Agent;
  readonly #bandwidth: BandwidthLimit | null;
  /**
   * Doubles when a whole body got no answer in time: a small one can vanish in kernel buffers at once and then creep
   * over a slow link unseen. It stays doubled, since the link stays slow.
   */
  #answerTimeoutMs: number;
  wireBytes = 0;

  constructor(access: ServiceAccess, connections: number | undefined) {
    this.#access = access;
    this.#base = checkAccess(access);
    this.#agent = createAgent(access, connections);
    this.#bandwidth = access.bytesPerSecond == null ? null : new BandwidthLimit(access.bytesPerSecond);
    this.#answerTimeoutMs = access.progressTimeoutMs ?? PROGRESS_TIMEOUT_MS;
  }

  async send(batch: PackedBatch, signal: AbortSignal): Promise<Attempt> {
    let target: Target = { origin: this.#base.origin, path: apiPath(this.#base, '/traces'), sendsCredentials: true };
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
      if (signal.aborted) return abortedAttempt();
      const options = this.#options(signal);
      const result = await exchange(
        {
          origin: target.origin,
          path: target.path,
          headers: this.#headers(batch, target.sendsCredentials),
          slices: batch.body,
          bodyBytes: batch.bodyBytes,
        },
        options,
      );
      if (!result.ok && result.isUnanswered) this.#waitLongerThan(options.answerTimeoutMs);
      if (!result.ok) return signal.aborted ? abortedAttempt() : failureOf(result.error, result.progress);
      const { answer } = result;
      if (answer.status < 300 || answer.status >= 400) return this.#attempt(answer, batch, target);
      const next = this.#follow(target, answer);
      if ('outcome' in next) return next;
      target = next;
    }
    return redirectError(0, `more than ${MAX_REDIRECTS} redirects from ${this.#base.origin}`);
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  /** From the time this attempt had, so that many attempts that fail together double it once. */
  #waitLongerThan(timeoutMs: number): void {
    this.#answerTimeoutMs = Math.max(this.#answerTimeoutMs, Math.min(timeoutMs * 2, MAX_ANSWER_TIMEOUT_MS));
  }

  #options(signal: AbortSignal): ExchangeOptions & { readonly answerTimeoutMs: number } {
    const progressTimeoutMs = this.#access.progressTimeoutMs ?? PROGRESS_TIMEOUT_MS;
    const onAccepted = (bytes: number): void => {
      this.wireBytes += bytes;
    };
    return {
      agent: this.#agent,
      signal,
      bandwidth: this.#bandwidth,
      onAccepted,
      progressTimeoutMs,
      answerTimeoutMs: this.#answerTimeoutMs,
    };
  }

  #headers(batch: PackedBatch, sendsCredentials: boolean): Record<string, string> {
    return {
      ...identityHeaders(this.#access, sendsCredentials),
      'Idempotency-Key': `sha256:${batch.digest}`,
      ...(batch.format === 'episode' ? { 'X-Prime-Line-Format': 'episode' } : {}),
      'Content-Type': batch.contentType,
      'Content-Length': String(batch.bodyBytes),
    };
  }

  #attempt(answer: ExchangeAnswer, batch: PackedBatch, target: Target): Attempt {
    if (answer.status < 300 && !answer.isWhole) {
      const message = `connection to ${target.origin} broke inside the receipt`;
      return { outcome: 'retry', status: answer.status, code: 'broken_answer', message, retryAfterMs: null };
    }
    const { status } = answer;
    const body = this.#redact(answer.body);
    return attemptOf(
      { status, body, retryAfter: header(answer, 'retry-after'), date: header(answer, 'date') },
      batch.digest,
      Date.now(),
    );
  }

  /** 307 and 308 keep method and body; anything else would turn the upload into a GET and lose it. */
  #follow(from: Target, answer: ExchangeAnswer): Target | Attempt {
    const { status } = answer;
    if (status !== 307 && status !== 308) {
      return redirectError(
        status,
        `${from.origin} answers an upload with redirect ${status}, which would lose the body`,
      );
    }
    const next = followLocation(from, header(answer, 'location'), this.#access.insecure === true);
    if ('refusal' in next) return redirectError(status, `${from.origin} redirects an upload ${next.refusal}`);
    return next;
  }

  #redact(text: string): string {
    return this.#access.apiKey === '' ? text : text.replaceAll(this.#access.apiKey, '[key]');
  }
}

function redirectError(status: number, message: string): Attempt {
  return { outcome: 'stop', status, code: 'bad_redirect', message, errorCode: 'PRL_ERR_USAGE', hint: CHECK_URL_HINT };
}

function header(answer: ExchangeAnswer, name: string): string | null {
  const value = answer.headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? null;
}
