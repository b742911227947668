/** Demands U2, U13, U14, U15 and R21, R22, R28 over real sockets, plain and TLS, and a real stopped process. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { PackedBatch } from '../../src/core/upload/types.js';
import { packBatch } from '../../src/io/pack.js';
import { createSender, type HttpSender, type ServiceAccess } from '../../src/io/sender.js';
import { accessTo } from '../helpers/access.js';
import { type Fault, type FaultyServer, startFaultyServer } from '../helpers/faulty-server.js';
import { batchOf } from '../helpers/lines.js';
import { startSwallowingPeer } from '../helpers/swallowing-peer.js';

const never = new AbortController().signal;
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
const closers: (() => Promise<void>)[] = [];
let folder = '';
let certificate = { key: '', cert: '' };

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'prl-tls-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const subject = ['-subj', '/CN=prl test', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2'];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert, ...subject], {
    stdio: 'ignore',
  });
  certificate = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
});
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function serve(script?: (index: number) => Fault | undefined, isTls = false): Promise<FaultyServer> {
  const server = await startFaultyServer(script, { tls: isTls ? certificate : undefined });
  closers.push(server.close);
  return server;
}

function senderTo(url: string, options: Partial<ServiceAccess> = {}): HttpSender {
  const sender = createSender(accessTo(url, { certificateAuthority: certificate.cert, ...options }));
  closers.push(() => sender.close());
  return sender;
}

/** A body of `bytes` incompressible as it stands, since nothing is compressed. */
function large(bytes: number): Promise<PackedBatch> {
  const line = 'y'.repeat(1_000_000);
  return packBatch(batchOf(Array.from({ length: Math.ceil(bytes / line.length) }, () => line)), { compress: 'none' });
}

describe.each([
  ['plain', false],
  ['TLS', true],
])('U14, R21: resets over %s', (_name, isTls) => {
  test.each([
    ['at the first byte', 1],
    ['in the middle', 10_000_000],
    ['before the last slice', 19_900_000],
  ])('%s: the cause is named, the next attempt sends identical bytes and is stored', async (_where, afterBytes) => {
    const server = await serve((index) => (index === 0 ? { kind: 'reset', afterBytes } : undefined), isTls);
    const sender = senderTo(server.url);
    const packed = await large(20_000_000);
    const first = await sender.send(packed, never);
    expect(first).toMatchObject({
      outcome: 'retry',
      status: null,
      code: expect.stringMatching(/^connection_(reset|closed)$/),
    });
    expect(first).toMatchObject({ message: expect.stringMatching(/after \d+ of 20\d{6} bytes/) });
    const second = await sender.send(packed, never);
    expect(second).toMatchObject({ outcome: 'stored' });
    expect(server.requests[1]?.rawBody.equals(Buffer.concat(packed.body))).toBe(true);
    expect(server.stored.size).toBe(1);
  });
});

test('U2: after a lost response the repeat is answered with the same receipt and stored once', async () => {
  const server = await serve((index) => (index === 0 ? { kind: 'lost_response' } : undefined));
  const sender = senderTo(server.url);
  const packed = await packBatch(batchOf(['{"id":"a"}']));
  expect(await sender.send(packed, never)).toMatchObject({ outcome: 'retry', code: 'connection_closed' });
  expect(await sender.send(packed, never)).toMatchObject({ outcome: 'stored', receipt: { uploadId: packed.digest } });
  expect(server.requests[0]?.rawBody).toEqual(server.requests[1]?.rawBody);
  expect(server.stored.size).toBe(1);
});

test.each([
  ['plain', false, 1000],
  ['TLS', true, 200],
])(
  'R22, U14: over %s, descriptors and memory are back where they were after mid-body resets',
  async (_name, isTls, resets) => {
    const server = await serve(
      (index) => (index <= resets ? { kind: 'reset', afterBytes: 100_000 } : undefined),
      isTls,
    );
    const sender = senderTo(server.url);
    const packed = await large(1_000_000);
    const openFiles = (): number => readdirSync('/proc/self/fd').length;
    // Bodies and what sockets hold of them live outside the heap of JavaScript.
    const heldBytes = (): number => {
      server.requests.length = 0;
      collectGarbage();
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    };
    expect((await sender.send(packed, never)).outcome).toBe('retry');
    const before = { files: openFiles(), bytes: heldBytes() };
    for (let round = 0; round < resets; round += 1) expect((await sender.send(packed, never)).outcome).toBe('retry');
    await expect.poll(openFiles, { timeout: 5000 }).toBeLessThanOrEqual(before.files + 2);
    await expect.poll(heldBytes, { timeout: 5000 }).toBeLessThan(before.bytes + 3_000_000);
    expect((await sender.send(packed, never)).outcome).toBe('stored');
  },
);

test.skipIf(process.platform !== 'linux')(
  'R12: a peer that swallows packets is given up after ten seconds',
  async () => {
    const sender = senderTo(await startSwallowingPeer());
    const attempt = await sender.send(await packBatch(batchOf(['{"id":"a"}'])), never);
    expect(attempt).toMatchObject({ outcome: 'retry', status: null, code: 'connect_timeout' });
    expect(attempt).toMatchObject({
      message: expect.stringMatching(/^no connection within the connect time-out to http:/),
    });
  },
);

