/** What `flush` and `finish` of a prime monitor say is true, and comes in one time (spec 07 section 5, R-Q-6 and R-Q-7). */
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { episodeOf, openMonitor } from '../helpers/monitored-run.js';
import { ids, Primed, serve, storedIds } from '../helpers/primed.js';
import { tempFolder } from '../helpers/temp-folder.js';

// The process that uploads comes behind everybody else: on a busy machine that takes its time.
vi.setConfig({ testTimeout: 120_000 });

const TRAIN = { step: 5, kind: 'train' } as const;
/** Within which `finish` lets go of what is left, and what a busy machine makes of it. */
const LET_GO_MS = 4_000 + 16_000;

const stateFolder = (): string => join(tempFolder(), 'state');

describe('flush', () => {
  test('5.2: waits for what came before, not for what came after, which goes on meanwhile', async () => {
    const held = Promise.withResolvers<void>();
    const server = await serve((index) => (index < 2 ? undefined : { kind: 'held', until: held.promise }));
    const primed = await Primed.open({ url: server.url, concurrency: 4, batchBytes: 1 });
    const { monitor } = primed;
    for (const id of ids(2)) monitor.log(episodeOf(id), TRAIN);
    const flushed = monitor.flush();
    for (const id of ids(3, 'later')) monitor.log(episodeOf(id), TRAIN);
    expect(await flushed).toBe(true);
    await primed.until(() => server.requests.length === 5);
    expect(storedIds(server).sort()).toEqual(ids(2));
    expect(await monitor.flush(50)).toBe(false);
    held.resolve();
    expect(await monitor.flush()).toBe(true);
    expect(storedIds(server).sort()).toEqual([...ids(2), ...ids(3, 'later')].sort());
  });

  test('many at once are told in their order, each when its own records are settled', async () => {
    const server = await serve();
    const primed = await Primed.open({ url: server.url, batchBytes: 1 });
    const told: number[] = [];
    const flushes = ids(20).map(async (id, at) => {
      primed.monitor.log(episodeOf(id), TRAIN);
      expect(await primed.monitor.flush()).toBe(true);
      expect(storedIds(server)).toEqual(expect.arrayContaining(ids(at + 1)));
      told.push(at);
    });
    await Promise.all(flushes);
    expect(told).toEqual([...told].sort((a, b) => a - b));
  });
});

describe('finish', () => {
  test('R-Q-7: one time for the disk and the service together, though neither answers', async () => {
    const server = await serve(() => ({ kind: 'stall' }));
    const primed = await Primed.open({ url: server.url, spoolBytes: 3_000 });
    const { monitor } = primed;
    monitor.log(
      ids(10).map((id) => episodeOf(id)),
      TRAIN,
    );
    await primed.until(() => primed.told('spool').length > 0 && monitor.snapshot().inFlightRequests > 0);
    const flushed = monitor.flush(60_000);
    const startMs = performance.now();
    const report = await primed.finish(300);
    // Nobody waits longer than there is something to wait for.
    expect(await flushed).toBe(false);
    expect(performance.now() - startMs).toBeLessThan(300 + LET_GO_MS);
    // A spool takes the record with which it is full, and no other.
    expect(report).toMatchObject({ counts: { admitted: 10, stored: 0 }, left: { records: 3 }, lost: 7 });
    expect([report.counts.unknown > 0, report.isComplete]).toEqual([true, false]);
    expect(primed.told('left')).toHaveLength(2);
  });

  test('before it is known what an earlier process left: that is not called complete, and the next monitor sends it', async () => {
    const silent = await serve(() => ({ kind: 'stall' }));
    const environment = { PRL_STATE_DIR: stateFolder() };
    const first = await Primed.open({ url: silent.url, environment });
    first.monitor.log(
      ids(3).map((id) => episodeOf(id)),
      TRAIN,
    );
    expect(await first.finish(50)).toMatchObject({ left: { records: 3, isCounted: true } });
    const second = await Primed.open({ url: silent.url, environment });
    expect(await second.finish(0)).toMatchObject({
      isComplete: false,
      left: { directory: second.spool, records: 0, isCounted: false },
      counts: { adopted: 0, unsent: 0 },
    });
    expect(second.told('left')).toEqual([
      `what else lies in ${second.spool} was not counted in time; \`prl upload\` of it sends what is left`,
    ]);
    const healthy = await serve();
    const third = await Primed.open({ url: healthy.url, environment, concurrency: 1 });
    expect(await third.finish()).toMatchObject({ isComplete: true, left: null, counts: { adopted: 3, stored: 3 } });
    expect(storedIds(healthy)).toEqual(ids(3));
  });

  test('of a spool that was empty is complete although nothing was uploaded yet', async () => {
    const server = await serve();
    const primed = await Primed.open({ url: server.url });
    expect(await primed.finish(0)).toMatchObject({ isComplete: true, left: null, lost: 0 });
    expect(primed.notices).toEqual([]);
  });

  test('before a run directory was read to its end: that is not called complete', async () => {
    const server = await serve();
    const { monitor: file, run } = await openMonitor();
    for (const id of ids(3)) await file.log(episodeOf(id), TRAIN);
    const primed = await Primed.open({ url: server.url, file: run });
    expect(await primed.finish(0)).toMatchObject({ isComplete: false, left: { directory: run, isCounted: false } });
    const again = await Primed.open({ url: server.url, file: run, concurrency: 1 });
    expect(await again.finish()).toMatchObject({ isComplete: true, left: null, counts: { stored: 3 } });
    expect(storedIds(server)).toEqual(ids(3));
  });

  test('before its file monitor has written what was logged: that is not called complete', async () => {
    const server = await serve();
    // A loop that gives the file monitor no turn until it is allowed to.
    const turn = Promise.withResolvers<void>();
    const pace = { sliceMs: 1, nowMs: () => performance.now(), giveBack: () => turn.promise };
    const { monitor: file } = await openMonitor({ pace });
    const primed = await Primed.open({ url: server.url, file });
    void file.log(episodeOf('a'), TRAIN);
    primed.monitor.log(episodeOf('a'), TRAIN);
    const report = await primed.finish(0);
    turn.resolve();
    expect(report).toMatchObject({ isComplete: false, counts: { admitted: 0 }, missing: 0 });
  });
});
