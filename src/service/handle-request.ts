/** One request, from its head to its answer: who asks, for what, under which fault, and how an error is told. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { systemErrorCode } from '../io/run-fault.js';
import { deleteRun, deleteTrace } from './deletes.js';
import { getEpisode, getRawEpisode, listEpisodes } from './episode-reads.js';
import type { FaultInjector } from './fault-injector.js';
import type { ServiceLimits } from './limits.js';
import { QueryValues } from './query-values.js';
import { type RawPart, sendRaw } from './raw-document.js';
import { receiveUpload } from './receive-upload.js';
import { Refusal, refusalBody } from './refusal.js';
import { checkDeclaredLength, PeerGone, RequestBody } from './request-body.js';
import { parseTarget, type Route } from './route.js';
import { getRun, listRunSteps, listRuns } from './run-reads.js';
import { SQLITE_FULL, SQLITE_IOERR, sqliteCode } from './sqlite-codes.js';
import type { Store } from './store.js';
import { getTrace, listEpisodeTraces, listTraces } from './trace-reads.js';

/** What every request is served with. */
export type ServiceContext = {
  readonly store: Store;
  readonly limits: ServiceLimits;
  readonly faults: FaultInjector;
  /** Bearer token that is asked for; null asks for none. */
  readonly token: string | null;
  /** Aborted when the service closes. */
  readonly closing: AbortSignal;
  /** Takes one line about something an operator should know. */
  readonly log: (line: string) => void;
};

type Answer =
  | { readonly kind: 'json'; readonly status: number; readonly value: object }
  | { readonly kind: 'empty'; readonly status: number }
  | { readonly kind: 'raw'; readonly parts: readonly RawPart[] };

type Exchange = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: RequestBody;
  readonly context: ServiceContext;
};

/** Serves one request to its end; never rejects. */
export async function handleRequest(
  request: IncomingMessage,
  response: ServerResponse,
  context: ServiceContext,
): Promise<void> {
  const body = new RequestBody(request, context.limits, {
    pass: (bytes) => context.faults.pass(bytes),
    invite: () => {
      if (request.headers.expect !== undefined) response.writeContinue();
    },
    closing: context.closing,
  });
  const exchange = { request, response, body, context };
  try {
    await answer(exchange);
  } catch (error) {
    await tellError(exchange, error);
  }
  if (body.isComplete) body.close();
  // The answer came before the end of the body: it must not be lost in a reset.
  else await body.discard();
}

async function answer(exchange: Exchange): Promise<void> {
  const { request, response, context } = exchange;
  const isUpload = request.method === 'POST';
  await context.faults.beforeRequest(isUpload);
  authorize(request, context.token);
  checkDeclaredLength(request, context.limits.requestBytes);
  const result = await dispatch(exchange);
  await context.faults.beforeAnswer();
  if (isUpload && context.faults.losesResponse()) {
    request.socket.resetAndDestroy();
    return;
  }
  if (result.kind === 'raw') {
    const { store, limits, faults } = context;
    const pass = (bytes: number): Promise<void> => faults.pass(bytes);
    await sendRaw(response, result.parts, { chunks: store.chunks, pass, progressMs: limits.progressMs });
  } else if (result.kind === 'empty') response.writeHead(result.status, { 'content-length': 0 }).end();
  else sendText(response, result.status, { contentType: 'application/json', text: JSON.stringify(result.value) });
}

/** @throws Refusal 401 `unauthenticated`. The comparison takes the same time wherever the tokens differ. */
function authorize(request: IncomingMessage, token: string | null): void {
  if (token === null) return;
  const given = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  if (timingSafeEqual(digest(given), digest(token))) return;
  const headers = { 'www-authenticate': 'Bearer' };
  throw new Refusal(401, 'unauthenticated', 'a bearer token is needed, and this is not it', { headers });
}

