/**
 * Reads back from a traces service: episode and trace listings by page, and the digest of a stored document without
 * holding it. Paths go raw on the wire, since URL parsing would climb on `%2E%2E` (spec 06 section 1). Reads are
 * harmless to repeat, so each is tried three times.
 */
import { createHash } from 'node:crypto';
import type { Agent, Dispatcher } from 'undici';
import { messageOf, PrlError } from '../core/errors.js';
import { readError } from '../core/upload/answer.js';
import { MAX_ANSWER_BYTES, MAX_REDIRECTS, PROGRESS_TIMEOUT_MS, READ_ATTEMPTS } from '../core/upload/limits.js';
import { backoffMs } from '../core/upload/retry.js';
import { parseRetryAfter } from '../core/upload/retry-after.js';
import type { Clock } from '../core/upload/types.js';
import { followLocation, type Target } from './redirect.js';
import { apiPath, checkAccess, createAgent, identityHeaders, type ServiceAccess } from './sender.js';
import { failureOf } from './sender-failure.js';

export type ReaderOptions = ServiceAccess & { readonly clock: Clock; readonly random: () => number };

/** The part of a listed summary that verifying needs; the service sends more. */
export type Listed = {
  readonly id: string;
  /** The upload that stored the copy; null where the service does not say. */
  readonly uploadId: string | null;
};

const PAGE_ITEMS = 100;
/** A page of 100 summaries is about 100 KB; more than this is not one. */
const MAX_PAGE_BYTES = 32 * MAX_ANSWER_BYTES;
const RETRIED = new Set([429, 502, 503, 504]);
/** Longest Retry-After a read waits for; reads are many and small. */
const MAX_READ_WAIT_MS = 60_000;

type Body = Dispatcher.ResponseData['body'];
type Failure = { readonly error: PrlError; readonly isTemporary: boolean; readonly retryAfterMs: number | null };

export class TracesReader {
  readonly #options: ReaderOptions;
  readonly #base: URL;
  readonly #agent: Agent;

  /** @throws PrlError `PRL_ERR_USAGE` as `createSender` */
  constructor(options: ReaderOptions) {
    this.#options = options;
    this.#base = checkAccess(options);
    this.#agent = createAgent(options);
  }

  /** Every stored episode of a run, page by page, repeats included. */
  listEpisodes(runId: string, signal: AbortSignal): AsyncGenerator<Listed> {
    return this.#list('/episodes', `run_id=${encodeURIComponent(runId)}&`, 'episode_id', signal);
  }

  /** Every stored trace of a run, members of episodes among them. */
  listRunTraces(runId: string, signal: AbortSignal): AsyncGenerator<Listed> {
    return this.#list('/traces', `run_id=${encodeURIComponent(runId)}&`, 'trace_id', signal);
  }

  /** Episodes that one upload stored, superseded ones included. */
  listUploadedEpisodes(uploadId: string, signal: AbortSignal): AsyncGenerator<Listed> {
    return this.#list('/episodes', `upload_id=${encodeURIComponent(uploadId)}&`, 'episode_id', signal);
  }

  /** Traces of an episode. An episode that does not exist lists none. */
  listTraces(episodeId: string, signal: AbortSignal): AsyncGenerator<Listed> {
    return this.#list(`/episodes/${encodeId(episodeId)}/traces`, '', 'trace_id', signal);
  }

  /** Whether the service knows an episode by its id, whatever its run. */
  async hasEpisode(episodeId: string, signal: AbortSignal): Promise<boolean> {
    return (await this.#read(`/episodes/${encodeId(episodeId)}`, drain, signal)) !== null;
  }

  /** SHA-256 of the stored document of a trace, 64 lower-case hex; null when there is none. */
  digestOf(traceId: string, signal: AbortSignal): Promise<string | null> {
    return this.#read(`/traces/${encodeId(traceId)}?raw=true`, digest, signal);
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  async *#list(resource: string, filter: string, idKey: string, signal: AbortSignal): AsyncGenerator<Listed> {
    const seen = new Set<string>();
    for (let cursor = ''; ; ) {
      const next = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const text = await this.#read(`${resource}?${filter}limit=${PAGE_ITEMS}${next}`, pageText, signal);
      if (text === null) return;
      const page = parsePage(text, idKey, resource);
      yield* page.items;
      if (page.nextCursor === null) return;
      if (seen.has(page.nextCursor)) {
        throw new PrlError('PRL_ERR_INTEGRITY', `${resource} of ${this.#base.origin} gives the same page cursor twice`);
      }
      seen.add(page.nextCursor);
      cursor = page.nextCursor;
    }
  }

  /** Null for 404. Throws when the attempts are used up or repeating cannot help. */
  async #read<T>(resource: string, take: (body: Body) => Promise<T>, signal: AbortSignal): Promise<T | null> {
    for (let failures = 1; ; failures += 1) {
      const result = await this.#readOnce(resource, take, signal);
      if (!('error' in result)) return result.value;
      signal.throwIfAborted();
      if (!result.isTemporary || failures >= READ_ATTEMPTS) throw result.error;
      const ownMs = backoffMs(failures, this.#options.random());
      await this.#options.clock.sleep(Math.min(result.retryAfterMs || ownMs, MAX_READ_WAIT_MS), signal);
    }
  }

  async #readOnce<T>(
    resource: string,
    take: (body: Body) => Promise<T>,
    signal: AbortSignal,
  ): Promise<{ readonly value: T | null } | Failure> {
    const { origin } = this.#base;
    try {
      const response = await this.#get(resource, signal);
      const { statusCode: status } = response;
      if (status >= 200 && status < 300) return { value: await take(response.body) };
      const body = await bounded(response.body, MAX_ANSWER_BYTES);
      return status === 404 ? { value: null } : this.#refusal(resource, status, body, response.headers['retry-after']);
    } catch (error) {
      if (error instanceof PrlError) return { error, isTemporary: false, retryAfterMs: null };
      const failure = failureOf(error, { origin, acceptedBytes: 0, bodyBytes: 0 });
      const message = 'message' in failure ? failure.message : 'connection failed';
      const text = `reading ${resource}: ${message}`;
      return { error: new PrlError('PRL_ERR_TEMPORARY', text), isTemporary: true, retryAfterMs: null };
    }
  }

