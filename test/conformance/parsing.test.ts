/** The strict check of a text against orjson's own verdict (spec 02 section 7). */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { validateJson } from '../../src/core/scan/validate.js';
import { INVALID_TEXTS, VALID_TEXTS } from '../core/scan/json-cases.js';
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

async function compare(texts: readonly Buffer[]): Promise<void> {
  const verdicts = await ask('reading.py', { kind: 'parse', texts: texts.map((text) => text.toString('base64')) });
  const theirs = verdicts as boolean[];
  expect(texts.map((text) => [text.toString('latin1'), validateJson(text) === null])).toEqual(
    texts.map((text, index) => [text.toString('latin1'), theirs[index]]),
  );
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
});
