import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FLOAT_FORM, RUN_VALUES } from '../../../src/core/encode/kernel.js';
import { seededRandom } from '../../helpers/generated-run.js';
import { expectedFloats, printFloats } from './kernel-probe.js';

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

describe.each(FORMS)('%s', (name, form) => {
  test('odd values, alone and in a run', () => {
    for (const value of ODD_VALUES) check([value], form);
    for (const value of ODD_VALUES) check([-value], form);
    check(ODD_VALUES, form);
  });

  test('R-LOG-3 every decimal of up to 15 digits is printed without the slow way', () => {
    const random = seededRandom(SEED);
    for (let digits = 1; digits <= 15; digits += 1) {
      for (let decimals = 0; decimals <= 15; decimals += 1) {
        const values = Array.from({ length: 300 }, () => {
          const whole = Math.floor(random() * 10 ** digits);
          return Number(`${random() < 0.5 ? '-' : ''}${whole}e-${decimals}`);
        }).filter((value) => value === 0 || Math.abs(value) >= 1e-5);
        expect({ digits, decimals, slow: check(values, form) }).toEqual({ digits, decimals, slow: 0 });
      }
    }
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
    const random = seededRandom(SEED + 1);
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
    expect(name).toBe(FORMS.find(([, other]) => other === form)?.[0]);
  });
});

test('PLAIN prints what JSON.stringify prints, but for the point of exponents', () => {
  const values = ODD_VALUES.filter((value) => Math.abs(value) >= 1e-5 || value === 0);
  const { text } = printFloats(values, FLOAT_FORM.PLAIN);
  expect(`[${text}]`).toBe(JSON.stringify(values));
});
