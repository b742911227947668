/**
 * Batches with gaps: what a filter leaves out, or an earlier upload settled, lies between the lines of a batch, is not
 * sent with it, and is not settled by it (P5, U2, U3).
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { StreamRecord } from '../../../src/core/scan/types.js';
import { type BatchesOptions, batchesOf, type CutMark } from '../../../src/core/upload/batches.js';
import { ResumeState } from '../../../src/core/upload/resume.js';
import { halve, rangeOf } from '../../../src/core/upload/split.js';
import type { Batch, BatchRange, RejectedLine } from '../../../src/core/upload/types.js';
import { recordsOf, textOf } from '../../helpers/lines.js';

const SEED = { seed: 20_261_130, numRuns: 300 };
const NOT_HASHED = { digest: '', lineDigests: [] };

type Line = { readonly blanksBefore: number; readonly size: number; readonly isRepeat: boolean };

/** One chunk of episodes named by their position; a repeat has the id of the line before it. */
function chunkOf(lines: readonly Line[], chunk: number): StreamRecord[] {
  const text = lines.map(({ blanksBefore, size, isRepeat }, index) => {
    const id = `${chunk}.${isRepeat ? index - 1 : index}`;
    return `${'\n'.repeat(blanksBefore)}{"id":"${id}","x":"${'x'.repeat(size)}","traces":[]}\n`;
  });
  return recordsOf(text.join(''), chunk);
}

const line = fc.record({ blanksBefore: fc.nat(2), size: fc.nat(60), isRepeat: fc.constant(false) });
const lineOrRepeat = fc.record({ blanksBefore: fc.nat(2), size: fc.nat(60), isRepeat: fc.boolean() });
const runOf = (one: fc.Arbitrary<Line>): fc.Arbitrary<StreamRecord[]> =>
  fc
    .array(fc.array(one, { maxLength: 25 }), { maxLength: 3 })
    .map((chunks) => chunks.flatMap((lines, chunk) => chunkOf(lines, chunk)));

async function collect(
  records: readonly (StreamRecord | CutMark)[],
  options: Partial<BatchesOptions> = {},
): Promise<Batch[]> {
  const batches: Batch[] = [];
  const all = { stamp: null, onRejected: () => {}, ...options };
  for await (const batch of batchesOf(records, all)) batches.push(batch);
  return batches;
}

const addresses = (batches: readonly Batch[]): string[] =>
  batches.flatMap(({ lines }) => lines.map(({ chunk, offset }) => `${chunk}:${offset}`));
const addressOf = ({ chunk, offset }: StreamRecord): string => `${chunk}:${offset}`;
const rangesOf = (batches: readonly Batch[]): BatchRange[] => batches.map((batch) => rangeOf(batch, NOT_HASHED));

/** Membership by position, stable however often it is asked. */
const choice = fc.array(fc.boolean(), { minLength: 75, maxLength: 75 });
function chosen(records: readonly StreamRecord[], flags: readonly boolean[]): Set<string> {
  return new Set(records.filter((_record, index) => flags[index] === true).map(addressOf));
}

