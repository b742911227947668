/** Spec 07 section 5.4 as properties: whatever producers, encoder and sender do in whatever order, every record is counted once. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { DropWarning } from '../../../src/core/upload/drop-warnings.js';
import {
  type QueuedRecord,
  type QueuedWrite,
  RecordQueue,
  type Submitted,
} from '../../../src/core/upload/record-queue.js';

const BUDGET_BYTES = 1000;
const MAX_RECORDS = 40;
const WRITE_BYTES = 120;

type Item = { readonly id: number; readonly trueBytes: number };

type Step =
  | { readonly kind: 'submit'; readonly sizes: readonly number[]; readonly isKnown: boolean; readonly isTrace: boolean }
  | { readonly kind: 'work'; readonly refuses: boolean }
  | { readonly kind: 'settle'; readonly which: number; readonly as: number }
  | { readonly kind: 'barrier' }
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'close' | 'abandon' };

const submit = fc.record({
  kind: fc.constant('submit' as const),
  sizes: fc.array(fc.oneof(fc.nat(60), fc.nat(300)), { maxLength: 12 }),
  isKnown: fc.boolean(),
  isTrace: fc.boolean(),
});
const work = fc.record({ kind: fc.constant('work' as const), refuses: fc.boolean() });
const settle = fc.record({ kind: fc.constant('settle' as const), which: fc.nat(), as: fc.nat() });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 30, arbitrary: submit },
  { weight: 60, arbitrary: work },
  { weight: 20, arbitrary: settle },
  { weight: 5, arbitrary: fc.constant({ kind: 'barrier' as const }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(12_000) }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'close' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'abandon' as const }) },
);

/** The queue with a slow and obvious account beside it. */
class Run {
  readonly warnings: DropWarning[] = [];
  /** Bytes of what is admitted and not settled; null where nobody has measured them. */
  readonly #open = new Map<number, number | null>();
  readonly #measured: number[] = [];
  readonly #inFlight: QueuedWrite<Item>[] = [];
  readonly #barriers: { readonly cut: number; readonly before: readonly number[]; reached: boolean | null }[] = [];
  readonly #takenIds: number[] = [];
  #nowMs = 0;
  #nextId = 0;
  #isEnded = false;
  readonly queue = new RecordQueue<Item>({
    budgetBytes: BUDGET_BYTES,
    maxRecords: MAX_RECORDS,
    writeBytes: WRITE_BYTES,
    nowMs: () => this.#nowMs,
    onWarning: (warning) => void this.warnings.push(warning),
  });

  do(step: Step): void {
    switch (step.kind) {
      case 'submit':
        this.#submit(step);
        break;
      case 'work':
        this.#work(step.refuses);
        break;
      case 'settle':
        this.#settle(step.which, step.as);
        break;
      case 'barrier':
        this.#barrier();
        break;
      case 'wait':
        this.#nowMs += step.ms;
        break;
      case 'close':
        this.queue.close();
        break;
      case 'abandon':
        this.#abandon();
    }
    this.#check();
  }

  #submit({ sizes, isKnown, isTrace }: Extract<Step, { kind: 'submit' }>): void {
    const items = sizes.map((trueBytes): Item => ({ id: this.#nextId++, trueBytes }));
    const wasIdle = this.#open.size === 0;
    const batch = items.map(
      (record): Submitted<Item> => ({
        record,
        format: isTrace ? 'trace' : 'episode',
        ...(isKnown ? { bytes: record.trueBytes } : {}),
      }),
    );
    const before = this.queue.snapshot();
    const isAdmitted = this.queue.submit(batch);
    const after = this.queue.snapshot();
    expect(after.admitted - before.admitted).toBe(isAdmitted ? items.length : 0);
    if (!isAdmitted || items.length === 0) return;
    if (!wasIdle) expect(after.queuedBytes).toBeLessThanOrEqual(BUDGET_BYTES);
    expect(after.queuedRecords).toBeLessThanOrEqual(MAX_RECORDS);
    for (const { id, trueBytes } of items) this.#open.set(id, isKnown ? trueBytes : null);
  }

  #work(refuses: boolean): void {
    const next = this.queue.next();
    if (next === null) return;
    if (next.kind === 'measure') this.#measure(next.record, refuses);
    else this.#take(next.write);
  }

  #measure(queued: QueuedRecord<Item>, refuses: boolean): void {
    if (refuses) {
      this.#open.delete(queued.record.id);
      this.queue.refuse(queued);
      return;
    }
    const { id, trueBytes } = queued.record;
    this.#open.set(id, trueBytes);
    this.#measured.push(trueBytes);
    this.queue.measured(queued, trueBytes);
  }

