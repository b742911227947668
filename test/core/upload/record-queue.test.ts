/** The queue between a producer and the service: the scenarios of spec 07 section 6, one by one. */
import { describe, expect, test } from 'vitest';
import type { DropWarning } from '../../../src/core/upload/drop-warnings.js';
import {
  type QueuedWrite,
  RECORD_QUEUE_DEFAULTS,
  RecordQueue,
  type RecordQueueOptions,
  type Submitted,
} from '../../../src/core/upload/record-queue.js';
import { SizeEstimate } from '../../../src/core/upload/size-estimate.js';

type Made = { readonly queue: RecordQueue<string>; readonly warnings: DropWarning[]; nowMs: number };

function make(options: Partial<RecordQueueOptions> = {}): Made {
  const warnings: DropWarning[] = [];
  const made: Made = {
    queue: new RecordQueue<string>({
      nowMs: () => made.nowMs,
      onWarning: (warning) => void warnings.push(warning),
      ...options,
    }),
    warnings,
    nowMs: 0,
  };
  return made;
}

const episodes = (names: readonly string[], bytes: number): Submitted<string>[] =>
  names.map((record) => ({ record, format: 'episode', bytes }));

/** The next write, or null where there is none to be sent. */
function take(queue: RecordQueue<string>): QueuedWrite<string> | null {
  const work = queue.next();
  if (work?.kind === 'measure') throw new Error(`${work.record.record} is to be measured`);
  return work?.write ?? null;
}

const namesOf = (write: QueuedWrite<string> | null): string[] | null =>
  write === null ? null : write.records.map(({ record }) => record);

function takeAll(queue: RecordQueue<string>): QueuedWrite<string>[] {
  const writes: QueuedWrite<string>[] = [];
  for (let write = take(queue); write !== null; write = take(queue)) writes.push(write);
  return writes;
}

describe('spec 07 section 6', () => {
  test('A: a full queue drops a whole batch and takes a barrier, which is reached when all before it is settled', () => {
    const { queue, warnings } = make({ budgetBytes: 100, maxRecords: 4, writeBytes: 30 });
    const reached: boolean[] = [];
    expect(queue.submit(episodes(['r1', 'r2'], 10))).toBe(true);
    expect(queue.submit(episodes(['r3'], 10))).toBe(true);
    expect(queue.submit(episodes(['r4', 'r5'], 10))).toBe(false);
    expect(queue.submit(episodes(['r6'], 10))).toBe(true);
    queue.barrier((isSettled) => void reached.push(isSettled));
    const [first, second] = takeAll(queue);
    expect([first, second].map((write) => namesOf(write ?? null))).toEqual([['r1', 'r2', 'r3'], ['r6']]);
    queue.settle(second as QueuedWrite<string>, { stored: 1 });
    expect(reached).toEqual([]);
    queue.settle(first as QueuedWrite<string>, { stored: 3 });
    expect(reached).toEqual([true]);
    expect(queue.snapshot()).toMatchObject({ submitted: 6, admitted: 4, dropped: 2, stored: 4, queuedRecords: 0 });
    expect(warnings).toEqual([{ records: 2, total: 2 }]);
  });

  test('B: one batch above the budget goes through an idle queue alone; what is in flight is in the budget', () => {
    const { queue } = make({ budgetBytes: 100, maxRecords: 100 });
    expect(queue.submit(episodes(['r1'], 250))).toBe(true);
    expect(queue.submit(episodes(['r2'], 1))).toBe(false);
    const write = take(queue) as QueuedWrite<string>;
    expect(queue.submit(episodes(['r2'], 1))).toBe(false);
    queue.settle(write, { stored: 1 });
    expect(queue.submit(episodes(['r2'], 1))).toBe(true);
  });

  test('C: a batch is spread in order over writes of 30, and what is above goes alone', () => {
    const { queue } = make({ writeBytes: 30 });
    queue.submit([12, 12, 12, 40, 5].map((bytes, index) => ({ record: `r${index}`, format: 'episode', bytes })));
    const writes = takeAll(queue);
    expect(writes.map(({ records }) => records.map(({ bytes }) => bytes))).toEqual([[12, 12], [12], [40], [5]]);
    expect(writes.map(({ bytes }) => bytes)).toEqual([24, 12, 40, 5]);
  });

  test('D: a write ends where the format changes', () => {
    const { queue } = make();
    const formats = ['trace', 'trace', 'episode', 'trace'] as const;
    for (const format of formats) queue.submit([{ record: format, format, bytes: 5 }]);
    expect(takeAll(queue).map(({ format, records }) => [format, records.length])).toEqual([
      ['trace', 2],
      ['episode', 1],
      ['trace', 1],
    ]);
  });

  test('G: twenty drops in 25 s are told in three warnings and a summary, and the numbers add up', () => {
    const made = make({ maxRecords: 1 });
    made.queue.submit(episodes(['first'], 1));
    for (let drop = 0; drop < 20; drop += 1) {
      made.nowMs = drop * 1300;
      made.queue.submit(episodes(['more'], 1));
    }
    expect(made.warnings).toEqual([
      { records: 1, total: 1 },
      { records: 8, total: 9 },
      { records: 8, total: 17 },
    ]);
    made.queue.close();
    made.queue.close();
    expect(made.warnings.slice(3)).toEqual([{ records: 3, total: 20 }]);
    expect(made.queue.snapshot().dropped).toBe(20);
  });
});

