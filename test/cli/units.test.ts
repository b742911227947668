/** Figures as people read them: tables, and never off by more than what is shown allows. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatClock, formatCount, formatRate, formatRemaining, formatSize, formatSpan } from '../../src/cli/units.js';

const SEED = { seed: 20_261_129, numRuns: 500 };

describe('what is shown', () => {
  test.each([
    [0, '0 B'],
    [999, '999 B'],
    [1000, '0.98 KiB'],
    [31_457_280, '30 MiB'],
    [43_830_476, '41.8 MiB'],
    [1_007_681_536, '961 MiB'],
    [2_480_343_613, '2.31 GiB'],
    [1_048_575_999, '1,000 MiB'],
    [1024 ** 4 * 20, '20 TiB'],
  ])('%i bytes as %s', (bytes, text) => {
    expect(formatSize(bytes)).toBe(text);
    expect(formatRate(bytes)).toBe(`${text}/s`);
  });

  test('a size has at most three digits of its own and is off by at most half of the last', () => {
    const units = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 };
    fc.assert(
      fc.property(fc.nat({ max: 2 ** 31 - 1 }), fc.nat({ max: 2 ** 18 }), (low, high) => {
        const bytes = high * 2 ** 31 + low;
        const [number = '', unit = ''] = formatSize(bytes).split(' ');
        const shown = Number(number.replaceAll(',', '')) * (units[unit as keyof typeof units] ?? Number.NaN);
        expect(Math.abs(shown - bytes)).toBeLessThanOrEqual(Math.max(0.5, bytes * 0.00514));
      }),
      SEED,
    );
  });

  test.each([
    [0, '0 ms'],
    [999, '999 ms'],
    [999.7, '1.0 s'],
    [56_240, '56.2 s'],
    [59_999, '1m00s'],
    [552_000, '9m12s'],
    [3_600_000, '1h00m'],
    [7_500_000, '2h05m'],
    [273_600_000, '3d04h'],
  ])('%d ms as %s', (ms, text) => {
    expect(formatSpan(ms)).toBe(text);
  });

  test('counts, remaining time and wall time', () => {
    expect([0, 999, 1000, 1_234_567].map(formatCount)).toEqual(['0', '999', '1,000', '1,234,567']);
    expect([0, 21_001, 3_849_000].map(formatRemaining)).toEqual(['0:00', '0:22', '1:04:09']);
    expect(formatClock(new Date(2026, 0, 2, 12, 4, 31).getTime())).toBe('12:04:31');
    expect(formatClock(new Date(2026, 0, 2, 0, 0, 9).getTime())).toBe('00:00:09');
  });
});
