/** Whole uploads over real sockets against a service that misbehaves: U2, U9, U10, U11, U14, R04, R05, R16, R20, R27, R30, R35. */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { batchesOf } from '../../src/core/upload/batches.js';
import type { UploadJournal } from '../../src/core/upload/types.js';
import { Uploader, type UploadResult } from '../../src/core/upload/uploader.js';
import { openJournal } from '../../src/io/journal.js';
import { packBatch } from '../../src/io/pack.js';
import { createSender } from '../../src/io/sender.js';
import { accessTo, SECRET } from '../helpers/access.js';
import { FastClock } from '../helpers/clocks.js';
import { type Fault, type FaultyServer, startFaultyServer } from '../helpers/faulty-server.js';
import { recordsOf } from '../helpers/lines.js';
import { MemoryJournal } from '../helpers/memory-journal.js';

const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function serve(script?: (index: number) => Fault | undefined): Promise<FaultyServer> {
  const server = await startFaultyServer(script);
  closers.push(server.close);
  return server;
}

type UploadOptions = {
  readonly targetBytes?: number;
  readonly concurrency?: number | 'adaptive';
  readonly maxAttempts?: number;
  readonly compress?: 'gzip' | 'none';
  readonly progressTimeoutMs?: number;
  readonly clock?: FastClock;
  readonly journal?: UploadJournal;
  readonly batching?: Partial<Parameters<typeof batchesOf>[1]>;
  readonly signal?: AbortSignal;
};

/** Uploads the records of one chunk. */
async function upload(server: FaultyServer, text: string | Buffer, options: UploadOptions = {}): Promise<UploadResult> {
  const { progressTimeoutMs, compress = 'gzip', signal = new AbortController().signal } = options;
  const sender = createSender(accessTo(server.url, progressTimeoutMs === undefined ? {} : { progressTimeoutMs }));
  closers.push(() => sender.close());
  const uploader = new Uploader({
    sender,
    pack: (batch) => packBatch(batch, { compress }),
    journal: options.journal ?? new MemoryJournal(),
    clock: options.clock ?? new FastClock(1000),
    random: () => 0,
    concurrency: options.concurrency ?? 3,
    maxAttempts: options.maxAttempts ?? 5,
  });
  const batches = batchesOf(recordsOf(text), {
    stamp: null,
    onRejected: () => {},
    targetBytes: options.targetBytes ?? 200,
    ...options.batching,
  });
  return uploader.run(batches, signal);
}

function episodes(count: number, payload = ''): string {
  return Array.from({ length: count }, (_, index) => `{"id":"e${index}","traces":[],"x":"${payload}"}\n`).join('');
}

/** Every line the server holds, in order of the ids, as one text. */
function storedText(server: FaultyServer): string {
  const lines = [...server.stored.values()].flatMap((jsonl) => jsonl.toString().split(/(?<=\n)/));
  return lines.sort((a, b) => Number(/"e(\d+)"/.exec(a)?.[1]) - Number(/"e(\d+)"/.exec(b)?.[1])).join('');
}

/** A deterministic random source; 32 bits of SHA-256 of seed and count. */
function seeded(seed: number): () => number {
  let count = 0;
  return () => createHash('sha256').update(`${seed}:${count++}`).digest().readUInt32LE() / 2 ** 32;
}

describe('U2, R35: every episode once', () => {
  test.each(Array.from({ length: 20 }, (_, seed) => seed))(
    '30 %% lost responses, two uploaders at once, seed %d',
    async (seed) => {
      const random = seeded(seed);
      const server = await serve(() => (random() < 0.3 ? { kind: 'lost_response' } : undefined));
      const text = episodes(40);
      const results = await Promise.all([0, 1].map(() => upload(server, text, { maxAttempts: 30 })));
      for (const result of results)
        expect(result).toMatchObject({ stopped: null, rejected: [], sent: { episodes: 40 } });
      expect(storedText(server)).toBe(text);
    },
  );

  test('a request that stalls until its deadline is sent again, and stored once', async () => {
    const server = await serve((index) => (index % 3 === 0 ? { kind: 'stall', afterBytes: 1 } : undefined));
    const result = await upload(server, episodes(12), { progressTimeoutMs: 100 });
    expect(result).toMatchObject({ stopped: null, sent: { episodes: 12 } });
    expect(storedText(server)).toBe(episodes(12));
  });

  test('a mixture of faults costs nothing', async () => {
    const faults: (Fault | undefined)[] = [
      { kind: 'reset', afterBytes: 1 },
      { kind: 'lost_response' },
      { kind: 'cut_answer' },
      { kind: 'answer', status: 502, body: '<html>bad gateway</html>' },
      { kind: 'answer', status: 503, headers: { 'Retry-After': '1' } },
      { kind: 'early', status: 429, afterBytes: 1 },
      undefined,
      undefined,
    ];
    const random = seeded(7);
    const server = await serve(() => faults[Math.floor(random() * faults.length)]);
    const result = await upload(server, episodes(60), { maxAttempts: 100, concurrency: 4 });
    expect(result.stopped).toBeNull();
    expect(result.retries).toBeGreaterThan(10);
    expect(storedText(server)).toBe(episodes(60));
  });
});

