/** Rows give way by priority, names are cut, numbers are whole or absent (demand D4). */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { terminalFormat } from '../../src/cli/format.js';
import { bar, sparkline } from '../../src/ui/parts/bar.js';
import { glyphsFor } from '../../src/ui/parts/glyphs.js';
import { type PlacedSegment, placeRow, type Segment } from '../../src/ui/parts/row.js';

const format = terminalFormat({ ascii: false });
const SEED = { seed: 20_261_129, numRuns: 500 };

function drawn(placed: readonly PlacedSegment[]): string {
  return placed.map(({ gap, text }) => ' '.repeat(gap) + text).join('');
}

const segments: Segment[] = [
  { text: 'a-long-name', priority: 3, shrinkTo: 4 },
  { text: '1,234', priority: 2 },
  { text: '56%', priority: 1, gap: 3 },
  { text: 'v1', priority: 4, atRight: true },
];

describe('placeRow', () => {
  test.each([
    [40, 'a-long-name 1,234   56%               v1'],
    [26, 'a-long-name 1,234   56% v1'],
    [25, 'a-long-na… 1,234   56% v1'],
    [19, 'a-l… 1,234   56% v1'],
    [18, 'a-long-n… 1,234 v1'],
    [13, 'a-l… 1,234 v1'],
    [12, 'a-long-n… v1'],
    [7, 'a-l… v1'],
    [6, '    v1'],
    [2, 'v1'],
    [1, ''],
    [0, ''],
    [-1, ''],
  ])('in %i columns: %j', (columns, text) => {
    expect(drawn(placeRow(segments, columns, format))).toBe(text);
  });

  test('never wider than the window, numbers never cut, the highest priority stays longest', () => {
    const segment = fc.record({
      text: fc.string({ unit: 'grapheme', maxLength: 12 }).map(format.text),
      priority: fc.integer({ min: 1, max: 5 }),
      gap: fc.integer({ min: 0, max: 3 }),
      atRight: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(segment, { maxLength: 6 }), fc.integer({ min: 0, max: 60 }), (row, columns) => {
        const placed = placeRow(row, columns, format);
        expect(format.width(drawn(placed))).toBeLessThanOrEqual(columns);
        const lowestKept = Math.min(
          ...row.filter(({ text }) => placed.some((kept) => kept.text === text)).map((one) => one.priority),
        );
        for (const { text, priority } of row) {
          if (text !== '' && priority > lowestKept) expect(placed.map((kept) => kept.text)).toContain(text);
        }
        for (const kept of placed) expect(row.map(({ text }) => text)).toContain(kept.text);
      }),
      SEED,
    );
  });
});

describe('bar', () => {
  const unicode = glyphsFor(false);
  const ascii = glyphsFor(true);

  test.each([
    [0, '          '],
    [0.5, '█████     '],
    [0.0125, '▏         '],
    [0.614, '██████▏   '],
    [0.9999, '█████████▉'],
    [1, '██████████'],
    [7, '██████████'],
    [-1, '          '],
    [Number.NaN, '          '],
  ])('%d is %j', (share, text) => {
    expect(bar(share, 10, unicode)).toBe(text);
  });

  test('in ASCII', () => {
    expect(bar(0.55, 10, ascii)).toBe('#####.....');
    expect(bar(0.999, 10, ascii)).toBe('#########.');
  });

  test('is as wide as asked and full only when all is done', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), fc.integer({ min: 1, max: 60 }), (share, columns) => {
        for (const glyphs of [unicode, ascii]) {
          const text = bar(share, columns, glyphs);
          expect([...text]).toHaveLength(columns);
          expect(text === (glyphs.barSteps.at(-1) ?? '').repeat(columns)).toBe(share === 1);
        }
      }),
      SEED,
    );
  });
});

describe('sparkline', () => {
  test.each([
    [[], ''],
    [[0, 0], '▁▁'],
    [[0, 50, 100], '▁▅█'],
    [[9, 1, 2, 3, 4], '▃▅▆█'],
  ])('%j is %j', (values, text) => {
    expect(sparkline(values, 4, glyphsFor(false))).toBe(text);
  });

  test('no columns, no figures', () => {
    expect(sparkline([1, 2, 3], 0, glyphsFor(false))).toBe('');
  });
});
