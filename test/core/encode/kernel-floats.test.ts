import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { float32Text } from '../../../src/core/encode/float32-text.js';
import { FLOAT_FORM, RUN_VALUES } from '../../../src/core/encode/kernel.js';
import { slowNumberText } from '../../../src/core/encode/slow-number.js';
import { seededRandom } from '../../helpers/generated-run.js';
import { expectedFloats, printFloats } from './kernel-probe.js';
import { SINGLES_BY_ORJSON } from './python-numbers.js';

const SEED = 20_261;
const FORMS = [
  ['FLOAT', FLOAT_FORM.FLOAT],
  ['PLAIN', FLOAT_FORM.PLAIN],
] as const;

const same = (value: number): number => value;

/** Returns how many the kernel left to the slow way. */
function check(values: readonly number[], form: number): number {
  let left = 0;
  for (let from = 0; from < values.length; from += RUN_VALUES) {
    const run = values.slice(from, from + RUN_VALUES);
    const { text, slow } = printFloats(run, form);
    const wanted = expectedFloats(run, form, same);
    if (text !== wanted) expect(text.split(',')).toEqual(wanted.split(','));
    left += slow;
  }
  return left;
}

const ODD_VALUES: readonly number[] = [
  ...[0, -0, 1, -1, 0.1, -0.1, 0.5, 1.5, 10, 100, 0.25, 123.456, 1e-5, 1.5e-5, 9.99e-6, 1e-6, 1.5e-6, 1e-7, 5e-324],
  ...[1e14, 1e15, 1e15 + 0.5, 1e16, 1e17, 1.5e20, 1e21, 1e22, 123456789012345680000, Number.MAX_VALUE],
  ...[
    Number.NaN,
    Infinity,
    -Infinity,
    2 ** 53 - 1,
    2 ** 53,
    2 ** 53 + 2,
    -(2 ** 53),
    2 ** 52 + 0.5,
    2 ** 31,
    -(2 ** 31),
  ],
  ...[
    0.30000000000000004,
    0.1 + 0.7,
    1 / 3,
    2 / 3,
    1795980770.0976737,
    999999999999999.9,
    99999999999999.9,
    0.999999999999999,
  ],
  ...[0.9999999999999999, 0.99999999999999, 9.99999999999999, 9.999999999999998, 4.35, 2.675, 1.005, 0.00001, 0.000099],
];

describe.each(FORMS)('%s', (_, form) => {
  test('odd values, alone and in a run', () => {
    for (const value of ODD_VALUES) check([value], form);
    for (const value of ODD_VALUES) check([-value], form);
    check(ODD_VALUES, form);
  });

  test('all but what is smaller than 2^-30, or whole and from 2^53 on, is printed without the slow way', () => {
    const random = seededRandom(SEED);
    const values = Array.from({ length: 100_000 }, () => {
      const size = 2 ** (random() * 83 - 30);
      return random() < 0.5 ? -size : size;
    });
    expect(check(values, form)).toBe(0);
    expect(check([2 ** -30, 2 ** 53 - 1, 2 ** -30 - 2 ** -83, 2 ** 53], form)).toBe(2);
  });

  test('decimals of up to 17 digits, and what lies next to them', () => {
    const random = seededRandom(SEED);
    const values: number[] = [];
    for (let digits = 1; digits <= 17; digits += 1) {
      for (let decimals = 0; decimals <= 24; decimals += 1) {
        for (let index = 0; index < 40; index += 1) {
          const value = Number(`${Math.floor(random() * 10 ** digits)}e-${decimals}`);
          values.push(value, value * (1 + Number.EPSILON), -value * (1 - Number.EPSILON / 2));
        }
      }
    }
    check(values, form);
  });

  test('powers of ten and of two, and their neighbours', () => {
    const values: number[] = [];
    for (let power = -330; power <= 308; power += 1) values.push(Number(`1e${power}`), Number(`9.5e${power}`));
    for (let power = -1074; power <= 1023; power += 1) {
      const value = 2 ** power;
      values.push(value, value * (1 + Number.EPSILON), value * (1 - Number.EPSILON / 2));
    }
    check(values, form);
    check(
      values.map((value) => -value),
      form,
    );
  });

  test('whole numbers up to 2^53 are printed without the slow way', () => {
    const random = seededRandom(SEED);
    const values = Array.from({ length: 50_000 }, () => Math.trunc((random() * 2 - 1) * 2 ** (random() * 53)));
    expect(check(values, form)).toBe(0);
  });

  test('any doubles, drawn by fast-check', () => {
    fc.assert(
      fc.property(fc.array(fc.double(), { maxLength: 100 }), (values) => {
        check(values, form);
      }),
      { seed: SEED, numRuns: 1_000 },
    );
  });
});

test('PLAIN prints what JSON.stringify prints, but for the point of exponents', () => {
  const values = ODD_VALUES.filter((value) => Math.abs(value) >= 1e-5 || value === 0);
  const { text } = printFloats(values, FLOAT_FORM.PLAIN);
  expect(`[${text}]`).toBe(JSON.stringify(values));
});

describe('SINGLE', () => {
  const single = (bits: number): number => new Float32Array(Uint32Array.of(bits).buffer)[0] as number;

  test.each(SINGLES_BY_ORJSON)('%d as orjson prints it in a float32 array', (value, text) => {
    expect(printFloats([value], FLOAT_FORM.SINGLE).text).toBe(text);
    expect(slowNumberText(value, FLOAT_FORM.SINGLE, 0)).toBe(text);
  });

  test('each text reads back as its float32, and none with a digit less does', () => {
    const random = seededRandom(SEED);
    for (let index = 0; index < 20_000; index += 1) {
      const value = single(Math.floor(random() * 2 ** 31));
      if (!Number.isFinite(value)) continue;
      const text = float32Text(value);
      expect(Math.fround(Number(text))).toBe(value);
      const digits = text.replace(/e.*|\.0$|\./g, '').replace(/^0+|0+$/g, '').length;
      if (digits > 1) expect(Math.fround(Number(value.toPrecision(digits - 1)))).not.toBe(value);
    }
  });

  test('the kernel and the slow way agree, on powers of two and their neighbours as well', () => {
    const random = seededRandom(SEED);
    const values = Array.from({ length: 40_000 }, () => single(Math.floor(random() * 2 ** 32)));
    const near = Array.from({ length: 40_000 }, () => Math.fround((random() * 2 - 1) * 2 ** (random() * 54 - 30)));
    for (let exponent = 0; exponent < 255; exponent += 1) {
      for (const step of [-1, 0, 1]) values.push(single(Math.max(exponent * 2 ** 23 + step, 0)));
    }
    values.push(...near);
    let slow = 0;
    for (let from = 0; from < values.length; from += RUN_VALUES) {
      const run = values.slice(from, from + RUN_VALUES);
      const printed = printFloats(run, FLOAT_FORM.SINGLE);
      expect(printed.text === run.map(float32Text).join(',')).toBe(true);
      slow += printed.slow;
    }
    expect(slow).toBeGreaterThan(20_000);
    expect(slow).toBeLessThan(40_000);
  });
});
