import { describe, expect, test } from 'vitest';
import { ExactSum, type PythonNumber } from '../../../src/core/index/exact-sum.js';
import { writeFloat } from '../../../src/core/index/print-number.js';
import { RowBuffer } from '../../../src/core/index/row-buffer.js';
import { ValueReader } from '../../../src/core/index/value-reader.js';
import { seededRandom } from '../../helpers/generated-run.js';
import { fieldOf } from './built-rows.js';

/** What `orjson.dumps(orjson.loads(text))` gave with orjson 3.13.0, the same in 3.11.9. */
const REPRINTED: readonly (readonly [string, string])[] = [
  ['0', '0'],
  ['-0', '0'],
  ['-0.0', '-0.0'],
  ['0.0', '0.0'],
  ['-1', '-1'],
  ['1.0', '1.0'],
  ['-1.5', '-1.5'],
  ['1e2', '100.0'],
  ['1E2', '100.0'],
  ['1e+2', '100.0'],
  ['1.10', '1.1'],
  ['0.5e1', '5.0'],
  ['123456789', '123456789'],
  ['-1234567890', '-1234567890'],
  ['999999999999999', '999999999999999'],
  ['9007199254740992', '9007199254740992'],
  ['9007199254740993', '9007199254740993'],
  ['-9007199254740993', '-9007199254740993'],
  ['9223372036854775808', '9223372036854775808'],
  ['-9223372036854775808', '-9223372036854775808'],
  ['-9223372036854775809', '-9.223372036854776e+18'],
  ['18446744073709551615', '18446744073709551615'],
  ['18446744073709551616', '1.8446744073709552e+19'],
  ['123456789012345678901234567890', '1.2345678901234568e+29'],
  ['1e15', '1000000000000000.0'],
  ['1e16', '1e+16'],
  ['1e17', '1e+17'],
  ['9999999999999998.0', '9999999999999998.0'],
  ['9999999999999999.0', '1e+16'],
  ['1e21', '1e+21'],
  ['1.5e22', '1.5e+22'],
  ['123456789012345680000.0', '1.2345678901234568e+20'],
  ['1.2345678901234567e19', '1.2345678901234567e+19'],
  ['1e-4', '0.0001'],
  ['1e-5', '0.00001'],
  ['0.000012', '0.000012'],
  ['0.0000099', '9.9e-6'],
  ['0.000001', '1e-6'],
  ['1.5e-6', '1.5e-6'],
  ['-2.5e-6', '-2.5e-6'],
  ['1e-7', '1e-7'],
  ['2.5e-10', '2.5e-10'],
  ['5e-324', '5e-324'],
  ['1e-400', '0.0'],
  ['-1e-400', '-0.0'],
  ['1.7976931348623157e308', '1.7976931348623157e+308'],
  ['0.30000000000000004', '0.30000000000000004'],
  ['0.1000000000000000055511151231257827', '0.1'],
  ['2.0812034606933594', '2.0812034606933594'],
  ['1795980770.0976737', '1795980770.0976737'],
  ['1795980770.09767370', '1795980770.0976737'],
  ['1795980772.178877', '1795980772.178877'],
  ['999999999.999999', '999999999.999999'],
  ['1000000000.5', '1000000000.5'],
  ['4503599627370497.5', '4503599627370498.0'],
  ['8.5e15', '8500000000000000.0'],
  ['33554432.000000', '33554432.0'],
  ['72057594037927945.0', '7.205759403792795e+16'],
];

describe('numbers that are copied into a row (B23, spec 02 section 7)', () => {
  test.each(REPRINTED)('%s is printed as %s', (literal, expected) => {
    expect(fieldOf(`{"traces":[{"info":{"dispatch":{"time":${literal}}}}]}`, 'dispatch')).toBe(expected);
    // A single cost is a sum of one.
    expect(fieldOf(`{"traces":[{"calls":[{"usage":{"cost":${literal}}}]}]}`, 'cost')).toBe(
      expected === '-0.0' ? '0.0' : expected,
    );
  });

  test.each([
    ['NaN', 'null'],
    ['Infinity', 'null'],
    ['-Infinity', 'null'],
  ])('%s is %s (A13)', (literal, expected) => {
    expect(fieldOf(`{"traces":[{"info":{"dispatch":{"time":${literal}}}}]}`, 'dispatch')).toBe(expected);
  });
});

function printed(value: number): string {
  const target = new RowBuffer(4);
  writeFloat(target, value);
  return Buffer.from(target.view()).toString();
}

function read(text: string): PythonNumber {
  const reader = new ValueReader();
  const bytes = Buffer.from(text);
  reader.open(bytes, 0, bytes.length);
  expect(reader.readNumber(true)).toBe(true);
  expect(reader.at).toBe(bytes.length);
  return reader;
}

