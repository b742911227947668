/** The process that uploads for a producer: what it does with what it is told, and what becomes of it. Real processes. */
import { appendFileSync, existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { getPriority } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { lockFile } from '../../src/io/run-lock.js';
import { SECRET } from '../helpers/access.js';
import { type Fault, type FaultyServer, startFaultyServer } from '../helpers/faulty-server.js';
import { seal } from '../helpers/seal.js';
import { tempFolder, writeTree } from '../helpers/temp-folder.js';
import { Uploading } from '../helpers/uploading.js';

const CHUNK = 'monitors/file/traces/stream/00000.jsonl';
const STATE = 'monitors/prl';
const RUN = { type: 'train', id: 'r1' };

function lines(...ids: string[]): string {
  return ids.map((id) => `${JSON.stringify({ id, run: RUN, traces: [{ id: `${id}-t`, run: RUN }] })}\n`).join('');
}

function runOf(...ids: string[]): string {
  return writeTree(join(tempFolder(), 'run'), { [CHUNK]: lines(...ids) });
}

async function serve(script: (index: number) => Fault | undefined = () => undefined): Promise<FaultyServer> {
  const server = await startFaultyServer(script);
  onTestFinished(() => server.close());
  return server;
}

function storedText({ stored }: FaultyServer): string {
  return [...stored.values()].map(String).join('');
}

test('uploads a run as it grows, behind everybody else, and ends drained when nothing more comes', async () => {
  const server = await serve();
  const root = runOf('a');
  const uploading = new Uploading({ root, url: server.url });
  await uploading.until(({ stored }) => stored === 1);
  expect(getPriority(uploading.process.pid ?? 0)).toBe(19);
  expect(existsSync(join(root, STATE, 'lock'))).toBe(true);
  appendFileSync(join(root, CHUNK), lines('b', 'c'));
  uploading.process.drain();
  await uploading.until(({ end }) => end !== null);
  expect(uploading).toMatchObject({ stored: 3, end: { kind: 'drained' }, notices: [] });
  expect(uploading.beginnings).toEqual([{ stored: 0, rejected: 0, left: null }]);
  expect(storedText(server)).toBe(lines('a', 'b', 'c'));
  await uploading.until(({ process }) => !process.isRunning);
  expect(existsSync(join(root, STATE, 'lock'))).toBe(false);
});

test('says when everything before a place is settled, and not before', async () => {
  let isAway = true;
  const server = await serve(() =>
    isAway ? { kind: 'answer', status: 503, headers: { 'Retry-After': '1' } } : undefined,
  );
  const root = runOf('a', 'b');
  const uploading = new Uploading({ root, url: server.url });
  const offset = lines('a', 'b').length;
  const passed: string[] = [];
  const beginning = uploading.process.whenSettled({ chunk: 0, offset: 0 }).then(() => passed.push('beginning'));
  const end = uploading.process.whenSettled({ chunk: 0, offset }).then((isSettled) => passed.push(`end ${isSettled}`));
  await beginning;
  await uploading.until(({ retries }) => retries > 0);
  expect(passed).toEqual(['beginning']);
  expect(uploading.progress.at(-1)).toMatchObject({ unanswered: 2, waiting: { asked: true } });
  isAway = false;
  await end;
  expect(passed).toEqual(['beginning', 'end true']);
  // What is not there yet is never settled by an upload that is stopped.
  const later = uploading.process.whenSettled({ chunk: 3, offset: 1 });
  await uploading.process.stop();
  expect(await later).toBe(false);
});

test('counts what an earlier upload left before it sends anything', async () => {
  const server = await serve();
  const root = runOf('a', 'b');
  const first = new Uploading({ root, url: server.url });
  first.process.drain();
  await first.until(({ end }) => end?.kind === 'drained');
  appendFileSync(join(root, CHUNK), lines('c', 'd', 'e'));
  const leftUpTo = { chunk: 0, offset: lines('a', 'b', 'c', 'd').length };
  const second = new Uploading({ root, url: server.url, leftUpTo });
  second.process.drain();
  await second.until(({ end }) => end?.kind === 'drained');
  expect(second.beginnings).toEqual([{ stored: 2, rejected: 0, left: 2 }]);
  expect(second.stored).toBe(5);
});

test.each<[string, Fault, object]>([
  ['a key that is refused', { kind: 'answer', status: 401 }, { kind: 'refused', code: 'http_401' }],
  [
    'an account without the service',
    { kind: 'answer', status: 403, body: '{"error":{"code":"service_not_enabled","message":"no beta"}}' },
    { kind: 'refused', code: 'service_not_enabled' },
  ],
  ['no traces service', { kind: 'answer', status: 404 }, { kind: 'refused', code: 'http_404' }],
])('spec 07 section 3: %s ends it at once', async (_what, fault, end) => {
  const server = await serve(() => fault);
  const uploading = new Uploading({ root: runOf('a'), url: server.url });
  await uploading.until(({ end: found }) => found !== null);
  expect(uploading.end).toMatchObject(end);
  expect(JSON.stringify(uploading.end)).not.toContain(SECRET);
  expect(server.requests).toHaveLength(1);
  await uploading.until(({ process }) => !process.isRunning);
});

test('a configuration that cannot work ends it, without a request', async () => {
  const uploading = new Uploading({ root: runOf('a'), url: 'http://traces.example' });
  await uploading.until(({ end }) => end !== null);
  expect(uploading.end).toMatchObject({ kind: 'failed', message: expect.stringContaining('plain HTTP') });
});

test('waits for a run that is not there yet, and for one that another prl uploads', async () => {
  const server = await serve();
  const root = join(tempFolder(), 'run');
  const uploading = new Uploading({ root, url: server.url });
  await uploading.until(({ notices }) => notices.length === 1);
  expect(uploading.notices[0]).toMatch(/^no such run or file: .*; it is tried again$/);
  const draft = writeTree(`${root}.draft`, { [CHUNK]: lines('a'), [`${STATE}/`]: '' });
  await lockFile(join(draft, STATE, 'lock'), 'this run');
  renameSync(draft, root);
  await uploading.until(({ notices }) => notices.length === 2);
  expect(uploading.notices[1]).toMatch(/^another prl owns this run: pid \d+ .*; it is tried again$/);
  rmSync(join(root, STATE, 'lock'));
  await uploading.until(({ stored }) => stored === 1);
});

test('killed, it is started again and goes on; figures and what is awaited go on too', async () => {
  const server = await serve((index) => (index === 1 ? { kind: 'stall' } : undefined));
  const root = runOf('a');
  const uploading = new Uploading({ root, url: server.url });
  await uploading.until(({ stored }) => stored === 1);
  appendFileSync(join(root, CHUNK), lines('b'));
  const settled = uploading.process.whenSettled({ chunk: 0, offset: lines('a', 'b').length });
  await uploading.until(({ progress }) => progress.at(-1)?.inFlightRequests === 1);
  process.kill(uploading.process.pid ?? 0, 'SIGKILL');
  expect(await settled).toBe(true);
  expect(uploading.notices).toEqual(['the process that uploads ended (SIGKILL); it is started again in 1 s']);
  expect([uploading.process.restarts, uploading.stored, uploading.beginnings.length]).toEqual([1, 2, 1]);
  expect(storedText(server)).toBe(lines('a', 'b'));
});

test('a process that cannot live says why, without the key, and is started again later each time', async () => {
  const folder = writeTree(tempFolder(), { 'child.mjs': `throw new TypeError('not with ${SECRET}');` });
  const childUrl = pathToFileURL(join(folder, 'child.mjs'));
  const uploading = new Uploading({ root: runOf('a'), url: 'http://127.0.0.1:9', childUrl });
  await uploading.until(({ notices }) => notices.length === 2);
  expect(uploading.notices).toEqual(
    [1, 2].map(
      (s) => `the process that uploads ended (status 1): TypeError: not with [key]; it is started again in ${s} s`,
    ),
  );
  const settled = uploading.process.whenSettled({ chunk: 0, offset: 1 });
  await uploading.process.stop();
  expect([await settled, uploading.process.isRunning]).toEqual([false, false]);
});

test('ends with a run that is finished, and goes on with it when it is asked to', async () => {
  const server = await serve();
  const root = writeTree(join(tempFolder(), 'run'), { [`${CHUNK}.zst`]: seal(Buffer.from(lines('a'))) });
  const uploading = new Uploading({ root, url: server.url });
  await uploading.until(({ end }) => end !== null);
  expect(uploading).toMatchObject({ end: { kind: 'finished' }, stored: 1 });
  writeTree(root, { [CHUNK.replace('00000', '00001')]: lines('b') });
  expect(await uploading.process.whenSettled({ chunk: 1, offset: lines('b').length })).toBe(true);
  expect([uploading.stored, uploading.beginnings.length, uploading.process.restarts]).toEqual([2, 1, 0]);
});

test('U24: told to stop before a service that says nothing, it is gone within 2 s and remembers what is settled', async () => {
  const server = await serve((index) => (index === 0 ? undefined : { kind: 'stall' }));
  const root = runOf('a');
  const uploading = new Uploading({ root, url: server.url });
  await uploading.until(({ stored }) => stored === 1);
  appendFileSync(join(root, CHUNK), lines('b'));
  await uploading.until(({ progress }) => progress.at(-1)?.inFlightRequests === 1);
  await uploading.process.stop();
  expect(uploading).toMatchObject({ end: { kind: 'stopped' }, notices: [] });
  expect(uploading.progress.at(-1)).toMatchObject({ unanswered: 1 });
  expect(uploading.process.isRunning).toBe(false);
  expect(readFileSync(join(root, STATE, 'journal')).length).toBeGreaterThan(0);
  expect(existsSync(join(root, STATE, 'lock'))).toBe(false);
});
