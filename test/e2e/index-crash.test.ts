/**
 * Demands I2, I3, I7, I11 at the built command: killed at every call that changes the index, with a reader looking on;
 * no room at every write; killed in the middle and gone on; lines and runs far larger than its memory.
 */
import { spawn, spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { shapeLines, writeLongLine, writeShapeRun } from '../helpers/shapes.js';
import { tempFolder } from '../helpers/temp-folder.js';
import { HAS_STRACE } from './serve-child.js';

const LINES = [...shapeLines('C', 40_000)];
const MIB = 2 ** 20;
const OLD = '{"cost":null,"line":1,"offset":0,"id":"old"}\n';
const BINARY = [process.execPath, resolve('bin/run.js')];

type Traces = { readonly home: string; readonly run: string; readonly traces: string; readonly index: string };

function newRun(lines: readonly Buffer[] = LINES): Traces {
  const home = tempFolder();
  const run = join(home, 'run');
  const traces = join(run, 'monitors/file/traces');
  mkdirSync(join(traces, 'stream'), { recursive: true });
  writeFileSync(join(traces, 'stream/00000.jsonl'), Buffer.concat(lines.slice(0, 8)));
  writeFileSync(join(traces, 'stream/00001.jsonl'), Buffer.concat(lines.slice(8)));
  const index = join(traces, 'stream.index.jsonl');
  writeFileSync(index, OLD);
  return { home, run, traces, index };
}

type Ended = { readonly status: number | null; readonly signal: NodeJS.Signals | null; readonly stdout: string };

/** `prl index RUN --force --json …`, behind strace when it is given options. One file thread, so that the n-th call is the same each time. */
function indexCommand({ home, run }: Traces, args: readonly string[] = [], strace: readonly string[] = []): Ended {
  const command = [...BINARY, 'index', run, '--force', '--json', ...args];
  const traced = strace.length === 0 ? command : ['strace', '-f', '-qq', '-o', '/dev/null', ...strace, ...command];
  const { status, signal, stdout } = spawnSync(traced[0] as string, traced.slice(1), {
    env: environmentOf(home),
    encoding: 'utf8',
  });
  return { status, signal, stdout };
}

function environmentOf(home: string): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    HOME: home,
    LANG: 'C.UTF-8',
    PRL_STATE_DIR: join(home, 'state'),
    UV_THREADPOOL_SIZE: '1',
  };
}

/** Where the state lies; null before it was written. */
function statePath({ run }: Traces): string | null {
  const place = join(run, 'monitors/prl');
  const [state] = existsSync(place) ? readdirSync(place).filter((name) => name.endsWith('.json')) : [];
  return state === undefined ? null : join(place, state);
}

/** Resolves when the state was written as often as that. */
async function untilSaved(run: Traces, times: number): Promise<void> {
  const saved = new Set<number>();
  while (saved.size < times) {
    const path = statePath(run);
    if (path !== null) saved.add(statSync(path).mtimeMs);
    await new Promise((done) => setTimeout(done, 20));
  }
}

/** `prl index` in place on a slow disk: 1 MiB in 50 ms, 20 MiB/s. */
function slowIndex(run: Traces, chunks: readonly string[]): { kill(): void; readonly ended: Promise<number | null> } {
  const paths = chunks.flatMap((path) => ['-P', path]);
  const slow = [...paths, '-e', 'trace=pread64', '-e', 'inject=pread64:delay_enter=50000'];
  const command = [...BINARY, 'index', run.run, '--force', '--jobs', '1'];
  const child = spawn('strace', ['-f', '-qq', '-o', '/dev/null', ...slow, ...command], {
    env: environmentOf(run.home),
    stdio: 'ignore',
    detached: true,
  });
  return {
    kill: () => process.kill(-(child.pid as number), 'SIGKILL'),
    ended: new Promise((done) => child.once('close', (status) => done(status))),
  };
}

const drafts = ({ traces }: Traces): string[] => readdirSync(traces).filter((name) => name.endsWith('.prl-draft'));

/** The index that an undisturbed indexing makes of these lines. */
function rightIndex(lines: readonly Buffer[] = LINES): string {
  const run = newRun(lines);
  expect(indexCommand(run).status).toBe(0);
  return readFileSync(run.index, 'utf8');
}

