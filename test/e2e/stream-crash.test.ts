/**
 * Demands U6, I2, R39, R50 at the built stream writer: killed at every call that changes a file, or refused one, while
 * it logs three records over three chunks. A reader then finds whole records and one torn line at most, none is lost
 * that was told to be stored, and the next writer goes on.
 */
import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { indexRecord } from '../../src/core/index/index-record.js';
import { IndexAppender } from '../../src/io/index-appender.js';
import { catchUpIndex } from '../../src/io/index-catch-up.js';
import { StreamWriter } from '../../src/io/stream-writer.js';
import { CALL_STRIDE } from '../helpers/every-call.js';
import { readRun } from '../helpers/read-run.js';
import { checkedIndexes } from '../helpers/stream-folder.js';
import { tempFolder } from '../helpers/temp-folder.js';
import { HAS_STRACE } from './serve-child.js';

const CHILD = resolve('test/helpers/stream-child.mjs');
const SEAL_WORKER = new URL('../../dist/io/seal-worker.js', import.meta.url);
const IDS = ['a', 'b', 'c'];

type Stream = { readonly run: string; readonly directory: string; readonly index: string };

function newStream(): Stream {
  const run = join(tempFolder(), 'run');
  const traces = join(run, 'monitors/file/traces');
  return { run, directory: join(traces, 'stream'), index: join(traces, 'stream.index.jsonl') };
}

/** Files of the writer, of whom no other calls are traced. */
function writerPaths({ directory, index }: Stream): string[] {
  const chunks = [0, 1, 2].map((chunk) => join(directory, `0000${chunk}.jsonl`));
  return [directory, index, `${directory}.lock`, join(directory, '1.moving'), ...chunks];
}

/** Files of the thread that seals. */
function sealPaths({ directory }: Stream): string[] {
  const sealed = [0, 1, 2].map((chunk) => join(directory, `0000${chunk}.jsonl.zst`));
  return [directory, ...sealed, ...sealed.map((path) => `${path}.tmp`)];
}

/** Logs the three records, behind strace when it is given options. One file thread, so that the n-th call is the same each time. */
function log({ run }: Stream, strace: readonly string[] = [], fsync = 'flush'): SpawnSyncReturns<string> {
  const command = [process.execPath, CHILD, run, fsync, ...IDS];
  const traced = strace.length === 0 ? command : ['strace', '-f', '-qq', ...strace, ...command];
  const env = { PATH: process.env.PATH, UV_THREADPOOL_SIZE: '1' };
  return spawnSync(traced[0] as string, traced.slice(1), { env, encoding: 'utf8' });
}

function injecting(names: string, what: string, paths: readonly string[]): string[] {
  const inject = ['-e', `trace=${names}`, '-e', `inject=${names}:${what}`];
  return ['-o', '/dev/null', ...inject, ...paths.flatMap((path) => ['-P', path])];
}

/** The ids that were told to be stored. */
function storedIds(stdout: string): string[] {
  return [...stdout.matchAll(/^stored (.*)$/gm)].map(([, id = '']) => id);
}

/** What a reader finds: whole records, each id once, the stored ones among them, and so many torn lines at most. */
async function look({ run, directory }: Stream, stored: readonly string[], mostTorn = 1): Promise<string[]> {
  const isThere = existsSync(directory) && readdirSync(directory).some((name) => /^\d+\.jsonl(\.zst)?$/.test(name));
  const { records, damage } = isThere ? await readRun(run) : { records: [], damage: [] };
  const ids = records.map(({ bytes }) => (JSON.parse(bytes.toString()) as { id: string }).id);
  expect(ids).toEqual([...new Set(ids)]);
  expect(ids).toEqual(expect.arrayContaining([...stored]));
  expect(damage.filter(({ kind }) => kind !== 'torn' && kind !== 'invalid_json')).toEqual([]);
  expect(damage.length).toBeLessThanOrEqual(mostTorn);
  return ids;
}

