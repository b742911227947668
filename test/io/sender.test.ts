/** One attempt over real sockets: what goes out, and what each behaviour of a peer becomes. */

import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { Attempt, PackedBatch } from '../../src/core/upload/types.js';
import { packBatch } from '../../src/io/pack.js';
import { createSender, type HttpSender, type ServiceAccess } from '../../src/io/sender.js';
import { accessTo, SECRET } from '../helpers/access.js';
import { type Fault, type FaultyServer, startFaultyServer } from '../helpers/faulty-server.js';
import { batchOf } from '../helpers/lines.js';

const never = new AbortController().signal;
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function serve(script?: (index: number) => Fault | undefined): Promise<FaultyServer> {
  const server = await startFaultyServer(script);
  closers.push(server.close);
  return server;
}

function senderTo(url: string, options: Partial<ServiceAccess> = {}): HttpSender {
  const sender = createSender(accessTo(url, options));
  closers.push(() => sender.close());
  return sender;
}

const small = (): Promise<PackedBatch> => packBatch(batchOf(['{"id":"a"}']));

describe('the request (spec 06 section 2)', () => {
  test('headers, path and exact length', async () => {
    const server = await serve();
    const packed = await small();
    const attempt = await senderTo(`${server.url}/api/v1/`, { teamId: 'team-1' }).send(packed, never);
    expect(attempt).toEqual({
      outcome: 'stored',
      receipt: { uploadId: packed.digest, status: 'committed', mismatch: null },
    });
    const [request] = server.requests;
    expect(request?.path).toBe('/api/v1/traces');
    expect(request?.headers).toMatchObject({
      authorization: `Bearer ${SECRET}`,
      'x-prime-team-id': 'team-1',
      'user-agent': `prl/1.2.3 node/${process.versions.node}`,
      'idempotency-key': `sha256:${packed.digest}`,
      'x-prime-line-format': 'episode',
      'content-type': packed.contentType,
      'content-length': String(packed.bodyBytes),
    });
    expect(request?.headers['transfer-encoding']).toBeUndefined();
    expect(request?.rawBody).toEqual(Buffer.concat(packed.body));
  });

  test('trace lines are named by the absence of the format header; no key, no team, no header', async () => {
    const server = await serve();
    const packed = await packBatch(batchOf(['{"id":"t"}'], { format: 'trace' }));
    await senderTo(server.url, { apiKey: '', teamId: '' }).send(packed, never);
    const headers = server.requests[0]?.headers ?? {};
    for (const name of ['x-prime-line-format', 'authorization', 'x-prime-team-id'])
      expect(headers).not.toHaveProperty(name);
  });

  test('a base URL may have a path of its own', async () => {
    const server = await serve();
    await senderTo(`${server.url}/proxy/traces/api/v1`).send(await small(), never);
    expect(server.requests[0]?.path).toBe('/proxy/traces/api/v1/traces');
  });

  test('connections are kept for the next request', async () => {
    const server = await serve();
    const sender = senderTo(server.url);
    for (let round = 0; round < 3; round += 1) await sender.send(await small(), never);
    expect(server.connections()).toBe(1);
  });
});

describe('the key', () => {
  test.each([
    'http://example.com',
    'http://10.1.2.3:8080',
    'http://127.0.0.1.example.com',
    'http://localhost.example.com',
  ])('never in clear to %s', (url) => {
    expect(() => createSender(accessTo(url))).toThrowError(
      expect.objectContaining({ code: 'PRL_ERR_USAGE', hint: expect.stringContaining('--insecure') }),
    );
    void createSender(accessTo(url, { insecure: true })).close();
  });

  test.each([
    'http://localhost:1',
    'http://127.9.9.9:1',
    'http://[::1]:1',
    'http://prl.localhost:1',
    'https://example.com',
  ])('may go to %s', async (url) => {
    await createSender(accessTo(url)).close();
  });

  test.each([
    ['https://example.com', false],
    ['http://example.com', true],
  ])('an empty key fails before any request to %s; only a loopback service may ask for none', (url, insecure) => {
    expect(() => createSender(accessTo(url, { apiKey: '', insecure }))).toThrowError(
      expect.objectContaining({ code: 'PRL_ERR_USAGE', hint: expect.stringContaining('PRIME_API_KEY') }),
    );
  });

  test('a key that no header can carry is refused without being shown', () => {
    const tryCreate = (): unknown => createSender(accessTo('https://example.com', { apiKey: `${SECRET}\nX` }));
    expect(tryCreate).toThrowError(
      expect.objectContaining({ code: 'PRL_ERR_USAGE', message: expect.not.stringContaining(SECRET) }),
    );
  });

  test.each([400, 401, 403, 404, 503])(
    'a peer that repeats it in a %d does not get it into our messages',
    async (status) => {
      const server = await serve(() => ({
        kind: 'answer',
        status,
        body: JSON.stringify({ error: { code: 'x', message: `key was ${SECRET}` } }),
      }));
      const attempt = await senderTo(server.url).send(await small(), never);
      expect(attempt.outcome).not.toBe('stored');
      expect(JSON.stringify(attempt)).not.toContain(SECRET);
    },
  );

  test('nor in a receipt', async () => {
    const server = await serve(() => ({
      kind: 'answer',
      status: 201,
      body: JSON.stringify({ upload_id: SECRET, status: 'committed' }),
    }));
    const attempt = await senderTo(server.url).send(await small(), never);
    expect(attempt).toMatchObject({ outcome: 'stored', receipt: { mismatch: expect.any(String) } });
    expect(JSON.stringify(attempt)).not.toContain(SECRET);
  });
});