describe.skipIf(!HAS_STRACE)('kill -9 at the n-th call, for every n until it survives', () => {
  test.each([
    ['fsync', 2],
    ['fdatasync', 0],
    ['rename', 2],
    ['pwrite64', 2],
    ['unlink', 0],
    ['fchmod', 1],
    ['mkdir', 1],
  ])(
    '%s: the index is the old or the new one, and the next indexing makes it new',
    { timeout: 120_000 },
    (name, leastKills) => {
      const right = rightIndex();
      let kills = 0;
      for (let when = 1; when < 60; when += 1) {
        const run = newRun();
        const { status } = indexCommand(
          run,
          [],
          ['-e', `trace=${name}`, '-e', `inject=${name}:signal=SIGKILL:when=${when}`],
        );
        expect([OLD, right]).toContain(readFileSync(run.index, 'utf8'));
        if (status === 0) break;
        kills += 1;
        expect(indexCommand(run).status).toBe(0);
        expect(readFileSync(run.index, 'utf8')).toBe(right);
        expect(drafts(run)).toEqual([]);
      }
      expect(kills).toBeGreaterThanOrEqual(leastKills);
    },
  );
});

test('a reader never sees a half index', { timeout: 60_000 }, async () => {
  const run = newRun(LINES.slice(0, 4));
  const wholes = new Set<string>([OLD]);
  // Reads without pause, and says what it saw that is no whole set of lines.
  const reader = spawn(process.execPath, [
    '-e',
    `const { readFileSync } = require('node:fs');
     const seen = new Set();
     process.on('SIGTERM', () => { process.stdout.write(JSON.stringify([...seen])); process.exit(0); });
     const look = () => { for (let i = 0; i < 50; i += 1) seen.add(readFileSync(process.argv[1], 'utf8')); setImmediate(look); };
     look();`,
    run.index,
  ]);
  let seen = '';
  reader.stdout.on('data', (part: Buffer) => {
    seen += part;
  });
  for (const line of LINES.slice(4, 12)) {
    expect(indexCommand(run).status).toBe(0);
    wholes.add(readFileSync(run.index, 'utf8'));
    appendFileSync(join(run.traces, 'stream/00001.jsonl'), line);
  }
  reader.kill('SIGTERM');
  await new Promise((done) => reader.once('close', done));
  const looked: string[] = JSON.parse(seen);
  expect(looked.length).toBeGreaterThan(2);
  for (const content of looked) expect(wholes.has(content)).toBe(true);
});

describe('no room', () => {
  test.skipIf(!HAS_STRACE)(
    'at each write: status 8, the old index, no draft, and what is missing',
    { timeout: 60_000 },
    () => {
      let failures = 0;
      for (let when = 1; when < 20; when += 1) {
        const run = newRun();
        const { status, stdout } = indexCommand(
          run,
          [],
          ['-e', 'trace=pwrite64', '-e', `inject=pwrite64:error=ENOSPC:when=${when}+`],
        );
        if (status === 0) break;
        failures += 1;
        expect(status).toBe(8);
        expect(JSON.parse(stdout).error).toMatchObject({
          code: 'PRL_ERR_LIMIT',
          message: expect.stringMatching(/ENOSPC.*about \d+ bytes more/),
        });
        expect(readFileSync(run.index, 'utf8')).toBe(OLD);
        expect(drafts(run)).toEqual([]);
      }
      expect(failures).toBeGreaterThan(0);
    },
  );

  test('under a limit of the file size', () => {
    const run = newRun();
    const line = `ulimit -f 1; "$@"`;
    const { status } = spawnSync('bash', ['-c', line, 'bash', ...BINARY, 'index', run.run, '--force', '--json'], {
      env: environmentOf(run.home),
    });
    expect(status).toBe(8);
    expect(readFileSync(run.index, 'utf8')).toBe(OLD);
    expect(drafts(run)).toEqual([]);
  });
});

