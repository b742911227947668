/**
 * A traces service that misbehaves on demand: a real HTTP server on loopback that reads uploads whole, keeps them by
 * idempotency key like the real one, and follows a script of faults, one entry a request. It knows multipart only as
 * far as prl writes it, so that a wrong body fails here.
 */
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { gunzipSync } from 'node:zlib';

/** One request as it arrived. `jsonl` is null when the body was not read to its end. */
export type SeenRequest = {
  readonly atMs: number;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly rawBody: Buffer;
  readonly jsonl: Buffer | null;
  readonly metadata: unknown;
  readonly socket: Socket;
};

/** What to do with a request. Omitted: store and answer 201. */
export type Fault =
  | AnswerFault
  /** Answers as soon as `afterBytes` of the body arrived; with `drains` it goes on reading what still comes. */
  | (EarlyFault & { readonly drains?: boolean })
  /** Refuses with 400 what the test says, and stores the rest. */
  | { readonly kind: 'refuse'; readonly refuses: (jsonl: string) => boolean }
  /** Resets the connection once `afterBytes` arrived. */
  | { readonly kind: 'reset'; readonly afterBytes: number }
  /** Stores, then cuts the connection before the status line. */
  | { readonly kind: 'lost_response' }
  /** Reads `afterBytes`, then neither reads nor answers. */
  | { readonly kind: 'stall'; readonly afterBytes?: number }
  /** Reads at this rate; with a link, all requests that name the same one share the rate, in the order their bytes come. */
  | { readonly kind: 'slow'; readonly bytesPerSecond: number; readonly link?: SlowLink }
  /** Reads the body, and stores and answers no earlier than this resolves. */
  | { readonly kind: 'held'; readonly until: Promise<void> }
  /** Stores, then breaks off inside the receipt. */
  | { readonly kind: 'cut_answer' };

/** Until when a link is taken, monotonic. */
export type SlowLink = { freeAtMs: number };

type AnswerFault = {
  readonly kind: 'answer';
  readonly status: number;
  readonly body?: string;
  readonly headers?: Record<string, string>;
};
type EarlyFault = Omit<AnswerFault, 'kind'> & { readonly kind: 'early'; readonly afterBytes?: number };

export type FaultyServer = {
  readonly url: string;
  readonly requests: SeenRequest[];
  /** Stored JSONL by digest, in order of commitment. */
  readonly stored: Map<string, Buffer>;
  /** Bytes of request bodies read from sockets, whole or not. */
  readonly readBytes: () => number;
  readonly connections: () => number;
  /** Most requests open at one moment. */
  readonly peakOpen: () => number;
  close(): Promise<void>;
};

export type FaultyServerOptions = {
  /** Serves TLS. */
  readonly tls?: ServerOptions | undefined;
  /** Whether the script is asked about reads as well; else each gets an empty listing, and none is counted. */
  readonly scriptsReads?: boolean;
};

/** @param script called for each request, in order of arrival, counted from 0; undefined means no fault */
export async function startFaultyServer(
  script: (index: number, request: IncomingMessage) => Fault | undefined = () => undefined,
  { tls, scriptsReads = false }: FaultyServerOptions = {},
): Promise<FaultyServer> {
  const state = {
    requests: [] as SeenRequest[],
    stored: new Map<string, Buffer>(),
    readBytes: 0,
    connections: 0,
    /** TCP sockets by the peer's port: under TLS only these can be reset. */
    sockets: new Map<number, Socket>(),
    open: 0,
    peakOpen: 0,
  };
  let arrived = 0;
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    if (request.method === 'GET' && !scriptsReads) {
      answerJson(response, 200, { items: [], next_cursor: null });
      return;
    }
    const fault = script(arrived, request);
    arrived += 1;
    state.open += 1;
    state.peakOpen = Math.max(state.peakOpen, state.open);
    response.on('close', () => {
      state.open -= 1;
    });
    response.on('error', () => {});
    const reset = (): void => void state.sockets.get(request.socket.remotePort ?? 0)?.resetAndDestroy();
    void handle({ state, request, response, fault, reset });
  };
  const server = tls === undefined ? createServer(onRequest) : createTlsServer(tls, onRequest);
  server.on('connection', (socket: Socket) => {
    state.connections += 1;
    const { remotePort = 0 } = socket;
    state.sockets.set(remotePort, socket);
    socket.once('close', () => state.sockets.delete(remotePort));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    requests: state.requests,
    stored: state.stored,
    readBytes: () => state.readBytes,
    connections: () => state.connections,
    peakOpen: () => state.peakOpen,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

type State = { requests: SeenRequest[]; stored: Map<string, Buffer>; readBytes: number };

type Handling = {
  readonly state: State;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly fault: Fault | undefined;
  /** Resets the connection under the request. */
  readonly reset: () => void;
};

async function handle(handling: Handling): Promise<void> {
  const { state, request, fault } = handling;
  const atMs = performance.now();
  const limit = fault !== undefined && 'afterBytes' in fault ? (fault.afterBytes ?? 0) : null;
  const needsWhole = fault === undefined || !['early', 'reset', 'stall'].includes(fault.kind);
  const slow = fault?.kind === 'slow' ? fault : null;
  const rawBody = needsWhole ? await readBody(state, request, slow) : await readSome(state, request, limit ?? 0);
  if (rawBody === null) return;
  const seen = { atMs, path: request.url ?? '', headers: request.headers, rawBody, socket: request.socket };
  const upload = needsWhole ? parseUpload(rawBody, request.headers) : { jsonl: null, metadata: null };
  state.requests.push({ ...seen, ...upload });
  if (fault?.kind === 'held') await fault.until;
  act(handling, upload.jsonl);
}

function act({ state, request, response, fault, reset }: Handling, jsonl: Buffer | null): void {
  const digest = jsonl === null ? '' : createHash('sha256').update(jsonl).digest('hex');
  const commit = (): void => {
    if (jsonl !== null) state.stored.set(digest, jsonl);
  };
  switch (fault?.kind) {
    case 'answer':
    case 'early':
      response.writeHead(fault.status, fault.headers);
      response.end(fault.body ?? '');
      if (fault.kind === 'early' && fault.drains === true) countRest(state, request);
      return;
    case 'reset':
      reset();
      return;
    case 'lost_response':
      commit();
      request.socket.destroy();
      return;
    case 'stall':
      return; // says nothing and reads nothing more
    case 'cut_answer':
      commit();
      response.writeHead(201, { 'Content-Type': 'application/json', 'Content-Length': '500' });
      response.write('{"upload_id":', () => request.socket.destroy());
      return;
    default:
      if (request.headers['idempotency-key'] !== `sha256:${digest}`) {
        answerJson(response, 400, {
          error: { code: 'digest_mismatch', message: 'the bytes are not those of the key' },
        });
        return;
      }
      if (fault?.kind === 'refuse' && fault.refuses(String(jsonl))) {
        answerJson(response, 400, { error: { code: 'invalid_trace', message: 'a trace without sense' } });
        return;
      }
      commit();
      answerJson(response, 201, { upload_id: digest, status: 'committed' });
  }
}

function countRest(state: State, request: IncomingMessage): void {
  request.on('data', (part: Buffer) => {
    state.readBytes += part.length;
  });
  request.resume();
}

function answerJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify(body));
}

