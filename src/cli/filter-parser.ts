/**
 * Reads a filter expression and checks its types, so that a comparison that could never hold is told before anything is
 * read. `or` binds least, then `and`, then `not`; comparisons do not chain.
 *
 *   or   = and { "or" and }              test = "(" or ")" | side [ sign side | ["not"] "in" list ]
 *   and  = not { "and" not }             side = field | number | text | "true" | "false" | "null"
 *   not  = "not" not | test              list = "[" [ literal { "," literal } ] "]" | a field of lists
 */
import { FilterError } from './filter-error.js';
import { type FieldName, type FieldType, fieldType, isFieldName, KEYWORDS, unknownField } from './filter-fields.js';
import { type FilterToken, filterTokens } from './filter-tokens.js';
import type { Comparator, FilterTree, Literal, Operand } from './filter-tree.js';
import { nearest } from './suggest.js';

/** Brackets and `not`s inside each other; people write three, and the stack of the process holds far more. */
const MAX_DEPTH = 100;

const USUAL_HINT = 'write it as in reward > 0.5 and turns < 10';

const COMPARATORS: ReadonlySet<string> = new Set(['==', '!=', '<', '<=', '>', '>=', '~']);
const KEYWORD_SET: ReadonlySet<string> = new Set(KEYWORDS);
const LITERAL_WORDS: Readonly<Record<string, boolean | null>> = { true: true, false: false, null: null };

/** An operand where it stands, with what it holds; `null` goes with everything. */
type Side = {
  readonly operand: Operand;
  readonly type: FieldType | 'null';
  readonly at: number;
  readonly text: string;
};

/** @throws FilterError with the column of the first fault */
export function parseFilter(text: string): FilterTree {
  return new FilterParser(text).whole();
}

