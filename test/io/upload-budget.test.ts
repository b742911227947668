/** The upload of a run within its budget, over real files and sockets: what is held is bounded, and what the account says is true. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { UploadSnapshot } from '../../src/core/snapshot.js';
import { UploadMemory } from '../../src/core/upload/upload-memory.js';
import { packBatch } from '../../src/io/pack.js';
import { openRun } from '../../src/io/run.js';
import { RunUpload } from '../../src/io/run-upload.js';
import type { RunUploadOptions } from '../../src/io/run-upload-options.js';
import type { ServiceAccess } from '../../src/io/sender.js';
import { accessTo } from '../helpers/access.js';
import { FastClock } from '../helpers/clocks.js';
import { type Fault, type FaultyServer, startFaultyServer } from '../helpers/faulty-server.js';
import { writeGeneratedRun } from '../helpers/generated-run.js';
import { batchOf } from '../helpers/lines.js';
import { tempFolder } from '../helpers/temp-folder.js';

const MIB = 2 ** 20;
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

type Setup = {
  readonly episodes?: number;
  readonly episodeBytes?: number;
  readonly script?: (index: number, server: FaultyServer) => Fault | undefined;
  readonly access?: Partial<ServiceAccess>;
  readonly options?: Partial<RunUploadOptions>;
};

type Ran = {
  readonly outcome: Awaited<ReturnType<RunUpload['run']>>;
  /** One for each request, taken as it arrived, and a last one. */
  readonly snapshots: readonly UploadSnapshot[];
  readonly server: FaultyServer;
  readonly notices: readonly string[];
};

async function upload({ episodes = 60, episodeBytes = 300_000, script, access = {}, options }: Setup): Promise<Ran> {
  const path = join(tempFolder(), 'run');
  writeGeneratedRun(path, { episodes, episodeBytes });
  const snapshots: UploadSnapshot[] = [];
  const notices: string[] = [];
  const server = await startFaultyServer((index) => {
    snapshots.push(run.snapshot());
    return script?.(index, server);
  });
  onTestFinished(() => server.close());
  const run = new RunUpload({
    run: await openRun(path),
    path,
    name: 'run',
    access: accessTo(server.url, access),
    serviceName: server.url,
    runId: null,
    environmentRunId: null,
    stamps: true,
    context: {},
    concurrency: 32,
    targetBytes: MIB,
    budgetBytes: 8 * MIB,
    compress: 'gzip',
    maxAttempts: 5,
    retriesRejected: false,
    verifies: false,
    environment: { PRL_STATE_DIR: join(path, '../state') },
    onNotice: (notice) => void notices.push(notice),
    ...options,
  });
  const outcome = await run.run(new AbortController().signal);
  snapshots.push(run.snapshot());
  return { outcome, snapshots, server, notices };
}

const usedBytes = ({ budget }: UploadSnapshot): number => budget?.usedBytes ?? Number.NaN;

describe('U7, R14, R15: never above the budget, which is used', () => {
  test.each([
    ['gzip', 32],
    ['none', 32],
    ['gzip', 1],
    ['none', 1],
  ] as const)('bodies by %s, %d requests at most', async (compress, concurrency) => {
    const { outcome, snapshots, server } = await upload({ options: { compress, concurrency } });
    expect(outcome).toMatchObject({ sent: { episodes: 60 }, stopped: null, rejected: [] });
    const used = snapshots.map(usedBytes);
    expect(Math.max(...used)).toBeLessThanOrEqual(8 * MIB);
    expect(Math.max(...used)).toBeGreaterThan(2 * MIB);
    expect(used.at(-1)).toBe(0);
    expect(server.peakOpen()).toBeLessThanOrEqual(concurrency);
  });

  test('bodies that are kept for a retry are inside', async () => {
    const script = (index: number): Fault | undefined =>
      index < 6 ? { kind: 'answer', status: 503, headers: { 'Retry-After': '1' } } : undefined;
    const { outcome, snapshots } = await upload({ script, options: { compress: 'none' } });
    expect(outcome).toMatchObject({ sent: { episodes: 60 }, stopped: null });
    expect(outcome.retries).toBeGreaterThan(0);
    expect(Math.max(...snapshots.map(usedBytes))).toBeLessThanOrEqual(8 * MIB);
    expect(usedBytes(snapshots.at(-1) as UploadSnapshot)).toBe(0);
  });
});