test('R-Q-2: more than 65,536 records are never admitted, into an idle queue neither', () => {
  const { queue } = make();
  const batch = Array.from({ length: 65_537 }, (): Submitted<string> => ({ record: '', format: 'episode', bytes: 1 }));
  expect(queue.submit(batch)).toBe(false);
  expect(queue.submit(batch.slice(1))).toBe(true);
  expect(queue.submit(batch.slice(0, 1))).toBe(false);
  expect(RECORD_QUEUE_DEFAULTS).toEqual({ budgetBytes: 4_294_967_296, maxRecords: 65_536, writeBytes: 31_457_280 });
});

test('an empty batch is admitted even by a full queue, and is nothing', () => {
  const { queue } = make({ maxRecords: 1 });
  queue.submit(episodes(['r1'], 1));
  expect(queue.submit([])).toBe(true);
  expect(queue.snapshot()).toMatchObject({ submitted: 1, admitted: 1 });
});

describe('sizes that nobody knows yet', () => {
  const unknown = (record: string): Submitted<string> => ({ record, format: 'episode' });

  test('a record is 1 MiB before any measurement; the budget fills by that, and by what is measured then', () => {
    const { queue } = make({ budgetBytes: 4 * 1024 * 1024 });
    for (const name of ['a', 'b', 'c', 'd']) expect(queue.submit([unknown(name)])).toBe(true);
    expect(queue.submit([unknown('e')])).toBe(false);
    const work = queue.next();
    if (work?.kind !== 'measure') throw new Error('nothing to measure');
    queue.measured(work.record, 1000, 'encoded a');
    expect(queue.snapshot().queuedBytes).toBe(4000);
    expect(queue.submit([unknown('e')])).toBe(true);
  });

  test('the next write is measured and no record behind it; the encoded form takes the place of the record', () => {
    const { queue } = make({ writeBytes: 25 });
    queue.submit(['a', 'b', 'c', 'd', 'e'].map(unknown));
    const measured: string[] = [];
    for (let work = queue.next(); work !== null; work = queue.next()) {
      if (work.kind === 'write') {
        expect(namesOf(work.write)).toEqual(['A', 'B']);
        break;
      }
      measured.push(work.record.record);
      queue.measured(work.record, 10, work.record.record.toUpperCase());
    }
    expect(measured).toEqual(['a', 'b', 'c']);
    expect(queue.snapshot()).toMatchObject({ inFlightRecords: 2, inFlightBytes: 20, queuedBytes: 50 });
  });

  test('one that cannot be encoded is counted as rejected, and its neighbours go', () => {
    const { queue } = make();
    const reached: boolean[] = [];
    queue.submit(['a', 'bad', 'c'].map(unknown));
    for (let work = queue.next(); work !== null; work = queue.next()) {
      if (work.kind === 'write') {
        expect(namesOf(work.write)).toEqual(['a', 'c']);
        queue.settle(work.write, { stored: 2 });
        break;
      }
      if (work.record.record === 'bad') queue.refuse(work.record);
      else queue.measured(work.record, 10);
    }
    queue.barrier((isSettled) => void reached.push(isSettled));
    expect(reached).toEqual([true]);
    expect(queue.snapshot()).toMatchObject({ stored: 2, rejected: 1, queuedRecords: 0, queuedBytes: 0 });
  });

  test('R-Q-3: the estimate is the larger of the mean of all and of the last 64', () => {
    const estimate = new SizeEstimate();
    expect(estimate.bytes).toBe(1_048_576);
    for (let count = 0; count < 1000; count += 1) estimate.add(100);
    for (let count = 0; count < 32; count += 1) estimate.add(10_000);
    expect(estimate.bytes).toBe((32 * 100 + 32 * 10_000) / 64);
    for (let count = 0; count < 64; count += 1) estimate.add(1);
    expect(estimate.bytes).toBeCloseTo((100_000 + 320_000 + 64) / 1096);
  });
});

