/** Sizes, durations and rates: tables of what users type, and what is written always reads back (demand C17). */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PrlError } from '../../src/core/errors.js';
import { parseDuration, parseRate, parseSize, writeDuration, writeSize } from '../../src/core/units.js';

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
