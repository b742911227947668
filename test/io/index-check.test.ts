/** `--check`: every way an index can be wrong has its name, one fault is one difference, and a right one has none (I6, X3). */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { DifferenceKind, Growth, IndexComparison } from '../../src/core/index/compare.js';
import { IndexCheck } from '../../src/io/index-check.js';
import { tempFolder } from '../helpers/temp-folder.js';

const CHUNK_BYTES = 10_000;

function row(line: number, offset = (line - 1) * 100, chunk = 0): string {
  return `{"cost":null,"line":${line},"offset":${offset},"id":"e${chunk}-${offset}","kind":"eval","turns":${line % 7},"chunk":${chunk}}\n`;
}

const ROWS = Array.from({ length: 40 }, (_, index) => row(index + 1));

/** Compares an index of this text with the rows, handed over in batches. */
function check(index: string | null, rows: readonly string[] = ROWS, batch = 7, growth?: Growth): IndexComparison {
  const path = join(tempFolder(), 'index.jsonl');
  if (index !== null) writeFileSync(path, index);
  const comparison = new IndexCheck(path, (chunk) => (chunk === 0 ? CHUNK_BYTES : null), growth);
  for (let at = 0; at < rows.length; at += batch) {
    const some = rows.slice(at, at + batch);
    comparison.add(Buffer.from(some.join('')), some.length);
  }
  const result = comparison.end();
  comparison.close();
  return result;
}

const changed = (at: number, text: string | null): string =>
  ROWS.flatMap((one, index) => (index === at ? (text === null ? [] : [text]) : [one])).join('');

test.each([1, 7, 40, 100])('a right index has no difference, in batches of %i', (batch) => {
  expect(check(ROWS.join(''), ROWS, batch)).toEqual({ rows: 40, rebuilt: 40, ok: true, counts: {}, differences: [] });
});

test('no index at all misses every row', () => {
  expect(check(null)).toMatchObject({ rows: 0, ok: false, counts: { missing_row: 40 } });
  expect(check('', [])).toMatchObject({ rows: 0, rebuilt: 0, ok: true });
});

describe('while a writer goes on (I10)', () => {
  const growth: Growth = { hasGrown: () => true, isAhead: ({ offset }) => offset >= 4_000 };
  const ahead = [41, 42, 43].map((line) => row(line)).join('');

  test.each<[string, string, DifferenceKind]>([
    ['rows of records behind those that were read', `${ROWS.join('')}${ahead}`, 'stale_row'],
    ['half a row', `${ROWS.join('')}${ahead.slice(0, 30)}`, 'torn_index_tail'],
  ])('%s are no difference', (_what, index, otherwise) => {
    expect(check(index, ROWS, 7, growth)).toMatchObject({ rebuilt: 40, ok: true, counts: {}, differences: [] });
    expect(Object.keys(check(index).counts)).toEqual([otherwise]);
  });

  test('what is wrong before that still is', () => {
    const index = `${changed(20, `${ROWS[20]}${row(99, 2050)}`)}${ahead}`;
    expect(check(index, ROWS, 7, growth).counts).toEqual({ stale_row: 1 });
    expect(check(changed(39, ahead), ROWS, 7, growth).counts).toEqual({ missing_row: 1 });
  });
});

