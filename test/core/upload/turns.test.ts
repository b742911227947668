/** Turns: never more at once than allowed, everybody's turn comes, in order, whatever the work does. */
import { expect, test } from 'vitest';
import { Turns } from '../../../src/core/upload/turns.js';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test.each([1, 2, 3])('%i at once, the others in the order they came', async (limit) => {
  const turns = new Turns(limit);
  const started: number[] = [];
  const ends: (() => void)[] = [];
  const work = Array.from({ length: 7 }, (_, index) =>
    turns.take(async () => {
      started.push(index);
      await new Promise<void>((resolve) => ends.push(resolve));
      return index;
    }),
  );
  for (let done = 0; done < 7; done += 1) {
    await settled();
    expect(started).toEqual(Array.from({ length: Math.min(7, done + limit) }, (_, index) => index));
    ends[done]?.();
  }
  expect(await Promise.all(work)).toEqual([0, 1, 2, 3, 4, 5, 6]);
});

test('a turn that fails passes on like any other', async () => {
  const turns = new Turns(1);
  const failed = turns.take(() => Promise.reject(new Error('no')));
  const next = turns.take(async () => 'mine');
  await expect(failed).rejects.toThrow('no');
  expect(await next).toBe('mine');
  expect(await turns.take(async () => 'again')).toBe('again');
});
