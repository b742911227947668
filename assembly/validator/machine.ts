/**
 * The grammar of a line, one byte at a time: every state can be left and taken up again at any byte. This machine alone
 * decides what is a fault and where; the fast paths of tokens.ts pass over what is plainly legal and leave the rest here.
 * One file, since all of it turns on the one state.
 */
import { beginLine, flag, hasFlags, lineStart, reportFault, reportFlags } from './findings';
import {
  BAD_HEX,
  BYTE_ORDER_MARK,
  CONTROL,
  CUT_CONTAINER,
  CUT_LITERAL,
  CUT_STRING,
  CUT_VALUE,
  DEEP,
  DEEP_NESTING,
  LEADING_ZERO,
  LONE_SURROGATE,
  MAX_DEPTH,
  NO_COLON,
  NO_COMMA,
  NO_DIGITS,
  NO_EXPONENT,
  NO_FRACTION,
  NO_KEY,
  NO_VALUE,
  NON_FINITE,
  NOT_UTF8,
  STACK,
  TOO_DEEP,
  TOO_LARGE,
  TRAILING,
  UNKNOWN_ESCAPE,
  UNKNOWN_LITERAL,
} from './layout';
import {
  beginNumber,
  isTooLarge,
  negateExponent,
  takeExponentDigit,
  takeFractionDigit,
  takeIntegerDigit,
} from './number-size';
import { isSimpleEscape } from './strings';

/** Before the value of a line. */
export const LINE: i32 = 0;
/** Where a value belongs: behind a colon, or behind a comma in an array. */
export const VALUE: i32 = 1;
/** Behind `[`. */
export const FIRST_VALUE: i32 = 2;
/** Behind `{`. */
export const FIRST_KEY: i32 = 3;
/** Behind a comma in an object. */
export const KEY: i32 = 4;
export const COLON: i32 = 5;
/** Behind a value inside a container. */
export const AFTER: i32 = 6;
/** Behind the value of the line. */
export const DONE: i32 = 7;
export const STRING: i32 = 8;
/** Behind a fault: the line is passed over. */
export const BAD: i32 = 9;
/** A line of white space that has VT or FF in it: blank, or else at fault since the first of them. */
const BLANK: i32 = 10;
const ESCAPE: i32 = 11;
const HEX: i32 = 12;
/** Behind a high surrogate, whose low one must follow. */
const HIGH: i32 = 13;
const HIGH_ESCAPE: i32 = 14;
/** Inside a character of two to four bytes. */
const CHARACTER: i32 = 15;
const LITERAL: i32 = 16;
const MINUS_SIGN: i32 = 17;
const ZERO: i32 = 18;
const INTEGER: i32 = 19;
const POINT: i32 = 20;
const FRACTION: i32 = 21;
const EXPONENT_LETTER: i32 = 22;
const EXPONENT_SIGN: i32 = 23;
const EXPONENT: i32 = 24;

const LF: u32 = 0x0a;
const QUOTE: u32 = 0x22;
const BACKSLASH: u32 = 0x5c;
const LOWER_U: u32 = 0x75;
const BOM_BYTES: u32 = 0xefbbbf;

export let state: i32 = LINE;
/** Open containers. */
export let depth: i32 = 0;
let fault: i32 = 0;
let faultAt: i64 = 0;
/** Whether the open string is a key. */
let isKey: bool = false;
let hexDigits: i32 = 0;
let hexValue: u32 = 0;
let isLowWanted: bool = false;
let highAt: i64 = 0;
let escapeAt: i64 = 0;
let characterAt: i64 = 0;
let characterBytes: u32 = 0;
/** Continuation bytes that are still to come, and the range of the next one. */
let restBytes: i32 = 0;
let lowest: u32 = 0;
let highest: u32 = 0;
let isFaultBehindCharacter: bool = false;
/** Start of the open number or literal; for `-Infinity` the literal's own. */
let scalarAt: i64 = 0;
let isMinusBefore: bool = false;
let word: usize = 0;
let wordLength: i32 = 0;
let wordRead: i32 = 0;

/** The first byte to come stands at `offset` and begins a line. */
export function resetMachine(offset: i64): void {
  beginLine(offset);
  state = LINE;
  depth = 0;
}

/** Takes up behind tokens that a fast path has passed over. */
export function resume(newState: i32, newDepth: i32): void {
  state = newState;
  depth = newDepth;
}

