/**
 * Demand U22 at the built command: a thousand files within 32 descriptors, of which eight at most are sources; and a limit
 * that is lowered while the upload is under way, so that the system itself refuses what is opened next.
 */
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type Running, watchChild } from '../helpers/child.js';
import { startFaultyServer } from '../helpers/faulty-server.js';
import { tempFolder } from '../helpers/temp-folder.js';
import { documentOf } from '../helpers/upload-command.js';

const CAN_LOWER = spawnSync('prlimit', ['--version']).status === 0;
const STREAM = 'monitors/file/traces/stream';

/** A run with one episode in each file. */
function writeFiles(run: string, files: number): string[] {
  mkdirSync(join(run, STREAM), { recursive: true });
  return Array.from({ length: files }, (_, index) => {
    const identity = { type: 'eval', id: 'r' };
    const traces = [{ id: `t-${index}`, nodes: [], run: identity }];
    const line = `${JSON.stringify({ id: `e-${index}`, env: { id: 'e' }, run: identity, traces })}\n`;
    writeFileSync(join(run, STREAM, `${String(index).padStart(5, '0')}.jsonl`), line);
    return line;
  });
}

function startLimited(descriptors: number, args: readonly string[], home: string): Running {
  const command = [process.execPath, 'bin/run.js', ...args];
  const child = spawn('bash', ['-c', `ulimit -n ${descriptors}; exec "$@"`, 'bash', ...command], {
    env: { PATH: process.env.PATH ?? '', HOME: home, PRL_STATE_DIR: join(home, 'state'), LANG: 'C.UTF-8' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return watchChild(child);
}

/** What the process has open, by number. */
function openFiles({ child }: Running): ReadonlyMap<number, string> {
  const directory = `/proc/${child.pid}/fd`;
  try {
    return new Map(readdirSync(directory).map((name) => [Number(name), readlink(join(directory, name))]));
  } catch {
    return new Map(); // it has ended
  }
}

function readlink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return ''; // closed meanwhile
  }
}

test.skipIf(process.platform !== 'linux')('U22: 1,000 files and 32 descriptors, eight sources at most', async () => {
  const home = tempFolder();
  const run = join(home, 'run');
  const lines = writeFiles(run, 1_000);
  const server = await startFaultyServer();
  onTestFinished(() => server.close());
  const upload = startLimited(32, ['upload', run, '--url', server.url, '--json', '--concurrency', '32'], home);
  let [mostSources, most] = [0, 0];
  const look = setInterval(() => {
    const open = [...openFiles(upload).values()];
    mostSources = Math.max(mostSources, open.filter((path) => path.startsWith(join(run, STREAM))).length);
    most = Math.max(most, open.length);
  }, 5);
  const ended = await upload.ended;
  clearInterval(look);
  expect({ status: ended.status, stderr: ended.stderr }).toEqual({ status: 0, stderr: '' });
  expect(documentOf(ended)).toMatchObject({ sent: { episodes: 1_000 }, damaged: [], rejected: [], complete: true });
  expect([...server.stored.values()].map(String).sort()).toEqual([...lines].sort());
  expect(mostSources).toBeLessThanOrEqual(8);
  expect(most).toBeGreaterThan(20);
  expect(most).toBeLessThanOrEqual(32);
});

test.skipIf(!CAN_LOWER)(
  'U22: EMFILE in the middle of an upload costs time, and neither a file nor a request',
  {
    timeout: 60_000,
  },
  async () => {
    const home = tempFolder();
    const run = join(home, 'run');
    const lines = writeFiles(run, 60);
    let release = (): void => {};
    const until = new Promise<void>((done) => {
      release = done;
    });
    const server = await startFaultyServer((index) => (index < 8 ? { kind: 'held', until } : undefined));
    onTestFinished(() => server.close());
    const upload = startLimited(256, ['upload', run, '--url', server.url, '--json', '--concurrency', '8'], home);
    while (server.requests.length < 8) await new Promise((done) => setTimeout(done, 10));
    await new Promise((done) => setTimeout(done, 300)); // it has read two batches ahead, and waits
    const open = openFiles(upload);
    // The number of the file that is being read: whatever is opened next is refused, file or connection.
    const source = [...open].find(([, path]) => path.startsWith(join(run, STREAM)))?.[0] ?? 0;
    expect(source).toBeGreaterThan(10);
    const limitTo = (files: number): void => {
      const lowered = spawnSync('prlimit', [`--pid=${upload.child.pid}`, `--nofile=${files}:256`]);
      expect(lowered.status).toBe(0);
    };
    limitTo(source);
    release();
    await new Promise((done) => setTimeout(done, 1_500));
    expect(upload.child.exitCode).toBe(null);
    expect(server.stored.size).toBeLessThan(20);
    limitTo(source + 4);
    const ended = await upload.ended;
    expect({ status: ended.status, stderr: ended.stderr }).toEqual({ status: 0, stderr: '' });
    expect(documentOf(ended)).toMatchObject({ sent: { episodes: 60 }, damaged: [], rejected: [], complete: true });
    expect([...server.stored.values()].map(String).sort()).toEqual([...lines].sort());
  },
);