describe('redirects', () => {
  test.each([307, 308])('%d keeps method and body; another origin gets no credentials', async (status) => {
    const target = await serve();
    const front = await serve(() => ({
      kind: 'answer',
      status,
      headers: { Location: `${target.url}/elsewhere?x=%2E%2E` },
    }));
    const packed = await small();
    const attempt = await senderTo(front.url, { teamId: 'team-1' }).send(packed, never);
    expect(attempt.outcome).toBe('stored');
    expect(front.requests[0]?.headers.authorization).toBe(`Bearer ${SECRET}`);
    expect(target.requests[0]).toMatchObject({ path: '/elsewhere?x=%2E%2E', rawBody: Buffer.concat(packed.body) });
    expect(target.requests[0]?.headers).not.toHaveProperty('authorization');
    expect(target.requests[0]?.headers).not.toHaveProperty('x-prime-team-id');
  });

  test('the same origin keeps them, relative locations work', async () => {
    const server = await serve((index) =>
      index === 0 ? { kind: 'early', status: 307, headers: { Location: '/v2/traces' } } : undefined,
    );
    expect((await senderTo(server.url).send(await small(), never)).outcome).toBe('stored');
    expect(server.requests[1]?.path).toBe('/v2/traces');
    expect(server.requests[1]?.headers.authorization).toBe(`Bearer ${SECRET}`);
  });

  test('five are followed, not six', async () => {
    const redirectUntil =
      (last: number) =>
      (index: number): Fault | undefined =>
        index < last ? { kind: 'answer', status: 307, headers: { Location: `/hop${index}` } } : undefined;
    expect((await senderTo((await serve(redirectUntil(5))).url).send(await small(), never)).outcome).toBe('stored');
    const endless = await serve(redirectUntil(6));
    expect(await senderTo(endless.url).send(await small(), never)).toMatchObject({
      outcome: 'stop',
      code: 'bad_redirect',
    });
    expect(endless.requests).toHaveLength(6);
  });

  test.each<[string, number, Record<string, string>]>([
    ['would become a GET', 302, { Location: '/x' }],
    ['would become a GET', 303, { Location: '/x' }],
    ['no location', 307, {}],
    ['broken location', 308, { Location: 'http://' }],
    ['plain HTTP on another machine', 307, { Location: 'http://192.0.2.1/x' }],
    ['not HTTP', 307, { Location: 'ftp://127.0.0.1/x' }],
  ])('stops: %s (%d)', async (_why, status, headers) => {
    const server = await serve(() => ({ kind: 'answer', status, headers }));
    const attempt = await senderTo(server.url).send(await small(), never);
    expect(attempt).toMatchObject({ outcome: 'stop', status, errorCode: 'PRL_ERR_USAGE' });
    expect(server.requests).toHaveLength(1);
  });
});

describe('answers', () => {
  test('an answer without end is cut at 1 MiB', async () => {
    const server = await serve(() => ({ kind: 'answer', status: 400, body: 'x'.repeat(5_000_000) }));
    const attempt = await senderTo(server.url).send(await small(), never);
    expect(attempt).toMatchObject({ outcome: 'refused', code: 'http_400' });
    expect(JSON.stringify(attempt).length).toBeLessThan(2000);
  });

  test('a connection cut inside the receipt is a retry', async () => {
    const server = await serve(() => ({ kind: 'cut_answer' }));
    expect(await senderTo(server.url).send(await small(), never)).toMatchObject({
      outcome: 'retry',
      code: 'broken_answer',
    });
  });

  test('a Retry-After reaches the attempt', async () => {
    const server = await serve(() => ({ kind: 'answer', status: 429, headers: { 'Retry-After': '120' } }));
    expect(await senderTo(server.url).send(await small(), never)).toMatchObject({
      outcome: 'retry',
      retryAfterMs: 120_000,
    });
  });
});

describe('connections that fail', () => {
  async function attemptAgainst(bytes: string): Promise<Attempt> {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end(bytes));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closers.push(() => new Promise((resolve) => server.close(() => resolve())));
    return senderTo(`http://127.0.0.1:${(server.address() as AddressInfo).port}`).send(await small(), never);
  }

  test('a peer that speaks something else', async () => {
    expect(await attemptAgainst('SSH-2.0-OpenSSH\r\n\r\n')).toMatchObject({ outcome: 'retry', code: 'broken_answer' });
  });

  test('a peer that says nothing and closes', async () => {
    expect(await attemptAgainst('')).toMatchObject({ outcome: 'retry', code: 'connection_closed' });
  });

  test('nobody listens', async () => {
    const server = await startFaultyServer();
    await server.close();
    const attempt = await senderTo(server.url).send(await small(), never);
    expect(attempt).toMatchObject({ outcome: 'retry', status: null, code: 'connection_refused', retryAfterMs: null });
    expect(attempt).toMatchObject({ message: expect.stringContaining(server.url) });
  });

  test('a signal ends an attempt at once', async () => {
    const server = await serve(() => ({ kind: 'stall' }));
    const controller = new AbortController();
    const sending = senderTo(server.url).send(await small(), controller.signal);
    setTimeout(() => controller.abort(), 50);
    const startedMs = performance.now();
    expect(await sending).toMatchObject({ outcome: 'retry', code: 'aborted' });
    expect(performance.now() - startedMs).toBeLessThan(1000);
  });
});

test('the base URL never holds credentials', () => {
  const tryCreate = (): unknown => createSender(accessTo(`https://user:${SECRET}@example.com`));
  expect(tryCreate).toThrowError(
    expect.objectContaining({ code: 'PRL_ERR_USAGE', message: expect.not.stringContaining(SECRET) }),
  );
});