/** A fast path has opened a string and stopped inside it. */
export function resumeInString(inKey: bool, newDepth: i32): void {
  state = STRING;
  isKey = inKey;
  depth = newDepth;
}

/** A fast path has come to the closing quote of the string that `state` says is open. */
export function closeString(): void {
  state = isKey ? COLON : stateBehindValue();
}

/** Takes the next byte, which stands at `at`. */
export function step(byte: u32, at: i64): void {
  if (byte === LF) {
    endLine(at, at + 1);
    return;
  }
  if (state <= DONE) stepToken(byte, at);
  else if (state === BAD) return;
  else if (state <= CHARACTER) stepText(byte, at);
  else if (state === LITERAL) stepLiteral(byte);
  else if (!stepNumber(byte, at)) {
    // The byte ends the number and is itself the next token.
    if (endNumber()) stepToken(byte, at);
  }
}

/** The line ends: its content before `contentEnd`, the next line begins at `lineEnd`. */
export function endLine(contentEnd: i64, lineEnd: i64): void {
  if (state >= ZERO && (state === ZERO || state === INTEGER || state === FRACTION || state === EXPONENT)) endNumber();
  if (state !== LINE && state !== DONE && state !== BLANK) {
    if (state === CHARACTER) failCharacter();
    else if (state !== BAD) fail(faultOfCut(), contentEnd);
    reportFault(fault, faultAt, contentEnd, lineEnd);
  } else if (hasFlags()) reportFlags(lineEnd);
  resetMachine(lineEnd);
}

/** What is wrong with a text that ends in the state it is in. */
function faultOfCut(): i32 {
  switch (state) {
    case VALUE:
    case FIRST_VALUE:
      return CUT_VALUE;
    case COLON:
      return NO_COLON;
    case LITERAL:
      return CUT_LITERAL;
    case MINUS_SIGN:
      return NO_DIGITS;
    case POINT:
      return NO_FRACTION;
    case EXPONENT_LETTER:
    case EXPONENT_SIGN:
      return NO_EXPONENT;
    case STRING:
    case ESCAPE:
    case HEX:
    case HIGH:
    case HIGH_ESCAPE:
      return CUT_STRING;
    default:
      return CUT_CONTAINER;
  }
}

function fail(code: i32, at: i64): void {
  state = BAD;
  fault = code;
  faultAt = at;
}

/** A fault at the byte itself: one that is not UTF-8 is called that. */
function failAtByte(code: i32, byte: u32, at: i64): void {
  fail(code, at);
  if (byte >= 0x80) beginCharacter(byte, at);
}

function stateBehindValue(): i32 {
  return depth === 0 ? DONE : AFTER;
}

function isObjectOpen(): bool {
  return depth > 0 && load<u8>(STACK + depth) !== 0;
}

/** White space and structure. */
function stepToken(byte: u32, at: i64): void {
  if (byte === 0x20 || byte === 0x09 || byte === 0x0d) return;
  switch (state) {
    case LINE:
      if (byte === 0x0b || byte === 0x0c) {
        fail(NO_VALUE, at);
        state = BLANK;
        return;
      }
      beginValue(byte, at);
      return;
    case FIRST_VALUE:
      if (byte === 0x5d) pop();
      else beginValue(byte, at);
      return;
    case VALUE:
      beginValue(byte, at);
      return;
    case FIRST_KEY:
      if (byte === 0x7d) pop();
      else beginKey(byte, at);
      return;
    case KEY:
      beginKey(byte, at);
      return;
    case COLON:
      if (byte === 0x3a) state = VALUE;
      else failAtByte(NO_COLON, byte, at);
      return;
    case AFTER:
      stepAfter(byte, at);
      return;
    default:
      failAtByte(TRAILING, byte, at);
  }
}

function stepAfter(byte: u32, at: i64): void {
  const isObject = isObjectOpen();
  if (byte === 0x2c) state = isObject ? KEY : VALUE;
  else if (byte === (isObject ? 0x7d : 0x5d)) pop();
  else failAtByte(NO_COMMA, byte, at);
}

function push(isObject: bool, at: i64): void {
  if (depth === MAX_DEPTH) {
    fail(TOO_DEEP, at);
    return;
  }
  depth += 1;
  store<u8>(STACK + depth, isObject ? 1 : 0);
  state = isObject ? FIRST_KEY : FIRST_VALUE;
  if (depth === DEEP + 1) flag(DEEP_NESTING, at);
}