describe('one fault is one difference', () => {
  const torn = ROWS[20]?.slice(0, 30) ?? '';
  const cases: readonly (readonly [string, string, Partial<Record<DifferenceKind, number>>])[] = [
    ['a row dropped', changed(20, null), { missing_row: 1 }],
    ['the first row dropped', changed(0, null), { missing_row: 1 }],
    ['the last row dropped', changed(39, null), { missing_row: 1 }],
    ['a row twice', changed(20, `${ROWS[20]}${ROWS[20]}`), { duplicate_row: 1 }],
    [
      'two rows swapped',
      changed(20, `${ROWS[21]}${ROWS[20]}`).replace(`${ROWS[20]}${ROWS[21]}`, ROWS[20] ?? ''),
      { misplaced_row: 1 },
    ],
    ['a row of a record that is none', changed(20, `${ROWS[20]}${row(99, 2050)}`), { stale_row: 1 }],
    ['a row behind the end', `${ROWS.join('')}${row(41, CHUNK_BYTES)}`, { extra_row: 1 }],
    ['a row of a chunk that is none', `${ROWS.join('')}${row(41, 0, 9)}`, { extra_row: 1 }],
    [
      'a row of a chunk that is none, in the middle',
      changed(20, `${row(41, 0, 9)}${ROWS[20]}`),
      { extra_row: 1, misplaced_row: 1 },
    ],
    ['another value', changed(20, (ROWS[20] ?? '').replace('"kind":"eval"', '"kind":"train"')), { field_diff: 1 }],
    ['a number in another form', changed(20, (ROWS[20] ?? '').replace(/"turns":\d/, '"turns":0.0')), { field_diff: 1 }],
    ['another id', changed(20, (ROWS[20] ?? '').replace('"e0-2000"', '"other"')), { stale_row: 1 }],
    ['another number of the line', changed(20, (ROWS[20] ?? '').replace('"line":21', '"line":22')), { line_gap: 1 }],
    ['a line that is no row', changed(20, `${ROWS[20]}what\n`), { unreadable_row: 1 }],
    ['an empty line', changed(20, `${ROWS[20]}\n`), { unreadable_row: 1 }],
    ['a torn tail', `${ROWS.join('')}${torn}`, { torn_index_tail: 1 }],
    ['a row glued to a torn one', changed(20, `${torn}${ROWS[20]}`), { glued_index_row: 1 }],
    [
      'a flipped bit in a row',
      changed(20, (ROWS[20] ?? '').replace('"offset":2000', '"offset":2001')),
      { missing_row: 1, stale_row: 1 },
    ],
  ];

  test.each(cases)('%s', (_name, index, counts) => {
    for (const batch of [1, 7, 40]) {
      const result = check(index, ROWS, batch);
      expect(result.counts).toEqual(counts);
      expect(result.ok).toBe(Object.keys(counts).every((kind) => kind === 'line_gap'));
      expect(result.rebuilt).toBe(40);
    }
  });
});

test('what differs is shown with both values, where it stands, and no more than twenty of it', () => {
  const index = ROWS.map((one) => one.replace('"kind":"eval"', '"kind":"train"')).join('');
  const { counts, differences } = check(index);
  expect(counts).toEqual({ field_diff: 40 });
  expect(differences).toHaveLength(20);
  expect(differences[0]).toEqual({
    kind: 'field_diff',
    index_line: 1,
    chunk: 0,
    offset: 0,
    id: 'e0-0',
    fields: [{ key: 'kind', disk: '"train"', rebuilt: '"eval"' }],
  });
});

test('annotation rows are compared as well', () => {
  const annotations = [0, 50].map((offset) => `{"trace_id":"t${offset}","chunk":0,"offset":${offset},"info":{}}\n`);
  expect(check(annotations.join(''), annotations)).toMatchObject({ rows: 2, ok: true });
  const other = annotations.join('').replace('{}', '{"a":1}');
  expect(check(other, annotations)).toMatchObject({ counts: { field_diff: 1 }, ok: false });
});

test('however many rows are dropped and added, each is one difference', () => {
  fc.assert(
    fc.property(fc.subarray(ROWS), fc.array(fc.integer({ min: 0, max: 99 }), { maxLength: 8 }), (kept, added) => {
      // Rows of no record, in their place in the order.
      const extra = [...new Set(added)].map((at) => row(1, at * 100 + 50));
      const offsetOf = (text: string): number => Number(/"offset":(\d+)/.exec(text)?.[1]);
      const index = [...kept, ...extra].sort((a, b) => offsetOf(a) - offsetOf(b));
      const missing = ROWS.length - kept.length;
      const expected = {
        ...(missing > 0 ? { missing_row: missing } : {}),
        ...(extra.length > 0 ? { stale_row: extra.length } : {}),
      };
      expect(check(index.join(''), ROWS, 5).counts).toEqual(expected);
    }),
    { numRuns: 300 },
  );
});
