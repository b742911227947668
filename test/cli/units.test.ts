/** Sizes, durations and rates: tables of what users type, and what is written always reads back (demand C17). */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  formatClock,
  formatCount,
  formatRate,
  formatRemaining,
  formatSize,
  formatSpan,
  parseDuration,
  parseRate,
  parseSize,
  writeDuration,
  writeSize,
} from '../../src/cli/units.js';
import { PrlError } from '../../src/core/errors.js';

const SEED = { seed: 20_261_129, numRuns: 500 };

function thrownBy(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  return null;
}

describe('parseSize', () => {
  test.each([
    ['0', 0],
    ['1234', 1234],
    ['30MiB', 31_457_280],
    ['4GiB', 4_294_967_296],
    ['500MB', 500_000_000],
    ['500 MB', 500_000_000],
    ['1kB', 1000],
    ['1KiB', 1024],
    ['1.5kib', 1536],
    ['0.1KiB', 102],
    ['8191TiB', 8191 * 2 ** 40],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
    ['7B', 7],
  ])('%s is %i bytes', (text, bytes) => {
    expect(parseSize(text)).toBe(bytes);
  });

  test.each([
    '',
    'MiB',
    '30M',
    '30G',
    '-1',
    '1.5',
    '1e3',
    '30 Mi B',
    '0x10',
    '٣MB',
    '9007199254740992',
    '8192TiB',
    'NaN',
    '1,000',
  ])('%j is refused as usage, naming what was typed', (text) => {
    const error = thrownBy(() => parseSize(text));
    expect(error).toBeInstanceOf(PrlError);
    expect(error).toMatchObject({ code: 'PRL_ERR_USAGE', message: expect.stringContaining(`"${text}"`) });
  });

  test('reads back every size that is written', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (bytes) => {
        expect(parseSize(writeSize(bytes))).toBe(bytes);
      }),
      SEED,
    );
    const unit = fc.constantFrom(1000, 1024, 2 ** 20, 10 ** 6, 2 ** 30, 10 ** 9);
    fc.assert(
      fc.property(fc.nat({ max: 4000 }), unit, (count, bytes) => {
        expect(parseSize(writeSize(count * bytes))).toBe(count * bytes);
      }),
      SEED,
    );
  });

  test('writes the largest unit that divides', () => {
    expect(writeSize(31_457_280)).toBe('30MiB');
    expect(writeSize(500_000_000)).toBe('500MB');
    expect(writeSize(1025)).toBe('1025');
  });
});

describe('parseDuration', () => {
  test.each([
    ['0', 0],
    ['250ms', 250],
    ['90s', 90_000],
    ['15m', 900_000],
    ['2h', 7_200_000],
    ['1h30m', 5_400_000],
    ['1d2h3m4s5ms', 93_784_005],
    ['1.5s', 1500],
  ])('%s is %i ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  test.each(['', '90', '1m1h', '1s1s', '-1s', '1 s', '5min', 'h', '1e3s', '104249991d1d', '999999999999999d'])(
    '%j is refused as usage',
    (text) => {
      expect(thrownBy(() => parseDuration(text))).toMatchObject({ code: 'PRL_ERR_USAGE' });
    },
  );

  test('reads back every duration that is written', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (ms) => {
        expect(parseDuration(writeDuration(ms))).toBe(ms);
      }),
      SEED,
    );
    expect(writeDuration(90_000)).toBe('90s');
    expect(writeDuration(7_200_000)).toBe('2h');
  });
});

describe('parseRate', () => {
  test.each([
    ['40MiB/s', 41_943_040],
    ['500MB/s', 500_000_000],
    ['100/s', 100],
  ])('%s is %i bytes per second', (text, rate) => {
    expect(parseRate(text)).toBe(rate);
  });

  test.each(['40MiB', '40MiB/m', '0/s', '/s', 'fast', '40M/s'])('%j is refused, quoted as a whole', (text) => {
    expect(thrownBy(() => parseRate(text))).toMatchObject({
      code: 'PRL_ERR_USAGE',
      message: expect.stringContaining(`"${text}" is not a rate`),
    });
  });
});

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