function pop(): void {
  depth -= 1;
  state = stateBehindValue();
}

function beginKey(byte: u32, at: i64): void {
  if (byte !== QUOTE) {
    failAtByte(NO_KEY, byte, at);
    return;
  }
  isKey = true;
  state = STRING;
}

function beginValue(byte: u32, at: i64): void {
  if (byte === QUOTE) {
    isKey = false;
    state = STRING;
  } else if (byte === 0x7b) push(true, at);
  else if (byte === 0x5b) push(false, at);
  else if (byte === 0x2d) {
    beginNumber();
    scalarAt = at;
    state = MINUS_SIGN;
  } else if (byte >= 0x30 && byte <= 0x39) {
    beginNumber();
    scalarAt = at;
    beginInteger(byte);
  } else beginBareWord(byte, at);
}

function beginBareWord(byte: u32, at: i64): void {
  isMinusBefore = false;
  if (byte === 0x74) beginLiteral('true', 4, at);
  else if (byte === 0x66) beginLiteral('false', 5, at);
  else if (byte === 0x6e) beginLiteral('null', 4, at);
  else if (byte === 0x4e) beginLiteral('NaN', 3, at);
  else if (byte === 0x49) beginLiteral('Infinity', 8, at);
  else failAtByte(NO_VALUE, byte, at);
}

function beginLiteral(text: string, length: i32, at: i64): void {
  scalarAt = at;
  word = changetype<usize>(text);
  wordLength = length;
  wordRead = 1;
  state = LITERAL;
}

function stepLiteral(byte: u32): void {
  const first = load<u16>(word);
  const isNonFinite = first === 0x4e || first === 0x49;
  if (load<u16>(word + ((<usize>wordRead) << 1)) !== byte) {
    // To JSON these two words begin no value at all, and `-Infinity` is a minus without digits.
    const isSigned = isNonFinite && isMinusBefore;
    fail(isSigned ? NO_DIGITS : isNonFinite ? NO_VALUE : UNKNOWN_LITERAL, scalarAt);
    return;
  }
  wordRead += 1;
  if (wordRead < wordLength) return;
  if (isNonFinite) flag(NON_FINITE, isMinusBefore ? scalarAt - 1 : scalarAt);
  state = stateBehindValue();
}

function beginInteger(byte: u32): void {
  takeIntegerDigit(byte - 0x30);
  state = byte === 0x30 ? ZERO : INTEGER;
}

/** Takes a byte inside a number; false when the number has ended before it. */
function stepNumber(byte: u32, at: i64): bool {
  const digit = <i32>byte - 0x30;
  const isDigit = <u32>digit <= 9;
  switch (state) {
    case MINUS_SIGN:
      if (isDigit) beginInteger(byte);
      else if (byte === 0x49) {
        isMinusBefore = true;
        beginLiteral('Infinity', 8, at);
      } else failAtByte(NO_DIGITS, byte, at);
      return true;
    case ZERO:
      if (!isDigit) return stepBehindMantissa(byte, true);
      fail(LEADING_ZERO, at - 1);
      return true;
    case INTEGER:
      if (!isDigit) return stepBehindMantissa(byte, true);
      takeIntegerDigit(digit);
      return true;
    case POINT:
    case FRACTION:
      if (isDigit) {
        takeFractionDigit(digit);
        state = FRACTION;
      } else if (state === FRACTION) return stepBehindMantissa(byte, false);
      else failAtByte(NO_FRACTION, byte, at);
      return true;
    default:
      return stepExponent(byte, at, digit, isDigit);
  }
}

function stepBehindMantissa(byte: u32, canHavePoint: bool): bool {
  if (canHavePoint && byte === 0x2e) state = POINT;
  else if (byte === 0x65 || byte === 0x45) state = EXPONENT_LETTER;
  else return false;
  return true;
}

function stepExponent(byte: u32, at: i64, digit: i32, isDigit: bool): bool {
  if (isDigit) {
    takeExponentDigit(digit);
    state = EXPONENT;
    return true;
  }
  if (state === EXPONENT) return false;
  if (state === EXPONENT_LETTER && (byte === 0x2b || byte === 0x2d)) {
    if (byte === 0x2d) negateExponent();
    state = EXPONENT_SIGN;
  } else failAtByte(NO_EXPONENT, byte, at);
  return true;
}

