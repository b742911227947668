/** Rights to send: as many as the limit says at the moment, in order, none lost to an abort. */
import { expect, test } from 'vitest';
import { RequestSlots } from '../../../src/core/upload/request-slots.js';

const never = new AbortController().signal;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('follows the limit up and down, first come first served', async () => {
  const limit = { limit: 2 };
  const slots = new RequestSlots(limit);
  const entered: number[] = [];
  for (let index = 0; index < 8; index += 1) void slots.enter(never).then(() => entered.push(index));
  await turn();
  expect(entered).toEqual([0, 1]);
  limit.limit = 4;
  slots.leave();
  await turn();
  expect(entered).toEqual([0, 1, 2, 3, 4]);
  limit.limit = 1;
  for (const _left of [1, 2, 3]) slots.leave();
  await turn();
  expect(entered).toEqual([0, 1, 2, 3, 4]);
  slots.leave();
  await turn();
  expect(entered).toEqual([0, 1, 2, 3, 4, 5]);
});

test('who gives up waiting takes nobody’s place and gets none', async () => {
  const slots = new RequestSlots({ limit: 1 });
  await slots.enter(never);
  const stop = new AbortController();
  const given = slots.enter(stop.signal);
  const next = slots.enter(never);
  stop.abort(new Error('stop'));
  await expect(given).rejects.toThrow('stop');
  slots.leave();
  await next;
  await expect(slots.enter(stop.signal)).rejects.toThrow('stop');
  slots.leave();
  await slots.enter(never);
});
