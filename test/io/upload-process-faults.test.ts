/** The process that uploads for a producer, and a system or a producer that stand in its way. Real processes and sockets. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test, vi } from 'vitest';
import { deafUntilEnded } from '../helpers/deaf.js';
import { serve } from '../helpers/primed.js';
import { tempFolder, writeTree } from '../helpers/temp-folder.js';
import { Uploading } from '../helpers/uploading.js';

// The process that uploads comes behind everybody else: on a busy machine that takes its time.
vi.setConfig({ testTimeout: 120_000 });

const CHUNK = 'monitors/file/traces/stream/00000.jsonl';
const RUN = { type: 'train', id: 'r1' };
const lineOf = (id: string): string => `${JSON.stringify({ id, run: RUN, traces: [{ id: `${id}-t`, run: RUN }] })}\n`;
const runOf = (lines: string): string => writeTree(join(tempFolder(), 'run'), { [CHUNK]: lines });
const END = { chunk: 0, offset: Buffer.byteLength(lineOf('a')) };

test('a producer that does not listen for a while hears all that was said, however much it is', async () => {
  // Refused by a check before the service; told with its id, which no socket takes in one go.
  const traces = [1, 2].map(() => ({ id: 'twice', run: RUN }));
  const refused = `${JSON.stringify({ id: 'x'.repeat(1_000_000), run: RUN, traces })}\n`;
  const uploading = new Uploading({ root: runOf(refused), url: 'http://127.0.0.1:9' });
  uploading.process.drain();
  deafUntilEnded(uploading.process.pid, 3_000);
  await uploading.until(({ end }) => end !== null);
  expect(uploading).toMatchObject({ end: { kind: 'drained' }, notices: [], process: { restarts: 0 } });
  expect(uploading.rejected.map(({ id }) => id?.length)).toEqual([1_000_000]);
});

test('a system that starts no process: the producer goes on, and it is tried again', async () => {
  const server = await serve();
  // Longer than an argument or a variable may be (E2BIG); for want of memory it fails the same way.
  process.env.PRL_TEST_LARGE = 'x'.repeat(300_000);
  onTestFinished(() => void delete process.env.PRL_TEST_LARGE);
  const uploading = new Uploading({ root: runOf(lineOf('a')), url: server.url });
  expect(uploading.notices).toEqual(['the process that uploads ended (spawn E2BIG); it is started again in 1 s']);
  const settled = uploading.process.whenSettled(END);
  delete process.env.PRL_TEST_LARGE;
  expect(await settled).toBe(true);
});

test('a key that is refused while somebody waits: told at once', async () => {
  const server = await serve(() => ({ kind: 'answer', status: 401 }));
  const uploading = new Uploading({ root: runOf(lineOf('a')), url: server.url });
  expect(await uploading.process.whenSettled(END)).toBe(false);
  expect(uploading.end).toMatchObject({ kind: 'refused' });
  expect(await uploading.process.whenSettled(END)).toBe(false);
  await uploading.until(({ process }) => !process.isRunning);
  expect(await uploading.process.whenSettled(END)).toBe(false);
});

test('what an earlier upload left is counted once the run is there, without a crash until then', async () => {
  const server = await serve();
  const root = join(tempFolder(), 'run');
  const uploading = new Uploading({ root, url: server.url, leftUpTo: END });
  await uploading.until(({ notices }) => notices.length === 1);
  const draft = runOf(lineOf('a') + lineOf('b'));
  renameSync(draft, root);
  await uploading.until(({ stored }) => stored === 2);
  expect(uploading.beginnings).toEqual([{ stored: 0, rejected: 0, left: 1 }]);
  expect(uploading).toMatchObject({ process: { restarts: 0 } });
  expect(uploading.notices).toEqual([expect.stringMatching(/^no such run or file: .*; it is tried again$/)]);
});

test('one that does not answer any more is ended all the same', async () => {
  const server = await serve();
  const uploading = new Uploading({ root: runOf(lineOf('a')), url: server.url });
  await uploading.until(({ stored }) => stored === 1);
  const pid = uploading.process.pid ?? 0;
  process.kill(pid, 'SIGSTOP');
  const settled = uploading.process.whenSettled({ chunk: 1, offset: 1 });
  await uploading.process.stop();
  expect([await settled, uploading.process.isRunning]).toEqual([false, false]);
});

test('one whose end the system does not tell is let go of', async () => {
  const folder = tempFolder();
  const pidFile = join(folder, 'pid');
  // Somebody else holds its standard error, and it hears nothing.
  const code = `import { spawn } from 'node:child_process';
    import { writeFileSync } from 'node:fs';
    const { pid } = spawn('sleep', ['300'], { stdio: ['ignore', 'ignore', 'inherit'] });
    writeFileSync(${JSON.stringify(pidFile)}, String(pid));
    setInterval(() => {}, 1000);`;
  writeTree(folder, { 'child.mjs': code });
  const childUrl = pathToFileURL(join(folder, 'child.mjs'));
  const uploading = new Uploading({ root: runOf(lineOf('a')), url: 'http://127.0.0.1:9', childUrl });
  await uploading.until(() => existsSync(pidFile) && readFileSync(pidFile, 'utf8') !== '');
  const holder = readFileSync(pidFile, 'utf8');
  onTestFinished(() => void spawnSync('kill', ['-9', holder]));
  const settled = uploading.process.whenSettled(END);
  await uploading.process.stop();
  expect(await settled).toBe(false);
});

test('a run that cannot be read when nothing more comes is no run that is not there: it is waited for', async () => {
  const server = await serve();
  const root = join(tempFolder(), 'run');
  symlinkSync(root, root);
  const uploading = new Uploading({ root, url: server.url });
  uploading.process.drain();
  await uploading.until(({ notices }) => notices.length === 1);
  expect(uploading.notices[0]).toMatch(/^cannot read .*; it is tried again$/);
  rmSync(root);
  renameSync(runOf(lineOf('a')), root);
  await uploading.until(({ end }) => end !== null);
  expect(uploading).toMatchObject({ end: { kind: 'drained' }, stored: 1 });
});
