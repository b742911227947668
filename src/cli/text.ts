/**
 * Text from a log, made safe for a terminal (demand C19): what would move the cursor, change colours or reorder
 * characters is shown as an escape that can be read. Widths are in `width.ts`.
 */

/**
 * Control characters (C0, DEL, C1), and every character without a shape of its own: format characters (bidi marks,
 * zero-width space, byte order mark, soft hyphen, tags), line and paragraph separators, surrogates that stand alone,
 * private use and unassigned code points, whose width no two terminals agree on.
 */
const UNSHOWABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0\u2800]/gu;

/** A zero-width joiner between two pictographs is part of one emoji, not a trick; the last may carry a skin tone. */
const PICTOGRAPH_END = /(?:\p{Extended_Pictographic}|\p{Emoji_Modifier}|\u{fe0f})$/u;
const PICTOGRAPH_START = /^\p{Extended_Pictographic}/u;

function escapeOf(character: string): string {
  const codePoint = character.codePointAt(0) ?? 0;
  if (character === '\n') return '\\n';
  if (character === '\r') return '\\r';
  if (character === '\t') return '\\t';
  return codePoint > 0xffff ? `\\u{${codePoint.toString(16)}}` : `\\u${codePoint.toString(16).padStart(4, '0')}`;
}

/**
 * The text on one line, as a terminal may have it: line ends as `\n`, tabs as `\t`, everything else that does not show as
 * `\u001b` or `\u{e0001}`. Nothing is left out, so the result has at least as many characters as the text.
 */
export function visible(text: string): string {
  return text.replace(UNSHOWABLE, (character, index: number) => {
    if (character !== '\u200d') return escapeOf(character);
    const joins =
      PICTOGRAPH_END.test(text.slice(Math.max(0, index - 2), index)) &&
      PICTOGRAPH_START.test(text.slice(index + 1, index + 3));
    return joins ? character : escapeOf(character);
  });
}

/** Lines of JSON as a terminal may have them: the same values, with every character that does not show as an escape of JSON. */
export function visibleJson(lines: string): string {
  return lines.replace(UNSHOWABLE, (character) => {
    if (character === '\n') return character;
    const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
    return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
  });
}