describe('U9: sizes', () => {
  const limit = 60_000;
  /** Refuses bodies above the limit as a gateway does, early and without a code. */
  async function serveLimited(): Promise<FaultyServer> {
    const server = await startFaultyServer((_index, request) =>
      Number(request.headers['content-length']) > limit ? { kind: 'early', status: 413 } : undefined,
    );
    closers.push(server.close);
    return server;
  }

  test.each([
    ['escaped quotes', '\\"'],
    ['three-byte characters', '漢'],
  ])('R04: a target of uncompressed bytes is met exactly by %s; no 413', async (_name, character) => {
    const server = await serveLimited();
    const text = episodes(20, character.repeat(3000));
    const result = await upload(server, text, { compress: 'none', targetBytes: limit - 1000 });
    expect(result).toMatchObject({ stopped: null, rejected: [] });
    expect(server.requests.every(({ rawBody }) => rawBody.length <= limit)).toBe(true);
    expect(Math.max(...server.requests.map(({ rawBody }) => rawBody.length))).toBeGreaterThan(limit / 2);
    expect(storedText(server)).toBe(text);
  });

  test('413 halves, then halves again; the one line that never fits is rejected with its address, all others are stored', async () => {
    const server = await serveLimited();
    const big = `{"id":"e3","traces":[],"x":"${'y'.repeat(limit)}"}\n`;
    const lines = episodes(8, 'z'.repeat(10_000)).split(/(?<=\n)/);
    const text = [...lines.slice(0, 3), big, ...lines.slice(4)].join('');
    const result = await upload(server, text, { compress: 'none', targetBytes: 10_000_000 });
    const offset = lines.slice(0, 3).join('').length;
    expect(result.rejected).toMatchObject([
      {
        chunk: 0,
        offset,
        length: big.length,
        byteLength: big.length,
        lineNumber: 4,
        id: 'e3',
        code: 'http_413',
        message: expect.any(String),
      },
    ]);
    expect(storedText(server)).toBe(text.replace(big, ''));
  });

  test('R05: a line above the target goes alone', async () => {
    const server = await serve();
    const text = `${episodes(2)}{"id":"e2","traces":[],"x":"${'y'.repeat(5000)}"}\n{"id":"e3","traces":[]}\n`;
    await upload(server, text, { targetBytes: 200 });
    expect(
      [...server.stored.values()].some((jsonl) => jsonl.length > 5000 && jsonl.toString().split('\n').length === 2),
    ).toBe(true);
    expect(storedText(server)).toBe(text);
  });
});

describe('U10, R20: Retry-After', () => {
  const factor = 100;
  const inSeconds = (seconds: number): string =>
    new Date(Math.ceil(Date.now() / 1000) * 1000 + seconds * 1000).toUTCString();

  test.each<[string, number, () => Record<string, string>, number]>([
    ['seconds', 503, () => ({ 'Retry-After': '120' }), 120],
    ['seconds with 429', 429, () => ({ 'Retry-After': '45' }), 45],
    ['a date', 503, () => ({ 'Retry-After': inSeconds(60) }), 60],
    ['a date with 429', 429, () => ({ 'Retry-After': inSeconds(90) }), 90],
    [
      'a date of a service whose clock is an hour off',
      503,
      () => ({ Date: inSeconds(3600), 'Retry-After': inSeconds(3640) }),
      40,
    ],
    ['a past date', 503, () => ({ 'Retry-After': 'Thu, 01 Jan 1970 00:00:00 GMT' }), 1],
    ['garbage', 503, () => ({ 'Retry-After': 'soon' }), 1],
    ['none', 503, () => ({}), 1],
    ['zero', 503, () => ({ 'Retry-After': '0' }), 1],
  ])('%s (%d): no request before, success after', async (_form, status, headers, expectedSeconds) => {
    const server = await serve((index) => (index === 0 ? { kind: 'answer', status, headers: headers() } : undefined));
    const result = await upload(server, episodes(1), { clock: new FastClock(factor) });
    expect(result).toMatchObject({ stopped: null, retries: 1 });
    const [first, second] = server.requests;
    const waitedSeconds = (((second?.atMs ?? 0) - (first?.atMs ?? 0)) / 1000) * factor;
    expect(waitedSeconds).toBeGreaterThanOrEqual(expectedSeconds - 0.5);
    expect(waitedSeconds).toBeLessThan(expectedSeconds + 30);
  });

  test.each([8, 'adaptive'] as const)(
    'across all sockets one probe opens a window, concurrency %s',
    async (concurrency) => {
      const stormMs = 900;
      const startedMs = performance.now();
      const isStorm = (): boolean => performance.now() - startedMs < stormMs;
      const server = await serve(() =>
        isStorm() ? { kind: 'answer', status: 503, headers: { 'Retry-After': '20' } } : undefined,
      );
      const options = { clock: new FastClock(factor), concurrency, maxAttempts: 50 };
      const result = await upload(server, episodes(100), options);
      expect(result).toMatchObject({ stopped: null, sent: { episodes: 100 } });
      const first = server.requests[0]?.atMs ?? 0;
      // The first eight may have been on their way before the first answer; after that, one each 200 ms of real time.
      const inStorm = server.requests.filter(({ atMs }) => atMs - startedMs < stormMs && atMs - first > 150);
      expect(inStorm.length).toBeGreaterThanOrEqual(2);
      expect(inStorm.length).toBeLessThanOrEqual(stormMs / 200);
    },
  );
});

