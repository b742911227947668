/** `flush` and `finish` of a prime monitor are answered whatever happens: in time, and at once where it is known. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { deafUntilEnded } from '../helpers/deaf.js';
import { episodeOf, openMonitor } from '../helpers/monitored-run.js';
import { ids, Primed, serve, storedIds } from '../helpers/primed.js';
import { CAN_MOUNT, smallDisk } from '../helpers/small-disk.js';
import { tempFolder, writeTree } from '../helpers/temp-folder.js';

// The process that uploads comes behind everybody else: on a busy machine that takes its time.
vi.setConfig({ testTimeout: 120_000 });

const TRAIN = { step: 5, kind: 'train' } as const;
const STREAM = 'monitors/file/traces/stream';
/** Longer than the machine takes for anything, and shorter than a test may take. */
const LONG_MS = 60_000;

const log = ({ monitor }: Primed, ...names: string[]): boolean =>
  monitor.log(
    names.map((id) => episodeOf(id)),
    TRAIN,
  );

/** The process that uploads for the one monitor there is. */
function uploadPid(): number {
  const pids = readdirSync('/proc/self/task').flatMap((thread) =>
    readFileSync(`/proc/self/task/${thread}/children`, 'utf8').trim().split(' ').map(Number),
  );
  const found = pids.filter((pid) => pid > 0 && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('upload-child'));
  expect(found).toHaveLength(1);
  return found[0] as number;
}

/** The lines of an episode that a training of run r1 has logged. */
function lineOf(id: string): string {
  const run = { type: 'train', id: 'r1' };
  return `${JSON.stringify({ id, run, traces: [{ id: `${id}-t`, run }] })}\n`;
}

describe('a run directory that looked finished', () => {
  test.each(['flush', 'finish'] as const)('and is written on before that is heard: %s waits for it', async (call) => {
    const server = await serve();
    const { monitor: file, run } = await openMonitor();
    await file.log(episodeOf('a'), TRAIN);
    await file.finalize();
    const before = await Primed.open({ url: server.url, file: run });
    expect(await before.finish()).toMatchObject({ isComplete: true });
    const primed = await Primed.open({ url: server.url, file: run });
    expect(deafUntilEnded(uploadPid())).toBe(true);
    writeTree(run, { [`${STREAM}/00001.jsonl`]: lineOf('b') });
    if (call === 'flush') expect(await primed.monitor.flush(LONG_MS)).toBe(true);
    else expect(await primed.finish(LONG_MS)).toMatchObject({ isComplete: true, counts: { stored: 1, unsent: 0 } });
    expect(storedIds(server)).toEqual(['a', 'b']);
  });
});

test('the stream of a file monitor that has come to its end: flush knows where that is', async () => {
  const server = await serve();
  const { monitor: file } = await openMonitor({ chunkBytes: 2_000 });
  const primed = await Primed.open({ url: server.url, file });
  for (const id of ids(5)) await file.log(episodeOf(id), TRAIN);
  await file.finalize();
  expect(await primed.monitor.flush(LONG_MS)).toBe(true);
  expect(storedIds(server).sort()).toEqual(ids(5));
});

test('a run directory that was not read to its end in time is not complete', async () => {
  const server = await serve();
  const run = writeTree(join(tempFolder(), 'run'), { [`${STREAM}/00000.jsonl`]: lineOf('a') });
  const primed = await Primed.open({ url: server.url, file: run });
  process.kill(uploadPid(), 'SIGSTOP');
  expect(await primed.finish(10)).toMatchObject({ isComplete: false, counts: { stored: 0 } });
});

test('a key that is refused while flush waits: told at once', async () => {
  const server = await serve(() => ({ kind: 'answer', status: 401 }));
  const primed = await Primed.open({ url: server.url });
  log(primed, 'a');
  const startMs = performance.now();
  expect(await primed.monitor.flush(10 * LONG_MS)).toBe(false);
  expect(performance.now() - startMs).toBeLessThan(LONG_MS);
  expect(primed.monitor.snapshot().state).toBe('retired');
});

