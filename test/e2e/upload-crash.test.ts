/**
 * Demands U1, U2, U6, R02 at the client: `prl upload` killed at any call that changes its state, run again until it is
 * done, and the service holds each episode once. The calls are met by strace in the built command; the check reads
 * every stored copy out of the service's database.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { crc32 } from 'node:zlib';
import { beforeEach, describe, expect, test } from 'vitest';
import { decodeJournal } from '../../src/core/upload/journal-format.js';
import { watchChild } from '../helpers/child.js';
import { documentOf, runPrl, storedEpisodes } from '../helpers/upload-command.js';
import { temporaryFolder } from '../service/service-fixture.js';
import { HAS_STRACE, type ServeChild, serveChild } from './serve-child.js';

const RECORDS = ['a', 'b', 'c'];
let directory = '';
let service: ServeChild;

beforeEach(async () => {
  directory = temporaryFolder();
  service = await serveChild(directory);
});

const url = (): string => `http://127.0.0.1:${service.port}`;

/** A run of three records, one of them above the size of a batch; its name is its run id. */
function writeRun(home: string, runId: string, { open = false } = {}): string {
  const stream = join(home, 'run/monitors/file/traces/stream');
  mkdirSync(stream, { recursive: true });
  const lines = RECORDS.map((letter, index) => {
    const run = { type: 'eval', id: runId };
    const id = `${letter}-${runId}`;
    const trace = { id: `t-${id}`, run, nodes: [], info: { x: 'y'.repeat(100 * index) } };
    return JSON.stringify({ id, env: { id: 'e' }, run, ok: true, errors: [], traces: [trace] });
  });
  writeFileSync(join(stream, '00000.jsonl'), `${lines.join('\n')}${open ? '' : '\n'}`);
  return join(home, 'run');
}