  async #get(resource: string, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    let target: Target = { origin: this.#base.origin, path: apiPath(this.#base, resource), sendsCredentials: true };
    const timeoutMs = this.#options.progressTimeoutMs ?? PROGRESS_TIMEOUT_MS;
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
      const response = await this.#agent.request({
        origin: target.origin,
        path: target.path,
        method: 'GET',
        headers: { ...identityHeaders(this.#options, target.sendsCredentials), Accept: 'application/json' },
        signal,
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
      });
      const location = response.headers.location;
      if (response.statusCode < 300 || response.statusCode >= 400) return response;
      await bounded(response.body, MAX_ANSWER_BYTES);
      const next = followLocation(
        target,
        typeof location === 'string' ? location : null,
        this.#options.insecure === true,
      );
      if ('refusal' in next) throw new PrlError('PRL_ERR_USAGE', `${target.origin} redirects a read ${next.refusal}`);
      target = next;
    }
    throw new PrlError('PRL_ERR_USAGE', `more than ${MAX_REDIRECTS} redirects from ${this.#base.origin}`);
  }

  #refusal(resource: string, status: number, body: string, retryAfter: string | string[] | undefined): Failure {
    const key = this.#options.apiKey;
    const { code, message } = readError(status, key === '' ? body : body.replaceAll(key, '[key]'));
    const isTemporary = RETRIED.has(status);
    const errorCode = status === 401 || status === 403 ? 'PRL_ERR_AUTH' : 'PRL_ERR_TEMPORARY';
    const error = new PrlError(errorCode, `reading ${resource}: HTTP ${status} ${code ?? ''}: ${message}`);
    const header = typeof retryAfter === 'string' ? retryAfter : null;
    return { error, isTemporary, retryAfterMs: parseRetryAfter(header, Date.now()) };
  }
}

/**
 * An id as one segment of a raw path: everything but unreserved characters percent-encoded, and dots too where the id
 * is nothing but one or two of them.
 *
 * @throws PrlError `PRL_ERR_USAGE` for an id with `/`, an empty one, or one that is not Unicode text
 */
export function encodeId(id: string): string {
  if (id === '' || id.includes('/') || !id.isWellFormed()) {
    throw new PrlError('PRL_ERR_USAGE', `the id ${JSON.stringify(id)} cannot be part of a URL`);
  }
  if (id === '.' || id === '..') return id.replaceAll('.', '%2E');
  return encodeURIComponent(id).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

type Page = { readonly items: readonly Listed[]; readonly nextCursor: string | null };

function parsePage(text: string, idKey: string, resource: string): Page {
  try {
    const page = JSON.parse(text) as { items?: unknown; next_cursor?: unknown };
    if (!Array.isArray(page.items)) throw new Error('no items');
    const items = page.items.map((item: Record<string, unknown>) => {
      const { [idKey]: id, upload_id: uploadId } = item;
      if (typeof id !== 'string') throw new Error(`an item has no ${idKey}`);
      return { id, uploadId: typeof uploadId === 'string' ? uploadId : null };
    });
    const cursor = page.next_cursor;
    return { items, nextCursor: typeof cursor === 'string' && cursor !== '' ? cursor : null };
  } catch (error) {
    throw new PrlError('PRL_ERR_INTEGRITY', `the service's page of ${resource} cannot be read: ${messageOf(error)}`);
  }
}

async function pageText(body: Body): Promise<string> {
  return bounded(body, MAX_PAGE_BYTES);
}

async function digest(body: Body): Promise<string> {
  const hash = createHash('sha256');
  for await (const part of body) hash.update(part as Buffer);
  return hash.digest('hex');
}

async function drain(body: Body): Promise<true> {
  await bounded(body, MAX_PAGE_BYTES);
  return true;
}

/** The body as text, cut at `maxBytes`; reading stops there. */
async function bounded(body: Body, maxBytes: number): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of body) {
    parts.push(part as Buffer);
    bytes += (part as Buffer).length;
    if (bytes >= maxBytes) break;
  }
  return Buffer.concat(parts).toString('utf8', 0, maxBytes);
}