/** The open number is whole; false when it is too large. */
function endNumber(): bool {
  if (isTooLarge()) {
    fail(TOO_LARGE, scalarAt);
    return false;
  }
  state = stateBehindValue();
  return true;
}

/** The inside of a string, blank lines with VT or FF, and characters of more than one byte. */
function stepText(byte: u32, at: i64): void {
  switch (state) {
    case HIGH:
      if (byte === BACKSLASH) {
        escapeAt = at;
        state = HIGH_ESCAPE;
        return;
      }
      flag(LONE_SURROGATE, highAt);
      stepString(byte, at);
      return;
    case STRING:
      stepString(byte, at);
      return;
    case HIGH_ESCAPE:
      isLowWanted = byte === LOWER_U;
      if (!isLowWanted) flag(LONE_SURROGATE, highAt);
      stepEscape(byte);
      return;
    case ESCAPE:
      isLowWanted = false;
      stepEscape(byte);
      return;
    case HEX:
      stepHex(byte, at);
      return;
    case CHARACTER:
      stepCharacter(byte);
      return;
    default:
      if (byte !== 0x20 && (byte < 0x09 || byte > 0x0d)) state = BAD;
  }
}

function stepString(byte: u32, at: i64): void {
  state = STRING;
  if (byte === QUOTE) closeString();
  else if (byte === BACKSLASH) {
    escapeAt = at;
    state = ESCAPE;
  } else if (byte < 0x20) fail(CONTROL, at);
  else if (byte >= 0x80) beginCharacter(byte, at);
}

function stepEscape(byte: u32): void {
  if (byte === LOWER_U) {
    hexDigits = 0;
    hexValue = 0;
    state = HEX;
  } else if (isSimpleEscape(byte)) state = STRING;
  else fail(UNKNOWN_ESCAPE, escapeAt);
}

function stepHex(byte: u32, at: i64): void {
  const digit = byte - 0x30;
  const letter = (byte | 0x20) - 0x61;
  if (digit > 9 && letter > 5) {
    failAtByte(BAD_HEX, byte, at);
    return;
  }
  hexValue = (hexValue << 4) | (digit <= 9 ? digit : letter + 10);
  hexDigits += 1;
  if (hexDigits === 4) endHex();
}

function endHex(): void {
  const isHigh = hexValue >>> 10 === 0x36;
  const isLow = hexValue >>> 10 === 0x37;
  state = STRING;
  if (isLowWanted && isLow) return;
  if (isLowWanted) flag(LONE_SURROGATE, highAt);
  if (isLow) flag(LONE_SURROGATE, escapeAt);
  if (!isHigh) return;
  highAt = escapeAt;
  state = HIGH;
}

/** A byte from 0x80 on, in a string or, with a fault noted there, anywhere else. */
function beginCharacter(byte: u32, at: i64): void {
  characterAt = at;
  characterBytes = byte;
  lowest = 0x80;
  highest = 0xbf;
  if (byte >= 0xc2 && byte <= 0xdf) restBytes = 1;
  else if (byte >= 0xe0 && byte <= 0xef) {
    restBytes = 2;
    // No overlong forms, no surrogates.
    if (byte === 0xe0) lowest = 0xa0;
    if (byte === 0xed) highest = 0x9f;
  } else if (byte >= 0xf0 && byte <= 0xf4) {
    restBytes = 3;
    if (byte === 0xf0) lowest = 0x90;
    if (byte === 0xf4) highest = 0x8f;
  } else {
    failCharacter();
    return;
  }
  isFaultBehindCharacter = state === BAD;
  state = CHARACTER;
}

function failCharacter(): void {
  fail(NOT_UTF8, characterAt);
}

function stepCharacter(byte: u32): void {
  if (byte < lowest || byte > highest) {
    failCharacter();
    return;
  }
  characterBytes = (characterBytes << 8) | byte;
  lowest = 0x80;
  highest = 0xbf;
  restBytes -= 1;
  if (restBytes > 0) return;
  if (!isFaultBehindCharacter) state = STRING;
  else if (characterBytes === BOM_BYTES && faultAt === 0 && lineStart === 0) {
    flag(BYTE_ORDER_MARK, 0);
    state = LINE;
  } else state = BAD;
}
