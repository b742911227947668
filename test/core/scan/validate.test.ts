import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { validateJson } from '../../../src/core/scan/validate.js';
import { INVALID_TEXTS, LAX_TEXTS, VALID_TEXTS } from './json-cases.js';

const SEED = 20_261;

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The slow reading of spec 02 section 7: what JSON.parse takes, less what orjson alone refuses. */
function isOrjsonParseable(text: string): boolean {
  if (!parses(text)) return false;
  const withoutPairs = text.replace(/\\\\/g, '').replace(/\\u[dD][89abAB]..\\u[dD][c-fC-F]../g, '');
  if (/\\u[dD][89a-fA-F]/.test(withoutPairs)) return false;
  return !hasInfinity(JSON.parse(text));
}

function hasInfinity(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isFinite(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(hasInfinity);
}

describe('validateJson', () => {
  test.each(VALID_TEXTS.map((text) => [text]))('accepts %j', (text) => {
    expect(parses(text)).toBe(true);
    expect(validateJson(Buffer.from(text))).toBeNull();
  });

  test.each(INVALID_TEXTS.map((text) => [text]))('refuses %j as JSON.parse does', (text) => {
    expect(parses(text)).toBe(false);
    expect(validateJson(Buffer.from(text))).not.toBeNull();
  });

  test.each(LAX_TEXTS.map((text) => [text]))('refuses %j although JSON.parse takes it', (text) => {
    expect(parses(text)).toBe(true);
    expect(validateJson(Buffer.from(text))).not.toBeNull();
  });

  test.each([
    ['{"a":1,}', 7, 'key'],
    ['{"a":01}', 5, 'leading zero'],
    ['{"a":"x\u0001"}', 7, 'control character'],
    ['[1,1e999]', 3, 'too large'],
    ['["\\ud800"]', 2, 'surrogate'],
    ['{} {}', 3, 'after the end'],
    ['{"a":', 5, 'ends'],
    ['"abc', 4, 'ends'],
  ])('says where and why %j is refused', (text, offset, reason) => {
    const fault = validateJson(Buffer.from(text));
    expect(fault?.offset).toBe(offset);
    expect(fault?.reason).toContain(reason);
  });

  test.each([
    ['a byte that begins nothing', [0xff], 0],
    ['a lone continuation byte', [0x80], 0],
    ['an overlong form', [0xc0, 0xaf], 0],
    ['an encoded surrogate', [0xed, 0xa0, 0x80], 0],
    ['beyond the last code point', [0xf4, 0x90, 0x80, 0x80], 0],
    ['a cut character', [0xe2, 0x82], 0],
    ['after two-, three- and four-byte characters', [0xc3, 0xa9, 0xe2, 0x82, 0xac, 0xf0, 0x9f, 0x98, 0x80, 0xfe], 9],
  ])('gives the first byte that is not UTF-8: %s', (_, tail, inTail) => {
    for (const pad of [0, 1, 65_533, 65_534, 65_535, 65_536, 131_072]) {
      const text = Buffer.concat([Buffer.from(`"${'\u20ac'.repeat(pad)}`), Buffer.from(tail), Buffer.from('"')]);
      expect(validateJson(text)).toEqual({ offset: 1 + pad * 3 + inTail, reason: 'bytes that are not UTF-8' });
    }
  });

  test('the earlier of two faults is reported', () => {
    const jsonFirst = Buffer.concat([Buffer.from('[01,"'), Buffer.from([0xff]), Buffer.from('"]')]);
    const utf8First = Buffer.concat([Buffer.from('["'), Buffer.from([0xff]), Buffer.from('",01]')]);
    expect(validateJson(jsonFirst)?.reason).toContain('leading zero');
    expect(validateJson(utf8First)?.reason).toContain('UTF-8');
  });

  test('looks only inside the range', () => {
    const bytes = Buffer.from('xx{"a":[1]}yy');
    expect(validateJson(bytes, 2, 11)).toBeNull();
    expect(validateJson(bytes, 2, 10)?.offset).toBe(10);
    expect(validateJson(bytes, 2, 12)?.offset).toBe(11);
  });

  test('takes a nesting of 200 000 without a stack', () => {
    const depth = 200_000;
    const deep = Buffer.from(`${'[{"a":'.repeat(depth)}1${'}]'.repeat(depth)}`);
    expect(validateJson(deep)).toBeNull();
    deep[deep.length - 1] = 0x7d;
    expect(validateJson(deep)?.offset).toBe(deep.length - 1);
  });

  test('agrees with JSON.parse and the orjson rules on random damage', () => {
    const byte = fc.constantFrom(...'{}[]",:\\u0123456789abdefDEF.-+tfn \n\t'.split(''));
    const edit = fc.record({ at: fc.double({ min: 0, max: 1, noNaN: true }), insert: byte, remove: fc.nat(2) });
    const damaged = fc.tuple(fc.json(), fc.array(edit, { maxLength: 3 })).map(([text, edits]) =>
      edits.reduce((changed, { at, insert, remove }) => {
        const position = Math.floor(at * changed.length);
        return changed.slice(0, position) + insert + changed.slice(position + remove);
      }, text),
    );
    fc.assert(
      fc.property(damaged, (text) => {
        fc.pre(text.isWellFormed());
        expect(validateJson(Buffer.from(text)) === null).toBe(isOrjsonParseable(text));
      }),
      { seed: SEED, numRuns: 3_000 },
    );
  });
});