describe('U11, R29: what is final', () => {
  test.each([
    [401, 'PRL_ERR_AUTH'],
    [403, 'PRL_ERR_AUTH'],
    [404, 'PRL_ERR_USAGE'],
  ])('%d for everything: at most one request a connection, then the end', async (status, errorCode) => {
    const server = await serve(() => ({ kind: 'answer', status }));
    const result = await upload(server, episodes(200), { concurrency: 4 });
    expect(result.stopped?.errorCode).toBe(errorCode);
    expect(server.requests.length).toBeLessThanOrEqual(4);
    expect(result.sent.episodes).toBe(0);
  });

  test('the key is in no result, whatever a peer echoes', async () => {
    const echo = JSON.stringify({ error: { code: 'invalid_trace', message: `Authorization: Bearer ${SECRET}` } });
    const server = await serve((index) => ({ kind: 'answer', status: [400, 503, 401][index % 3] ?? 400, body: echo }));
    const journal = new MemoryJournal();
    const result = await upload(server, episodes(30), { journal });
    expect(server.requests[0]?.headers.authorization).toContain(SECRET);
    expect(JSON.stringify([result, journal.rejectedLines])).not.toContain(SECRET);
  });
});

test('R16: many large requests over a slow link all arrive, none of them sent twice', async () => {
  const server = await serve(() => ({ kind: 'slow', bytesPerSecond: 8_000_000 }));
  const text = episodes(6, 'x'.repeat(12_000_000));
  const options = { compress: 'none', concurrency: 6, targetBytes: 12_000_000, progressTimeoutMs: 500 } as const;
  const result = await upload(server, text, options);
  expect(result).toMatchObject({ stopped: null, retries: 0, sent: { episodes: 6, requests: 6 } });
  expect(storedText(server) === text).toBe(true);
});

test('R16: sixteen large requests that share a slow link take longer than the patience for one, and none is cut', async () => {
  const link = { freeAtMs: 0 };
  const server = await serve(() => ({ kind: 'slow', bytesPerSecond: 16_000_000, link }));
  const text = episodes(16, 'x'.repeat(6_000_000));
  // A kernel asks for more of a body once a third of the 4 MB is free that it takes at once: 1.4 s at a sixteenth of the link.
  const options = { compress: 'none', concurrency: 16, targetBytes: 6_000_000, progressTimeoutMs: 4_000 } as const;
  const startedMs = performance.now();
  const result = await upload(server, text, options);
  expect(result).toMatchObject({ stopped: null, retries: 0, sent: { episodes: 16, requests: 16 } });
  expect(performance.now() - startedMs).toBeGreaterThan(4_000);
  expect(server.peakOpen()).toBe(16);
  expect(storedText(server) === text).toBe(true);
});

test('R27: one request of many breaks off five times and then works: the others are not sent again, and it is as it was', async () => {
  const attempts = new Map<string, number>();
  const server = await startFaultyServer((_index, { headers }) => {
    const key = String(headers['idempotency-key']);
    const attempt = (attempts.get(key) ?? 0) + 1;
    attempts.set(key, attempt);
    const isThird = [...attempts.keys()].indexOf(key) === 2;
    return isThird && attempt <= 5 ? { kind: 'reset', afterBytes: 300_000 * attempt } : undefined;
  });
  closers.push(server.close);
  const text = episodes(8, 'x'.repeat(2_000_000));
  const result = await upload(server, text, { compress: 'none', targetBytes: 2_000_000, maxAttempts: 6 });
  expect(result).toMatchObject({ stopped: null, retries: 5, sent: { episodes: 8, requests: 13 } });
  expect([...attempts.values()]).toEqual([1, 1, 6, 1, 1, 1, 1, 1]);
  expect(storedText(server) === text).toBe(true);
});

