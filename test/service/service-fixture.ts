/** What the service tests share: a service over a folder of its own, and requests made byte by byte. */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { type Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach } from 'vitest';
import { type Service, type ServiceOptions, startService } from '../../src/service/server.js';

type Json = Record<string, unknown>;

export type Answer = { status: number; headers: NodeJS.Dict<string | string[]>; bytes: Buffer; json: () => Json };

/** Runs when the current test ends, newest first. */
const cleanups: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

export function onTestEnd(cleanup: () => Promise<void> | void): void {
  cleanups.push(cleanup);
}

/** A folder that goes away with the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'prl-service-'));
  onTestEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A service on a free port that closes with the test; closing it earlier is fine. */
export async function service(options: Partial<ServiceOptions> = {}): Promise<Service> {
  const started = await startService({ dataDir: options.dataDir ?? temporaryFolder(), ...options });
  let closed: Promise<void> | null = null;
  const close = (): Promise<void> => {
    closed ??= started.close();
    return closed;
  };
  onTestEnd(close);
  return { ...started, close };
}

export type RequestParts = {
  readonly method?: string;
  /** The raw request target behind `/api/v1`. */
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer | readonly Buffer[];
  readonly agent?: Agent;
};

/** One request with the target exactly as given; a body in several buffers is sent chunked. */
export function call(of: Pick<Service, 'port'>, parts: RequestParts): Promise<Answer> {
  const { method = 'GET', target, headers = {}, body, agent } = parts;
  return new Promise((resolve, reject) => {
    const length: Record<string, string> = Buffer.isBuffer(body) ? { 'content-length': String(body.length) } : {};
    const options = { host: '127.0.0.1', port: of.port, method, path: `/api/v1${target}`, agent: agent ?? false };
    const outgoing = request({ ...options, headers: { ...length, ...headers } }, (response) => {
      const received: Buffer[] = [];
      response.on('data', (bytes: Buffer) => received.push(bytes));
      response.on('error', reject);
      response.on('end', () => {
        const bytes = Buffer.concat(received);
        const json = (): Json => JSON.parse(bytes.toString()) as Json;
        resolve({ status: response.statusCode ?? 0, headers: response.headers, bytes, json });
      });
    });
    outgoing.on('error', reject);
    if (body === undefined || Buffer.isBuffer(body)) outgoing.end(body);
    else {
      for (const piece of body) outgoing.write(piece);
      outgoing.end();
    }
  });
}

/** The answer of a GET, which must be a 200, as JSON. */
export async function getJson(of: Pick<Service, 'port'>, target: string, headers = {}): Promise<Json> {
  const answer = await call(of, { target, headers });
  if (answer.status !== 200) throw new Error(`GET ${target}: ${answer.status} ${answer.bytes.toString()}`);
  return answer.json();
}

export type PackOptions = {
  readonly format?: 'episode' | 'trace';
  readonly compress?: boolean;
  readonly metadata?: unknown;
  /** Replaces the digest of the lines in the Idempotency-Key. */
  readonly digest?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly tracesFirst?: boolean;
};

export const BOUNDARY = 'boundary-0123456789abcdef0123456789abcdef';

/** One form-data part with its head. */
export function part(head: string, body: Buffer | string): Buffer {
  return Buffer.concat([Buffer.from(`--${BOUNDARY}\r\n${head}\r\n\r\n`), Buffer.from(body), Buffer.from('\r\n')]);
}

export const METADATA_HEAD = 'Content-Disposition: form-data; name="metadata"\r\nContent-Type: application/json';
export const TRACES_HEAD =
  'Content-Disposition: form-data; name="traces"; filename="traces.jsonl"\r\nContent-Type: application/x-ndjson';
export const CLOSING = Buffer.from(`--${BOUNDARY}--\r\n`);

export function digestOf(lines: Buffer): string {
  return createHash('sha256').update(lines).digest('hex');
}

