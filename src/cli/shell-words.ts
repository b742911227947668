/** A command line that can be typed again: every word quoted where a shell would read something else into it. */
import { visible } from './text.js';

/** Characters that no shell gives a meaning inside a word. */
const PLAIN_WORD = /^[\w@%+=:,./-]+$/;

/** A control character or a bidi mark as the escape that `$'…'` turns back into it. */
function escaped(character: string): string {
  if (character === '\\' || character === "'") return `\\${character}`;
  return visible(character).replace(/^\\u\{([0-9a-f]+)\}$/, (_all, hex: string) => `\\U${hex.padStart(8, '0')}`);
}

/** One word, as a POSIX shell takes it back; text that does not show is written as bash and zsh escape it. */
export function shellWord(word: string): string {
  if (PLAIN_WORD.test(word)) return word;
  if (visible(word) === word) return `'${word.replaceAll("'", "'\\''")}'`;
  return `$'${[...word].map(escaped).join('')}'`;
}

/** The words as one line. */
export function shellLine(words: readonly string[]): string {
  return words.map(shellWord).join(' ');
}
