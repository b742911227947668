/** Widths against Ink's own layout, which is an independent implementation and the one that draws our views. */
import fc from 'fast-check';
import { Box, renderToString, Text } from 'ink';
import { describe, expect, test } from 'vitest';
import { visible } from '../../src/cli/text.js';
import { fitText, textWidth } from '../../src/cli/width.js';

const BOX_COLUMNS = 90;

/** Columns that Ink gives the text: what is left of a box of known width is filled with spaces up to the bar. */
function inkWidth(text: string): number {
  const drawn = renderToString(
    <Box>
      <Box width={BOX_COLUMNS}>
        <Text>[{text}]</Text>
      </Box>
      <Text>|</Text>
    </Box>,
    { columns: BOX_COLUMNS + 1 },
  );
  const filler = /\]( *)\|$/.exec(drawn);
  if (filler === null) throw new Error(`unexpected layout: ${JSON.stringify(drawn)}`);
  return BOX_COLUMNS - 2 - (filler[1]?.length ?? 0);
}

describe('textWidth', () => {
  test.each([
    ['', 0],
    ['plain ascii', 11],
    ['é', 1],
    ['e\u0301', 1],
    ['日本語', 6],
    ['한국어', 6],
    ['ｆｕｌｌ', 8],
    ['ｶﾀｶﾅ', 4],
    ['中a文', 5],
    ['🙂', 2],
    ['👩‍🔬', 2],
    ['👍🏽', 2],
    ['🇫🇷', 2],
    ['❤️', 2],
    ['1️⃣', 2],
    ['☃', 1],
    ['\u0301', 0],
    ['ไทย', 3],
    ['שלום', 4],
    ['𠮷', 2],
  ])('%j takes %i columns', (text, columns) => {
    expect(textWidth(text)).toBe(columns);
    expect(inkWidth(text)).toBe(columns);
  });

  /** Characters that show, one of 64 in the two long alphabets whose members are all alike. */
  function sampled(): string[] {
    const characters: string[] = [];
    for (let codePoint = 0x21; codePoint < 0x20000; codePoint += 1) {
      const character = String.fromCodePoint(codePoint);
      if (/[\p{M}\p{Z}]/u.test(character) || visible(character) !== character) continue;
      const isAlike = /[\p{sc=Han}\p{sc=Hangul}\p{sc=Tangut}\p{sc=Cuneiform}\p{sc=Egyptian_Hieroglyphs}]/u.test(
        character,
      );
      if (!isAlike || codePoint % 64 === 0) characters.push(character);
    }
    return characters;
  }

  test('agrees with Ink on the characters of the planes in use', () => {
    const characters = sampled();
    expect(characters.length).toBeGreaterThan(20_000);
    const differing: string[] = [];
    for (let at = 0; at < characters.length; at += 25) {
      const batch = characters.slice(at, at + 25);
      // An ASCII letter between two keeps them from joining into one cluster.
      if (textWidth(batch.join('a')) === inkWidth(batch.join('a'))) continue;
      differing.push(...batch.filter((character) => textWidth(`a${character}a`) !== inkWidth(`a${character}a`)));
    }
    expect(differing.map((character) => character.codePointAt(0)?.toString(16))).toEqual([]);
  });
});

test('agrees with Ink on clusters of any script', () => {
  const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }).map((whole) => `a${visible(whole)}a`);
  fc.assert(
    fc.property(text, (whole) => {
      expect(textWidth(whole)).toBe(inkWidth(whole));
    }),
    { seed: 20_261_129, numRuns: 1000 },
  );
});

describe('fitText', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 40 }).map(visible);

  test('never exceeds the columns, keeps what fits, and cuts at a cluster', () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 0, max: 50 }), (whole, columns) => {
        const fitted = fitText(whole, columns);
        expect(textWidth(fitted)).toBeLessThanOrEqual(columns);
        if (textWidth(whole) <= columns) expect(fitted).toBe(whole);
        else if (columns > 0) {
          expect(fitted.endsWith('…')).toBe(true);
          expect(whole.startsWith(fitted.slice(0, -1))).toBe(true);
          // Nothing that still had room was thrown away: one more wide character at most.
          expect(textWidth(fitted)).toBeGreaterThanOrEqual(columns - 1);
        }
      }),
      { seed: 20_261_129, numRuns: 500 },
    );
  });

  test('a wide character at the edge gives way whole', () => {
    expect(fitText('日本語', 4)).toBe('日…');
    expect(fitText('日本語', 6)).toBe('日本語');
    expect(fitText('日本語', 2, '...')).toBe('');
  });
});
