/** The clock of real uploads: monotonic, stoppable, and without the overflow of Node's timers. */
import { expect, test } from 'vitest';
import { monotonicClock } from '../../src/io/clock.js';

test('time goes on by what was slept', async () => {
  const startMs = monotonicClock.nowMs();
  await monotonicClock.sleep(30, new AbortController().signal);
  expect(monotonicClock.nowMs() - startMs).toBeGreaterThanOrEqual(29);
});

test('a sleep ends with its signal, before and while it lasts', async () => {
  await expect(monotonicClock.sleep(60_000, AbortSignal.abort())).rejects.toThrow();
  const controller = new AbortController();
  const sleeping = monotonicClock.sleep(60_000, controller.signal);
  controller.abort();
  await expect(sleeping).rejects.toThrow();
});

test('a wait of months is a wait, not the 1 ms that an overflowing timer gives', async () => {
  const controller = new AbortController();
  const sleeping = monotonicClock.sleep(100 * 24 * 3_600_000, controller.signal).then(
    () => 'over',
    () => 'stopped',
  );
  await monotonicClock.sleep(20, new AbortController().signal);
  controller.abort();
  expect(await sleeping).toBe('stopped');
});
