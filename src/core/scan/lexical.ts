/**
 * The tokens of JSON on bytes: white space, numbers, literals, and strings checked in full (RFC 8259, with the two
 * rules orjson adds: no lone surrogate escape, no number that overflows; spec 02 section 7).
 */
import type { JsonKind, JsonText } from './json-text.js';

const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const LOWER_U = 0x75;
const MINUS = 0x2d;
const PLUS = 0x2b;
const POINT = 0x2e;
const ZERO = 0x30;

/** The largest count of digits that cannot overflow a double whatever the digits are. */
const SAFE_DIGITS = 308;

/** 1 for every byte that can stand in a string as it is: not a quote, a backslash or a control character. */
export const PLAIN_IN_STRING = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x20 && byte !== 0x22 && byte !== BACKSLASH ? 1 : 0,
);

/** 1 for the characters that may follow a backslash, `u` aside. */
const SIMPLE_ESCAPE = Uint8Array.from({ length: 256 }, (_, byte) =>
  '"\\/bfnrt'.includes(String.fromCharCode(byte)) ? 1 : 0,
);

/** Passes over JSON white space. */
export function skipSpace(text: JsonText, at: number): number {
  const { bytes, end } = text;
  let position = at;
  while (position < end) {
    const byte = bytes[position];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break;
    position += 1;
  }
  return position;
}

function skipDigits(text: JsonText, at: number): number {
  const { bytes, end } = text;
  let position = at;
  while (position < end) {
    const byte = bytes[position] as number;
    if (byte < ZERO || byte > 0x39) break;
    position += 1;
  }
  return position;
}

/** Reads a number; `at` is at its first byte. Rejects leading zeros and, as orjson does, what overflows. */
function scanNumber(text: JsonText, at: number): number {
  const { bytes } = text;
  const first = bytes[at] === MINUS ? at + 1 : at;
  let position = skipDigits(text, first);
  if (position === first) return text.fail(first, 'a number without digits');
  if (bytes[first] === ZERO && position > first + 1) return text.fail(first, 'a number with a leading zero');
  if (bytes[position] === POINT) {
    const fraction = position + 1;
    position = skipDigits(text, fraction);
    if (position === fraction) return text.fail(fraction, 'a number without digits after the point');
  }
  const mantissaEnd = position;
  if (bytes[position] === 0x65 || bytes[position] === 0x45) {
    const sign = bytes[position + 1];
    const exponent = sign === MINUS || sign === PLUS ? position + 2 : position + 1;
    position = skipDigits(text, exponent);
    if (position === exponent) return text.fail(exponent, 'a number without digits in the exponent');
  }
  const canOverflow = position > mantissaEnd || mantissaEnd - first > SAFE_DIGITS;
  if (canOverflow && !Number.isFinite(Number(bytes.toString('latin1', at, position)))) {
    return text.fail(at, 'a number too large for a double');
  }
  return position;
}

/**
 * The fast way through an array: passes over numbers without exponent, `true` and `false`, each with the comma right
 * behind it. Stops at the start of the first value that is anything else or may be at fault, which is then read in full.
 */
export function skipPlainScalars(text: JsonText, at: number): number {
  const { bytes } = text;
  let start = at;
  for (;;) {
    const after = afterPlainScalar(bytes, start);
    if (after === start || bytes[after] !== COMMA || after - start > SAFE_DIGITS) return start;
    start = after + 1;
  }
}

/** Behind the end of the text there are no bytes, and every comparison with them fails. */
function afterPlainScalar(bytes: Buffer, at: number): number {
  let position = at;
  let byte = bytes[position] as number;
  if (byte === 0x74) return isWord(bytes, at, 0x72, 0x75, 0x65) ? at + 4 : at;
  if (byte === 0x66) return bytes[at + 1] === 0x61 && isWord(bytes, at + 1, 0x6c, 0x73, 0x65) ? at + 5 : at;
  if (byte === MINUS) {
    position += 1;
    byte = bytes[position] as number;
  }
  if (byte === ZERO) position += 1;
  else if (byte > ZERO && byte <= 0x39) {
    do {
      position += 1;
      byte = bytes[position] as number;
    } while (byte >= ZERO && byte <= 0x39);
  } else return at;
  if (bytes[position] !== POINT) return position;
  const fraction = position + 1;
  do {
    position += 1;
    byte = bytes[position] as number;
  } while (byte >= ZERO && byte <= 0x39);
  return position === fraction ? at : position;
}

