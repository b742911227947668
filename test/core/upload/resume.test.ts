/** What is settled, pinned and rejected, over ranges. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { merged, ResumeState } from '../../../src/core/upload/resume.js';
import type { RejectedLine, SettledRange, SourceRange } from '../../../src/core/upload/types.js';

/** One line for every ten bytes. */
const range = (start: number, end: number, chunk = 0): SettledRange => ({
  chunk,
  start,
  end,
  physicalLines: (end - start) / 10,
});
const line = (offset: number, chunk = 0): RejectedLine => {
  return { chunk, offset, length: 10, byteLength: 10, lineNumber: 1, id: null, code: 'c', message: 'm', digest: null };
};

test('merging keeps exactly the covered bytes, sorted and apart', () => {
  const ranges = fc.array(
    fc.tuple(fc.nat(60), fc.integer({ min: 1, max: 12 })).map(([start, length]) => range(start, start + length)),
    { maxLength: 12 },
  );
  fc.assert(
    fc.property(ranges, (list) => {
      const result = merged(list);
      const covers = (set: readonly SourceRange[], at: number): boolean =>
        set.some(({ start, end }) => at >= start && at < end);
      for (let at = 0; at < 80; at += 1) expect(covers(result, at)).toBe(covers(list, at));
      for (let index = 1; index < result.length; index += 1) {
        expect(result[index]?.start).toBeGreaterThan(result[index - 1]?.end ?? 0);
      }
    }),
    { seed: 1, numRuns: 300 },
  );
});

test('lines of ranges that touch add up; those of an overlap are not known', () => {
  expect(merged([range(10, 30), range(0, 10)])).toEqual([range(0, 30)]);
  expect(merged([range(0, 20), range(10, 30)])).toEqual([{ ...range(0, 30), physicalLines: null }]);
  expect(merged([range(0, 10), range(20, 30)])).toEqual([range(0, 10), range(20, 30)]);
});

test('placement is found among many ranges, first and last byte included', () => {
  const resume = new ResumeState();
  for (let index = 0; index < 1000; index += 1) resume.settle(range(index * 100, index * 100 + 50));
  for (const index of [0, 1, 499, 998, 999]) {
    expect(resume.placementOf({ chunk: 0, offset: index * 100 })).toBe('settled');
    expect(resume.placementOf({ chunk: 0, offset: index * 100 + 49 })).toBe('settled');
    expect(resume.placementOf({ chunk: 0, offset: index * 100 + 50 })).toBe('send');
  }
  expect(resume.placementOf({ chunk: 1, offset: 0 })).toBe('send');
});

describe('pins', () => {
  test('halves take the place of their whole, what is stored loses its pin', () => {
    const resume = new ResumeState();
    resume.pin(range(0, 100));
    resume.pin(range(0, 50));
    resume.pin(range(50, 100));
    resume.settle(range(0, 50));
    expect(resume.pinAt({ chunk: 0, offset: 10 })).toBeNull();
    expect(resume.pinAt({ chunk: 0, offset: 99 })).toEqual(range(50, 100));
    resume.reject(line(50));
    expect(resume.pinAt({ chunk: 0, offset: 99 })).toBeNull();
  });

  test('one cut is one object for all its records', () => {
    const resume = new ResumeState();
    resume.pin(range(0, 100));
    expect(resume.pinAt({ chunk: 0, offset: 0 })).toBe(resume.pinAt({ chunk: 0, offset: 60 }));
  });
});

describe('islands', () => {
  const islands = [
    [0, 10, 1],
    [40, 60, 2],
  ] as const;

  test('of two cuts lie among each other: each is found at its own lines, and goes as one', () => {
    const resume = new ResumeState();
    resume.pin({ chunk: 0, start: 0, end: 60, islands });
    resume.pin(range(10, 40));
    expect(resume.pinAt({ chunk: 0, offset: 5 })).toBe(resume.pinAt({ chunk: 0, offset: 59 }));
    expect(resume.pinAt({ chunk: 0, offset: 10 })).toEqual(range(10, 40));
    resume.settle(range(40, 50));
    expect(resume.pinAt({ chunk: 0, offset: 5 })).toBeNull();
    expect(resume.pinAt({ chunk: 0, offset: 30 })).toEqual(range(10, 40));
  });

  test('alone are settled, and acquitted of their rejections', () => {
    const resume = new ResumeState();
    for (const offset of [0, 20, 50]) resume.reject(line(offset));
    resume.settle({ ...range(0, 60), islands });
    resume.acquit({ chunk: 0, start: 0, end: 60, islands });
    expect(resume.rejected()).toEqual([line(20)]);
    expect(resume.coveredRanges(0)).toEqual([range(0, 10), range(40, 60)]);
  });
});

test('a stored line is no longer rejected; a forgotten chunk is unknown, others are not', () => {
  const resume = new ResumeState();
  resume.reject(line(0));
  resume.reject(line(20));
  resume.reject(line(0, 1));
  resume.settle(range(0, 10));
  resume.acquit(range(0, 10));
  expect(resume.rejected()).toEqual([line(20), line(0, 1)]);
  resume.forget(0);
  expect(resume.rejected()).toEqual([line(0, 1)]);
  expect(resume.coveredRanges(0)).toEqual([]);
});