describe('A57: records of 1 KB, then of 5 MB, into a budget of 100 MB', () => {
  const BUDGET_BYTES = 100e6;
  const WRITE_BYTES = 30 * 1024 * 1024;
  type Sized = { readonly bytes: number };
  const record = (bytes: number): Submitted<Sized> => ({ record: { bytes }, format: 'episode' });

  /** Measures what is asked for until `most` writes are on their way, which nobody answers. */
  function work(queue: RecordQueue<Sized>, most: number, writes: QueuedWrite<Sized>[]): void {
    while (writes.length < most) {
      const next = queue.next();
      if (next === null) return;
      if (next.kind === 'measure') queue.measured(next.record, next.record.record.bytes);
      else writes.push(next.write);
    }
  }

  function small(): RecordQueue<Sized> {
    const queue = new RecordQueue<Sized>({ budgetBytes: BUDGET_BYTES, nowMs: () => 0, onWarning: () => {} });
    for (let count = 0; count < 1000; count += 1) {
      expect(queue.submit([record(1000)])).toBe(true);
      const writes: QueuedWrite<Sized>[] = [];
      work(queue, 1, writes);
      for (const write of writes) queue.settle(write, { stored: write.records.length });
    }
    return queue;
  }

  test('measured as they come, they are dropped from twice the budget on, all others are counted', () => {
    const queue = small();
    const writes: QueuedWrite<Sized>[] = [];
    let admitted = 0;
    for (let count = 0; count < 1000; count += 1) {
      if (queue.submit([record(5e6)])) admitted += 1;
      work(queue, 100, writes);
      expect(queue.snapshot().queuedBytes).toBeLessThanOrEqual(2 * BUDGET_BYTES);
    }
    expect(admitted).toBeGreaterThanOrEqual(BUDGET_BYTES / 5e6 - 1);
    expect(queue.snapshot()).toMatchObject({ submitted: 2000, admitted: 1000 + admitted, dropped: 1000 - admitted });
  });

  test('in one burst all are admitted by the estimate: what is encoded of them at once is what is on its way, and one write', () => {
    const queue = small();
    for (let count = 0; count < 1000; count += 1) expect(queue.submit([record(5e6)])).toBe(true);
    const slots = 4;
    const writes: QueuedWrite<Sized>[] = [];
    let encoded = 0;
    let stored = 1000;
    for (;;) {
      const before = queue.snapshot().queuedRecords;
      work(queue, slots, writes);
      encoded = Math.max(
        encoded,
        writes.reduce((sum, { bytes }) => sum + bytes, 0),
      );
      const [first] = writes.splice(0, 1);
      if (first === undefined) break;
      queue.settle(first, { stored: first.records.length });
      stored += first.records.length;
      // Above its budget by now, it takes nothing more.
      if (before > 100) expect(queue.submit([record(5e6)])).toBe(false);
    }
    expect(encoded).toBeLessThanOrEqual(slots * WRITE_BYTES);
    expect([stored, queue.snapshot().stored, queue.snapshot().queuedBytes]).toEqual([2000, 2000, 0]);
  });
});

