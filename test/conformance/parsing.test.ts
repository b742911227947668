/** The strict check of a text against orjson's own verdict (spec 02 section 7). */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { validateJson } from '../../src/core/scan/validate.js';
import { WasmValidator } from '../../src/core/scan/wasm-validator.js';
import { wasmModule } from '../../src/io/wasm-modules.js';
import { INVALID_TEXTS, LAX_TEXTS, VALID_TEXTS } from '../core/scan/json-cases.js';
import { damagedLines, edgeTexts } from '../core/scan/line-cases.js';
import { ask, judge } from './python.js';

/** Texts where Python, JavaScript and orjson are known to disagree, or that break byte-wise readers. */
const DISPUTED: readonly Buffer[] = [
  'NaN',
  '[Infinity]',
  '1e400',
  '[-1e400]',
  '1e-400',
  '18446744073709551616',
  '"\\ud800"',
  '"\\ud83d\\ude00"',
  '"\\ude00\\ud83d"',
  '"a\u0001b"',
  '\ufeff{}',
  '{"a":1}\u0000',
  '"\u007f\u2028"',
]
  .map((text) => Buffer.from(text))
  .concat([
    Buffer.from([0x22, 0xff, 0x22]),
    Buffer.from([0x22, 0xc3, 0x22]),
    Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]),
    Buffer.from([0x22, 0xf4, 0x90, 0x80, 0x80, 0x22]),
    Buffer.from([0x22, 0xc0, 0xaf, 0x22]),
  ]);

async function askOrjson(texts: readonly Buffer[]): Promise<boolean[]> {
  const verdicts = await ask('reading.py', { kind: 'parse', texts: texts.map((text) => text.toString('base64')) });
  return verdicts as boolean[];
}

async function compare(texts: readonly Buffer[]): Promise<void> {
  const theirs = await askOrjson(texts);
  expect(texts.map((text) => [text.toString('latin1'), validateJson(text) === null])).toEqual(
    texts.map((text, index) => [text.toString('latin1'), theirs[index]]),
  );
}

/** White space for the strict check of a stream to run into: it reads 64 bytes at a time. */
const PADDING = Buffer.from(`${' '.repeat(80)}\n`);

/** Whether the strict check of a stream finds nothing about each text, all of them lines of one stream. */
function checkLines(texts: readonly Buffer[], pieceBytes: number): boolean[] {
  const validator = new WasmValidator(wasmModule('validator'));
  const starts: number[] = [];
  let size = PADDING.length;
  const parts: Buffer[] = [PADDING];
  for (const text of texts) {
    starts.push(size);
    parts.push(text, Buffer.from('\n'), PADDING);
    size += text.length + 1 + PADDING.length;
  }
  const stream = Buffer.concat(parts);
  for (let at = 0; at < stream.length; at += pieceBytes) validator.feed(stream.subarray(at, at + pieceBytes));
  validator.end();
  const odd = new Set(validator.takeFindings().map(({ lineStart }) => lineStart));
  return starts.map((start) => !odd.has(start));
}

async function compareLines(texts: readonly Buffer[]): Promise<void> {
  // LF is white space to orjson and the end of a line to us; a blank line is no text.
  const lines = texts.filter((text) => !text.includes(0x0a) && /[^\t\v\f\r ]/.test(text.toString('latin1')));
  const theirs = await askOrjson(lines);
  const expected = lines.map((text, index) => [text.toString('latin1'), theirs[index]]);
  expect(theirs.filter((isTaken) => isTaken).length).toBeGreaterThan(lines.length / 20);
  for (const pieceBytes of [7, 1_000_003]) {
    const ours = checkLines(lines, pieceBytes);
    expect(lines.map((text, index) => [text.toString('latin1'), ours[index]])).toEqual(expected);
  }
}

describe.skipIf(judge.missing !== null)(`parseable means what orjson takes (${judge.missing ?? 'orjson'})`, () => {
  test('known texts', async () => {
    await compare([...VALID_TEXTS, ...INVALID_TEXTS].map((text) => Buffer.from(text)));
  });

  test('disputed texts', async () => {
    await compare(DISPUTED);
  });

  test('random texts with a byte changed, dropped or doubled', async () => {
    const changed = fc
      .tuple(
        fc.json({ maxDepth: 4 }),
        fc.nat(),
        fc.integer({ min: 0, max: 255 }),
        fc.constantFrom('set', 'drop', 'double'),
      )
      .map(([text, at, byte, change]) => {
        const bytes = Buffer.from(text);
        const position = at % Math.max(1, bytes.length);
        if (change === 'set') bytes[position] = byte;
        if (change === 'drop') return Buffer.concat([bytes.subarray(0, position), bytes.subarray(position + 1)]);
        if (change === 'double') return Buffer.concat([bytes.subarray(0, position + 1), bytes.subarray(position)]);
        return bytes;
      });
    await compare(fc.sample(changed, { numRuns: 2000, seed: 20261129 }));
  });

  test('the strict check of a stream: known, disputed and edge texts', async () => {
    await compareLines([...VALID_TEXTS, ...INVALID_TEXTS, ...LAX_TEXTS].map((text) => Buffer.from(text)));
    await compareLines(DISPUTED);
    await compareLines(edgeTexts().flatMap(([, texts]) => texts));
  });

  test('the strict check of a stream: numbers around the largest double', async () => {
    const bound = 2n ** 1024n - 2n ** 970n;
    const digits = [-1n, 0n, 1n].map((step) => (bound + step).toString());
    const texts = digits.flatMap((text) => [
      text,
      `-${text}.0`,
      `${text[0]}.${text.slice(1)}e308`,
      `0.${'0'.repeat(40)}${text}e+349`,
      `0.${'0'.repeat(40)}${text}e350`,
      `${text}${'0'.repeat(40)}E-40`,
      `[${text}e-1]`,
    ]);
    texts.push('1.7976931348623157e308', '1.7976931348623158e308', '1.7976931348623159e308', '0e999', '1e-999');
    await compareLines(texts.map((text) => Buffer.from(text)));
  });

  test('the strict check of a stream: random lines with random damage', async () => {
    const streams = fc.sample(damagedLines(), { numRuns: 2000, seed: 20261130 });
    const lines = streams.flatMap((stream) => stream.toString('latin1').split('\n'));
    await compareLines(lines.map((line) => Buffer.from(line, 'latin1')));
  });
});
