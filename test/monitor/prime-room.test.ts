/** Room for what is logged: on the disk, else in memory, else dropped and counted (spec 07 sections 5.3 and 6). Real files. */
import { rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { episodeOf } from '../helpers/monitored-run.js';
import { ids, Primed, type PrimedOptions, serve, storedIds } from '../helpers/primed.js';
import { CAN_MOUNT, smallDisk } from '../helpers/small-disk.js';
import { tempFolder } from '../helpers/temp-folder.js';

// The process that uploads comes behind everybody else: on a busy machine that takes its time.
vi.setConfig({ testTimeout: 120_000 });

const TRAIN = { step: 5, kind: 'train' } as const;
const KIB = 1024;
const MIB = 1024 * KIB;
const AWAY = { kind: 'answer', status: 503, headers: { 'Retry-After': '1' } } as const;

const log = ({ monitor }: Primed, ...names: string[]): boolean =>
  monitor.log(
    names.map((id) => episodeOf(id)),
    TRAIN,
  );

const large = (id: string, bytes: number): object => episodeOf(id, ['x'.repeat(bytes), 'y']);

/** A spool that cannot be made until `free` is called: something else has the place of a directory above it. */
async function blocked(options: PrimedOptions): Promise<{ readonly primed: Primed; readonly free: () => void }> {
  const { spoolDirectory = join(tempFolder(), 'state/spool') } = options;
  writeFileSync(dirname(spoolDirectory), '');
  const primed = await Primed.open({ ...options, spoolDirectory });
  return { primed, free: () => rmSync(dirname(spoolDirectory)) };
}

test('scenario A: a batch that does not fit is dropped whole, a barrier fits always, and the rest arrives in order', async () => {
  const server = await serve();
  const { primed, free } = await blocked({ url: server.url, maxQueuedRecords: 4 });
  expect(primed.told('spool')).toEqual([
    expect.stringMatching(/^cannot make .*; episodes wait in memory, and it is tried again$/),
  ]);
  const taken = [log(primed, 'r1', 'r2'), log(primed, 'r3'), log(primed, 'r4', 'r5'), log(primed, 'r6')];
  expect(taken).toEqual([true, true, false, true]);
  const flushed = primed.monitor.flush();
  expect(primed.monitor.droppedRecords).toBe(2);
  free();
  expect(await flushed).toBe(true);
  const report = await primed.finish();
  expect(report.counts).toMatchObject({ submitted: 6, admitted: 4, dropped: 2, stored: 4 });
  expect(storedIds(server)).toEqual(['r1', 'r2', 'r3', 'r6']);
  expect(primed.told('dropped')).toEqual([expect.stringMatching(/^2 episodes were dropped, 2 in all: /)]);
});

test('scenario B: one record larger than the budget fits when nothing else waits, and nothing beside it', async () => {
  const server = await serve();
  const { primed, free } = await blocked({ url: server.url, budgetBytes: 100 });
  expect([log(primed, 'r1'), log(primed, 'r2')]).toEqual([true, false]);
  free();
  await primed.monitor.flush();
  expect(log(primed, 'r3')).toBe(true);
  expect((await primed.finish()).counts).toMatchObject({ stored: 2, dropped: 1 });
  expect(storedIds(server)).toEqual(['r1', 'r3']);
});

test('scenario G: 20 drops in 25 s are told at 0 s, at 10 s, at 20 s and at the end, and add up', async () => {
  let nowMs = 0;
  const server = await serve();
  const { primed } = await blocked({ url: server.url, maxQueuedRecords: 1, nowMs: () => nowMs });
  log(primed, 'first');
  for (let drop = 0; drop < 20; drop += 1) {
    nowMs = drop * 1_250;
    expect(log(primed, `d${drop}`)).toBe(false);
  }
  const report = await primed.finish(100);
  const warned = primed
    .told('dropped')
    .map((message) => /^(\d+) episodes? w\w+ dropped, (\d+) in all/.exec(message)?.slice(1).map(Number));
  expect(warned).toEqual([
    [1, 1],
    [8, 9],
    [8, 17],
    [3, 20],
  ]);
  expect(report).toMatchObject({ counts: { dropped: 20, unsent: 1 }, lost: 1, left: null });
  expect(primed.told('left')).toEqual(['1 episode is lost: the disk did not take them in time']);
});

describe('R11: ten thousand calls in one turn of the event loop, and the end at once', () => {
  test.each([
    ['with room for all of them', 65_536, 10_000],
    ['with room for four thousand', 4_000, 4_000],
  ])('%s: every one is stored, or dropped and counted', async (_what, maxQueuedRecords, admitted) => {
    const server = await serve();
    // A record counts 1 MiB until the first was measured, which is after this turn.
    const primed = await Primed.open({ url: server.url, maxQueuedRecords, budgetBytes: 16_384 * MIB });
    const names = ids(10_000);
    const taken = names.filter((name) => log(primed, name));
    const report = await primed.finish();
    expect(taken).toHaveLength(admitted);
    expect(report).toMatchObject({
      isComplete: admitted === 10_000,
      counts: { submitted: 10_000, admitted, dropped: 10_000 - admitted, stored: admitted, afterClose: 0 },
    });
    expect(storedIds(server).sort()).toEqual([...taken].sort());
    const told = primed.told('dropped').map((message) => Number(/^(\d+) episodes? w/.exec(message)?.[1]));
    expect(told.reduce((sum, count) => sum + count, 0)).toBe(10_000 - admitted);
  });
});

test('what the disk takes is dropped for no other reason: however long the service is away, and however small the budget', async () => {
  let isAway = true;
  const server = await serve(() => (isAway ? AWAY : undefined));
  const primed = await Primed.open({ url: server.url, budgetBytes: MIB, chunkBytes: MIB, batchBytes: 500 * KIB });
  for (let index = 0; index < 40; index += 1) {
    await primed.until(({ monitor }) => monitor.snapshot().queuedRecords === 0);
    expect(primed.monitor.log(large(`e${index}`, 100 * KIB), TRAIN)).toBe(true);
  }
  await primed.until(({ monitor }) => monitor.snapshot().retries > 0 && monitor.snapshot().queuedRecords === 0);
  expect(primed.monitor.snapshot()).toMatchObject({ dropped: 0, stored: 0 });
  expect(primed.monitor.snapshot().spoolBytes).toBeGreaterThan(4 * MIB - 100 * KIB);
  isAway = false;
  expect(await primed.finish()).toMatchObject({ isComplete: true, counts: { stored: 40 } });
  expect(storedIds(server).sort()).toEqual(ids(40).sort());
});

test('5.1, B31: what is only in memory when time is over goes to the disk; the next monitor sends it, each once', async () => {
  const server = await serve();
  const spoolDirectory = join(tempFolder(), 'state/spool');
  const { primed, free } = await blocked({ url: server.url, spoolDirectory });
  for (const id of ids(20)) expect(log(primed, id)).toBe(true);
  free();
  const report = await primed.finish(0);
  expect(report).toMatchObject({
    counts: { admitted: 20, unsent: 20, unknown: 0, stored: 0 },
    ...{ left: { directory: spoolDirectory, records: 20 }, lost: 0, isComplete: false },
  });
  expect(primed.told('left')).toEqual([
    `20 episodes are not confirmed by the service and kept in ${spoolDirectory}; \`prl upload\` of it sends what is left`,
  ]);
  expect(server.requests).toEqual([]);
  const next = await Primed.open({ url: server.url, spoolDirectory, concurrency: 1 });
  expect(await next.finish()).toMatchObject({ isComplete: true, counts: { adopted: 20, stored: 20 } });
  expect(storedIds(server)).toEqual(ids(20));
});

test('of what the disk does not take at the end, nothing is told twice: what is lost, and what is kept', async () => {
  const server = await serve(() => AWAY);
  const primed = await Primed.open({ url: server.url, spoolBytes: 200 * KIB });
  for (const id of ids(5)) expect(primed.monitor.log(large(id, 100 * KIB), TRAIN)).toBe(true);
  await primed.until(() => primed.told('spool').length > 0);
  const report = await primed.finish(0);
  expect(report).toMatchObject({ counts: { admitted: 5, stored: 0 }, left: { records: 2 }, lost: 3 });
  expect(primed.told('left')).toEqual([
    expect.stringMatching(/^2 episodes are not confirmed by the service and kept in /),
    '3 episodes are lost: the disk did not take them in time',
  ]);
});

/** Logs more than there is room for while the service is away, which then comes back. */
async function outgrow(options: Omit<PrimedOptions, 'url'>): Promise<void> {
  let isAway = true;
  const server = await serve(() => (isAway ? AWAY : undefined));
  const primed = await Primed.open({ url: server.url, batchBytes: 200 * KIB, concurrency: 1, ...options });
  for (const id of ids(20)) expect(primed.monitor.log(large(id, 100 * KIB), TRAIN)).toBe(true);
  await primed.until(() => primed.told('spool').length > 0);
  const { queuedRecords, spoolBytes, dropped } = primed.monitor.snapshot();
  expect(queuedRecords).toBeGreaterThan(10);
  expect(spoolBytes).toBeGreaterThan(200 * KIB);
  expect(dropped).toBe(0);
  isAway = false;
  expect(await primed.finish()).toMatchObject({ isComplete: true, counts: { stored: 20 } });
  expect(storedIds(server)).toEqual(ids(20));
  expect(primed.told('spool').at(-1)).toBe('the disk takes episodes again');
}

describe('what finds no room waits in memory until the service has taken some of it, and nothing is dropped', () => {
  test('in a spool of a given size', () => outgrow({ spoolBytes: 600 * KIB }));

  test.skipIf(!CAN_MOUNT)('on a disk that is full', () =>
    outgrow({ spoolDirectory: join(smallDisk(800 * KIB).path, 'spool') }),
  );
});