/** The request that uploads these JSONL bytes, as spec 06 section 2 says. */
export function packed(lines: Buffer | string, options: PackOptions = {}): RequestParts & { body: Buffer } {
  const bytes = Buffer.from(lines);
  const { format = 'episode', compress = true, metadata = { schema_version: 1 } } = options;
  const traces = part(
    compress ? `${TRACES_HEAD}\r\nContent-Encoding: gzip` : TRACES_HEAD,
    compress ? gzipSync(bytes) : bytes,
  );
  const parts = [part(METADATA_HEAD, JSON.stringify(metadata)), traces];
  if (options.tracesFirst) parts.reverse();
  return {
    method: 'POST',
    target: '/traces',
    headers: {
      'content-type': `multipart/form-data; boundary=${BOUNDARY}`,
      'idempotency-key': `sha256:${options.digest ?? digestOf(bytes)}`,
      ...(format === 'episode' ? { 'x-prime-line-format': 'episode' } : {}),
      ...options.headers,
    },
    body: Buffer.concat([...parts, CLOSING]),
  };
}

/** Uploads JSONL bytes and gives the answer, whatever it is. */
export function upload(of: Pick<Service, 'port'>, lines: Buffer | string, options: PackOptions = {}): Promise<Answer> {
  return call(of, packed(lines, options));
}

/** Uploads and insists on a receipt for these bytes. */
export async function stored(
  of: Pick<Service, 'port'>,
  lines: Buffer | string,
  options: PackOptions = {},
): Promise<string> {
  const answer = await upload(of, lines, options);
  if (answer.status !== 201) throw new Error(`upload: ${answer.status} ${answer.bytes.toString()}`);
  return answer.json().upload_id as string;
}

/** A trace record with what the columns need; `over` replaces members. */
export function trace(id: string, over: Json = {}): Json {
  return {
    version: 1,
    id,
    task: { type: 'T', data: { prompt: 'x' }, key: `task-${id}` },
    agent: { config: { model: 'maker/model-1' }, name: 'solver' },
    nodes: [{ message: { role: 'user', content: 'hi' } }, { parent: 0, message: { role: 'assistant', content: 'ho' } }],
    calls: [{ node: 1, finish_reason: 'stop', usage: { prompt_tokens: 10, completion_tokens: 5 } }],
    rewards: { r: { score: 1, weight: 0.5 } },
    info: {},
    ok: true,
    errors: [],
    timing: { start: 1_750_000_000, agent: { start: 1_750_000_000, end: 1_750_000_001.5 } },
    ...over,
  };
}

/** An episode record around traces. */
export function episode(id: string, traces: readonly Json[], over: Json = {}): Json {
  return { id, env: { id: 'env-1', name: 'train-env' }, task: {}, ok: true, errors: [], traces, ...over };
}

/** Records as JSONL, each line with its LF. */
export function jsonl(...records: readonly Json[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join('');
}

/** A raw connection that collects what comes back; closed with the test. */
export function rawSocket(of: Pick<Service, 'port'>): {
  socket: Socket;
  received: () => string;
  until: (pattern: RegExp) => Promise<string>;
  closed: Promise<void>;
} {
  const socket = connect(of.port, '127.0.0.1');
  let text = '';
  const waiting = new Set<() => void>();
  const wake = (): void => {
    for (const check of waiting) check();
  };
  socket.on('data', (bytes) => {
    text += bytes.toString('latin1');
    wake();
  });
  const closed = new Promise<void>((resolve) => {
    socket.on('error', () => {});
    socket.on('close', () => {
      resolve();
      wake();
    });
  });
  onTestEnd(() => {
    socket.destroy();
  });
  const until = (pattern: RegExp): Promise<string> =>
    new Promise((resolve, reject) => {
      const check = (): void => {
        const isMet = pattern.test(text);
        if (!isMet && !socket.destroyed) return;
        waiting.delete(check);
        if (isMet) resolve(text);
        else reject(new Error(`closed before ${pattern}: ${JSON.stringify(text)}`));
      };
      waiting.add(check);
      check();
    });
  return { socket, received: () => text, until, closed };
}
