/** The byte budget (U7, R14): never above, in order, alone where it must be, and nothing leaks whatever is aborted. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ByteBudget, type Share } from '../../../src/core/upload/byte-budget.js';

const never = new AbortController().signal;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function acquire(budget: ByteBudget, bytes: number): Promise<Share> {
  const share = budget.share();
  await share.resize(bytes, never);
  return share;
}

/** Asks in order and notes who has got what. */
function asking(budget: ByteBudget): { got: string[]; ask: (name: string, bytes: number) => Promise<Share> } {
  const got: string[] = [];
  return {
    got,
    ask: async (name, bytes) => {
      const share = await acquire(budget, bytes);
      got.push(name);
      return share;
    },
  };
}

describe('who waits, and for whom', () => {
  test('what fits goes at once, what does not when there is room', async () => {
    const budget = new ByteBudget(100);
    const { got, ask } = asking(budget);
    const first = await ask('a', 60);
    const second = ask('b', 41);
    await turn();
    expect([got, budget.usedBytes]).toEqual([['a'], 60]);
    first.release();
    await second;
    expect([got, budget.usedBytes, budget.peakBytes]).toEqual([['a', 'b'], 41, 60]);
  });

  test('a small one that would fit does not pass a large one by', async () => {
    const budget = new ByteBudget(100);
    const { got, ask } = asking(budget);
    const first = await ask('a', 60);
    const large = ask('large', 90);
    const small = ask('small', 5);
    await turn();
    expect(got).toEqual(['a']);
    first.release();
    await Promise.all([large, small]);
    expect(got).toEqual(['a', 'large', 'small']);
  });

  test('one that is larger than the budget goes alone: when nothing else is held, and nothing beside it (U8)', async () => {
    const budget = new ByteBudget(100);
    const { got, ask } = asking(budget);
    const first = await ask('a', 1);
    const huge = ask('huge', 250);
    const last = ask('z', 1);
    await turn();
    expect(got).toEqual(['a']);
    first.release();
    const held = await huge;
    await turn();
    expect([got, budget.usedBytes]).toEqual([['a', 'huge'], 250]);
    held.release();
    await last;
    expect(budget.usedBytes).toBe(1);
  });

  test('one that holds something and wants more than there is goes alone as well', async () => {
    const budget = new ByteBudget(100);
    const [growing, other] = [await acquire(budget, 80), await acquire(budget, 20)];
    const grown = growing.resize(120, never);
    await turn();
    expect(growing.bytes).toBe(80);
    other.release();
    await grown;
    expect([growing.bytes, budget.usedBytes]).toEqual([120, 120]);
  });

  test('giving back a part makes room for others', async () => {
    const budget = new ByteBudget(100);
    const { got, ask } = asking(budget);
    const packed = await ask('a', 100);
    const second = ask('b', 50);
    packed.settle(50);
    await second;
    expect([got, budget.usedBytes]).toEqual([['a', 'b'], 100]);
  });
});

test('what is handed over is held by its new owner, and nobody is counted twice', () => {
  const budget = new ByteBudget(100);
  const reader = budget.share();
  reader.settle(70);
  const batch = reader.split(60);
  expect([reader.bytes, batch.bytes, budget.usedBytes]).toEqual([10, 60, 70]);
  expect(reader.split(999).bytes).toBe(10);
  batch.release();
  batch.release();
  expect([reader.bytes, budget.usedBytes]).toEqual([0, 10]);
});

describe('a wait that is given up', () => {
  test('rejects with the reason, leaves the share as it was, and lets those behind it go', async () => {
    const budget = new ByteBudget(100);
    const share = await acquire(budget, 60);
    const stop = new AbortController();
    const growing = budget.share();
    growing.settle(10);
    const waiting = growing.resize(90, stop.signal);
    const behind = acquire(budget, 20);
    stop.abort(new Error('stop'));
    await expect(waiting).rejects.toThrow('stop');
    expect((await behind).bytes).toBe(20);
    expect([share.bytes, growing.bytes, budget.usedBytes]).toEqual([60, 10, 90]);
    await expect(growing.resize(11, stop.signal)).rejects.toThrow('stop');
  });
});

test('whatever owners do: never above the budget but alone, everybody is served, and all of it comes back', async () => {
  const step = fc.record({
    bytes: fc.integer({ min: 0, max: 150 }),
    aborts: fc.boolean(),
    packs: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 40, size: 'max' }),
      fc.infiniteStream(fc.nat(6)),
      async (steps, pick) => {
        const budget = new ByteBudget(100);
        const shares = steps.map(() => budget.share());
        const check = (): void => {
          const sum = shares.reduce((total, share) => total + share.bytes, 0);
          expect(budget.usedBytes).toBe(sum);
          if (sum > 100) expect(shares.filter((share) => share.bytes > 0)).toHaveLength(1);
        };
        const stops: AbortController[] = [];
        const work = steps.map(async ({ bytes, aborts, packs }, index) => {
          const share = shares[index] as Share;
          const stop = new AbortController();
          if (aborts) stops.push(stop);
          const isServed = await share.resize(bytes, stop.signal).then(
            () => true,
            () => false,
          );
          check();
          if (!isServed) return;
          for (let turns = pick.next().value; turns > 0; turns -= 1) await turn();
          share.settle(Math.floor(bytes * packs));
          check();
          await turn();
          share.release();
          check();
        });
        for (const stop of stops) {
          await turn();
          stop.abort(new Error('stop'));
        }
        await Promise.all(work);
        expect(budget.usedBytes).toBe(0);
      },
    ),
    { seed: 7, numRuns: 150 },
  );
});