/** The next writer: one more record, and a clean end. */
async function goOn({ directory, index: path }: Stream): Promise<string[]> {
  const notices: string[] = [];
  const onNotice = ({ message }: { message: string }): void => void notices.push(message);
  const stream = await StreamWriter.open(directory, { chunkBytes: 2000, workerUrl: SEAL_WORKER, onNotice });
  const index = await IndexAppender.open(path, { onNotice });
  await catchUpIndex(index, { directory, holds: 'episodes', onNotice });
  const episode = { id: 'next', env: { id: 'e' }, task: { type: 'T', data: {} }, ok: true, errors: [], traces: [] };
  const { chunk, offset } = await stream.append([Buffer.from(JSON.stringify(episode))]);
  await index.append(indexRecord(episode, { line: index.rows + 1, chunk, offset }));
  await index.close();
  await stream.close();
  return notices;
}

/** All of it after a crash: what is there, and that the next writer completes it. */
async function checkAndGoOn(stream: Stream, stored: readonly string[], mostTorn = 1): Promise<void> {
  const before = await look(stream, stored, mostTorn);
  await goOn(stream);
  const after = await look(stream, [...stored, 'next'], mostTorn);
  expect(before.filter((id) => !after.includes(id))).toEqual([]);
  const names = readdirSync(stream.directory);
  expect(names.filter((name) => !/^\d+\.jsonl\.zst$/.test(name))).toEqual([]);
  expect(existsSync(`${stream.directory}.lock`)).toBe(false);
  const [{ check } = { check: null }] = await checkedIndexes(stream.run);
  expect(check).toMatchObject({ ok: true, rows: after.length });
}

const TIMEOUT = { timeout: 120_000 };

describe.skipIf(!HAS_STRACE)('kill -9 at the n-th call, for every n until it survives', () => {
  test.each([
    ['openat', 10],
    ['pwrite64', 5],
    ['pwritev', 3],
    ['ftruncate', 1],
    ['fdatasync', 6],
    ['fsync', 3],
    ['rename', 1],
    ['unlink', 1],
  ])('%s of the thread that writes', TIMEOUT, async (name, leastKills) => {
    let kills = 0;
    for (let when = 1; ; when += CALL_STRIDE) {
      const stream = newStream();
      const kill = injecting(name, `signal=SIGKILL:when=${when}`, writerPaths(stream));
      const { status, stdout } = log(stream, kill);
      await checkAndGoOn(stream, storedIds(stdout));
      if (status === 0) break;
      kills += 1;
    }
    expect(kills).toBeGreaterThanOrEqual(Math.floor(leastKills / CALL_STRIDE));
  });

  test.each([
    ['openat', 3],
    ['pwrite64', 2],
    ['fsync', 3],
    ['rename', 1],
    ['unlink', 1],
  ])('%s of a thread that seals', TIMEOUT, async (name, leastKills) => {
    let kills = 0;
    for (let when = 1; ; when += CALL_STRIDE) {
      const stream = newStream();
      const paths = name === 'unlink' ? writerPaths(stream) : sealPaths(stream);
      const { status, stdout } = log(stream, injecting(name, `signal=SIGKILL:when=${when}`, paths), 'never');
      await checkAndGoOn(stream, storedIds(stdout));
      if (status === 0) break;
      kills += 1;
    }
    expect(kills).toBeGreaterThanOrEqual(Math.floor(leastKills / CALL_STRIDE));
  });
});

