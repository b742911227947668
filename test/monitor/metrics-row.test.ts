/** Rows of metrics: the texts of the table are what Python 3.11's `json.dumps` printed for the same values. */
import { describe, expect, test } from 'vitest';
import { metricsRow, pythonFloat } from '../../src/monitor/metrics-row.js';

const raw = (text: string): unknown => (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text);

/** The text that stands for a metric's value; undefined when the metric is left out. */
function textOf(value: unknown): string | undefined {
  const { text } = metricsRow({ m: value }, { step: 1, timeS: 2.5, producer: 'orch' });
  return /^\{"step": 1, "time": 2\.5(?:, "m": (.*))?, "producer": "orch"\}\n$/s.exec(text)?.[1];
}

describe('numbers are printed as Python prints them', () => {
  test.each<[number, string]>([
    [0.1, '0.1'],
    [1 / 3, '0.3333333333333333'],
    [1e-4, '0.0001'],
    [9.999e-5, '9.999e-05'],
    [1e-5, '1e-05'],
    [-1e-5, '-1e-05'],
    [1.5e-6, '1.5e-06'],
    [1.5e-7, '1.5e-07'],
    [1e-10, '1e-10'],
    [5e-324, '5e-324'],
    [-2.5, '-2.5'],
    [123456789.125, '123456789.125'],
    [999999999999999.9, '999999999999999.9'],
    [1e21, '1e+21'],
    [1e22, '1e+22'],
    [1.7976931348623157e308, '1.7976931348623157e+308'],
  ])('the float %d', (value, text) => {
    expect(textOf(value)).toBe(text);
    expect(textOf(raw(String(value)))).toBe(text);
  });

  test.each<[unknown, string]>([
    [0, '0'],
    [-0, '0'],
    [17, '17'],
    [-3, '-3'],
    [2 ** 53, '9007199254740992'],
    [1e15, '1000000000000000'],
    [18446744073709551616n, '18446744073709551616'],
    [raw('18446744073709551616'), '18446744073709551616'],
    [raw('-9223372036854775808'), '-9223372036854775808'],
  ])('the integer %s', (value, text) => {
    expect(textOf(value)).toBe(text);
  });

  test.each<[string, string]>([
    ['1.0', '1.0'],
    ['0.0', '0.0'],
    ['-0.0', '-0.0'],
    ['1e15', '1000000000000000.0'],
    ['1e16', '1e+16'],
    ['12345678901234567890.0', '1.2345678901234567e+19'],
  ])('the literal %s, a float that is whole', (literal, text) => {
    expect(textOf(raw(literal))).toBe(text);
  });
});

describe('rows', () => {
  test.each<[string, unknown, string]>([
    [
      'strings are ASCII',
      'a\x7f\x00\x1f\b\f\n\r\t"\\/é漢🙂\u2028',
      '"a\\u007f\\u0000\\u001f\\b\\f\\n\\r\\t\\"\\\\/\\u00e9\\u6f22\\ud83d\\ude42\\u2028"',
    ],
    ['lists and objects have spaces', [1, 2.5, { q: null }, true, [], {}], '[1, 2.5, {"q": null}, true, [], {}]'],
    ['typed arrays are lists', Float64Array.of(0.5, 1e-5), '[0.5, 1e-05]'],
  ])('%s', (_, value, text) => {
    expect(textOf(value)).toBe(text);
  });

  test('as the recorded run has them', () => {
    const facts = { step: 3, timeS: 1790000181.5, producer: 'orch' };
    expect(metricsRow({ 'reward/mean': 0.75, 'batch/ünit': 'é' }, facts).text).toBe(
      '{"step": 3, "time": 1790000181.5, "reward/mean": 0.75, "batch/\\u00fcnit": "\\u00e9", "producer": "orch"}\n',
    );
    expect(metricsRow({ 'inference/requests': 17 }, { step: null, timeS: 1790000500, producer: 'orch' }).text).toBe(
      '{"step": null, "time": 1790000500.0, "inference/requests": 17, "producer": "orch"}\n',
    );
  });

  test('a metric called like a fact of the row takes its place, but for the producer', () => {
    const row = metricsRow({ time: 2, producer: 'me', z: 1 }, { step: 3, timeS: 1.5, producer: 'orch' });
    expect(row.text).toBe('{"step": 3, "time": 2, "producer": "orch", "z": 1}\n');
  });

  test('what is not finite is left out and named', () => {
    const metrics = {
      a: Number.NaN,
      b: 1,
      c: { d: Number.POSITIVE_INFINITY, e: 2 },
      f: [Number.NaN, 3],
      g: raw('1e999'),
    };
    const row = metricsRow(metrics, { step: 1, timeS: 2.5, producer: 'orch' });
    expect(row.text).toBe('{"step": 1, "time": 2.5, "b": 1, "c": {"e": 2}, "f": [null, 3], "producer": "orch"}\n');
    expect(row.dropped).toEqual(['a', 'c.d', 'f[0]', 'g']);
  });

  test('undefined is not there', () => {
    const metrics = { step: undefined, a: undefined, b: { c: undefined } };
    expect(metricsRow(metrics, { step: 1, timeS: 2.5, producer: 'orch' }).text).toBe(
      '{"step": 1, "time": 2.5, "b": {}, "producer": "orch"}\n',
    );
  });

  const self: { again?: unknown } = {};
  self.again = self;
  test.each<[string, unknown, string]>([
    ['a function', () => {}, 'm '],
    ['a symbol', { x: Symbol('x') }, 'm.x '],
    ['half a pair', ['\ud800'], 'm[0] '],
    ['half a pair in a name', { '\udc00': 1 }, 'm.\udc00 '],
    ['itself', self, 'm.again.again'],
  ])('%s is refused by its path', (_, value, path) => {
    expect(() => textOf(value)).toThrow(
      expect.objectContaining({ code: 'PRL_ERR_REJECTED', message: expect.stringContaining(`the metric ${path}`) }),
    );
  });
});

test('every double reads back as it was', () => {
  for (let power = -324; power <= 307; power += 1) {
    for (const digits of ['1', '1.5', '9.999999999999999', '1.2345678901234567']) {
      const value = Number(`${digits}e${power}`);
      expect(Number(pythonFloat(value))).toBe(value);
    }
  }
});
