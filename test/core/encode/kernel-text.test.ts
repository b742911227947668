import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { TEXT_UNITS } from '../../../src/core/encode/kernel.js';
import { seededRandom } from '../../helpers/generated-run.js';
import { printText } from './kernel-probe.js';

const SEED = 20_261;

/** What the engine makes of it: the index of the first lone surrogate as the kernel tells it, or bytes. */
function expected(text: string): Buffer | number {
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit < 0xd800 || unit > 0xdfff) continue;
    const next = text.charCodeAt(index + 1);
    if (unit > 0xdbff || !(next >= 0xdc00 && next <= 0xdfff)) return -1 - index;
    index += 1;
  }
  return Buffer.from(JSON.stringify(text).slice(1, -1));
}

function check(text: string, shift = 0): void {
  const found = printText(text, shift);
  const wanted = expected(text);
  const isSame = typeof found === 'number' || typeof wanted === 'number' ? found === wanted : found.equals(wanted);
  // Only a failure is worth the time that comparing and printing takes.
  if (!isSame) expect({ text, found: String(found) }).toEqual({ text, found: String(wanted) });
}

/** In runs of at most TEXT_UNITS, none of which ends between the two units of a pair. */
function checkLong(text: string): void {
  for (let from = 0; from < text.length; ) {
    const last = text.charCodeAt(from + TEXT_UNITS - 1);
    const units = last >= 0xd800 && last <= 0xdbff ? TEXT_UNITS - 1 : TEXT_UNITS;
    check(text.slice(from, from + units));
    from += units;
  }
}

const UNITS = Array.from({ length: 0x10000 }, (_, unit) => unit).filter((unit) => unit < 0xd800 || unit > 0xdfff);

describe('single units', () => {
  test('R-REC-2 every unit that is no surrogate, between plain ones, at each of 16 places', () => {
    // 17 units apart, so that the place moves on by itself; the start moves it through the rest.
    const spaced = UNITS.map((unit) => `${String.fromCharCode(unit)}sixteen of these`).join('');
    for (let start = 0; start < 16; start += 1) checkLong('x'.repeat(start) + spaced);
  });

  test('every unit beside its neighbours, at each of 16 places', () => {
    const all = UNITS.map((unit) => String.fromCharCode(unit)).join('');
    for (let start = 0; start < 16; start += 1) checkLong('x'.repeat(start) + all);
  });

  test('every unit alone, and as the last of a run', () => {
    for (const unit of UNITS) check(String.fromCharCode(unit));
    for (let unit = 0; unit < 0x900; unit += 1) {
      for (let start = 1; start < 20; start += 1) check('y'.repeat(start) + String.fromCharCode(unit), start % 16);
    }
  });

  test.each([
    ['quote', '"', '\\"'],
    ['backslash', '\\', '\\\\'],
    ['letters', '\b\t\n\f\r', '\\b\\t\\n\\f\\r'],
    ['lower case', '\u0000\u000b\u001b\u001f', '\\u0000\\u000b\\u001b\\u001f'],
    ['raw', '/\u007f\u2028\u2029<>&', '/\u007f\u2028\u2029<>&'],
  ])('%s as orjson has it', (_, text, wanted) => {
    expect(String(printText(text))).toBe(wanted);
  });
});

describe('escapes', () => {
  const ESCAPED = ['"', '\\', '\n', '\b', '\u0000', '\u001f'];

  test.each(ESCAPED)('%j at each of the first 33 places, among ASCII and among wider text', (escaped) => {
    for (const filler of ['a', 'é', '語', '\n']) {
      for (let place = 0; place < 33; place += 1) check(filler.repeat(place) + escaped + filler.repeat(40 - place));
    }
  });

  test('two at any two of 33 places', () => {
    for (let first = 0; first < 33; first += 1) {
      for (let second = first + 1; second < 34; second += 1) {
        const text = Array.from({ length: 40 }, () => 'b');
        text[first] = ESCAPED[(first + second) % ESCAPED.length] as string;
        text[second] = ESCAPED[(first * second) % ESCAPED.length] as string;
        check(text.join(''), first % 16);
      }
    }
  });

  test('a run of TEXT_UNITS that all take six bytes', () => {
    check('\u0001'.repeat(TEXT_UNITS));
  });
});

describe('surrogates', () => {
  test('all pairs there are', () => {
    for (let high = 0xd800; high < 0xdc00; high += 1) {
      const lows = Array.from({ length: 0x400 }, (_, low) => String.fromCharCode(high, 0xdc00 + low));
      check(lows.join(high % 2 === 0 ? '' : '.'));
    }
  });

  test('a pair at each of 40 places, among text of every width', () => {
    for (const filler of ['a', 'é', '語', '"', '\u0001', '😀']) {
      for (let place = 0; place < 40; place += 1) {
        check(`${filler.repeat(place)}\u{1f600}${filler.repeat(4)}`);
        check(`${filler.repeat(place)}\u{10ffff}\u{10000}`, place % 16);
      }
    }
  });

  test.each([
    ['a high one at the end', '\ud83d'],
    ['a low one at the end', '\ude00'],
    ['a high one before ASCII', '\ud83dz'],
    ['a high one before a control character', '\ud83d\u0001'],
    ['a high one before wide text', '\ud83d語'],
    ['a low one before ASCII', '\ude00z'],
    ['two high ones', '\ud83d\ud83d\ude00'],
    ['two low ones', '\ud83d\ude00\ude00'],
    ['the wrong way round', '\ude00\ud83d'],
  ])('%s is found at each of 40 places', (_, lone) => {
    for (const filler of ['a', 'é', '語', '😀', '\u0001', '\n']) {
      for (let place = 0; place < 40; place += 1) {
        check(filler.repeat(place) + lone);
        check(filler.repeat(place) + lone + filler.repeat(20));
        check(`${filler.repeat(place) + lone}${'a'.repeat(9)}\ud800`);
      }
    }
  });
});

describe('random text', () => {
  const ALPHABETS: Readonly<Record<string, readonly string[]>> = {
    prose: [...'the quick brown fox. '],
    code: [...'{"key": "value",\n\t\\'],
    latin: [...'crème brûlée àéîõü'],
    cyrillic: [...'привет, мир '],
    chinese: [...'語言模型的強化學習，'],
    mixed: [...'aé語😀"\\\n\u0001\u001b~ß中\u{20000}'],
    terminal: [...'\u001b[0m ok \r\n'],
  };

  test.each(Object.keys(ALPHABETS))('%s: lengths up to 70 thirty times over, and TEXT_UNITS', (name) => {
    const alphabet = ALPHABETS[name] as readonly string[];
    const random = seededRandom(SEED);
    const draw = (length: number): string => {
      let text = '';
      while (text.length < length) text += alphabet[Math.floor(random() * alphabet.length)];
      return text;
    };
    for (let round = 0; round < 30; round += 1) {
      for (let length = 0; length <= 70; length += 1) check(draw(length), round % 16);
    }
    checkLong(draw(TEXT_UNITS * 2));
  });

  test('any units whatever, drawn by fast-check', () => {
    const unit = fc.oneof(fc.nat(0x7f), fc.nat(0xffff), fc.integer({ min: 0xd800, max: 0xdfff }), fc.nat(0x1f));
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 120 }), fc.nat(15), (units, shift) => {
        check(String.fromCharCode(...units), shift);
      }),
      { seed: SEED, numRuns: 3_000 },
    );
  });
});
