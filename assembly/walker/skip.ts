/**
 * Passing over strings and containers, 64 bytes a step. Every function takes an address and returns the one behind the
 * value, or 0 when there is a fault. The LF behind the window ends every loop.
 */
import { fail, failInString, failUnexpected } from './fault';
import {
  BRACKET_BITS,
  CLOSE_CURLY,
  CLOSE_SQUARE,
  CR,
  FAULT_BRACKETS,
  FAULT_DEPTH,
  LF,
  MAX_DEPTH,
  OPEN_SQUARE,
  QUOTE,
  SPACE,
  TAB,
} from './layout';
import { border, refill } from './window';

/** Every second bit, beginning with the second. */
const ODD: u64 = (u64.MAX_VALUE / 3) * 2;

/** One bit a byte: `a` the lowest 16. */
function mask64(a: v128, b: v128, c: v128, d: v128): u64 {
  const low = u32(i8x16.bitmask(a)) | (u32(i8x16.bitmask(b)) << 16);
  const high = u32(i8x16.bitmask(c)) | (u32(i8x16.bitmask(d)) << 16);
  return u64(low) | (u64(high) << 32);
}

/** Which bytes are `byte`. */
function equal64(a: v128, b: v128, c: v128, d: v128, byte: v128): u64 {
  return mask64(i8x16.eq(a, byte), i8x16.eq(b, byte), i8x16.eq(c, byte), i8x16.eq(d, byte));
}

/** Which bytes are `byte` or less. */
function most64(a: v128, b: v128, c: v128, d: v128, byte: v128): u64 {
  return mask64(i8x16.le_u(a, byte), i8x16.le_u(b, byte), i8x16.le_u(c, byte), i8x16.le_u(d, byte));
}

/**
 * Bytes to compare with, loaded in front of a loop. A constant V8 makes anew at each use, with three instructions
 * (Node 24): shape A at 6.7 instead of 12.4 GB/s (30 Nov 2026, EPYC, scan only).
 */
const COMPARED = memory.data<u8>([0x22, 0x5c, 0x1f, 0x20, 0x26, 0x7f]);
const AT_QUOTE: usize = 0;
const AT_BACKSLASH: usize = 1;
const AT_LAST_CONTROL: usize = 2;
const AT_SPACE: usize = 3;
const AT_BRACKET_BITS: usize = 4;
const AT_BRACKET: usize = 5;

/** Which bytes end the simple part of a string: quotes, backslashes and control characters. One bit each. */
export function stopsOf(v: v128): i32 {
  const quotes = i8x16.eq(v, v128.load8_splat(COMPARED, AT_QUOTE));
  const slashes = i8x16.eq(v, v128.load8_splat(COMPARED, AT_BACKSLASH));
  const controls = i8x16.le_u(v, v128.load8_splat(COMPARED, AT_LAST_CONTROL));
  return i8x16.bitmask(v128.or(v128.or(quotes, slashes), controls));
}

/** Passes white space; a line end is none. */
export function skipWhite(from: usize): usize {
  let at = from;
  while (true) {
    const byte: u32 = load<u8>(at);
    if (byte === SPACE || byte === TAB || byte === CR) {
      at++;
      if (load<u32>(at) === 0x20202020) {
        const others = i8x16.bitmask(i8x16.ne(v128.load(at), v128.load8_splat(COMPARED, AT_SPACE)));
        at += others !== 0 ? usize(ctz(others)) : 16;
      }
    } else if (byte === LF && at === border) {
      at = refill(at);
    } else {
      return at;
    }
  }
}

/** `at` is behind the opening quote; the result behind the closing one. */
export function skipString(at: usize): usize {
  const stops = stopsOf(v128.load(at));
  if (stops !== 0) {
    const stop = at + usize(ctz(stops));
    if (load<u8>(stop) === QUOTE) return stop + 1;
  }
  return skipStringRest(at, 0);
}

/** As skipString, from the middle of a string; `escaped` is 1 when a backslash stands before `from`, else 0. */
export function skipStringRest(from: usize, escaped: u64): usize {
  let at = from;
  let carry = escaped;
  while (true) {
    at = findStop(at, carry);
    const byte: u32 = load<u8>(at);
    if (byte === QUOTE) return at + 1;
    if (byte !== LF || at !== border) return failInString(at);
    carry = stopEscaped;
    at = refill(at);
  }
}

/** 1 when there is a backslash before the byte that `findStop` found, which escapes it. */
let stopEscaped: u64 = 0;

/**
 * The quote that ends a string, or the first control character in it. Which quotes are escaped is found for 64 bytes at
 * once: 7.8 GB/s on text with an escape every 20 bytes, where hopping from escape to escape makes 2.2. No calls in here:
 * they would cost registers.
 */