describe('U13: progress, not total time', () => {
  test.each([
    ['before the body', 0],
    ['inside the body', 200_000],
  ])('a peer that stalls %s is given up after the budget', async (_where, afterBytes) => {
    const server = await serve(() => ({ kind: 'stall', afterBytes }));
    const startedMs = performance.now();
    const attempt = await senderTo(server.url, { progressTimeoutMs: 400 }).send(await large(60_000_000), never);
    expect(attempt).toMatchObject({ outcome: 'retry', code: 'stalled' });
    const tookMs = performance.now() - startedMs;
    expect(tookMs).toBeGreaterThan(395);
    expect(tookMs).toBeLessThan(3000);
  });

  test('a stopped process is noticed', async () => {
    const script = join(folder, 'server.mjs');
    writeFileSync(
      script,
      "import http from 'node:http';http.createServer((q,s)=>{q.resume();q.on('end',()=>s.end())}).listen(0,'127.0.0.1',function(){console.log(this.address().port)})",
    );
    const child = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] });
    closers.push(async () => {
      child.kill('SIGKILL');
      await once(child, 'close');
    });
    const [port] = await once(child.stdout, 'data');
    child.kill('SIGSTOP');
    const attempt = await senderTo(`http://127.0.0.1:${String(port).trim()}`, { progressTimeoutMs: 500 }).send(
      await large(30_000_000),
      never,
    );
    expect(attempt).toMatchObject({ outcome: 'retry', code: 'stalled' });
  });

  test('R28: a slow reader that moves is never cut, though it takes many budgets', async () => {
    const server = await serve(() => ({ kind: 'slow', bytesPerSecond: 12_000_000 }));
    const startedMs = performance.now();
    const attempt = await senderTo(server.url, { progressTimeoutMs: 400 }).send(await large(30_000_000), never);
    expect(attempt).toMatchObject({ outcome: 'stored' });
    expect(performance.now() - startedMs).toBeGreaterThan(4 * 400);
  });
});

describe('U15: a final status while the body is flowing', () => {
  test.each([
    [413, { outcome: 'refused', status: 413, code: 'http_413' }],
    [503, { outcome: 'retry', status: 503, retryAfterMs: 7000 }],
    [401, { outcome: 'stop', status: 401 }],
  ])('%d: read at once, sending stops, the connection is not used again', async (status, expected) => {
    const early: Fault = { kind: 'early', status, afterBytes: 100_000, drains: true, headers: { 'Retry-After': '7' } };
    const server = await serve((index) => (index === 0 ? early : undefined));
    const sender = senderTo(server.url);
    const packed = await large(100_000_000);
    expect(await sender.send(packed, never)).toMatchObject(expected);
    // What we had handed to kernels before the answer came may still arrive; 100 ms of sending would be all of it.
    expect(server.readBytes()).toBeLessThan(20_000_000);
    const next = await sender.send(await packBatch(batchOf(['{"id":"b"}'])), never);
    expect(next.outcome).toBe('stored');
    expect(server.connections()).toBe(2);
    // Nothing more came in while another request was sent.
    expect(server.readBytes()).toBeLessThan(20_000_000);
  });

  test('a peer that answers and reads no further does not hold us', async () => {
    const server = await serve(() => ({ kind: 'early', status: 413, afterBytes: 1 }));
    const startedMs = performance.now();
    const attempt = await senderTo(server.url).send(await large(100_000_000), never);
    expect(attempt).toMatchObject({ outcome: 'refused', status: 413 });
    expect(performance.now() - startedMs).toBeLessThan(1500);
  });

  test('a replayed receipt may come before the body is read', async () => {
    const packed = await large(50_000_000);
    const body = JSON.stringify({ upload_id: packed.digest, status: 'committed' });
    const server = await serve(() => ({ kind: 'early', status: 200, afterBytes: 1, body }));
    expect(await senderTo(server.url).send(packed, never)).toMatchObject({
      outcome: 'stored',
      receipt: { mismatch: null },
    });
  });
});

describe('TLS', () => {
  test('an unknown authority stops the upload and says what to do', async () => {
    const server = await serve(undefined, true);
    const sender = createSender(accessTo(server.url));
    closers.push(() => sender.close());
    const attempt = await sender.send(await packBatch(batchOf(['{}'])), never);
    expect(attempt).toMatchObject({ outcome: 'stop', errorCode: 'PRL_ERR_USAGE', code: 'untrusted_certificate' });
    expect(attempt).toMatchObject({ hint: expect.stringContaining('NODE_EXTRA_CA_CERTS') });
    expect(server.requests).toHaveLength(0);
  });

  test('a known one is used', async () => {
    const server = await serve(undefined, true);
    expect(await senderTo(server.url).send(await packBatch(batchOf(['{}'])), never)).toMatchObject({
      outcome: 'stored',
    });
  });
});
