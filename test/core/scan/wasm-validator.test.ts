import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  DEEP_NESTING,
  describeFinding,
  FINDING,
  type Finding,
  isFault,
} from '../../../src/core/scan/stream-validator.js';
import { validateJson } from '../../../src/core/scan/validate.js';
import { MAX_DEPTH } from '../../../src/core/scan/walker.js';
import { WasmValidator } from '../../../src/core/scan/wasm-validator.js';
import { wasmModule } from '../../../src/io/wasm-modules.js';
import { INVALID_TEXTS, LAX_TEXTS, VALID_TEXTS } from './json-cases.js';
import { damagedLines, edgeTexts } from './line-cases.js';
import { type Expected, expectFindings } from './line-oracle.js';

const SEED = 20_261;
const LF = Buffer.from('\n');

/** White space for the fast paths to run into: they load 64 bytes at a time. */
const PADDING = Buffer.from(`${' '.repeat(80)}\n`);

const validator = new WasmValidator(wasmModule('validator'));

/** Findings of a stream that comes in pieces of `pieceBytes`. */
function check(stream: Buffer, pieceBytes = stream.length): Expected[] {
  validator.reset(0);
  for (let at = 0; at < stream.length; at += pieceBytes) validator.feed(stream.subarray(at, at + pieceBytes));
  validator.end();
  return validator.takeFindings().map(asExpected);
}

function checkSplit(stream: Buffer, at: number): Expected[] {
  validator.reset(0);
  validator.feed(stream.subarray(0, at));
  validator.feed(stream.subarray(at));
  validator.end();
  return validator.takeFindings().map(asExpected);
}

function asExpected({ lineStart, lineEnd, offset, code, isTorn }: Finding): Expected {
  return { lineStart, lineEnd, offset, reason: describeFinding(code), isTorn };
}

/** The first place where two long lists differ; `toEqual` takes seconds for them. */
function findDifference(found: readonly Expected[], expected: readonly Expected[]): unknown {
  for (let index = 0; index < Math.max(found.length, expected.length); index += 1) {
    const pair = [found[index], expected[index]];
    if (JSON.stringify(pair[0]) !== JSON.stringify(pair[1])) return pair;
  }
  return null;
}

function codesOf(text: string): number[] {
  validator.reset(0);
  validator.feed(Buffer.from(text));
  validator.end();
  return validator.takeFindings().map(({ code }) => code);
}

/** The text as a line, as the last line, and deep enough in other values for each fast path to meet it. */
function placesOf(text: Buffer): Buffer[] {
  const around = (before: string, after: string) =>
    Buffer.concat([Buffer.from(before), text, Buffer.from(after), LF, PADDING]);
  return [
    text,
    Buffer.concat([text, LF, PADDING]),
    around(`${' '.repeat(80)}\n[${'12,-0.5,'.repeat(20)}`, `,${'3,'.repeat(40)}4]`),
    around(`{"key":[${'true,false,'.repeat(12)}`, `],"next":"${'x'.repeat(70)}"}`),
    around(`["${'y'.repeat(50)}\\n`, `${'z'.repeat(70)}"]`),
    around('{"a":{"b":', '},"c":null}'),
  ];
}