describe('floats of all sizes', () => {
  test('are printed so that they read back, in the fewest digits', () => {
    const random = seededRandom(1);
    const bits = new Float64Array(1);
    const words = new Uint32Array(bits.buffer);
    for (let round = 0; round < 30_000; round += 1) {
      words[0] = random() * 2 ** 32;
      words[1] = random() * 2 ** 32;
      const value = bits[0] as number;
      if (!Number.isFinite(value)) continue;
      const text = printed(value);
      expect(Number(text)).toBe(value);
      expect(significantDigits(text)).toBe(significantDigits(value.toExponential()));
    }
  });

  test('with a few decimals take the fast way to the same text', () => {
    const random = seededRandom(2);
    for (let round = 0; round < 30_000; round += 1) {
      const decimals = Math.floor(random() * 8);
      const value = Math.round(random() * 10 ** (decimals + Math.floor(random() * 9))) / 10 ** decimals;
      const text = printed(-value);
      expect(Number(text)).toBe(-value);
      expect(significantDigits(text)).toBe(significantDigits(value.toExponential()));
    }
  });

  test('are read as the nearest double, however they are written', () => {
    const random = seededRandom(3);
    const digits = (count: number): string => Array.from({ length: count }, () => Math.floor(random() * 10)).join('');
    for (let round = 0; round < 30_000; round += 1) {
      const text = `${1 + Math.floor(random() * 9)}${digits(Math.floor(random() * 17))}.${digits(1 + Math.floor(random() * 18))}`;
      const number = read(text);
      expect(number.value).toBe(Number(text));
      expect(number.isInt).toBe(false);
    }
  });

  test('between two doubles go to the even one', () => {
    // 2^30 + 2^-23 lies exactly between 2^30 and the next double; one digit more decides.
    const half = '1073741824.00000011920928955078125';
    expect(read(half).value).toBe(1_073_741_824);
    expect(read(`${half}1`).value).toBe(1_073_741_824.0000002);
  });
});

function significantDigits(text: string): string {
  return (text.split('e')[0] ?? '').replace(/[-.]/g, '').replace(/^0+/, '').replace(/0+$/, '');
}

/** An item of a sum as JSON writes it. */
function sumOf(...literals: readonly string[]): ExactSum {
  const sum = new ExactSum();
  for (const literal of literals) sum.add(read(literal));
  return sum;
}

describe('sums of Python 3.12 (spec 04 section 3)', () => {
  test.each([
    [Array.from({ length: 10 }, () => '0.1'), 1],
    [['0.1', '0.2', '0.3'], 0.6],
    [['1e16', '1.0', '-1e16'], 1],
    [['1e16', '1', '-1e16'], 0],
    [['1', '1e100', '1.0', '-1e100'], 1],
    [['0', '-0.0'], 0],
    [['1e308', '1e308'], Number.POSITIVE_INFINITY],
    [['9007199254740992', '1', '0.0'], 9_007_199_254_740_992],
  ])('%j', (literals, expected) => {
    const sum = sumOf(...literals);
    expect(sum.value).toBe(expected);
    expect(sum.isInt).toBe(false);
  });

  test('of integers alone are exact, beyond 2^53 and back', () => {
    const sum = sumOf('18446744073709551615', '18446744073709551615', '2');
    expect(sum.isInt).toBe(true);
    expect(sum.big).toBe(2n ** 65n);
    sum.add(read('-9223372036854775808'));
    sum.addInt(-5, null);
    expect(sum.big).toBe(2n ** 65n - 2n ** 63n - 5n);
    const back = sumOf('9007199254740993', '-9007199254740992');
    expect([back.big, back.value]).toEqual([null, 1]);
  });

  test.each([
    [['1', '2'], 1.5],
    [['9007199254740993', '0'], 4_503_599_627_370_496],
    [['9007199254740993'], 9_007_199_254_740_992],
    [['9007199254740995'], 9_007_199_254_740_996],
    [['-9007199254740995', '0', '0'], -3_002_399_751_580_331.5],
    [['18446744073709551615', '18446744073709551615', '18446744073709551615'], 2 ** 64],
  ])('the mean of %j is rounded once', (literals, expected) => {
    expect(sumOf(...literals).mean()).toBe(expected);
  });
});

describe('digits', () => {
  test('of whole numbers at the borders of their length', () => {
    const target = new RowBuffer(64);
    for (let exponent = 0; exponent <= 15; exponent += 1) {
      for (const value of [10 ** exponent, 10 ** exponent - 1, 10 ** exponent + 1]) {
        target.clear();
        target.writeDigits(value);
        expect(Buffer.from(target.view()).toString()).toBe(String(value));
      }
    }
    for (const value of [2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 53]) {
      target.clear();
      target.writeDigits(value);
      expect(Buffer.from(target.view()).toString()).toBe(String(value));
    }
  });
});