/** Null when the connection ended first. */
async function readBody(
  state: State,
  request: IncomingMessage,
  slow: Extract<Fault, { kind: 'slow' }> | null,
): Promise<Buffer | null> {
  const parts: Buffer[] = [];
  try {
    for await (const part of request) {
      parts.push(part as Buffer);
      state.readBytes += (part as Buffer).length;
      if (slow !== null) await passage(slow, (part as Buffer).length);
    }
  } catch {
    return null;
  }
  return Buffer.concat(parts);
}

function passage({ bytesPerSecond, link }: Extract<Fault, { kind: 'slow' }>, bytes: number): Promise<void> {
  const nowMs = performance.now();
  const endMs = Math.max(nowMs, link?.freeAtMs ?? 0) + (bytes / bytesPerSecond) * 1000;
  if (link !== undefined) link.freeAtMs = endMs;
  return new Promise((resolve) => setTimeout(resolve, endMs - nowMs));
}

/** Reads until at least `bytes` arrived, then leaves the rest in the socket. */
function readSome(state: State, request: IncomingMessage, bytes: number): Promise<Buffer> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    let total = 0;
    const finish = (): void => {
      request.pause();
      request.removeListener('data', onData);
      resolve(Buffer.concat(parts));
    };
    const onData = (part: Buffer): void => {
      parts.push(part);
      total += part.length;
      state.readBytes += part.length;
      if (total >= bytes) finish();
    };
    request.on('error', () => {});
    if (bytes === 0) {
      finish();
      return;
    }
    request.on('data', onData);
  });
}

function parseUpload(
  rawBody: Buffer,
  headers: IncomingMessage['headers'],
): { jsonl: Buffer | null; metadata: unknown } {
  const boundary = /boundary=(\S+)/.exec(headers['content-type'] ?? '')?.[1];
  if (boundary === undefined) return { jsonl: null, metadata: null };
  const parts = splitParts(rawBody, boundary);
  const [metadata, traces] = parts;
  if (metadata === undefined || traces === undefined || parts.length !== 2) throw new Error('expected two parts');
  const isGzip = /content-encoding: gzip/i.test(traces.head);
  return {
    jsonl: isGzip ? gunzipSync(traces.content) : traces.content,
    metadata: JSON.parse(metadata.content.toString()),
  };
}

/** The parts of a multipart body, headers as text. Throws when the framing is not exact. */
export function splitParts(rawBody: Buffer, boundary: string): { head: string; content: Buffer }[] {
  const delimiter = Buffer.from(`--${boundary}`);
  const parts: { head: string; content: Buffer }[] = [];
  let at = rawBody.indexOf(delimiter);
  if (at !== 0) throw new Error('the body does not start with its boundary');
  for (;;) {
    const after = at + delimiter.length;
    const mark = rawBody.toString('latin1', after, after + 4);
    if (mark === '--\r\n' && after + 4 === rawBody.length) return parts;
    if (!mark.startsWith('\r\n')) throw new Error(`bad bytes after a boundary: ${JSON.stringify(mark)}`);
    const headEnd = rawBody.indexOf('\r\n\r\n', after);
    const next = rawBody.indexOf(Buffer.concat([Buffer.from('\r\n'), delimiter]), headEnd);
    if (headEnd < 0 || next < 0) throw new Error('a part has no end');
    parts.push({ head: rawBody.toString('utf8', after + 2, headEnd), content: rawBody.subarray(headEnd + 4, next) });
    at = next + 2;
  }
}