function isWord(bytes: Buffer, at: number, second: number, third: number, fourth: number): boolean {
  return bytes[at + 1] === second && bytes[at + 2] === third && bytes[at + 3] === fourth;
}

/** The kind of value that begins with a byte; null when none does. */
export function kindOf(first: number | undefined): JsonKind | null {
  if (first === 0x7b) return 'object';
  if (first === 0x5b) return 'array';
  if (first === 0x22) return 'string';
  if (first === 0x74) return 'true';
  if (first === 0x66) return 'false';
  if (first === 0x6e) return 'null';
  if (first === MINUS || (first !== undefined && first >= ZERO && first <= 0x39)) return 'number';
  return null;
}

/** Reads a number or a literal; everything else is a fault. */
export function scanBareScalar(text: JsonText, at: number): number {
  const kind = kindOf(text.bytes[at]);
  if (kind === 'number') return scanNumber(text, at);
  if (kind === 'true' || kind === 'false' || kind === 'null') return scanLiteral(text, at, kind);
  if (at >= text.end) return text.fail(text.end, 'the text ends where a value belongs');
  return text.fail(at, 'no value where one belongs');
}

function scanLiteral(text: JsonText, at: number, word: string): number {
  for (let index = 0; index < word.length; index += 1) {
    if (at + index >= text.end) return text.fail(text.end, 'the text ends inside a literal');
    if (text.bytes[at + index] !== word.charCodeAt(index)) return text.fail(at, 'an unknown literal');
  }
  return at + word.length;
}

/** Reads a string from its opening quote and checks every escape. UTF-8 is the caller's to check. */
export function scanString(text: JsonText, at: number): number {
  const { bytes, end } = text;
  let position = at + 1;
  for (;;) {
    while (position < end && PLAIN_IN_STRING[bytes[position] as number] === 1) position += 1;
    if (position >= end) return text.fail(end, 'the text ends inside a string');
    const byte = bytes[position];
    if (byte === 0x22) return position + 1;
    if (byte !== BACKSLASH) return text.fail(position, 'a raw control character inside a string');
    position = scanEscape(text, position);
    if (position < 0) return -1;
  }
}

function scanEscape(text: JsonText, at: number): number {
  const { bytes, end } = text;
  if (at + 1 >= end) return text.fail(end, 'the text ends inside a string');
  const kind = bytes[at + 1] as number;
  if (SIMPLE_ESCAPE[kind] === 1) return at + 2;
  if (kind !== LOWER_U) return text.fail(at, 'an unknown escape inside a string');
  const unit = hexUnit(text, at + 2);
  if (unit < 0) return -1;
  if (unit < 0xd800 || unit > 0xdfff) return at + 6;
  const isPair = unit < 0xdc00 && bytes[at + 6] === BACKSLASH && bytes[at + 7] === LOWER_U;
  if (!isPair) {
    const isCut = unit < 0xdc00 && at + 8 > end;
    return isCut ? text.fail(end, 'the text ends inside a string') : text.fail(at, 'a lone surrogate escape');
  }
  const low = hexUnit(text, at + 8);
  if (low < 0) return -1;
  return low >= 0xdc00 && low <= 0xdfff ? at + 12 : text.fail(at, 'a lone surrogate escape');
}

/** The value of four hex digits, or -1. */
function hexUnit(text: JsonText, at: number): number {
  let unit = 0;
  for (let index = at; index < at + 4; index += 1) {
    if (index >= text.end) return text.fail(text.end, 'the text ends inside a string');
    const digit = hexDigit(text.bytes[index] as number);
    if (digit < 0) return text.fail(index, 'a unicode escape without four hex digits');
    unit = unit * 16 + digit;
  }
  return unit;
}

function hexDigit(byte: number): number {
  if (byte >= ZERO && byte <= 0x39) return byte - ZERO;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}