describe('WasmValidator', () => {
  const known = [...VALID_TEXTS, ...INVALID_TEXTS, ...LAX_TEXTS].map((text) => Buffer.from(text));

  test.each([...VALID_TEXTS, ...INVALID_TEXTS, ...LAX_TEXTS].map((text) => [text]))(
    'says of %j what validateJson says',
    (text) => {
      for (const stream of placesOf(Buffer.from(text))) expect(check(stream)).toEqual(expectFindings(stream));
    },
  );

  test.each(edgeTexts())('%s', (_, texts) => {
    for (const text of texts) {
      for (const stream of placesOf(text)) expect(check(stream)).toEqual(expectFindings(stream));
    }
  });

  test('a cut at any byte changes nothing', () => {
    // A whole array of expectations would cost more than what they are about.
    const differing: string[] = [];
    for (const text of [...known, ...edgeTexts().flatMap(([, texts]) => texts)]) {
      if (text.length > 300) continue;
      const stream = Buffer.concat([text, LF, PADDING]);
      const expected = JSON.stringify(expectFindings(stream));
      for (let at = 1; at <= text.length + 1; at += 1) {
        if (JSON.stringify(checkSplit(stream, at)) !== expected) differing.push(`${at}: ${text.toString('latin1')}`);
      }
    }
    expect(differing).toEqual([]);
  });

  test.each([
    ['0123456789abcdef', ['\\u00e9"', '\\n', '",12', '",1.5e3', '']],
    ['\u00bf\u00bf', ['\u00e9"', '\u6f22"', '\u{1F600}"']],
    ['true,', ['",true,false]', '",null', '",[[]]']],
    ['\\",:', ['",{"a":1}', '","b"]', '\\\\']],
  ])('what an earlier piece left behind the end of a later one is never read: %s', (residue, ends) => {
    const before = Buffer.from(`"${residue.repeat(30)}"\n`);
    const differing: string[] = [];
    for (const end of ends) {
      for (let width = 0; width < 150; width += 1) {
        const text = Buffer.from(`["${'x'.repeat(width)}${end}`);
        for (let cut = Math.max(1, text.length - 9); cut <= text.length; cut += 1) {
          const stream = Buffer.concat([before, text.subarray(0, cut), Buffer.from('?\n')]);
          validator.reset(0);
          validator.feed(before);
          validator.feed(stream.subarray(before.length, before.length + cut));
          validator.feed(stream.subarray(before.length + cut));
          const found = validator.takeFindings().map(asExpected);
          if (findDifference(found, expectFindings(stream)) !== null) differing.push(stream.toString('latin1'));
        }
      }
    }
    expect(differing).toEqual([]);
  });

  test('many lines in one stream, in pieces up to 64 KiB and more', () => {
    const all = [...known, ...edgeTexts().flatMap(([, list]) => list)];
    const stream = Buffer.concat(all.flatMap((text) => placesOf(text).flatMap((place) => [place, LF])));
    const expected = expectFindings(stream);
    expect(expected.length).toBeGreaterThan(500);
    for (const pieceBytes of [1, 2, 3, 5, 4_099, 65_536, 65_537, stream.length]) {
      expect(findDifference(check(stream, pieceBytes), expected)).toBeNull();
    }
  });

  test('agrees with validateJson on random lines with random damage', () => {
    fc.assert(
      fc.property(damagedLines(), fc.integer({ min: 1, max: 300 }), (stream, pieceBytes) => {
        const expected = expectFindings(stream);
        expect(check(stream)).toEqual(expected);
        expect(check(stream, pieceBytes)).toEqual(expected);
      }),
      { seed: SEED, numRuns: 1_500 },
    );
  });

  test('numbers around the largest double are judged as Number does, however long', () => {
    const bound = (2n ** 1024n - 2n ** 970n).toString();
    const around = [`${bound}`, `${BigInt(bound) - 1n}`, `${BigInt(bound) + 1n}`];
    const texts = around.flatMap((digits) => [
      digits,
      `${digits}.0`,
      `-${digits}.${'0'.repeat(500)}1`,
      `${digits[0]}.${digits.slice(1)}e308`,
      `${digits[0]}.${digits.slice(1)}${'0'.repeat(900)}E+308`,
      `0.${'0'.repeat(400)}${digits}e709`,
      `0.${'0'.repeat(400)}${digits}e710`,
      `${digits}${'0'.repeat(5000)}e-5000`,
      `${digits}${'0'.repeat(5000)}e-5001`,
      `${digits}e-1`,
    ]);
    texts.push('1e308', '1e309', '1.7976931348623157e308', '1.7976931348623159e308', '17976931348623159e292');
    texts.push(
      '0e999999999999999999999999',
      '1e-999999999999999999999999',
      '1e999999999999999999999999',
      `${'9'.repeat(308)}`,
    );
    texts.push('0.0e400', `0.${'0'.repeat(399)}1e400`, '123456789e300', '-1e+00000000000000000000000000000000308');
    let refused = 0;
    for (const text of texts) {
      const isDouble = Number.isFinite(Number(text));
      if (!isDouble) refused += 1;
      const line = Buffer.from(`[0,${text},1]\n${' '.repeat(100)}`);
      const expected = isDouble
        ? []
        : [
            {
              lineStart: 0,
              lineEnd: text.length + 7,
              offset: 3,
              reason: 'a number too large for a double',
              isTorn: false,
            },
          ];
      expect(check(line)).toEqual(expected);
      expect(check(line, 7)).toEqual(expected);
    }
    expect(refused).toBeGreaterThan(15);
    expect(refused).toBeLessThan(texts.length - 15);
  });

  test('what is legal but odd is flagged, each once a line and in order', () => {
    const stream = Buffer.from('[NaN,"\\udc00",-Infinity,"\\ud800"]\n{"a":1}\n{"a":Infinity}\n["\\ud83d\\ude00"]\n');
    expect(check(stream).map(({ offset, reason, isTorn }) => [offset, reason, isTorn])).toEqual([
      [1, 'a number that is not finite', false],
      [6, 'a lone surrogate escape', false],
      [47, 'a number that is not finite', false],
    ]);
    expect(codesOf('[NaN]').some((code) => isFault(code as Finding['code']))).toBe(false);
    expect(codesOf('[NaN,1 2]')).toEqual([FINDING.NO_COMMA]);
    expect(codesOf('[nan]')).toEqual([FINDING.UNKNOWN_LITERAL]);
    expect(codesOf('{"a":-Infinit')).toEqual([FINDING.CUT_LITERAL]);
  });

  test('a byte order mark is odd at the start of the stream and a fault elsewhere', () => {
    expect(codesOf('\ufeff{"a":1}')).toEqual([FINDING.BYTE_ORDER_MARK]);
    expect(codesOf('\ufeff\n{}')).toEqual([FINDING.BYTE_ORDER_MARK]);
    expect(codesOf('\ufeff{"a"}')).toEqual([FINDING.NO_COLON]);
    expect(codesOf('{}\n\ufeff{}')).toEqual([FINDING.NO_VALUE]);
    expect(codesOf(' \ufeff{}')).toEqual([FINDING.NO_VALUE]);
    expect(codesOf('\ufeff\ufeff{}')).toEqual([FINDING.NO_VALUE]);
    const text = Buffer.from('\ufeff[1]\n');
    for (let at = 0; at < text.length; at += 1) expect(checkSplit(text, at)).toHaveLength(1);
  });

  test('nesting: any depth up to the cap, flagged beyond 10,000', () => {
    const deep = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
    expect(codesOf(deep(DEEP_NESTING))).toEqual([]);
    validator.reset(0);
    validator.feed(Buffer.from(deep(DEEP_NESTING + 1)));
    validator.end();
    expect(validator.takeFindings()).toMatchObject([
      { code: FINDING.DEEP_NESTING, offset: DEEP_NESTING, isTorn: false },
    ]);
    expect(codesOf(`${'[{"a":'.repeat(200_000)}1${'}]'.repeat(200_000)}`)).toEqual([FINDING.DEEP_NESTING]);
    expect(codesOf(`${'[{"a":'.repeat(200_000)}1${'}]'.repeat(199_999)}]]`)).toEqual([FINDING.NO_COMMA]);
    expect(codesOf(deep(MAX_DEPTH))).toEqual([FINDING.DEEP_NESTING]);
    expect(codesOf(`${deep(MAX_DEPTH + 1)}\n[]\n]`)).toEqual([FINDING.TOO_DEEP, FINDING.NO_VALUE]);
    expect(describeFinding(FINDING.TOO_DEEP)).toContain(MAX_DEPTH.toLocaleString('en'));
    expect(describeFinding(FINDING.DEEP_NESTING)).toContain(DEEP_NESTING.toLocaleString('en'));
  });

  test('offsets go on from where reset puts the first byte, beyond 2^32 too', () => {
    const start = 2 ** 53 - 4_096;
    validator.reset(start);
    validator.feed(Buffer.from('{}\n{"a":1'));
    expect(validator.takeFindings()).toEqual([]);
    validator.feed(Buffer.from('x}\n'));
    expect(validator.takeFindings()).toEqual([
      { lineStart: start + 3, lineEnd: start + 12, offset: start + 9, code: FINDING.NO_COMMA, isTorn: false },
    ]);
    validator.end();
    expect(validator.takeFindings()).toEqual([]);
  });

  test('a stream that is given up leaves nothing for the next', () => {
    for (const part of ['{"a":"\\ud800', '[[[[1e40', '"\u00e9'.slice(0, 2), '{"a', 'x', '[NaN,']) {
      validator.reset(0);
      validator.feed(Buffer.from(part));
      expect(check(Buffer.from('[1]\n{"b":"c"}\n'))).toEqual([]);
    }
  });

  test('more bad lines in a piece than fit the table all come out', () => {
    const stream = Buffer.from('[\n{}\n'.repeat(20_000));
    const found = check(stream);
    expect(found).toHaveLength(20_000);
    expect(found.at(-1)).toMatchObject({ lineStart: 19_999 * 5, lineEnd: 19_999 * 5 + 2, isTorn: true });
  });

  test('a line of 100 MB takes no more memory than a short one', () => {
    const part = Buffer.from(
      `{"token_ids":[${'12345,678,9,'.repeat(5_000)}0],"text":"${'caf\u00e9 \\n'.repeat(9_000)}"},`,
    );
    const parts = Math.ceil(100_000_000 / part.length);
    validator.reset(0);
    validator.feed(Buffer.from('['));
    const before = process.memoryUsage();
    for (let index = 0; index < parts; index += 1) validator.feed(part);
    const after = process.memoryUsage();
    validator.feed(Buffer.from('01]\n'));
    const length = 1 + parts * part.length + 4;
    expect(validator.takeFindings()).toEqual([
      { lineStart: 0, lineEnd: length, offset: length - 4, code: FINDING.LEADING_ZERO, isTorn: false },
    ]);
    expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(1_000_000);
    expect(after.rss - before.rss).toBeLessThan(50_000_000);
  });

  test('the oracle itself is not blind', () => {
    expect(expectFindings(Buffer.from('{}\n[1\n'))).toEqual([
      { lineStart: 3, lineEnd: 6, offset: 5, reason: 'the text ends inside an object or array', isTorn: true },
    ]);
    expect(validateJson(Buffer.from('[1'))?.offset).toBe(2);
  });
});