describe.skipIf(!HAS_STRACE)('killed in the middle of a run on a slow disk', () => {
  test.each([1, 2])(
    'at checkpoint %i: what was settled is not read again',
    { timeout: 90_000 },
    async (checkpoints) => {
      const run = newRun([]);
      const { chunks, bytes } = writeShapeRun(run.run, { shape: 'C', bytes: 64 * MIB, chunkBytes: 8 * MIB });
      expect(chunks.length).toBeGreaterThan(4);
      const slow = slowIndex(run, chunks);
      await untilSaved(run, checkpoints);
      slow.kill();
      await slow.ended;
      expect(drafts(run)).toHaveLength(1);
      expect(readFileSync(run.index, 'utf8')).toBe(OLD);
      const ended = indexCommand(run);
      expect(ended.status).toBe(0);
      const [first] = JSON.parse(ended.stdout).streams;
      expect(first.resumed_bytes).toBeGreaterThan(0);
      expect(first.bytes).toBe(bytes);
      expect(drafts(run)).toEqual([]);
      const [node, ...script] = BINARY;
      const rows = spawnSync(node as string, [...script, 'index', run.run, '--rows'], {
        env: environmentOf(run.home),
        encoding: 'utf8',
        maxBuffer: 2 ** 26,
      });
      expect(rows.stdout === readFileSync(run.index, 'utf8')).toBe(true);
    },
  );
});

describe.skipIf(!HAS_STRACE)('a draft that was left behind', () => {
  test.each(['rename', 'ftruncate', 'fsync'])(
    'is found again when whoever went on with it was killed at its first %s',
    { timeout: 90_000 },
    async (name) => {
      const run = newRun([]);
      const { chunks } = writeShapeRun(run.run, { shape: 'C', bytes: 60 * MIB });
      const first = slowIndex(run, chunks);
      await untilSaved(run, 1);
      first.kill();
      await first.ended;
      const settled = JSON.parse(readFileSync(statePath(run) as string, 'utf8')).chunks[0].bytes;
      expect(settled).toBeGreaterThan(0);
      for (let kill = 0; kill < 3; kill += 1) {
        const { status } = indexCommand(run, [], ['-e', `trace=${name}`, '-e', `inject=${name}:signal=SIGKILL:when=1`]);
        expect(status).not.toBe(0);
        expect(drafts(run)).toHaveLength(1);
      }
      const [stream] = JSON.parse(indexCommand(run).stdout).streams;
      expect(stream.resumed_bytes).toBe(settled);
      expect(drafts(run)).toEqual([]);
    },
  );

  test('is left alone while its process goes on', { timeout: 90_000 }, async () => {
    const run = newRun([]);
    const { chunks } = writeShapeRun(run.run, { shape: 'C', bytes: 120 * MIB });
    const { ended } = slowIndex(run, chunks);
    await untilSaved(run, 1);
    const second = indexCommand(run);
    expect(second.status).toBe(0);
    expect(JSON.parse(second.stdout).streams[0]).toMatchObject({ resumed_bytes: 0, changed: true });
    const written = readFileSync(run.index);
    expect(await ended).toBe(0);
    expect(readFileSync(run.index).equals(written)).toBe(true);
    expect(drafts(run)).toEqual([]);
  });
});

describe('memory', () => {
  test('does not follow the length of a line', { timeout: 120_000 }, () => {
    const run = newRun([]);
    const path = join(run.traces, 'stream/00000.jsonl');
    const bytes = writeLongLine(path, 'A', 560 * MIB);
    const { status, stdout } = indexCommand(run, ['--jobs', '2']);
    expect(status).toBe(0);
    const document = JSON.parse(stdout);
    expect(document.streams[0]).toMatchObject({ episodes: 1, bytes });
    expect(statSync(path).size).toBe(bytes);
    expect(document.peak_rss_bytes).toBeLessThan(150 * MIB);
  });

  test.each([1, 2])('does not follow the size of a run, with %i threads', { timeout: 120_000 }, (jobs) => {
    const run = newRun([]);
    const { episodes } = writeShapeRun(run.run, { shape: 'C', bytes: 512 * MIB, chunkBytes: 200 * MIB });
    const { status, stdout } = indexCommand(run, ['--jobs', String(jobs)]);
    expect(status).toBe(0);
    const document = JSON.parse(stdout);
    expect(document.streams[0]).toMatchObject({ episodes, repeated: { count: 0 } });
    expect(document.peak_rss_bytes).toBeLessThan(300 * MIB);
  });
});