class FilterParser {
  readonly #text: string;
  readonly #tokens: readonly FilterToken[];
  #next = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
    this.#tokens = filterTokens(text);
  }

  whole(): FilterTree {
    if (this.#tokens.length === 1) throw this.#fault('the expression is empty', USUAL_HINT);
    const tree = this.#or();
    const { kind, text } = this.#token;
    if (kind === 'end') return tree;
    if (text === ')') throw this.#fault('no bracket was opened for this one', 'take it away, or open one before');
    if (COMPARATORS.has(text)) throw this.#fault('comparisons do not chain', 'join them, as in a < b and b < c');
    throw this.#unexpected('and, or, or the end', [...KEYWORDS]);
  }

  get #token(): FilterToken {
    return this.#tokens[this.#next] as FilterToken; // the last one is the end, which nobody takes
  }

  /** Takes the next token if it is this word or sign. */
  #takes(text: string): boolean {
    const { kind, text: found } = this.#token;
    if (found !== text || (kind !== 'word' && kind !== 'sign')) return false;
    this.#next += 1;
    return true;
  }

  #or(): FilterTree {
    return this.#joined('or', () => this.#joined('and', () => this.#not()));
  }

  #joined(kind: 'and' | 'or', read: () => FilterTree): FilterTree {
    const first = read();
    const parts = [first];
    while (this.#takes(kind)) parts.push(read());
    return parts.length === 1 ? first : { kind, parts };
  }

  #not(): FilterTree {
    if (!this.#takes('not')) return this.#test();
    return { kind: 'not', inner: this.#deeper(() => this.#not()) };
  }

  #test(): FilterTree {
    const { at } = this.#token;
    if (!this.#takes('(')) return this.#comparison();
    const inner = this.#deeper(() => this.#or());
    if (this.#takes(')')) return inner;
    if (this.#token.kind !== 'end') throw this.#unexpected('and, or, or a closing bracket', [...KEYWORDS]);
    throw new FilterError('the bracket that opens here is never closed', {
      text: this.#text,
      at,
      hint: 'close it with )',
    });
  }

  #deeper(read: () => FilterTree): FilterTree {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) {
      throw this.#fault(`more than ${MAX_DEPTH} levels inside each other`, 'write it with fewer brackets');
    }
    const tree = read();
    this.#depth -= 1;
    return tree;
  }

  #comparison(): FilterTree {
    const left = this.#side();
    const sign = this.#token;
    if (sign.kind === 'sign' && COMPARATORS.has(sign.text)) {
      this.#next += 1;
      return this.#compared(left, sign.text as Comparator, sign.at);
    }
    if (this.#takes('in')) return this.#membership(left);
    if (sign.text === 'not' && this.#tokens[this.#next + 1]?.text === 'in') {
      this.#next += 2;
      return { kind: 'not', inner: this.#membership(left) };
    }
    if (left.type === 'truth') return { kind: 'truth', operand: left.operand };
    if (sign.kind === 'word' && !KEYWORD_SET.has(sign.text)) throw this.#unexpected('an operator', ['in', 'not']);
    throw this.#faultAt(left.at, `${left.text} is ${nameOf(left.type)}, which is neither true nor false`, {
      hint: left.type === 'list' ? `ask for one of it: "…" in ${left.text}` : `compare it, as in ${exampleOf(left)}`,
    });
  }

  #compared(left: Side, comparator: Comparator, at: number): FilterTree {
    const right = this.#side(left);
    const types = [left.type, right.type];
    if (types.includes('list')) {
      throw this.#faultAt(at, 'a list cannot be compared', { hint: 'ask for one of it: "…" in trace_ids' });
    }
    if (comparator === '~' && types.some((type) => type !== 'text')) {
      const odd = left.type === 'text' ? right : left;
      const hint = 'it looks for text in text, as in env ~ "math"';
      throw this.#faultAt(odd.at, `~ takes text on both sides, and ${odd.text} is ${nameOf(odd.type)}`, { hint });
    }
    if (!types.includes('null') && left.type !== right.type) {
      const what = `${left.text} is ${nameOf(left.type)} and ${right.text} is ${nameOf(right.type)}`;
      throw this.#faultAt(right.at, `${what}: they are never equal`, { hint: `compare ${exampleOf(left)}` });
    }
    if (types.includes('truth') && comparator !== '==' && comparator !== '!=') {
      throw this.#faultAt(at, `true and false have no order for ${comparator}`, { hint: 'use == or !=' });
    }
    return { kind: 'compare', comparator, left: left.operand, right: right.operand };
  }

  #membership(item: Side): FilterTree {
    const { kind, text, at } = this.#token;
    if (kind === 'word' && isFieldName(text) && fieldType(text) === 'list') {
      this.#next += 1;
      if (item.type === 'text') return { kind: 'in-field', item: item.operand, field: text };
      throw this.#faultAt(item.at, `${text} holds texts, and ${item.text} is ${nameOf(item.type)}`, {
        hint: `quote it, as in "…" in ${text}`,
      });
    }
    if (!this.#takes('[')) throw this.#unexpected('a list', [], 'write one, as in env in ["math", "code"]');
    if (item.type === 'list') {
      throw this.#faultAt(at, `${item.text} is a list itself`, { hint: `ask for one of it: "…" in ${item.text}` });
    }
    const list: Literal[] = [];
    while (!this.#takes(']')) {
      if (list.length > 0 && !this.#takes(',')) throw this.#unexpected('a comma or ]', []);
      list.push(this.#element(item));
    }
    return { kind: 'in', item: item.operand, list };
  }

  #element(item: Side): Literal {
    const { operand, type, at, text } = this.#side(item);
    if (operand.kind === 'field') {
      throw this.#faultAt(at, 'a list holds literals, not fields', { hint: `quote it: "${text}"` });
    }
    if (type !== item.type && type !== 'null' && item.type !== 'null') {
      const what = `${item.text} is ${nameOf(item.type)} and ${text} is ${nameOf(type)}`;
      throw this.#faultAt(at, `${what}: they are never equal`, { hint: `compare ${exampleOf(item)}` });
    }
    return operand.value;
  }

  /** `other`: what it is compared with, if that came first. */
  #side(other: Side | null = null): Side {
    const token = this.#token;
    const { kind, text, at } = token;
    if (kind === 'number' || kind === 'text') {
      this.#next += 1;
      return { operand: { kind: 'literal', value: token.value }, type: kind, at, text };
    }
    if (kind !== 'word') throw this.#unexpected('a field or a value', []);
    if (Object.hasOwn(LITERAL_WORDS, text)) {
      this.#next += 1;
      const value = LITERAL_WORDS[text] ?? null;
      return { operand: { kind: 'literal', value }, type: value === null ? 'null' : 'truth', at, text };
    }
    if (KEYWORD_SET.has(text)) throw this.#unexpected('a field or a value', []);
    if (!isFieldName(text) && other?.type === 'text') {
      throw this.#faultAt(at, `${text} is no field of an index row`, { hint: `if it is text, quote it: "${text}"` });
    }
    if (!isFieldName(text)) throw unknownField(text, this.#text, at);
    this.#next += 1;
    return { operand: { kind: 'field', field: text }, type: fieldType(text), at, text };
  }

  #unexpected(expected: string, words: readonly string[], hint = USUAL_HINT): FilterError {
    const { kind, text, at } = this.#token;
    const meant = kind === 'word' ? nearest(text, words) : null;
    const found = kind === 'end' ? 'the expression ends' : `found ${text}`;
    return this.#faultAt(at, `${found} where ${expected} belongs`, {
      hint: meant === null ? hint : `did you mean ${meant}?`,
    });
  }

  #fault(what: string, hint: string): FilterError {
    return this.#faultAt(this.#token.at, what, { hint });
  }

  #faultAt(at: number, what: string, { hint }: { readonly hint: string }): FilterError {
    return new FilterError(what, { text: this.#text, at, hint });
  }
}

function nameOf(type: Side['type']): string {
  return { number: 'a number', text: 'text', truth: 'true or false', list: 'a list', null: 'null' }[type];
}

/** The side in a comparison that its type allows. */
function exampleOf({ operand, type, text }: Side): string {
  const field: FieldName | string = operand.kind === 'field' ? text : 'reward';
  if (type === 'text') return `${operand.kind === 'field' ? text : 'env'} == "…"`;
  if (type === 'truth') return `${operand.kind === 'field' ? text : 'ok'} == true`;
  return `${field} > 0`;
}
