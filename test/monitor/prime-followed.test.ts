/** The prime monitor beside a stream that somebody else writes: followed, never encoded again. Real files, processes and sockets. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { episodeOf, openMonitor } from '../helpers/monitored-run.js';
import { ids, Primed, serve, storedIds } from '../helpers/primed.js';
import { readRun, textOf } from '../helpers/read-run.js';
import { tempFolder } from '../helpers/temp-folder.js';

// The process that uploads comes behind everybody else: on a busy machine that takes its time.
vi.setConfig({ testTimeout: 120_000 });

const TRAIN = { step: 5, kind: 'train' } as const;

/** What a run has, line for line. */
const streamOf = async (run: string): Promise<string> => textOf((await readRun(run)).records);
const storedText = ({ stored }: { readonly stored: Map<string, Buffer> }): string =>
  [...stored.values()].map(String).join('');

describe('the stream of a file monitor', () => {
  test.each([
    ['before', false],
    ['after', true],
  ])('is stored byte for byte, with the end %s that of the file', async (_when, isFinalized) => {
    const server = await serve();
    const { monitor: file, run } = await openMonitor({ chunkBytes: 8_000 });
    const primed = await Primed.open({ url: server.url, file, concurrency: 1 });
    expect(primed.monitor.runId).toBe('r1');
    for (const id of ids(30)) {
      void file.log(episodeOf(id), TRAIN);
      expect(primed.monitor.log(episodeOf(id), TRAIN)).toBe(true);
    }
    if (isFinalized) await file.finalize();
    const report = await primed.finish();
    expect(report).toMatchObject({
      isComplete: true,
      counts: { submitted: 30, admitted: 30, adopted: 0, stored: 30 },
      ...{ left: null, lost: 0, missing: 0 },
    });
    if (!isFinalized) await file.finalize();
    expect(storedText(server)).toBe(await streamOf(run));
    expect(storedIds(server)).toEqual(ids(30));
    expect(existsSync(primed.spool)).toBe(false);
    expect(primed.notices).toEqual([]);
  });

  test('is flushed up to what was logged, while it goes on', async () => {
    const server = await serve();
    const { monitor: file } = await openMonitor();
    const primed = await Primed.open({ url: server.url, file });
    for (const [round, id] of ids(3).entries()) {
      void file.log(episodeOf(id), TRAIN);
      expect(await primed.monitor.flush()).toBe(true);
      expect(storedIds(server)).toEqual(ids(round + 1));
    }
  });

  test('that an earlier process began: what it left is told apart, and nothing is stored twice', async () => {
    const first = await serve((index) => (index === 0 ? undefined : { kind: 'stall' }));
    const { monitor: file, run } = await openMonitor();
    const before = await Primed.open({ url: first.url, file, concurrency: 1, batchBytes: 1 });
    for (const id of ids(4)) await file.log(episodeOf(id), TRAIN);
    await before.until(({ monitor }) => monitor.snapshot().stored === 1 && monitor.snapshot().unknown > 0);
    expect(await before.finish(100)).toMatchObject({
      counts: { admitted: 4, stored: 1 },
      left: { directory: run, records: 3 },
      isComplete: false,
    });
    await file.finalize();
    const { monitor: again } = await openMonitor({}, run);
    const second = await serve();
    const after = await Primed.open({ url: second.url, file: again });
    await again.log(episodeOf('new'), TRAIN);
    expect(await after.finish()).toMatchObject({
      isComplete: true,
      // Another service has none of them.
      counts: { adopted: 4, admitted: 1, submitted: 1, stored: 5 },
    });
    expect(storedIds(second)).toEqual([...ids(4), 'new']);
  });

  test('that does not get what was logged here: told at the end', async () => {
    const server = await serve();
    const { monitor: file } = await openMonitor();
    const primed = await Primed.open({ url: server.url, file });
    const odd = { ...episodeOf('odd'), task: { data: { text: '\ud800' } } };
    for (const episode of [episodeOf('a'), odd]) {
      await file.log(episode, TRAIN).catch(() => {}); // told by the file monitor
      primed.monitor.log(episode, TRAIN);
    }
    expect(await primed.finish()).toMatchObject({ isComplete: true, counts: { admitted: 1, stored: 1 }, missing: 1 });
    expect(primed.told('left')).toEqual([
      '1 episode is not in the stream that is followed; log them to its monitor as well',
    ]);
  });
});

describe('a run directory', () => {
  test('is followed from before it is there, and what is in it is counted as it is read', async () => {
    const server = await serve();
    const run = join(tempFolder(), 'run');
    const primed = await Primed.open({ url: server.url, file: run });
    expect(await primed.monitor.flush()).toBe(true);
    const { monitor: file } = await openMonitor({}, run);
    for (const id of ids(3)) await file.log(episodeOf(id), TRAIN);
    expect(await primed.monitor.flush()).toBe(true);
    expect(primed.monitor.snapshot()).toMatchObject({ submitted: 3, admitted: 3, adopted: 0, stored: 3, logged: 0 });
    expect(await primed.finish()).toMatchObject({ isComplete: true, missing: 0 });
    expect(storedText(server)).toBe(await streamOf(run));
  });

  test('that was finished and is written again is gone on with', async () => {
    const server = await serve();
    const { monitor: first, run } = await openMonitor();
    await first.log(episodeOf('a'), TRAIN);
    await first.finalize();
    const primed = await Primed.open({ url: server.url, file: run });
    await primed.until(({ monitor }) => monitor.snapshot().stored === 1);
    const { monitor: second } = await openMonitor({}, run);
    await second.log(episodeOf('b'), TRAIN);
    expect(await primed.monitor.flush()).toBe(true);
    expect(storedIds(server)).toEqual(['a', 'b']);
    await second.log(episodeOf('c'), TRAIN);
    await second.finalize();
    expect(await primed.finish()).toMatchObject({ isComplete: true, counts: { admitted: 3, stored: 3 } });
    expect(storedIds(server)).toEqual(['a', 'b', 'c']);
  });
});