describe.skipIf(!HAS_STRACE)('a disk that refuses', () => {
  test.each([
    ['ENOSPC', 'PRL_ERR_LIMIT'],
    ['EIO', 'PRL_ERR_TEMPORARY'],
  ])('the n-th write with %s: told, cut back, and stored when it is tried again', TIMEOUT, async (error, code) => {
    let refusals = 0;
    for (let when = 1; ; when += CALL_STRIDE) {
      const stream = newStream();
      const { status, stdout } = log(
        stream,
        injecting('pwrite64,pwritev', `error=${error}:when=${when}`, writerPaths(stream)),
      );
      expect(status).toBe(0);
      expect(storedIds(stdout)).toEqual(IDS);
      expect(await look(stream, IDS, 0)).toEqual(IDS);
      const [{ check } = { check: null }] = await checkedIndexes(stream.run);
      expect(check).toMatchObject({ ok: true, rows: 3 });
      const refused = stdout.match(/^refused . \S+$/gm) ?? [];
      if (refused.length === 0) break;
      expect(refused.every((line) => line.endsWith(code))).toBe(true);
      refusals += refused.length;
    }
    expect(refusals).toBeGreaterThanOrEqual(8 / CALL_STRIDE);
  });

  test('the n-th wait for the disk with EIO: told by the flush, and nothing is lost', TIMEOUT, async () => {
    let refusals = 0;
    for (let when = 1; ; when += 1) {
      const stream = newStream();
      const { status, stdout } = log(stream, injecting('fdatasync', `error=EIO:when=${when}`, writerPaths(stream)));
      expect(status).toBe(0);
      expect(await look(stream, IDS, 0)).toEqual(IDS);
      const told = stdout.match(/^(refused .|closed) PRL_ERR_TEMPORARY$/gm) ?? [];
      if (told.length === 0) break;
      expect(told).toHaveLength(1);
      refusals += 1;
    }
    expect(refusals).toBeGreaterThanOrEqual(6);
  });

  test('every write from the n-th on: what was stored is there, and the next writer goes on', TIMEOUT, async () => {
    for (let when = 1; when < 6; when += 1) {
      const stream = newStream();
      const { status, stdout } = log(
        stream,
        injecting('pwrite64,pwritev', `error=ENOSPC:when=${when}+`, writerPaths(stream)),
      );
      expect(status).toBe(0);
      expect(stdout).toMatch(/^refused . PRL_ERR_LIMIT$/m);
      await checkAndGoOn(stream, storedIds(stdout), 0);
    }
  });

  test(
    'to cut off a line that moves on: the torn beginning is ended by an LF, and nothing is glued to it',
    TIMEOUT,
    async () => {
      const stream = newStream();
      // The second record outgrows its chunk, and its beginning cannot be cut off there, nor when that is tried again.
      const { status, stdout } = log(stream, injecting('ftruncate', 'error=EIO:when=1..3', writerPaths(stream)));
      expect(status).toBe(0);
      expect(stdout).toMatch(/^notice .*could not be cut back to 601 bytes/m);
      expect(stdout).toMatch(/^refused b PRL_ERR_TEMPORARY$/m);
      expect(stdout).toMatch(/^notice .*the torn line at byte 601 could not be cut off; an LF now ends it$/m);
      expect(storedIds(stdout)).toEqual(IDS);
      await checkAndGoOn(stream, IDS);
    },
  );

  test.each(['ENOSPC', 'EIO'])(
    'the n-th write of a seal with %s: told at the end, the chunk stays plain',
    TIMEOUT,
    async (error) => {
      for (let when = 1; when < 4; when += 1) {
        const stream = newStream();
        const { status, stdout } = log(stream, injecting('pwrite64', `error=${error}:when=${when}`, sealPaths(stream)));
        expect(status).toBe(0);
        expect(stdout).toMatch(error === 'ENOSPC' ? /^closed PRL_ERR_LIMIT$/m : /^closed PRL_ERR_TEMPORARY$/m);
        expect(stdout).toMatch(/^notice cannot seal .*it stays plain$/m);
        const names = readdirSync(stream.directory);
        expect(names.filter((name) => name.endsWith('.tmp'))).toEqual([]);
        expect(names.filter((name) => name.endsWith('.jsonl')).length).toBeGreaterThan(0);
        await checkAndGoOn(stream, IDS, 0);
      }
    },
  );

  test(
    'and says it did not: a seal that is read back wrong is not taken for the chunk (R-CHK-7)',
    TIMEOUT,
    async () => {
      const stream = newStream();
      // One byte is said to be written that is not.
      const { stdout } = log(stream, injecting('pwrite64', 'retval=1:when=1', sealPaths(stream)));
      expect(stdout).toMatch(/^notice .*00000\.jsonl was sealed and read back wrong.*it stays plain$/m);
      expect(stdout).toMatch(/^closed PRL_ERR_INTEGRITY$/m);
      await checkAndGoOn(stream, IDS, 0);
    },
  );
});

