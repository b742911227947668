/** Cuts a filter expression into words, literals and signs, each with its place. */
import { FilterError } from './filter-error.js';

export type FilterToken =
  | { readonly kind: 'word' | 'sign' | 'end'; readonly text: string; readonly at: number }
  | { readonly kind: 'number'; readonly text: string; readonly at: number; readonly value: number }
  | { readonly kind: 'text'; readonly text: string; readonly at: number; readonly value: string };

const SPACE = /[ \t\r\n]+/y;
const WORD = /[A-Za-z_][A-Za-z0-9_]*/y;
const NUMBER = /-?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?/y;
const SIGN = /===|!==|&&|\|\||=~|<>|==|!=|<=|>=|[<>~()[\],=!&|]/y;
const QUOTED = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/sy;
const ESCAPE = /\\(u[0-9A-Fa-f]{4}|.)/gs;

/** What other languages write, and what it is here. */
const FOREIGN_SIGNS: Readonly<Record<string, string>> = {
  '===': '==',
  '!==': '!=',
  '<>': '!=',
  '=~': '~',
  '=': '==',
  '&&': 'and',
  '&': 'and',
  '||': 'or',
  '|': 'or',
  '!': 'not',
};

const NUMBER_HINT = 'write numbers as 3, -0.5 or 1e-3, without a unit';

const ESCAPED: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };

/** @throws FilterError at the first character that begins nothing */
export function filterTokens(text: string): FilterToken[] {
  const tokens: FilterToken[] = [];
  let at = matchAt(SPACE, text, 0)?.length ?? 0;
  while (at < text.length) {
    const token = tokenAt(text, at);
    tokens.push(token);
    at += token.text.length;
    at += matchAt(SPACE, text, at)?.length ?? 0;
  }
  return [...tokens, { kind: 'end', text: '', at: text.length }];
}

function tokenAt(text: string, at: number): FilterToken {
  const word = matchAt(WORD, text, at);
  if (word !== null) return { kind: 'word', text: word, at };
  const number = matchAt(NUMBER, text, at);
  if (number !== null) return numberToken(text, at, number);
  const sign = matchAt(SIGN, text, at);
  if (sign !== null) return signToken(text, at, sign);
  const quote = text[at] as string;
  if (quote === '"' || quote === "'") return quotedToken(text, at, quote);
  const character = String.fromCodePoint(text.codePointAt(at) ?? 0);
  const isNumeric = /[-+.]/.test(character);
  throw new FilterError(`${JSON.stringify(character)} has no meaning outside quotes`, {
    text,
    at,
    hint: isNumeric ? NUMBER_HINT : 'quote text, as in env == "math"',
  });
}

function signToken(text: string, at: number, sign: string): FilterToken {
  const own = FOREIGN_SIGNS[sign];
  if (own === undefined) return { kind: 'sign', text: sign, at };
  throw new FilterError(`${sign} is no operator`, { text, at, hint: `did you mean ${own}?` });
}

function numberToken(text: string, at: number, digits: string): FilterToken {
  const end = at + digits.length;
  if (/[A-Za-z_0-9.]/.test(text[end] ?? '')) {
    throw new FilterError(`${JSON.stringify(digits + text[end])} begins like a number and is none`, {
      text,
      at: end,
      hint: NUMBER_HINT,
    });
  }
  return { kind: 'number', text: digits, at, value: Number(digits) };
}

function quotedToken(text: string, at: number, quote: string): FilterToken {
  const quoted = matchAt(QUOTED, text, at);
  if (quoted === null) {
    throw new FilterError('the text that begins here has no end', { text, at, hint: `close it with ${quote}` });
  }
  const value = quoted.slice(1, -1).replace(ESCAPE, (all, escaped: string, index: number) => {
    if (escaped.length > 1) return String.fromCharCode(Number.parseInt(escaped.slice(1), 16));
    if ('\\"\''.includes(escaped)) return escaped;
    const meant = ESCAPED[escaped];
    if (meant !== undefined) return meant;
    throw new FilterError(`${all} is no escape`, {
      text,
      at: at + 1 + index,
      hint: 'a backslash itself is \\\\; known are \\" \\\' \\n \\r \\t and \\u with four digits',
    });
  });
  return { kind: 'text', text: quoted, at, value };
}

function matchAt(pattern: RegExp, text: string, at: number): string | null {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? null;
}