test('a body that vanishes in kernel buffers gets more patience with each attempt', async () => {
  const server = await serve(() => ({ kind: 'slow', bytesPerSecond: 1_000_000 }));
  const result = await upload(server, episodes(1, 'x'.repeat(1_500_000)), { compress: 'none', progressTimeoutMs: 400 });
  // How many attempts it takes depends on the machine; without more patience for each, five would not do.
  expect(result).toMatchObject({ stopped: null, sent: { episodes: 1 } });
});

test('a stop by signal is quick, although the service is silent', async () => {
  const server = await serve(() => ({ kind: 'stall', afterBytes: 1 }));
  const controller = new AbortController();
  setTimeout(() => controller.abort(new Error('SIGINT')), 100);
  const startedMs = performance.now();
  const result = await upload(server, episodes(100), { signal: controller.signal });
  expect(performance.now() - startedMs).toBeLessThan(2000);
  expect(result).toMatchObject({ interrupted: true, sent: { episodes: 0 } });
  expect(result.unsent.length).toBeGreaterThan(0);
});

describe('a second run (U2, U3, R30)', () => {
  async function withJournal(
    folder: string,
    text: string,
    use: (options: UploadOptions) => Promise<UploadResult>,
  ): Promise<UploadResult> {
    const bytes = Buffer.from(text);
    const journal = await openJournal({
      places: { writable: folder, readOnly: null },
      destination: { baseUrl: 'http://service', teamId: null, context: {}, stamp: { unstamped: true } },
      chunkNames: new Map([[0, '0']]),
      readRange: async (_chunk, start, end) => bytes.subarray(start, end),
      onNotice: (message) => expect.fail(message),
    });
    const { resume } = journal;
    try {
      return await use({
        journal,
        batching: {
          placementOf: resume.placementOf.bind(resume),
          pinAt: resume.pinAt.bind(resume),
          onRejected: (line) => journal.rejected(line),
        },
      });
    } finally {
      await journal.close();
    }
  }

  function temporaryFolder(): string {
    const folder = mkdtempSync(join(tmpdir(), 'prl-rerun-'));
    closers.push(() => rmSync(folder, { recursive: true }));
    return folder;
  }

  test('of a finished run sends nothing', async () => {
    const [server, folder, text] = [await serve(), temporaryFolder(), episodes(50)];
    await withJournal(folder, text, (options) => upload(server, text, options));
    const before = server.requests.length;
    const again = await withJournal(folder, text, (options) => upload(server, text, options));
    expect(again.sent).toMatchObject({ episodes: 0, requests: 0 });
    expect(server.requests.length).toBe(before);
  });

  test('after a broken first sends only what is missing, under the same keys, although the batch size has changed', async () => {
    let isBroken = true;
    // The service keeps every second upload and answers none of those it keeps: the client knows of neither.
    const server = await serve((index) =>
      isBroken && index >= 4 ? { kind: index % 2 === 0 ? 'lost_response' : 'stall', afterBytes: 1 } : undefined,
    );
    const [folder, text] = [temporaryFolder(), episodes(60)];
    const broken = { maxAttempts: 1, progressTimeoutMs: 100 };
    const first = await withJournal(folder, text, (options) => upload(server, text, { ...options, ...broken }));
    expect(first.stopped?.errorCode).toBe('PRL_ERR_TEMPORARY');
    expect(first.unsent.length).toBeGreaterThan(0);
    isBroken = false;
    const second = await withJournal(folder, text, (options) => upload(server, text, { ...options, targetBytes: 500 }));
    expect(second.stopped).toBeNull();
    expect(first.sent.episodes + second.sent.episodes).toBe(60);
    expect(storedText(server)).toBe(text);
  });

  test('remembers what was rejected and does not offer it again', async () => {
    const [folder, text] = [temporaryFolder(), episodes(10)];
    const server = await startFaultyServer();
    closers.push(server.close);
    const refusing = await serve(() => ({
      kind: 'answer',
      status: 400,
      body: '{"error":{"code":"invalid_trace","message":"no"}}',
    }));
    const first = await withJournal(folder, text, (options) => upload(refusing, text, options));
    expect(first.rejected).toHaveLength(10);
    const second = await withJournal(folder, text, (options) => upload(server, text, options));
    expect(second.sent.requests).toBe(0);
    expect(server.requests).toHaveLength(0);
  });
});