test.skipIf(!HAS_STRACE)(
  'the order on the disk: record, its row; and of a seal, nothing gone before its replacement is there',
  TIMEOUT,
  () => {
    const stream = newStream();
    const trace = join(stream.run, '../trace.txt');
    const calls = 'pwrite64,pwritev,fsync,fdatasync,rename,unlink';
    expect(log(stream, ['-y', '-s', '16', '-o', trace, '-e', `trace=${calls}`]).status).toBe(0);
    const lines = readFileSync(trace, 'utf8').split('\n');
    const seal = lines.flatMap((line) => {
      if (/ pwrite64\(\d+<[^>]*00000\.jsonl\.zst\.tmp>/.test(line)) return 'sealed written';
      if (/ fsync\(\d+<[^>]*00000\.jsonl\.zst\.tmp>/.test(line)) return 'sealed synced';
      if (/ rename\("[^"]*00000\.jsonl\.zst\.tmp"/.test(line)) return 'named';
      return / unlink\("[^"]*00000\.jsonl"/.test(line) ? 'plain gone' : [];
    });
    expect([...new Set(seal)]).toEqual(['sealed written', 'sealed synced', 'named', 'plain gone']);
    const sealThread = lines.find((line) => / rename\("[^"]*00000\.jsonl\.zst\.tmp"/.test(line))?.split(' ')[0];
    const ofThread = lines.flatMap((line) => {
      if (!line.startsWith(`${sealThread} `) || line.includes('resumed>')) return [];
      return / (\w+)\(/.exec(line)?.[1] ?? [];
    });
    expect(ofThread.slice(ofThread.indexOf('rename'))).toEqual(['rename', 'fsync', 'unlink', 'fsync']);
    const logged = lines.flatMap((line) => {
      if (/ pwritev?(64)?\(\d+<[^>]*stream\/\d+\.jsonl>/.test(line)) return 'record written';
      if (/ fdatasync\(\d+<[^>]*stream\/\d+\.jsonl>/.test(line)) return 'record synced';
      if (/ pwrite64\(\d+<[^>]*stream\.index\.jsonl>/.test(line)) return 'row written';
      return / fdatasync\(\d+<[^>]*stream\.index\.jsonl>/.test(line) ? 'row synced' : [];
    });
    const steps = logged.filter((step, at) => step !== logged[at - 1]);
    expect(steps.slice(0, 4)).toEqual(['record written', 'record synced', 'row written', 'row synced']);
    expect(steps.join(' ')).not.toMatch(/record written row/);
  },
);

test.skipIf(!HAS_STRACE)(
  'without fsync the writer waits for no disk, and a seal does all the same (R-CHK-7)',
  TIMEOUT,
  () => {
    const stream = newStream();
    const trace = join(stream.run, '../trace.txt');
    expect(log(stream, ['-y', '-o', trace, '-e', 'trace=fsync,fdatasync'], 'never').status).toBe(0);
    const waits = readFileSync(trace, 'utf8').match(/ f(?:data)?sync\(\d+<[^>]*>/g) ?? [];
    const places = waits.map((wait) => wait.replace(/^.*\/stream/, 'stream'));
    const dir = 'stream>';
    expect(places).toEqual([0, 1, 2].flatMap((chunk) => [`stream/0000${chunk}.jsonl.zst.tmp>`, dir, dir]));
  },
);