describe('a filter', () => {
  test('cuts by the selected lines alone: as if the others were not there', async () => {
    await fc.assert(
      fc.asyncProperty(runOf(line), choice, fc.integer({ min: 1, max: 400 }), async (records, flags, targetBytes) => {
        const selected = chosen(records, flags);
        const selects = (record: StreamRecord): boolean => selected.has(addressOf(record));
        const filtered = await collect(records, { selects, targetBytes });
        const alone = await collect(records.filter(selects), { targetBytes });
        expect(filtered.map(textOf)).toEqual(alone.map(textOf));
      }),
      SEED,
    );
  });

  test('settles exactly the selected lines, whole or halved, with every line number kept', async () => {
    await fc.assert(
      fc.asyncProperty(runOf(lineOrRepeat), choice, fc.boolean(), async (records, flags, isHalved) => {
        const selected = chosen(records, flags);
        const selects = (record: StreamRecord): boolean => selected.has(addressOf(record));
        const rejected: RejectedLine[] = [];
        const whole = await collect(records, { selects, onRejected: (one) => void rejected.push(one) });
        const batches = isHalved ? whole.flatMap((batch) => (batch.lines.length > 1 ? halve(batch) : [batch])) : whole;
        const resume = new ResumeState();
        for (const range of rangesOf(batches)) resume.settle(range);
        const sent = new Set(addresses(batches));
        const leftOut = new Set(rejected.map(({ chunk, offset }) => `${chunk}:${offset}`));
        for (const record of records) {
          const address = addressOf(record);
          expect(sent.has(address)).toBe(selected.has(address) && !leftOut.has(address));
          const isSettled = resume.placementOf(record) === 'settled';
          // A rejected line may lie inside a range: the journal knows it by its address.
          if (!leftOut.has(address)) expect(isSettled).toBe(sent.has(address));
        }
        for (const chunk of new Set(records.map((record) => record.chunk))) {
          for (const { start, end, physicalLines } of resume.coveredRanges(chunk)) {
            const inside = records.filter((one) => one.chunk === chunk && one.offset >= start && one.offset < end);
            const [first, last] = [inside[0] as StreamRecord, inside.at(-1) as StreamRecord];
            expect(physicalLines).toBe(last.lineNumber - first.lineNumber + 1);
          }
        }
      }),
      SEED,
    );
  });

  test('is asked once for each record, in order, of settled ones as well', async () => {
    const records = chunkOf(
      Array.from({ length: 4 }, () => ({ blanksBefore: 0, size: 1, isRepeat: false })),
      0,
    );
    const resume = new ResumeState();
    const second = records[1] as StreamRecord;
    resume.settle({ chunk: 0, start: second.offset, end: second.offset + second.length, physicalLines: 1 });
    const asked: number[] = [];
    await collect(records, {
      placementOf: (address) => resume.placementOf(address),
      selects: ({ lineNumber }) => {
        asked.push(lineNumber);
        return true;
      },
    });
    expect(asked).toEqual([1, 2, 3, 4]);
  });
});

test('an upload without a filter after one that was killed: its cuts are repeated, the rest goes once (U2)', async () => {
  await fc.assert(
    fc.asyncProperty(
      runOf(line),
      choice,
      fc.array(fc.constantFrom('stored', 'planned', 'unknown'), { minLength: 75, maxLength: 75 }),
      fc.integer({ min: 1, max: 400 }),
      async (records, flags, fates, targetBytes) => {
        const selected = chosen(records, flags);
        const first = await collect(records, { selects: (record) => selected.has(addressOf(record)), targetBytes });
        const resume = new ResumeState();
        for (const [index, range] of rangesOf(first).entries()) {
          if (fates[index] !== 'unknown') resume.pin(range);
          if (fates[index] === 'stored') resume.settle(range);
        }
        const again = await collect(records, {
          placementOf: (address) => resume.placementOf(address),
          pinAt: (address) => resume.pinAt(address),
          targetBytes: 1000,
        });
        const stored = first.filter((_batch, index) => fates[index] === 'stored');
        const everything = [...addresses(stored), ...addresses(again)];
        expect(new Set(everything).size).toBe(everything.length);
        expect(new Set(everything)).toEqual(new Set(records.map(addressOf)));
        const texts = again.map(textOf);
        for (const [index, batch] of first.entries()) {
          if (fates[index] === 'planned') expect(texts).toContain(textOf(batch));
        }
        for (const range of rangesOf(again)) resume.settle(range);
        expect(records.filter((record) => resume.placementOf(record) !== 'settled')).toEqual([]);
      },
    ),
    SEED,
  );
});