/** Uploads under strace; true when the process was killed. One file thread, so that the n-th call is the same each time. */
async function killedAt(run: string, home: string, strace: readonly string[]): Promise<boolean> {
  const command = [process.execPath, resolve('bin/run.js'), 'upload', run, '--url', url(), '--json', '--batch', '700'];
  const child = spawn('strace', ['-f', '-qq', '-o', '/dev/null', ...strace, ...command], {
    env: {
      PATH: process.env.PATH ?? '',
      HOME: home,
      LANG: 'C.UTF-8',
      PRL_STATE_DIR: join(home, 'state'),
      UV_THREADPOOL_SIZE: '1',
    },
    stdio: 'ignore',
  });
  const [status, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((done) =>
    child.once('close', (code, by) => done([code, by])),
  );
  if (status !== 0) expect([status, signal]).toEqual([null, 'SIGKILL']);
  return status !== 0;
}

const everyRecord = (runId: string): string[] => RECORDS.map((letter) => `${letter}-${runId}`);
const kept = (run: string): string[] => readdirSync(join(run, 'monitors/prl'));

describe.skipIf(!HAS_STRACE)('kill -9 at the n-th call, for every n until it survives', () => {
  test.each([
    // Each is a durable fact: the head of the journal, a cut, a receipt.
    ['fdatasync', [], 5],
    // Writes to the journal, before they are durable; a stride keeps the campaign short.
    ['write', ['journal'], 3],
    // The requests themselves.
    ['writev', [], 1],
    // The lock: taken, tidied, let go.
    ['link', [], 1],
    ['unlink', [], 2],
  ])('%s %j', { timeout: 120_000 }, async (name, files, leastKills) => {
    let kills = 0;
    for (let when = 1; when < 100; when += name === 'write' ? 2 : 1) {
      const home = temporaryFolder();
      const runId = `${name}-${when}`;
      const run = writeRun(home, runId);
      const paths = files.flatMap((file) => ['-P', join(run, 'monitors/prl', file)]);
      const inject = `inject=${name}:signal=SIGKILL:when=${when}`;
      if (!(await killedAt(run, home, [...paths, '-e', `trace=${name}`, '-e', inject]))) break;
      kills += 1;
      // With another batch size: a cut that was made is repeated, whatever the rules would say now.
      const again = await runPrl(['upload', run, '--url', url(), '--json', '--batch', '400'], { home });
      expect({ when, ...again }).toMatchObject({ when, status: 0, stderr: '' });
      expect(documentOf(again)).toMatchObject({ plan: { episodes: 3 }, complete: true });
      expect(storedEpisodes({ directory }, runId)).toEqual(everyRecord(runId));
      expect(kept(run)).toEqual(['journal']);
    }
    expect(kills).toBeGreaterThanOrEqual(leastKills);
  });

  test('rename, of a damaged journal: what it said before the damage is not forgotten', {
    timeout: 60_000,
  }, async () => {
    let kills = 0;
    for (let when = 1; when < 10; when += 1) {
      const home = temporaryFolder();
      const runId = `rename-${when}`;
      const run = writeRun(home, runId);
      expect((await runPrl(['upload', run, '--url', url(), '--batch', '700'], { home })).status).toBe(0);
      const journal = join(run, 'monitors/prl/journal');
      const bytes = readFileSync(journal);
      writeFileSync(journal, Buffer.concat([bytes, Buffer.from('no record of any journal')]));
      const inject = `inject=rename:signal=SIGKILL:when=${when}`;
      const isKilled = await killedAt(run, home, ['-e', 'trace=rename', '-e', inject]);
      const again = await runPrl(['upload', run, '--url', url(), '--json', '--batch', '400'], { home });
      expect(documentOf(again)).toMatchObject({ already: { episodes: 3 }, sent: { requests: 0 } });
      expect(storedEpisodes({ directory }, runId)).toEqual(everyRecord(runId));
      if (!isKilled) break;
      kills += 1;
    }
    expect(kills).toBe(1);
  });

  test('openat, ftruncate, close of the state, over a torn journal: it is never less than it was', {
    timeout: 120_000, // a process for each call
  }, async () => {
    const home = temporaryFolder();
    const run = writeRun(home, 'calls');
    const upload = ['upload', run, '--url', url(), '--json', '--batch', '700'];
    expect((await runPrl(upload, { home })).status).toBe(0);
    const journal = join(run, 'monitors/prl/journal');
    const tornBytes = readFileSync(journal).length - 5;
    const before = decodeJournal(readFileSync(journal).subarray(0, tornBytes), crc32).entries;
    expect(before.map(({ kind }) => kind)).toContain('stored');
    const paths = ['', 'journal', 'lock'].flatMap((file) => ['-P', join(run, 'monitors/prl', file)]);
    const kills: string[] = [];
    for (const name of ['openat', 'ftruncate', 'close']) {
      for (let when = 1; when < 20; when += 1) {
        truncateSync(journal, tornBytes);
        const inject = `inject=${name}:signal=SIGKILL:when=${when}`;
        if (!(await killedAt(run, home, [...paths, '-e', `trace=${name}`, '-e', inject]))) break;
        kills.push(name);
        const { state, entries } = decodeJournal(readFileSync(journal), crc32);
        expect({ name, when, state }).toEqual({ name, when, state: expect.stringMatching(/^(?:torn|intact)$/) });
        expect(entries.slice(0, before.length)).toEqual(before);
      }
    }
    expect(kills.length).toBeGreaterThanOrEqual(8);
    expect(new Set(kills).size).toBe(3);
    // The last ones came through, over the locks and names that all the others left behind.
    const again = await runPrl(upload, { home });
    expect(again).toMatchObject({ status: 0, stderr: '' });
    expect(documentOf(again)).toMatchObject({ already: { episodes: 3 }, sent: { requests: 0 }, complete: true });
    expect(storedEpisodes({ directory }, 'calls')).toEqual(everyRecord('calls'));
    expect(kept(run)).toEqual(['journal']);
  });

  test('with the last record still without its LF, which comes before the next run', { timeout: 60_000 }, async () => {
    // The first ones come before the first request, and are met above.
    for (let when = 3; when < 20; when += 1) {
      const home = temporaryFolder();
      const runId = `open-${when}`;
      const run = writeRun(home, runId, { open: true });
      const inject = `inject=fdatasync:signal=SIGKILL:when=${when}`;
      const isKilled = await killedAt(run, home, ['-e', 'trace=fdatasync', '-e', inject]);
      writeRun(home, runId);
      const again = await runPrl(['upload', run, '--url', url(), '--json'], { home });
      expect(documentOf(again)).toMatchObject({ plan: { episodes: 3 }, complete: true });
      expect(storedEpisodes({ directory }, runId)).toEqual(everyRecord(runId));
      if (!isKilled) break;
    }
  });
});

describe.skipIf(!HAS_STRACE)('a disk that refuses the journal', () => {
  test.each([
    ['read', 'EIO'],
    ['openat', 'EIO'],
    ['openat', 'EMFILE'],
  ])(
    'R08: %s: %s when it is read: nothing is lost, nothing sent twice, one warning; and it is there again afterwards',
    {
      timeout: 60_000,
    },
    async (name, error) => {
      const home = temporaryFolder();
      const runId = `unreadable-${name}-${error}`;
      const run = writeRun(home, runId);
      const upload = ['upload', run, '--url', url(), '--batch'];
      expect((await runPrl([...upload, '700'], { home })).status).toBe(0);
      const journal = join(run, 'monitors/prl/journal');
      const before = readFileSync(journal);
      const inject = `inject=${name}:error=${error}:when=1`;
      const strace = ['-f', '-qq', '-o', '/dev/null', '-P', journal, '-e', `trace=${name}`, '-e', inject];
      // Cut otherwise than before: what is sent again would be stored again.
      const troubled = await watchChild(
        spawn('strace', [...strace, process.execPath, resolve('bin/run.js'), ...upload, '400'], {
          env: { PATH: process.env.PATH ?? '', HOME: home, LANG: 'C.UTF-8', UV_THREADPOOL_SIZE: '1' },
        }),
      ).ended;
      expect(troubled.status).toBe(0);
      expect(troubled.stderr).toMatch(/ uploaded 0 episodes, .*; 3 already there\n/);
      expect(troubled.stderr.match(/^! .*$/gm)).toEqual([expect.stringMatching(`the journal is not kept .${error}`)]);
      expect(readFileSync(journal)).toEqual(before);
      const again = documentOf(await runPrl([...upload, '700', '--json'], { home }));
      expect(again).toMatchObject({ sent: { requests: 0 }, already: { episodes: 3 }, complete: true });
      expect(storedEpisodes({ directory }, runId)).toEqual(everyRecord(runId));
    },
  );

  test.each([
    ['write', 'ENOSPC', [1, 3]],
    ['fdatasync', 'EIO', [2]],
  ])(
    '%s: %s from the n-th call on: everything is stored, and a later run finds it so',
    { timeout: 60_000 },
    async (name, error, moments) => {
      for (const when of moments) {
        const home = temporaryFolder();
        const runId = `${error}-${name}-${when}`;
        const run = writeRun(home, runId);
        const journal = ['-P', join(run, 'monitors/prl/journal')];
        const inject = `inject=${name}:error=${error}:when=${when}+`;
        expect(await killedAt(run, home, [...journal, '-e', `trace=${name}`, '-e', inject])).toBe(false);
        expect(storedEpisodes({ directory }, runId)).toEqual(everyRecord(runId));
        const again = await runPrl(['upload', run, '--url', url(), '--json', '--batch', '700'], { home });
        expect({ ...again }).toMatchObject({ status: 0, stderr: '' });
        expect(storedEpisodes({ directory }, runId)).toEqual(everyRecord(runId));
      }
    },
  );
});
