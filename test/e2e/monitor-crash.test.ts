/**
 * Demands U6, I2, R39, R50 at the built file monitor: killed at every call that changes a file, or refused one, while it
 * logs three episodes with their metrics and annotations. A reader then finds whole records and one torn line at most,
 * none is lost that was told to be stored, and the next monitor goes on with right indexes.
 */
import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { FileMonitor } from '../../src/monitor/file-monitor.js';
import { CALL_STRIDE } from '../helpers/every-call.js';
import { checkIndexes, episodeOf, rowsOf, tracesOf } from '../helpers/monitored-run.js';
import { readRun } from '../helpers/read-run.js';
import { tempFolder } from '../helpers/temp-folder.js';
import { HAS_STRACE } from './serve-child.js';

const CHILD = resolve('test/helpers/monitor-child.mjs');
const SEAL_WORKER = new URL('../../dist/io/seal-worker.js', import.meta.url);
const IDS = ['a', 'b', 'c'];
const WRITES = 'write,pwrite64,pwritev';
const TIMEOUT = { timeout: 120_000 };

function newRun(): string {
  return join(tempFolder(), 'run');
}

function metricsOf(run: string): string {
  return join(run, 'monitors/file/metrics.jsonl');
}

function streamsOf(run: string): string[] {
  return [join(tracesOf(run), 'stream'), join(tracesOf(run), 'annotations/orch')];
}

function chunksOf(stream: string): string[] {
  return [0, 1, 2].map((chunk) => join(stream, `0000${chunk}.jsonl`));
}

/** Files and directories of the thread that writes, of which no other calls are traced. */
function writerPaths(run: string): string[] {
  const ofStreams = streamsOf(run).flatMap((stream) => [
    stream,
    `${stream}.index.jsonl`,
    `${stream}.lock`,
    ...chunksOf(stream),
  ]);
  return [metricsOf(run), ...ofStreams];
}

/** Files of the threads that seal. */
function sealPaths(run: string): string[] {
  const chunks = streamsOf(run).flatMap(chunksOf);
  return [...streamsOf(run), ...chunks.flatMap((path) => [`${path}.zst`, `${path}.zst.tmp`])];
}

type Injection = { readonly calls: string; readonly what: string; readonly paths: readonly string[] };

/** Logs the episodes behind strace. One file thread, so that the n-th call is the same each time. */
function log(run: string, { calls, what, paths }: Injection): SpawnSyncReturns<string> {
  const args = ['-f', '-qq', '-o', '/dev/null', '-e', `trace=${calls}`, '-e', `inject=${calls}:${what}`];
  const command = [process.execPath, CHILD, run, 'flush', ...IDS];
  const env = { PATH: process.env.PATH, UV_THREADPOOL_SIZE: '1' };
  return spawnSync('strace', [...args, ...paths.flatMap((path) => ['-P', path]), ...command], {
    env,
    encoding: 'utf8',
  });
}

function told(stdout: string, what: string): string[] {
  return [...stdout.matchAll(new RegExp(`^${what} (.*)$`, 'gm'))].map(([, text = '']) => text);
}

/** What the child said to be there: ids of episodes, steps of metrics. */
type Told = { readonly stored: readonly string[]; readonly steps: readonly string[] };

/** What a reader finds: whole records, each once, the stored ones among them, and one torn line at most. */
async function look(run: string, stored: readonly string[], mostTorn = 1): Promise<string[]> {
  const stream = join(tracesOf(run), 'stream');
  const isThere = existsSync(stream) && readdirSync(stream).some((name) => /^\d+\.jsonl(\.zst)?$/.test(name));
  const { records, damage } = isThere ? await readRun(run) : { records: [], damage: [] };
  const episodes = records.map(({ bytes }) => JSON.parse(bytes.toString()) as { id: string; run: { id: string } });
  const ids = episodes.map(({ id }) => id);
  expect(ids).toEqual([...new Set(ids)]);
  expect(ids).toEqual(expect.arrayContaining([...stored]));
  expect(damage.filter(({ kind }) => kind !== 'torn' && kind !== 'invalid_json')).toEqual([]);
  expect(damage.length).toBeLessThanOrEqual(mostTorn);
  return ids;
}