function findStop(from: usize, escaped: u64): usize {
  const backslash = v128.load8_splat(COMPARED, AT_BACKSLASH);
  const quote = v128.load8_splat(COMPARED, AT_QUOTE);
  const last = v128.load8_splat(COMPARED, AT_LAST_CONTROL);
  let at = from;
  let carry = escaped;
  while (true) {
    const a = v128.load(at);
    const b = v128.load(at, 16);
    const c = v128.load(at, 32);
    const d = v128.load(at, 48);
    const slashes = equal64(a, b, c, d, backslash);
    let stops = equal64(a, b, c, d, quote);
    // Which bytes have an odd run of backslashes before them: simdjson's subtraction.
    const candidates = slashes & ~carry;
    const codes = (((candidates << 1) | ODD) - candidates) ^ ODD;
    const after = codes ^ (slashes | carry);
    carry = (codes & slashes) >> 63;
    stops &= ~after;
    if (v128.any_true(i8x16.le_u(i8x16.min_u(i8x16.min_u(a, b), i8x16.min_u(c, d)), last))) {
      stops |= most64(a, b, c, d, last);
    }
    if (stops !== 0) {
      const index = ctz(stops);
      stopEscaped = (after >> index) & 1;
      return at + usize(index);
    }
    at += 64;
  }
}

/** Bit i is the parity of bits 0 to i. */
function prefixXor(bits: u64): u64 {
  let x = bits ^ (bits << 1);
  x ^= x << 2;
  x ^= x << 4;
  x ^= x << 8;
  x ^= x << 16;
  return x ^ (x << 32);
}

/** `hard` without the tabs and carriage returns that stand outside strings before its first other byte. */
function withoutWhite(at: usize, hard: u64, inside: u64): u64 {
  let rest = hard;
  while (rest !== 0) {
    const lowest = ctz(rest);
    const byte: u32 = load<u8>(at + usize(lowest));
    if (((inside >> lowest) & 1) !== 0 || (byte !== TAB && byte !== CR)) return rest;
    rest &= rest - 1;
  }
  return rest;
}

/** Passes a container; `at` is at the opening bracket, `level` brackets are open around it. */
export function skipContainer(at: usize, level: i32): usize {
  const next: u32 = load<u8>(at, 1);
  if (load<u8>(at) === OPEN_SQUARE) return next === CLOSE_SQUARE ? at + 2 : skipArray(at + 1, level);
  return next === CLOSE_CURLY ? at + 2 : skipNested(at, level, 0);
}

/** `from` is behind the opening bracket. Most arrays are of numbers or booleans and end at the first stop. */
function skipArray(from: usize, level: i32): usize {
  let at = from;
  while (true) {
    at = findStructure(at);
    const byte: u32 = load<u8>(at);
    if (byte === CLOSE_SQUARE) return at + 1;
    if (byte !== LF || at !== border) return skipNested(at, level, 1);
    at = refill(at);
  }
}

/**
 * The next quote, bracket or control character (or `Y`, `_`, `y`, DEL). Steps of 128 bytes were no faster. No calls in
 * here: they would cost registers.
 */
function findStructure(from: usize): usize {
  const quote = v128.load8_splat(COMPARED, AT_QUOTE);
  const last = v128.load8_splat(COMPARED, AT_LAST_CONTROL);
  const bracketBits = v128.load8_splat(COMPARED, AT_BRACKET_BITS);
  const bracketByte = v128.load8_splat(COMPARED, AT_BRACKET);
  let at = from;
  while (true) {
    const a = v128.load(at);
    const b = v128.load(at, 16);
    const c = v128.load(at, 32);
    const d = v128.load(at, 48);
    const e = v128.or(i8x16.eq(a, quote), i8x16.eq(v128.or(a, bracketBits), bracketByte));
    const f = v128.or(i8x16.eq(b, quote), i8x16.eq(v128.or(b, bracketBits), bracketByte));
    const g = v128.or(i8x16.eq(c, quote), i8x16.eq(v128.or(c, bracketBits), bracketByte));
    const h = v128.or(i8x16.eq(d, quote), i8x16.eq(v128.or(d, bracketBits), bracketByte));
    const isControl = i8x16.le_u(i8x16.min_u(i8x16.min_u(a, b), i8x16.min_u(c, d)), last);
    if (v128.any_true(v128.or(v128.or(v128.or(e, f), v128.or(g, h)), isControl))) {
      return at + usize(ctz(mask64(e, f, g, h) | most64(a, b, c, d, last)));
    }
    at += 64;
  }
}