test('lines between settled ones share requests: after a filter that took every other line, one does for the rest', async () => {
  const records = chunkOf(
    Array.from({ length: 40 }, () => ({ blanksBefore: 0, size: 5, isRepeat: false })),
    0,
  );
  const resume = new ResumeState();
  const [half] = await collect(records, { selects: ({ lineNumber }) => lineNumber % 2 === 0 });
  resume.settle(rangeOf(half as Batch, NOT_HASHED));
  const placementOf = resume.placementOf.bind(resume);
  const rest = await collect(records, { placementOf });
  expect(rest.map(({ lines }) => lines.length)).toEqual([20]);
  // The same where the reader passes over what is settled.
  const unread = records.filter((record) => placementOf(record) === 'send');
  expect(rangesOf(await collect(unread, { placementOf }))).toEqual(rangesOf(rest));
  resume.settle(rangeOf(rest[0] as Batch, NOT_HASHED));
  expect(resume.coveredRanges(0)).toMatchObject([{ start: 0, physicalLines: 40 }]);
});

test('what is rejected between two lines does not hide a gap beside it', async () => {
  const records = chunkOf(
    [false, false, false, false].map((isRepeat) => ({ blanksBefore: 0, size: 0, isRepeat })),
    0,
  ).map((record, index) => (index === 2 ? { ...record, bytes: Buffer.from('{"id":"0.0","traces":[]}\n') } : record));
  const rejected: RejectedLine[] = [];
  const [batch] = await collect(records, {
    selects: ({ lineNumber }) => lineNumber !== 2,
    onRejected: (one) => void rejected.push(one),
  });
  expect(rejected).toMatchObject([{ code: 'duplicate_episode_id', lineNumber: 3 }]);
  const islands = rangeOf(batch as Batch, NOT_HASHED).islands ?? [];
  const second = records[1] as StreamRecord;
  expect(islands).toHaveLength(2);
  expect(islands.some(([start, end]) => second.offset >= start && second.offset < end)).toBe(false);
});

/** The records with a mark behind each of these positions. */
function marked(records: readonly StreamRecord[], isMarked: (index: number) => boolean): (StreamRecord | CutMark)[] {
  return records.flatMap((record, index): (StreamRecord | CutMark)[] => (isMarked(index) ? [record, 'cut'] : [record]));
}

describe('a growing run, cut wherever it was caught up with', () => {
  test('a mark cuts what is open and nothing else: batches are those of the stretches between the marks', async () => {
    await fc.assert(
      fc.asyncProperty(runOf(line), choice, fc.integer({ min: 1, max: 400 }), async (records, flags, targetBytes) => {
        const batches = await collect(
          marked(records, (index) => flags[index] === true),
          { targetBytes },
        );
        const ends = records.flatMap((_record, index) => (flags[index] === true ? [index + 1] : []));
        const expected: Batch[] = [];
        for (const [at, end] of [...ends, records.length].entries()) {
          expected.push(...(await collect(records.slice(ends[at - 1] ?? 0, end), { targetBytes })));
        }
        expect(batches.map(textOf)).toEqual(expected.map(textOf));
      }),
      SEED,
    );
  });

  test('B27: an uploader that was killed repeats its cuts and sends what came since, each line once', async () => {
    const fate = fc.array(fc.constantFrom('stored', 'planned', 'unknown'), { minLength: 150, maxLength: 150 });
    await fc.assert(
      fc.asyncProperty(runOf(line), choice, fate, fc.nat(75), async (records, flags, fates, count) => {
        const isMarked = (index: number): boolean => flags[index] === true;
        const before = Math.min(count, records.length);
        const first = await collect(marked(records.slice(0, before), isMarked), { targetBytes: 200 });
        const resume = new ResumeState();
        for (const [index, range] of rangesOf(first).entries()) {
          if (fates[index] !== 'unknown') resume.pin(range);
          if (fates[index] === 'stored') resume.settle(range);
        }
        const again = await collect(
          // It catches up with nothing less than all that was there before.
          marked(records, (index) => index >= before - 1 && isMarked(index)),
          { placementOf: (address) => resume.placementOf(address), pinAt: (address) => resume.pinAt(address) },
        );
        const stored = first.filter((_batch, index) => fates[index] === 'stored');
        expect([...addresses(stored), ...addresses(again)].sort()).toEqual(records.map(addressOf).sort());
        const texts = again.map(textOf);
        for (const [index, batch] of first.entries())
          if (fates[index] === 'planned') expect(texts).toContain(textOf(batch));
      }),
      SEED,
    );
  });
});
