/** How the prime monitor shares the event loop: a call only queues, and between two turns lies one slice (R-Q-1). */
import { expect, test, vi } from 'vitest';
import { episodeOf } from '../helpers/monitored-run.js';
import { ids, Primed, serve, storedIds } from '../helpers/primed.js';
import { shortestSlices } from '../helpers/shortest-slices.js';

// The process that uploads comes behind everybody else: on a busy machine that takes its time.
vi.setConfig({ testTimeout: 120_000 });

const TRAIN = { step: 5, kind: 'train' } as const;

test('a call with a thousand episodes only queues, does not even ask for a turn, and nothing is done before the loop had one', async () => {
  const { pace, turns } = shortestSlices();
  const server = await serve();
  const primed = await Primed.open({ url: server.url, pace, budgetBytes: 4 * 1024 ** 3 });
  const before = turns();
  expect(
    primed.monitor.log(
      ids(1000).map((id) => episodeOf(id)),
      TRAIN,
    ),
  ).toBe(true);
  expect(turns()).toBe(before);
  await Promise.resolve();
  expect(turns()).toBe(before + 1);
  expect(primed.monitor.snapshot()).toMatchObject({ queuedRecords: 1000, spoolBytes: 0 });
  expect(await primed.finish()).toMatchObject({ isComplete: true, counts: { stored: 1000 } });
});

test('a large episode takes many turns, and those behind it wait for theirs', async () => {
  const { pace, turns } = shortestSlices();
  const server = await serve();
  const primed = await Primed.open({ url: server.url, pace, concurrency: 1 });
  const before = turns();
  primed.monitor.log(episodeOf('large', ['x'.repeat(4_000_000), 'y']), TRAIN);
  primed.monitor.log(episodeOf('small'), TRAIN);
  await primed.monitor.flush();
  // A look at every 16 KiB that are encoded.
  expect(turns() - before).toBeGreaterThan(4_000_000 / 16_384);
  expect(storedIds(server)).toEqual(['large', 'small']);
});

test('a call does not look into its episodes, kept or dropped: nothing is copied, measured or encoded in it', async () => {
  let looks = 0;
  const look = (): void => {
    looks += 1;
  };
  /** Counts whoever looks at it. */
  const watched = (id: string): object =>
    new Proxy(episodeOf(id), {
      get: (target, key) => {
        look();
        return Reflect.get(target, key);
      },
      ownKeys: (target) => {
        look();
        return Reflect.ownKeys(target);
      },
      getOwnPropertyDescriptor: (target, key) => {
        look();
        return Reflect.getOwnPropertyDescriptor(target, key);
      },
    });
  const server = await serve();
  const primed = await Primed.open({ url: server.url, maxQueuedRecords: 3, concurrency: 1 });
  const { monitor } = primed;
  expect(monitor.log(watched('a'), TRAIN)).toBe(true);
  expect(monitor.log([watched('b'), watched('c')], TRAIN)).toBe(true);
  expect(monitor.log(watched('dropped'), TRAIN)).toBe(false);
  expect(looks).toBe(0);
  expect(await primed.finish()).toMatchObject({ counts: { stored: 3, dropped: 1 } });
  expect(looks).toBeGreaterThan(0);
  expect(storedIds(server)).toEqual(['a', 'b', 'c']);
});