/** The next monitor: one more episode with metrics, and a clean end; then everything is right. */
async function goOn(run: string, { stored, steps }: Told, mostTorn = 1): Promise<void> {
  const before = await look(run, stored, mostTorn);
  const monitor = await FileMonitor.open(run, { run: { id: 'r1' }, chunkBytes: 2000, workerUrl: SEAL_WORKER });
  await monitor.log(episodeOf('next'), { step: 9, kind: 'train' });
  await monitor.logMetrics({ loss: 0 }, { step: 9 });
  await monitor.logAnnotations([{ trace_id: 'next-t' }]);
  await monitor.finalize();
  const after = await look(run, [...stored, 'next'], mostTorn);
  expect(before.filter((id) => !after.includes(id))).toEqual([]);
  expect(rowsOf(run).map(({ id }) => id)).toEqual(after);
  expect(await checkIndexes(run)).toMatchObject([
    { ok: true, rows: after.length },
    { ok: true, counts: {} },
  ]);
  const leftOver = readdirSync(tracesOf(run), { recursive: true }).filter((name) =>
    /\.(lock|tmp|moving)/.test(String(name)),
  );
  expect(leftOver).toEqual([]);
  expect(readdirSync(join(tracesOf(run), 'stream')).filter((name) => !/^\d+\.jsonl\.zst$/.test(name))).toEqual([]);
  expectMetrics(run, [...steps, '9']);
}

/** Each row that was told is there, and what is no row is one line at most. */
function expectMetrics(run: string, steps: readonly string[]): void {
  const lines = readFileSync(metricsOf(run), 'utf8').split('\n').slice(0, -1);
  const found = lines.map((line) => /^\{"step": (\d+), .*"producer": "orch"\}$/.exec(line)?.[1] ?? 'torn');
  expect(found.filter((step) => step === 'torn').length).toBeLessThanOrEqual(1);
  const rows = found.filter((step) => step !== 'torn');
  expect(rows).toEqual([...new Set(rows)]);
  expect(rows).toEqual(expect.arrayContaining([...steps]));
}

describe.skipIf(!HAS_STRACE)('kill -9 at the n-th call, for every n until it survives', () => {
  test.each([
    ['write', 3],
    ['pwrite64', 5],
    ['pwritev', 2],
    ['fdatasync', 12],
    ['fsync', 3],
    ['unlink', 1],
  ])('%s of the thread that writes', TIMEOUT, async (calls, leastKills) => {
    await killAtEach(calls, { pathsOf: writerPaths, leastKills });
  });

  test.each([
    ['pwrite64', 2],
    ['fsync', 3],
    ['rename', 1],
  ])('%s of a thread that seals', TIMEOUT, async (calls, leastKills) => {
    await killAtEach(calls, { pathsOf: sealPaths, leastKills });
  });
});

type Kills = { readonly pathsOf: (run: string) => readonly string[]; readonly leastKills: number };

async function killAtEach(calls: string, { pathsOf, leastKills }: Kills): Promise<void> {
  let kills = 0;
  for (let when = 1; ; when += CALL_STRIDE) {
    const run = newRun();
    const { status, stdout } = log(run, { calls, what: `signal=SIGKILL:when=${when}`, paths: pathsOf(run) });
    await goOn(run, { stored: told(stdout, 'stored'), steps: told(stdout, 'metrics') });
    if (status === 0) break;
    kills += 1;
  }
  expect(kills).toBeGreaterThanOrEqual(Math.floor(leastKills / CALL_STRIDE));
}

describe.skipIf(!HAS_STRACE)('a disk that refuses', () => {
  test.each([
    ['ENOSPC', 'PRL_ERR_LIMIT'],
    ['EIO', 'PRL_ERR_TEMPORARY'],
  ])('the n-th write with %s: told, and everything is there once it is tried again', TIMEOUT, async (error, code) => {
    let refusals = 0;
    for (let when = 1; ; when += CALL_STRIDE) {
      const run = newRun();
      const { status, stdout } = log(run, {
        calls: WRITES,
        what: `error=${error}:when=${when}`,
        paths: writerPaths(run),
      });
      expect(status).toBe(0);
      const refused = told(stdout, 'refused');
      const failedEnd = told(stdout, 'closed');
      for (const what of refused) expect(what).toMatch(new RegExp(` ${code}$`));
      for (const what of failedEnd) expect(what).toBe(code);
      expect(told(stdout, 'stored')).toEqual(IDS);
      expect(told(stdout, 'metrics')).toEqual(['0', '1', '2']);
      await goOn(run, { stored: IDS, steps: ['0', '1', '2'] }, 0);
      if (refused.length + failedEnd.length === 0) break;
      refusals += 1;
    }
    expect(refusals).toBeGreaterThanOrEqual(8 / CALL_STRIDE);
  });

  test('every write from the n-th on: what was stored is there, and the next monitor goes on', TIMEOUT, async () => {
    for (let when = 1; when < 8; when += 1) {
      const run = newRun();
      const { status, stdout } = log(run, {
        calls: WRITES,
        what: `error=ENOSPC:when=${when}+`,
        paths: writerPaths(run),
      });
      expect(status).toBe(0);
      expect(told(stdout, 'refused').join('\n')).toMatch(/ PRL_ERR_LIMIT$/m);
      await goOn(run, { stored: told(stdout, 'stored'), steps: told(stdout, 'metrics') }, 0);
    }
  });
});
