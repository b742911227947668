/**
 * JSON as a tree that can hold what values of JavaScript cannot: repeated keys, the order of all keys, and numbers as
 * they are spelled; and its text, written in any of the legal ways.
 */
import fc from 'fast-check';
import { seededRandom } from './generated-run.js';

export type JsonTree =
  | { readonly kind: 'object'; readonly members: readonly (readonly [string, JsonTree])[] }
  | { readonly kind: 'array'; readonly items: readonly JsonTree[] }
  | { readonly kind: 'string'; readonly text: string }
  /** `null`, `true`, `false` or a number, as it is spelled. */
  | { readonly kind: 'literal'; readonly text: string };

/** How a text departs from the shortest one. */
export type Rewriting = {
  readonly seed: number;
  /** White space between all tokens; `lines` with line ends in it. */
  readonly spacing: 'none' | 'line' | 'lines';
  /** Characters of keys and strings as escapes, short ones or long ones. */
  readonly escapes: boolean;
  readonly shuffled: boolean;
  /** Some members twice, the first time with another value. */
  readonly duplicates: boolean;
};

/** The shortest text: the smallest of all rewritings. */
export const SHORTEST: Rewriting = { seed: 0, spacing: 'none', escapes: false, shuffled: false, duplicates: false };

export const rewriting: fc.Arbitrary<Rewriting> = fc.record({
  seed: fc.noShrink(fc.nat()),
  spacing: fc.constantFrom('none', 'line'),
  escapes: fc.boolean(),
  shuffled: fc.boolean(),
  duplicates: fc.boolean(),
});

export function literal(text: string): JsonTree {
  return { kind: 'literal', text };
}

export function string(text: string): JsonTree {
  return { kind: 'string', text };
}

export function array(items: readonly JsonTree[]): JsonTree {
  return { kind: 'array', items };
}

export function object(members: readonly (readonly [string, JsonTree])[]): JsonTree {
  return { kind: 'object', members };
}

/** The text of a tree. A surrogate without its pair is always an escape in lower case. */
export function render(tree: JsonTree, how: Rewriting): string {
  return new Renderer(how).render(tree);
}

const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '/': '\\/',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

class Renderer {
  readonly #how: Rewriting;
  readonly #random: () => number;

  constructor(how: Rewriting) {
    this.#how = how;
    this.#random = seededRandom(how.seed);
  }

  render(tree: JsonTree): string {
    const space = this.#space();
    return `${space}${this.#value(tree)}${this.#space()}`;
  }

  #value(tree: JsonTree): string {
    if (tree.kind === 'literal') return tree.text;
    if (tree.kind === 'string') return this.#string(tree.text);
    if (tree.kind === 'array') return `[${tree.items.map((item) => this.render(item)).join(',') || this.#space()}]`;
    const members = this.#rewrittenMembers(tree.members);
    const texts = members.map(([key, value]) => {
      return `${this.#space()}${this.#string(key)}${this.#space()}:${this.render(value)}`;
    });
    return `{${texts.join(',') || this.#space()}}`;
  }

  #rewrittenMembers(members: readonly (readonly [string, JsonTree])[]): (readonly [string, JsonTree])[] {
    const rewritten = [...members];
    if (this.#how.shuffled) {
      for (let last = rewritten.length - 1; last > 0; last -= 1) {
        const other = Math.floor(this.#random() * (last + 1));
        [rewritten[last], rewritten[other]] = [rewritten[other], rewritten[last]] as [(typeof rewritten)[0], never];
      }
    }
    if (!this.#how.duplicates) return rewritten;
    return rewritten.flatMap((member) =>
      this.#random() < 0.2 ? [[member[0], this.#otherValue(members)], member] : [member],
    );
  }

  /** The value of any member of the same object, or an odd one. */
  #otherValue(members: readonly (readonly [string, JsonTree])[]): JsonTree {
    const other = members[Math.floor(this.#random() * members.length * 1.5)];
    return other === undefined ? literal('7') : other[1];
  }

  #space(): string {
    if (this.#how.spacing === 'none') return '';
    const characters = this.#how.spacing === 'line' ? ' \t\r' : ' \t\r\n';
    let space = '';
    while (this.#random() < 0.4) space += characters[Math.floor(this.#random() * characters.length)];
    return space;
  }

  #string(text: string): string {
    if (!this.#how.escapes) return JSON.stringify(text);
    let written = '';
    for (const character of text) written += this.#character(character);
    return `"${written}"`;
  }

  #character(character: string): string {
    const choice = this.#random();
    const short = SHORT_ESCAPES[character];
    if (choice < 0.5) return JSON.stringify(character).slice(1, -1);
    if (choice < 0.75 && short !== undefined) return short;
    return Array.from({ length: character.length }, (_, index) => this.#longEscape(character, index)).join('');
  }

  #longEscape(character: string, index: number): string {
    const hex = character.charCodeAt(index).toString(16).padStart(4, '0');
    return `\\u${character.isWellFormed() && this.#random() < 0.5 ? hex.toUpperCase() : hex}`;
  }
}
