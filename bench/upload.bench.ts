/**
 * Question: how close does a whole upload come to compressing the same bytes and doing nothing else?
 *
 * Contenders: RunUpload (read, classify, stamp check, hash, gzip, send) to a sink on loopback in a process of its own,
 * journal included; gzip of the same file at the same level on one core; the same upload without compression.
 * Fixture: 64 episodes of 2.4 MB from a seed (154 MB), random token ids: compresses 2.9 times, real runs 3 to 10.
 * Not measured: a link, a service that stores, sealed input.
 *
 * 29 Nov 2026, Node 24.21, 2-core VM with CI and three other builds on it, mean of 5: upload with gzip 3.59 s (43 MB/s),
 * gzip alone 2.91 s, upload without compression 1.35 s (114 MB/s). So gzip is the cost, and the upload reaches 0.81 of it.
 * Bytes on the wire: 53,239,304 against 53,235,440 for gzip of the whole file, 1.0001 times.
 *
 * Run: npm run bench -- bench/upload.bench.ts
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Compression, GZIP_LEVEL } from '../src/io/pack.js';
import { openRun } from '../src/io/run.js';
import { RunUpload } from '../src/io/run-upload.js';
import { writeGeneratedRun } from '../test/helpers/generated-run.js';

const EPISODES = 64;
const EPISODE_BYTES = 2_400_000;

/** Reads a request and answers with the receipt its key asks for; stores nothing. */
const SINK = `
  require('node:http').createServer((request, response) => {
    request.on('data', () => {}).on('end', () => {
      const id = String(request.headers['idempotency-key']).slice('sha256:'.length);
      response.writeHead(201, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ upload_id: id, status: 'committed' }));
    });
  }).listen(0, '127.0.0.1', function () { console.log(this.address().port); });`;

const folder = mkdtempSync(join(tmpdir(), 'prl-bench-'));
const run = join(folder, 'run');
const chunk = join(run, 'monitors/file/traces/stream/00000.jsonl');
const sink = spawn(process.execPath, ['--eval', SINK], { stdio: ['ignore', 'pipe', 'inherit'] });
let url = '';

beforeAll(async () => {
  writeGeneratedRun(run, { episodes: EPISODES, episodeBytes: EPISODE_BYTES });
  const [port] = await once(sink.stdout, 'data');
  url = `http://127.0.0.1:${String(port).trim()}`;
});

afterAll(() => {
  sink.kill();
  rmSync(folder, { recursive: true });
});

/** Bytes on the wire. Each call starts without a journal. */
async function upload(compress: Compression): Promise<number> {
  rmSync(join(run, 'monitors/prl'), { recursive: true, force: true });
  const outcome = await new RunUpload({
    run: await openRun(run),
    path: run,
    name: 'run',
    access: { baseUrl: url, apiKey: 'k', teamId: null, version: 'bench' },
    serviceName: url,
    runId: null,
    environmentRunId: null,
    stamps: true,
    context: {},
    concurrency: 4,
    targetBytes: 30 * 1024 * 1024,
    compress,
    maxAttempts: 1,
    retriesRejected: false,
    verifies: false,
    environment: process.env,
    onNotice: () => {},
  }).run(new AbortController().signal);
  expect(outcome).toMatchObject({ sent: { episodes: EPISODES }, stopped: null, rejected: [] });
  return outcome.sent.wireBytes;
}

const gzipWhole = (): number => gzipSync(readFileSync(chunk), { level: GZIP_LEVEL, chunkSize: 1 << 20 }).length;

test('154 MB to a sink', { timeout: 600_000 }, async ({ bench }) => {
  const [wire, whole, plain] = [await upload('gzip'), gzipWhole(), await upload('none')];
  const { size } = statSync(chunk);
  console.log(`bytes: run ${size}, wire ${wire}, gzip of the whole ${whole}, ratio ${(wire / whole).toFixed(4)}`);
  expect(plain).toBeGreaterThan(size);
  await bench.compare(
    bench('upload, gzip', async () => {
      await upload('gzip');
    }),
    bench('gzip alone, one core', () => {
      gzipWhole();
    }),
    bench('upload, no compression', async () => {
      await upload('none');
    }),
    { iterations: 5, warmupIterations: 1, time: 0, warmupTime: 0 },
  );
});
