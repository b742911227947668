import { describe, expect, test } from 'vitest';
import { FLOAT_FORM, RUN_VALUES } from '../../../src/core/encode/kernel.js';
import { roundDecimals, slowNumberText } from '../../../src/core/encode/slow-number.js';
import { seededRandom } from '../../helpers/generated-run.js';
import { roundExactly } from '../../helpers/slow-encode.js';
import { expectedFloats, printFloats } from './kernel-probe.js';
import { ROUNDED_BY_PYTHON } from './python-numbers.js';

const SEED = 20_261;
const DECIMALS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] as const;

const bits = new DataView(new ArrayBuffer(8));

/** The next double in the direction of `step`, away from zero for 1. */
function neighbour(value: number, step: bigint): number {
  bits.setFloat64(0, value);
  bits.setBigUint64(0, bits.getBigUint64(0) + step);
  return bits.getFloat64(0);
}

function check(values: readonly number[], decimals: number): number {
  let left = 0;
  for (let from = 0; from < values.length; from += RUN_VALUES) {
    const run = values.slice(from, from + RUN_VALUES);
    const { text, slow } = printFloats(run, FLOAT_FORM.ROUNDED, decimals);
    const wanted = expectedFloats(run, FLOAT_FORM.ROUNDED, (value) => roundExactly(value, decimals));
    if (text !== wanted) expect(text.split(',')).toEqual(wanted.split(','));
    left += slow;
  }
  return left;
}

test.each(ROUNDED_BY_PYTHON)(
  'R-REC-2 %d to %i decimals is what Python and orjson make of it',
  (value, decimals, text) => {
    expect(printFloats([value], FLOAT_FORM.ROUNDED, decimals).text).toBe(text);
    // Among enough others for the way of four at a time.
    expect(printFloats([0.5, value, 0.5, 0.5, 0.5], FLOAT_FORM.ROUNDED, decimals).text.split(',')[1]).toBe(text);
    expect(slowNumberText(value, FLOAT_FORM.ROUNDED, decimals)).toBe(text);
  },
);

describe.each(DECIMALS)('%i decimals', (decimals) => {
  const limit = 2 ** 52 / 10 ** decimals;

  test('R-REC-2 50,000 random doubles of many magnitudes are rounded exactly', () => {
    const random = seededRandom(SEED + decimals);
    const draw = (lowest: number, highest: number): number =>
      (random() * 2 - 1) * 10 ** (lowest + random() * (highest - lowest));
    check(
      Array.from({ length: 20_000 }, () => draw(-3, 2)),
      decimals,
    );
    check(
      Array.from({ length: 20_000 }, () => draw(-decimals - 2, 17 - decimals)),
      decimals,
    );
    check(
      Array.from({ length: 10_000 }, () => draw(-320, 308)),
      decimals,
    );
  });

  test('ties go to the even neighbour, and doubles next to a tie to the nearer one', () => {
    // The ties that are doubles: odd multiples of 2^-(decimals + 1).
    const random = seededRandom(SEED + decimals);
    const values: number[] = [];
    const step = 2 ** -(decimals + 1);
    for (let index = 0; index < 3_000; index += 1) {
      const odd = index < 1_500 ? index * 2 + 1 : Math.floor((random() * limit) / step / 2) * 2 + 1;
      const tie = odd * step;
      values.push(tie, neighbour(tie, 1n), neighbour(tie, -1n));
      values.push(-tie, neighbour(-tie, 1n), neighbour(-tie, -1n));
    }
    check(values, decimals);
  });

  test('doubles as near as any to the middle between two decimals', () => {
    const random = seededRandom(SEED - decimals);
    const values: number[] = [];
    for (let index = 0; index < 3_000; index += 1) {
      const whole = index < 1_500 ? index : Math.floor(random() * 10 ** (random() * 16));
      const middle = Number(`${whole}5e-${decimals + 1}`);
      values.push(middle, neighbour(middle, 1n), neighbour(middle, -1n), -middle);
    }
    check(values, decimals);
  });

  test('zeros, subnormals, what is not finite, and what is too large to have decimals', () => {
    const values = [0, 5e-324, 2.2e-308, 1e-320, Number.NaN, Infinity, 1e22, Number.MAX_VALUE, 2 ** 52, 2 ** 53, 1e300];
    for (const edge of [limit, limit / 2, limit * 2, limit * 8, 1e15 / 10 ** decimals, 1e15, 1e16]) {
      values.push(edge, neighbour(edge, 1n), neighbour(edge, -1n), edge + 0.5, edge - 0.5);
    }
    check(values, decimals);
    check(
      values.map((value) => -value),
      decimals,
    );
  });

  test('the slow way is for sizes from 2^52 over the power of ten on only', () => {
    const random = seededRandom(SEED);
    const values = Array.from({ length: 1_000 }, () => (random() * 2 - 1) * limit * 0.999);
    expect(check(values, decimals)).toBe(0);
    expect(check([limit, -limit], decimals)).toBe(2);
  });

  test('the slow way by itself gives the same', () => {
    const random = seededRandom(SEED + 7);
    const draw = (): number => (random() * 2 - 1) * 10 ** (random() * 30 - 12);
    const values = Array.from({ length: 3_000 }, (_, index) =>
      index % 2 === 0 ? draw() : (2 * Math.floor(random() * 1e4) + 1) * 2 ** -(decimals + 1),
    );
    for (const value of [...values, 0, -0, Number.MAX_VALUE]) {
      expect(roundDecimals(value, decimals)).toBe(roundExactly(value, decimals));
    }
  });
});