  #take(write: QueuedWrite<Item>): void {
    this.#inFlight.push(write);
    const ids = write.records.map(({ record }) => record.id);
    this.#takenIds.push(...ids);
    expect(new Set(write.records.map(({ format }) => format))).toEqual(new Set([write.format]));
    expect(write.bytes).toBe(write.records.reduce((sum, { record }) => sum + record.trueBytes, 0));
    if (write.records.length > 1) expect(write.bytes).toBeLessThanOrEqual(WRITE_BYTES);
    for (const { cut } of this.#barriers) expect(new Set(ids.map((id) => id < cut)).size).toBe(1);
  }

  #settle(which: number, as: number): void {
    if (this.#inFlight.length === 0) return;
    const [write] = this.#inFlight.splice(which % this.#inFlight.length, 1) as [QueuedWrite<Item>];
    const { length } = write.records;
    if (!this.#isEnded) for (const { record } of write.records) this.#open.delete(record.id);
    const stored = as % (length + 1);
    const failure = (['failed', 'rejected', 'skipped'] as const)[as % 3] as 'failed';
    this.queue.settle(write, { stored, [failure]: length - stored });
  }

  #barrier(): void {
    const barrier = { cut: this.#nextId, before: [...this.#open.keys()], reached: null as boolean | null };
    this.#barriers.push(barrier);
    this.queue.barrier((isSettled) => {
      expect(barrier.reached).toBeNull();
      barrier.reached = isSettled;
    });
  }

  #abandon(): void {
    const { unknown, unsent } = this.queue.abandon();
    this.#isEnded = true;
    const ids = [...unknown.flatMap(({ records }) => records), ...unsent].map(({ record }) => record.id);
    expect(ids).toEqual([...this.#open.keys()].sort((a, b) => a - b));
    this.#open.clear();
  }

  #check(): void {
    const counts = this.queue.snapshot();
    const { admitted, queuedRecords } = counts;
    expect(counts.submitted).toBe(admitted + counts.dropped + counts.afterClose);
    const ended = counts.stored + counts.failed + counts.rejected + counts.skipped + counts.unsent + counts.unknown;
    expect(admitted).toBe(ended + queuedRecords);
    expect(queuedRecords).toBe(this.#open.size);
    expect(counts.queuedBytes).toBeCloseTo(this.#accountedBytes(), 6);
    const told = this.warnings.reduce((sum, { records }) => sum + records, 0);
    expect(told).toBeLessThanOrEqual(counts.dropped);
    expect(this.#takenIds).toEqual([...this.#takenIds].sort((a, b) => a - b));
    for (const { before, reached } of this.#barriers) {
      const isSettled = before.every((id) => !this.#open.has(id));
      if (reached === null) expect(isSettled).toBe(false);
      else expect(isSettled).toBe(true);
    }
  }

  #accountedBytes(): number {
    const mean = (sizes: readonly number[]): number => sizes.reduce((sum, bytes) => sum + bytes, 0) / sizes.length;
    const all = this.#measured;
    const estimate = all.length === 0 ? 1_048_576 : Math.max(mean(all), mean(all.slice(-64)));
    return [...this.#open.values()].reduce<number>((sum, bytes) => sum + (bytes ?? estimate), 0);
  }

  /** Lets everything end in the usual way. */
  finish(): void {
    this.queue.close();
    for (let next = this.queue.next(); next !== null; next = this.queue.next()) {
      if (next.kind === 'measure') this.#measure(next.record, false);
      else this.#inFlight.push(next.write);
    }
    while (this.#inFlight.length > 0) this.#settle(0, 0);
    this.#check();
    const counts = this.queue.snapshot();
    expect(counts).toMatchObject({ queuedRecords: 0, queuedBytes: 0, inFlightRecords: 0, inFlightBytes: 0 });
    expect(this.warnings.reduce((sum, { records }) => sum + records, 0)).toBe(counts.dropped);
    expect(this.queue.isDrained).toBe(true);
    expect(this.#barriers.filter(({ reached }) => reached === null)).toEqual([]);
  }
}

test('5.4, R11, R34: over random interleavings every identity holds at every moment, and nothing is counted twice', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120, size: 'max' }), (steps) => {
      const run = new Run();
      for (const one of steps) run.do(one);
      run.finish();
    }),
    { seed: 54, numRuns: 1500 },
  );
});