/**
 * Passes the rest of a container of which `opened` brackets, 0 or 1 square ones, are behind `from`. Commas and colons
 * are not looked at. A block without quote, bracket or control character is passed at once; else the brackets outside
 * strings are taken one by one, up to the first byte that is not so simple. One long loop, so that its state stays in
 * registers.
 */
function skipNested(from: usize, level: i32, opened: i32): usize {
  const limit = MAX_DEPTH - level;
  const quote = v128.load8_splat(COMPARED, AT_QUOTE);
  const backslash = v128.load8_splat(COMPARED, AT_BACKSLASH);
  const last = v128.load8_splat(COMPARED, AT_LAST_CONTROL);
  const bracketBits = v128.load8_splat(COMPARED, AT_BRACKET_BITS);
  const bracketByte = v128.load8_splat(COMPARED, AT_BRACKET);
  let at = from;
  // Kinds of the open brackets, the newest in bit 0; 64 at a time go to memory.
  let kinds: u64 = 0;
  let depth = opened;
  while (true) {
    const a = v128.load(at);
    const b = v128.load(at, 16);
    const c = v128.load(at, 32);
    const d = v128.load(at, 48);
    const quoteA = i8x16.eq(a, quote);
    const quoteB = i8x16.eq(b, quote);
    const quoteC = i8x16.eq(c, quote);
    const quoteD = i8x16.eq(d, quote);
    // Also `Y`, `_`, `y` and DEL, which seldom stand outside strings.
    const bracketA = i8x16.eq(v128.or(a, bracketBits), bracketByte);
    const bracketB = i8x16.eq(v128.or(b, bracketBits), bracketByte);
    const bracketC = i8x16.eq(v128.or(c, bracketBits), bracketByte);
    const bracketD = i8x16.eq(v128.or(d, bracketBits), bracketByte);
    const isQuote = v128.or(v128.or(quoteA, quoteB), v128.or(quoteC, quoteD));
    const isBracket = v128.or(v128.or(bracketA, bracketB), v128.or(bracketC, bracketD));
    const isControl = i8x16.le_u(i8x16.min_u(i8x16.min_u(a, b), i8x16.min_u(c, d)), last);
    if (!v128.any_true(v128.or(v128.or(isQuote, isBracket), isControl))) {
      at += 64;
      continue;
    }
    let quotes = mask64(quoteA, quoteB, quoteC, quoteD);
    let brackets = mask64(bracketA, bracketB, bracketC, bracketD);
    const slashes = equal64(a, b, c, d, backslash);
    let after: u64 = 0;
    let carry: u64 = 0;
    if (slashes !== 0) {
      const codes = (((slashes << 1) | ODD) - slashes) ^ ODD;
      after = codes ^ slashes;
      carry = (codes & slashes) >> 63;
      quotes &= ~after;
    }
    const inside = prefixXor(quotes);
    // A backslash outside strings escapes nothing: what is behind it has to be looked at anew.
    let hard = slashes & ~inside;
    if (v128.any_true(isControl)) hard = withoutWhite(at, hard | most64(a, b, c, d, last), inside);
    brackets &= ~inside;
    if (hard !== 0) brackets &= (hard & -hard) - 1;
    while (brackets !== 0) {
      const bracket = at + usize(ctz(brackets));
      brackets &= brackets - 1;
      const byte: u32 = load<u8>(bracket);
      // Bit 5 tells curly from square; of bits 1 and 2 opening ones have the first, closing ones the second.
      const kind = u64((byte >> 5) & 1);
      if ((byte & 6) === 2) {
        if (depth >= limit) return fail(bracket, FAULT_DEPTH);
        if ((depth & 63) === 0) store<u64>(BRACKET_BITS + (usize(depth) >> 3), kinds);
        kinds = (kinds << 1) | kind;
        depth++;
      } else if ((byte & 6) === 4) {
        if ((kinds & 1) !== kind) return fail(bracket, FAULT_BRACKETS);
        depth--;
        if (depth === 0) return bracket + 1;
        kinds >>= 1;
        if ((depth & 63) === 0) kinds = load<u64>(BRACKET_BITS + (usize(depth) >> 3));
      }
    }
    if (hard === 0) {
      at += 64;
      if (inside >> 63 === 0) continue;
      at = skipStringRest(at, carry);
      if (at === 0) return 0;
      continue;
    }
    const index = ctz(hard);
    at += usize(index);
    const byte: u32 = load<u8>(at);
    const isInside = (inside >> index) & 1;
    if (byte === LF && at === border) {
      at = refill(at);
      if (isInside === 0) continue;
      at = skipStringRest(at, (after >> index) & 1);
      if (at === 0) return 0;
    } else if (isInside !== 0) {
      return failInString(at);
    } else if (byte > SPACE) {
      // A backslash.
      at++;
    } else {
      return failUnexpected(at);
    }
  }
}
