/** No text of a log reaches a terminal raw (demand C19). */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { visible } from '../../src/cli/text.js';

describe('visible', () => {
  test.each([
    ['plain text, ünïcode, 日本語', 'plain text, ünïcode, 日本語'],
    ['clear \u001b[2J and home \u001b[H', 'clear \\u001b[2J and home \\u001b[H'],
    ['title \u001b]0;owned\u0007', 'title \\u001b]0;owned\\u0007'],
    ['clipboard \u001b]52;c;aGk=\u001b\\', 'clipboard \\u001b]52;c;aGk=\\u001b\\'],
    ['one-byte CSI \u009b31m', 'one-byte CSI \\u009b31m'],
    ['lines\r\nand\ttabs\u0000', 'lines\\r\\nand\\ttabs\\u0000'],
    ['bidi \u202egnp.exe\u202c \u2066x\u2069', 'bidi \\u202egnp.exe\\u202c \\u2066x\\u2069'],
    ['zero\u200bwidth\ufeff\u00ad', 'zero\\u200bwidth\\ufeff\\u00ad'],
    ['filler \u3164\u2800', 'filler \\u3164\\u2800'],
    ['separators \u2028\u2029', 'separators \\u2028\\u2029'],
    ['half \ud83d pair', 'half \\ud83d pair'],
    ['tags \u{e0041}', 'tags \\u{e0041}'],
    ['private \ue000', 'private \\ue000'],
    ['delete \u007f', 'delete \\u007f'],
    ['family 👩‍👩‍👧 and 👩🏽‍🔬 and ❤️‍🔥', 'family 👩‍👩‍👧 and 👩🏽‍🔬 and ❤️‍🔥'],
    ['a\u200db', 'a\\u200db'],
    ['👩\u200dx', '👩\\u200dx'],
  ])('%j', (text, shown) => {
    expect(visible(text)).toBe(shown);
  });

  test('whatever goes in, nothing that acts on a terminal comes out, and text without such stays as it is', () => {
    const anything = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 60 }),
      fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 60 }).map((units) => String.fromCharCode(...units)),
    );
    fc.assert(
      fc.property(anything, (text) => {
        const shown = visible(text);
        // A joiner inside an emoji may stay; the table above has the cases where it must not.
        expect(shown.replaceAll('\u200d', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
        expect(shown.length).toBeGreaterThanOrEqual(text.length);
        expect(visible(shown)).toBe(shown);
      }),
      { seed: 20_261_129, numRuns: 2000 },
    );
  });
});