describe('the end', () => {
  test('closed: nothing more is admitted, what waits is still to be sent, and then it is drained', () => {
    const { queue, warnings } = make();
    queue.submit(episodes(['a'], 1));
    queue.close();
    expect(queue.submit(episodes(['late', 'later'], 1))).toBe(false);
    expect(queue.isDrained).toBe(false);
    queue.settle(take(queue) as QueuedWrite<string>, { failed: 1 });
    expect(queue.isDrained).toBe(true);
    expect(queue.snapshot()).toMatchObject({ submitted: 3, admitted: 1, afterClose: 2, dropped: 0, failed: 1 });
    expect(warnings).toEqual([]);
  });

  test('abandoned: in flight is unknown and comes first, waiting is unsent, barriers learn it, a late end counts nothing', () => {
    const { queue } = make({ writeBytes: 2 });
    const reached: boolean[] = [];
    queue.submit(episodes(['a', 'b', 'c', 'd', 'e'], 1));
    const writes = [take(queue), take(queue)] as QueuedWrite<string>[];
    queue.barrier((isSettled) => void reached.push(isSettled));
    queue.settle(writes[0] as QueuedWrite<string>, { stored: 2 });
    const { unknown, unsent } = queue.abandon();
    expect(unknown.map(namesOf)).toEqual([['c', 'd']]);
    expect(unsent.map(({ record }) => record)).toEqual(['e']);
    expect(reached).toEqual([false]);
    queue.settle(writes[1] as QueuedWrite<string>, { stored: 2 });
    expect(queue.snapshot()).toMatchObject({ stored: 2, unknown: 2, unsent: 1, queuedRecords: 0, queuedBytes: 0 });
    expect([queue.isDrained, queue.next()]).toEqual([true, null]);
  });

  test('a write must be settled whole', () => {
    const { queue } = make();
    queue.submit(episodes(['a', 'b'], 1));
    const write = take(queue) as QueuedWrite<string>;
    expect(() => queue.settle(write, { stored: 1 })).toThrow('2 records');
    queue.settle(write, { stored: 1, rejected: 1 });
  });
});

test('a barrier over an idle queue is reached at once; what comes after it is not sent with what came before', () => {
  const { queue } = make();
  const reached: string[] = [];
  queue.barrier(() => void reached.push('idle'));
  queue.submit(episodes(['a'], 1));
  queue.barrier(() => void reached.push('a'));
  queue.submit(episodes(['b'], 1));
  const writes = takeAll(queue);
  expect(writes.map(namesOf)).toEqual([['a'], ['b']]);
  expect(reached).toEqual(['idle']);
  queue.settle(writes[1] as QueuedWrite<string>, { stored: 1 });
  expect(reached).toEqual(['idle']);
  queue.settle(writes[0] as QueuedWrite<string>, { stored: 1 });
  expect(reached).toEqual(['idle', 'a']);
});

test('submit tells of work once it is there, within the call', () => {
  const seen: (number | undefined)[] = [];
  const { queue } = make({ maxRecords: 1, onWork: () => void seen.push(queue.snapshot().queuedRecords) });
  queue.submit(episodes(['a'], 1));
  expect(seen).toEqual([1]);
  queue.submit(episodes(['dropped'], 1));
  expect(seen).toEqual([1]);
});