test.each(['gzip', 'none'] as const)(
  'R13, R15: forty requests that are reset, bodies by %s: sockets that are gone hold nothing, and the budget is kept',
  async (compress) => {
    const heldBytes = (): number => {
      collectGarbage();
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    };
    const held: number[] = [];
    const { outcome, snapshots } = await upload({
      episodes: 24,
      episodeBytes: 1_000_000,
      script: (index, server) => {
        if (index >= 40) return undefined;
        server.requests.length = 0;
        if (index % 2 === 1) held.push(heldBytes());
        return { kind: 'reset', afterBytes: 100_000 };
      },
      options: {
        compress,
        targetBytes: 4 * MIB,
        budgetBytes: 32 * MIB,
        clock: new FastClock(1_000),
        maxAttempts: 1_000,
      },
    });
    expect(outcome).toMatchObject({ sent: { episodes: 24 }, stopped: null, rejected: [] });
    expect(outcome.retries).toBeGreaterThanOrEqual(40);
    expect(Math.max(...snapshots.map(usedBytes))).toBeLessThanOrEqual(32 * MIB);
    expect(held).toHaveLength(20);
    // One body in five that was kept would be more; sockets that are being closed have theirs for a moment.
    expect(Math.max(...held.slice(10)) - Math.max(...held.slice(0, 10))).toBeLessThan(16 * MIB);
  },
);

test('U8, R05: a line above the budget is sent, alone', async () => {
  const setup = { episodes: 4, episodeBytes: 3_000_000, options: { budgetBytes: 2 * MIB } };
  const { outcome, server, snapshots } = await upload(setup);
  expect(outcome).toMatchObject({ sent: { episodes: 4, requests: 4 }, stopped: null });
  expect(server.peakOpen()).toBe(1);
  expect(Math.max(...snapshots.map(usedBytes))).toBeGreaterThan(3_000_000);
});

test('a batch that the budget has no room for is made smaller, and that is said', async () => {
  const { outcome, server, snapshots, notices } = await upload({
    options: { targetBytes: 30 * MIB, budgetBytes: 4 * MIB },
  });
  expect(notices).toEqual([expect.stringMatching(/^requests aim at \d+ bytes, not at 31457280: a budget of 4194304/)]);
  expect(outcome).toMatchObject({ sent: { episodes: 60 } });
  const sizes = [...server.stored.values()].map((jsonl) => jsonl.length);
  expect(Math.max(...sizes)).toBeLessThan(2 * MIB);
  expect(Math.max(...sizes)).toBeGreaterThan(0.75 * MIB);
  expect(Math.max(...snapshots.map(usedBytes))).toBeLessThanOrEqual(4 * MIB);
});

test('--bwlimit holds for all requests of a run together, and none of them is taken for stalled', async () => {
  const startedMs = performance.now();
  const { outcome } = await upload({
    episodes: 20,
    episodeBytes: 30_000,
    access: { progressTimeoutMs: 200, bytesPerSecond: 300_000 },
    options: { compress: 'none', targetBytes: 60_000, concurrency: 8 },
  });
  const seconds = (performance.now() - startedMs) / 1000;
  expect(outcome).toMatchObject({ sent: { episodes: 20 }, retries: 0, stopped: null });
  expect(outcome.sent.wireBytes / (seconds + 0.1)).toBeLessThan(300_000);
});

test('what is kept for a body before it is packed holds for bytes that do not compress', async () => {
  const batch = batchOf(['a', 'b', 'c']);
  const bytes = randomBytes(3 * MIB);
  const lines = batch.lines.map((line) => ({ ...line, parts: [bytes], byteLength: bytes.length }));
  const incompressible = { ...batch, lines, batchBytes: 9 * MIB };
  const memory = new UploadMemory({ budgetBytes: 1000 * MIB, sharesLines: false });
  await memory.hold({ lines: 3, bytes: 9 * MIB }, 0, new AbortController().signal);
  const held = memory.take(incompressible);
  const { usedBytes: reservedBytes } = memory.usage;
  const { bodyBytes } = await packBatch(incompressible);
  expect(bodyBytes).toBeGreaterThan(9 * MIB);
  held.packed(bodyBytes);
  expect(memory.usage.usedBytes).toBeLessThanOrEqual(reservedBytes);
});
