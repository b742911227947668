/** Plain progress: a line each interval and one on SIGUSR1, nothing after the end (demand C6). */
import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { startProgressLines } from '../../src/cli/progress-lines.js';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

test.each([
  [30_000, 95_000, 3],
  [1000, 95_000, 95],
  [0, 95_000, 0],
])('every %i ms, for %i ms: %i lines, and one more on request', (intervalMs, spanMs, count) => {
  const emitter = new EventEmitter();
  const lines: string[] = [];
  let asked = 0;
  const end = startProgressLines({
    intervalMs,
    line: () => `line ${++asked}`,
    write: (line) => lines.push(line),
    emitter,
  });
  vi.advanceTimersByTime(spanMs);
  expect(lines).toEqual(Array.from({ length: count }, (_, index) => `line ${index + 1}`));
  emitter.emit('SIGUSR1');
  expect(lines.at(-1)).toBe(`line ${count + 1}`);
  end();
  vi.advanceTimersByTime(spanMs);
  expect(emitter.eventNames()).toEqual([]);
  expect(lines).toHaveLength(count + 1);
});
