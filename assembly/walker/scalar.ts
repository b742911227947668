/**
 * Numbers, literals and strings where values stand. As in skip.ts, 0 is a fault. The caller has seen to LOOKAHEAD
 * bytes, so that only long numbers meet a border.
 */
import { beginCapture, dropCapture, emit, emitReserved, endCapture, reserve } from './capture';
import { failUnexpected } from './fault';
import {
  DOT,
  LF,
  MINUS,
  PLUS,
  QUOTE,
  TYPE_FALSE,
  TYPE_INT,
  TYPE_NON_FINITE,
  TYPE_NULL,
  TYPE_NUMBER,
  TYPE_RAW,
  TYPE_STRING,
  TYPE_TRUE,
  ZERO,
} from './layout';
import { skipContainer, skipString, stopsOf } from './skip';
import { border, refill, settle } from './window';

const TRUE_WORD: u32 = 0x65757274;
const FALS_WORD: u32 = 0x736c6166;
const NULL_WORD: u32 = 0x6c6c756e;

const TRUE_TEXT = memory.data<u8>([0x74, 0x72, 0x75, 0x65, 0]);
const FALSE_TEXT = memory.data<u8>([0x66, 0x61, 0x6c, 0x73, 0x65, 0]);
const NULL_TEXT = memory.data<u8>([0x6e, 0x75, 0x6c, 0x6c, 0]);
const NAN_TEXT = memory.data<u8>([0x4e, 0x61, 0x4e, 0]);
const INFINITY_TEXT = memory.data<u8>([0x49, 0x6e, 0x66, 0x69, 0x6e, 0x69, 0x74, 0x79, 0]);

function isDigit(byte: u32): bool {
  return byte - ZERO <= 9;
}

/** Passes a word; the fault is at the first byte that differs. */
function skipWord(at: usize, text: usize): usize {
  let i: usize = 0;
  while (true) {
    const wanted: u32 = load<u8>(text + i);
    if (wanted === 0) return at + i;
    if (load<u8>(at + i) !== wanted) return failUnexpected(at + i);
    i++;
  }
}

function skipDigits(from: usize): usize {
  let at = from;
  while (true) {
    const byte: u32 = load<u8>(at);
    if (isDigit(byte)) at++;
    else if (byte === LF && at === border) at = refill(at);
    else return at;
  }
}

/** Passes the digits that must stand at `at`. */
function needDigits(from: usize): usize {
  const at = settle(from);
  if (!isDigit(load<u8>(at))) return failUnexpected(at);
  return skipDigits(at + 1);
}

/** Bytes of a number without exponent, of 32 at most without its sign, that is followed by something else; 0 for others. */
function simpleNumber(at: usize): usize {
  const sign = usize(load<u8>(at) === MINUS);
  const text = at + sign;
  const others = ~digitsOf(text);
  const whole = ctz(others);
  // With 31 digits a point is the last of the 32 bytes, and nothing is known of what is behind it.
  if (whole === 0 || whole > 30 || (whole > 1 && load<u8>(text) === ZERO)) return 0;
  wholeDigits = usize(whole);
  let bytes = whole;
  if (load<u8>(text + usize(whole)) === DOT) {
    const rest = others >> (whole + 1);
    const fraction = ctz(rest);
    if (fraction === 0 || rest === 0) return 0;
    bytes += fraction + 1;
  }
  const next: u32 = load<u8>(text + usize(bytes));
  return (next | 0x20) === 0x65 ? 0 : sign + usize(bytes);
}

/** Digits before the point of the last `simpleNumber`. */
let wholeDigits: usize = 0;

/** Which of 32 bytes are digits, one bit each. */
function digitsOf(at: usize): u32 {
  const zero = v128.load8_splat(DIGIT_BOUNDS);
  const nine = v128.load8_splat(DIGIT_BOUNDS, 1);
  const low = i8x16.bitmask(i8x16.le_u(i8x16.sub(v128.load(at), zero), nine));
  const high = i8x16.bitmask(i8x16.le_u(i8x16.sub(v128.load(at, 16), zero), nine));
  return u32(low) | (u32(high) << 16);
}

/** The character 0, and what 9 is more; see skip.ts on why they are loaded. */
const DIGIT_BOUNDS = memory.data<u8>([0x30, 0x09]);

/** The value of 1 to 8 digits. */
function integerOf(text: usize, digits: u32): u32 {
  let x = (load<u64>(text) << u64(64 - (digits << 3))) & (u64.MAX_VALUE / 0x11);
  x = (x * 10 + (x >> 8)) & (u64.MAX_VALUE / 0x101);
  x = (x * 100 + (x >> 16)) & (u64.MAX_VALUE / 0x10001);
  return u32(x * 10000 + (x >> 32));
}

/** Passes a number. */
function skipNumber(at: usize): usize {
  const bytes = simpleNumber(at);
  return bytes !== 0 ? at + bytes : skipAnyNumber(at);
}