test('a process killed while flush and finish wait: the next one answers', async () => {
  let isAway = true;
  const server = await serve(() => (isAway ? { kind: 'stall' } : undefined));
  const primed = await Primed.open({ url: server.url });
  log(primed, 'a');
  const flushed = primed.monitor.flush(LONG_MS);
  await primed.until(({ monitor }) => monitor.snapshot().inFlightRequests === 1);
  const finished = primed.finish(LONG_MS);
  isAway = false;
  process.kill(uploadPid(), 'SIGKILL');
  expect([await flushed, (await finished).isComplete]).toEqual([true, true]);
  expect(storedIds(server)).toEqual(['a']);
});

test('flush again and again, while finish waits, and after it', async () => {
  const server = await serve();
  const primed = await Primed.open({ url: server.url });
  log(primed, 'a');
  const { monitor } = primed;
  const answers = [monitor.flush(LONG_MS), monitor.flush(LONG_MS), primed.finish(LONG_MS), monitor.flush(LONG_MS)];
  const [first, second, report, late] = await Promise.all(answers);
  expect([first, second, report]).toMatchObject([true, true, { isComplete: true }]);
  // It may be asked too late to hear it.
  expect([true, false]).toContain(late);
  expect(await Promise.all([monitor.flush(LONG_MS), monitor.finish(0)])).toEqual([false, report]);
});

describe('a spool', () => {
  test('that is removed while somebody waits: answered in time, and not with what is not so', async () => {
    const server = await serve(() => ({ kind: 'stall' }));
    const primed = await Primed.open({ url: server.url });
    log(primed, 'a');
    await primed.until(({ monitor }) => monitor.snapshot().inFlightRequests === 1);
    rmSync(primed.spool, { recursive: true });
    log(primed, 'b');
    expect(await primed.monitor.flush(300)).toBe(false);
    expect(await primed.finish(300)).toMatchObject({ isComplete: false, counts: { stored: 0 } });
  });

  test('that cannot be made: answered in time', async () => {
    const server = await serve();
    const spoolDirectory = join(tempFolder(), 'state/spool');
    writeFileSync(dirname(spoolDirectory), '');
    const primed = await Primed.open({ url: server.url, spoolDirectory });
    expect(await primed.monitor.flush(LONG_MS)).toBe(true);
    log(primed, ...ids(3));
    expect(await primed.monitor.flush(100)).toBe(false);
    expect(await primed.finish(100)).toMatchObject({ isComplete: false, lost: 3, left: null });
    expect(await primed.monitor.flush(LONG_MS)).toBe(false);
  });

  test('that opens only when time is over: what it takes is left to the next, and nothing uploads any more', async () => {
    const server = await serve();
    const spoolDirectory = join(tempFolder(), 'state/spool');
    writeFileSync(dirname(spoolDirectory), '');
    const primed = await Primed.open({ url: server.url, spoolDirectory });
    log(primed, 'a');
    await primed.monitor.flush(10);
    // Within the time that the record at hand has, but not before `finish` has looked for a process.
    const finished = primed.finish(0);
    rmSync(dirname(spoolDirectory));
    const { lost, left } = await finished;
    expect(lost + (left?.records ?? 0)).toBe(1);
    expect(server.requests).toHaveLength(0);
    expect(() => uploadPid()).toThrow();
  });

  test.skipIf(!CAN_MOUNT)('on a disk that stays full: answered in time, and what it did take is sent', async () => {
    const server = await serve();
    const disk = smallDisk(256 * 1024);
    const primed = await Primed.open({ url: server.url, spoolDirectory: join(disk.path, 'spool') });
    log(primed, 'small');
    primed.monitor.log(episodeOf('large', ['x'.repeat(1_000_000), 'y']), TRAIN);
    expect(await primed.monitor.flush(500)).toBe(false);
    await primed.until(({ monitor }) => monitor.snapshot().stored === 1);
    expect(await primed.finish(500)).toMatchObject({ isComplete: false, counts: { stored: 1, unsent: 1 }, lost: 1 });
    expect(storedIds(server)).toEqual(['small']);
  });
});
