import { expect, test } from 'vitest';
import { Restarts } from '../../../src/core/upload/restarts.js';

const S = 1_000;

/** Seconds of crashes, each right after its start unless said otherwise, and the waits for the next start. */
test.each<[string, number[], number[]]>([
  [
    'crashes at once wait twice as long each time; after five starts it rests',
    [0, 1, 3, 7, 15, 31],
    [1, 2, 4, 8, 16, 570],
  ],
  ['crashes far apart are as the first', [0, 11 * 60, 22 * 60], [1, 1, 1]],
  ['the window moves on: the oldest start is forgotten', [0, 60, 120, 180, 240, 601], [1, 2, 4, 8, 16, 16]],
])('%s', (_what, atS, seconds) => {
  const restarts = new Restarts();
  expect(atS.map((s) => restarts.crashed(s * S))).toEqual(seconds.map((s) => s * S));
});

test('however often it crashes: no more starts in a window than allowed, and one again in the next', () => {
  const restarts = new Restarts({ limit: 3, windowMs: 100 * S });
  const startsMs: number[] = [];
  for (let nowMs = 0; startsMs.length < 50; nowMs = startsMs.at(-1) as number)
    startsMs.push(nowMs + restarts.crashed(nowMs));
  for (const [index, ms] of startsMs.slice(3).entries()) {
    const sinceMs = ms - (startsMs[index] as number);
    expect(sinceMs).toBeGreaterThanOrEqual(100 * S);
    expect(sinceMs).toBeLessThanOrEqual(130 * S);
  }
});

test('without a rest no back-off is longer than 30 s', () => {
  const restarts = new Restarts({ limit: 100 });
  const delays = Array.from({ length: 40 }, (_, index) => restarts.crashed(index));
  expect(Math.max(...delays)).toBe(30 * S);
});