/** A number of any form; `at` is at the minus or the first digit. Minus Infinity as well. */
function skipAnyNumber(from: usize): usize {
  let at = from;
  if (load<u8>(at) === MINUS) {
    at = settle(at + 1);
    if (load<u8>(at) === 0x49) return skipWord(at, INFINITY_TEXT);
  }
  if (load<u8>(at) === ZERO) {
    at = settle(at + 1);
  } else {
    at = needDigits(at);
    if (at === 0) return 0;
  }
  if (load<u8>(at) === DOT) {
    at = needDigits(at + 1);
    if (at === 0) return 0;
  }
  if ((load<u8>(at) | 0x20) === 0x65) {
    at = settle(at + 1);
    const sign: u32 = load<u8>(at);
    at = needDigits(sign === PLUS || sign === MINUS ? at + 1 : at);
  }
  return at;
}

function skipLiteral(at: usize): usize {
  const word = load<u32>(at);
  if (word === TRUE_WORD || word === NULL_WORD) return at + 4;
  const first: u32 = load<u8>(at);
  if (first === 0x66) return word === FALS_WORD && load<u8>(at, 4) === 0x65 ? at + 5 : skipWord(at, FALSE_TEXT);
  if (first === 0x74) return skipWord(at, TRUE_TEXT);
  if (first === 0x6e) return skipWord(at, NULL_TEXT);
  if (first === 0x4e) return skipWord(at, NAN_TEXT);
  if (first === 0x49) return skipWord(at, INFINITY_TEXT);
  return failUnexpected(at);
}

/** Passes any value; `level` brackets are open around it. */
export function skipValue(at: usize, level: i32): usize {
  const byte: u32 = load<u8>(at);
  if (byte === QUOTE) return skipString(at + 1);
  if (isDigit(byte) || byte === MINUS) return skipNumber(at);
  if ((byte | 0x20) === 0x7b) return skipContainer(at, level);
  return skipLiteral(at);
}

/** Short strings that lie whole in the lookahead go straight to the arena. */
function captureString(from: usize, field: i32): usize {
  const to = reserve();
  const text = from + 1;
  for (let i: usize = 0; i < 64; i += 16) {
    const v = v128.load(text + i);
    v128.store(to + i, v);
    const stops = stopsOf(v);
    if (stops === 0) continue;
    const bytes = i + usize(ctz(stops));
    if (load<u8>(text + bytes) !== QUOTE) break;
    emitReserved(field | (TYPE_STRING << 8), bytes);
    return text + bytes + 1;
  }
  beginCapture(text);
  const end = skipString(text);
  if (end !== 0) endCapture(end - 1, field, TYPE_STRING);
  return end;
}

function captureNumber(from: usize, field: i32): usize {
  const bytes = simpleNumber(from);
  if (bytes === 0) return captureAnyNumber(from, field);
  if (bytes === wholeDigits && bytes <= 8) {
    emit(field | (TYPE_INT << 8), integerOf(from, u32(bytes)), 0);
  } else if (bytes === wholeDigits && bytes === 9) {
    emit(field | (TYPE_INT << 8), integerOf(from, 8) * 10 + load<u8>(from, 8) - ZERO, 0);
  } else {
    const to = reserve();
    v128.store(to, v128.load(from));
    v128.store(to, v128.load(from, 16), 16);
    v128.store(to, v128.load(from, 32), 32);
    emitReserved(field | (TYPE_NUMBER << 8), bytes);
  }
  return from + bytes;
}

function captureAnyNumber(from: usize, field: i32): usize {
  const isNumber = load<u8>(from, 1) !== 0x49;
  beginCapture(from);
  const end = skipAnyNumber(from);
  if (end === 0) return 0;
  if (isNumber) {
    endCapture(end, field, TYPE_NUMBER);
  } else {
    dropCapture();
    emit(field | (TYPE_NON_FINITE << 8), 0, 0);
  }
  return end;
}

function captureLiteral(at: usize, field: i32): usize {
  const end = skipLiteral(at);
  if (end === 0) return 0;
  const first: u32 = load<u8>(at);
  let type = TYPE_NON_FINITE;
  if (first === 0x74) type = TYPE_TRUE;
  else if (first === 0x66) type = TYPE_FALSE;
  else if (first === 0x6e) type = TYPE_NULL;
  emit(field | (type << 8), 0, 0);
  return end;
}

/** Puts a value that is no container on the tape. */
export function captureScalar(at: usize, field: i32): usize {
  const byte: u32 = load<u8>(at);
  if (byte === QUOTE) return captureString(at, field);
  if (isDigit(byte) || byte === MINUS) return captureNumber(at, field);
  return captureLiteral(at, field);
}

/** Puts the text of an object on the tape. */
export function captureRaw(at: usize, field: i32, level: i32): usize {
  beginCapture(at);
  const end = skipContainer(at, level);
  if (end !== 0) endCapture(end, field, TYPE_RAW);
  return end;
}