async function dispatch(exchange: Exchange): Promise<Answer> {
  const { request, body, context } = exchange;
  const { store, limits } = context;
  const { route, query } = parseTarget(request.url ?? '/');
  const owner = String(request.headers['x-prime-team-id'] ?? '');
  if (request.method === 'GET') return read(store, owner, { route, query });
  if (request.method === 'POST' && route.name === 'traces') {
    const nowUs = Date.now() * 1000;
    const { status, receipt } = await receiveUpload({ request, body, owner, store, limits, nowUs });
    return { kind: 'json', status, value: receipt };
  }
  if (request.method === 'DELETE' && (route.name === 'traces' || route.name === 'trace')) {
    if (route.name === 'trace') deleteTrace(store, owner, route.id, query);
    else deleteRun(store, owner, query);
    return { kind: 'empty', status: 202 };
  }
  throw wrongMethod(request.method, route);
}

function read(store: Store, owner: string, target: { route: Route; query: URLSearchParams }): Answer {
  const { route, query } = target;
  switch (route.name) {
    case 'traces':
      return json(listTraces(store, owner, query));
    case 'episodes':
      return json(listEpisodes(store, owner, query));
    case 'episode-traces':
      return json(listEpisodeTraces(store, owner, route.id, query));
    case 'trace': {
      const { summary, raw } = getTrace(store, owner, route.id);
      return wantsRaw(query) ? { kind: 'raw', parts: [raw] } : json(summary);
    }
    case 'episode': {
      if (!wantsRaw(query)) return json(getEpisode(store, owner, route.id));
      const { head, traces, tail } = getRawEpisode(store, owner, route.id);
      return { kind: 'raw', parts: [head, Buffer.from(traces), tail] };
    }
    case 'runs':
      return json(listRuns(store, owner, query));
    case 'run':
      return json(getRun(store, owner, route.id));
    case 'run-steps':
      return json(listRunSteps(store, owner, route.id));
  }
}

function wantsRaw(search: URLSearchParams): boolean {
  const query = new QueryValues(search);
  const isRaw = query.flag('raw') ?? false;
  query.finish();
  return isRaw;
}

function json(value: object): Answer {
  return { kind: 'json', status: 200, value };
}

function wrongMethod(method: string | undefined, route: Route): Refusal {
  const allow = route.name === 'traces' ? 'GET, POST, DELETE' : route.name === 'trace' ? 'GET, DELETE' : 'GET';
  return new Refusal(405, 'method_not_allowed', `${method} is not possible here, only ${allow}`, {
    headers: { allow },
  });
}

async function tellError({ request, response, context }: Exchange, error: unknown): Promise<void> {
  if (error instanceof PeerGone) return;
  const refusal = error instanceof Refusal ? error : failureOf(error);
  if (!(error instanceof Refusal)) context.log(`${request.method} ${request.url}: ${stackOf(error)}`);
  if (response.headersSent) {
    // Half an answer is out: the only honest end is one that nobody can take for a whole one.
    request.socket.resetAndDestroy();
    return;
  }
  await context.faults.beforeAnswer();
  sendText(response, refusal.status, refusalBody(refusal), refusal.headers);
}

/** A full or failing disk is the service declining, for now; anything else is our fault. */
function failureOf(error: unknown): Refusal {
  const code = systemErrorCode(error) ?? '';
  const isDisk = DISK_ERRORS.has(code) || [SQLITE_IOERR, SQLITE_FULL].includes(sqliteCode(error) ?? 0);
  if (!isDisk) return new Refusal(500, 'internal_error', 'the service failed: see its log');
  const message = `the disk of the service does not take the request (${code}): no receipt is given, try again later`;
  return new Refusal(503, 'storage_unavailable', message, { retryAfterSeconds: 5 });
}

const DISK_ERRORS = new Set(['ENOSPC', 'EDQUOT', 'EIO', 'EROFS', 'EMFILE', 'ENFILE', 'EFBIG']);

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function sendText(
  response: ServerResponse,
  status: number,
  body: { contentType: string; text: string },
  headers: Readonly<Record<string, string>> = {},
): void {
  const bytes = Buffer.from(body.text);
  response.writeHead(status, { ...headers, 'content-type': body.contentType, 'content-length': bytes.length });
  response.end(bytes);
}
