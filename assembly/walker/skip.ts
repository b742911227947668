/**
 * Passing over strings and containers, 64 bytes a step. Every function takes an address and returns the one behind the
 * value, or 0 when there is a fault. The LF behind the window ends every loop.
 */
import { fail, failInString, failUnexpected } from './fault';
import { BRACKET_BITS, CR, FAULT_BRACKETS, FAULT_DEPTH, LF, MAX_DEPTH, QUOTE, SPACE, TAB } from './layout';
import { border, refill } from './window';

/** Every second bit, beginning with the second. */
const ODD: u64 = (u64.MAX_VALUE / 3) * 2;

/** One bit a byte: `a` the lowest 16. */
function mask64(a: v128, b: v128, c: v128, d: v128): u64 {
  const low = u32(i8x16.bitmask(a)) | (u32(i8x16.bitmask(b)) << 16);
  const high = u32(i8x16.bitmask(c)) | (u32(i8x16.bitmask(d)) << 16);
  return u64(low) | (u64(high) << 32);
}

/** Quotes, backslashes and control characters. */
function stopsString(v: v128): v128 {
  return v128.or(
    v128.or(i8x16.eq(v, i8x16.splat(0x22)), i8x16.eq(v, i8x16.splat(0x5c))),
    i8x16.le_u(v, i8x16.splat(0x1f)),
  );
}

/** Quotes, control characters, and all that is a bracket once bits 1, 2 and 5 are set (also `Y`, `_`, `y`, DEL). */
function stopsContainer(v: v128): v128 {
  return v128.or(
    v128.or(i8x16.eq(v, i8x16.splat(0x22)), i8x16.eq(v128.or(v, i8x16.splat(0x26)), i8x16.splat(0x7f))),
    i8x16.le_u(v, i8x16.splat(0x1f)),
  );
}

function isBracket(v: v128): v128 {
  const folded = v128.or(v, i8x16.splat(0x20));
  return v128.or(i8x16.eq(folded, i8x16.splat(0x7b)), i8x16.eq(folded, i8x16.splat(0x7d)));
}

/** Passes white space; a line end is none. */
export function skipWhite(from: usize): usize {
  let at = from;
  while (true) {
    const byte: u32 = load<u8>(at);
    if (byte === SPACE || byte === TAB || byte === CR) {
      at++;
      if (load<u32>(at) === 0x20202020) {
        const others = i8x16.bitmask(i8x16.ne(v128.load(at), i8x16.splat(0x20)));
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
  const stops = i8x16.bitmask(stopsString(v128.load(at)));
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
    const a = v128.load(at);
    const b = v128.load(at, 16);
    const c = v128.load(at, 32);
    const d = v128.load(at, 48);
    const backslash = i8x16.splat(0x5c);
    const slashes = mask64(
      i8x16.eq(a, backslash),
      i8x16.eq(b, backslash),
      i8x16.eq(c, backslash),
      i8x16.eq(d, backslash),
    );
    const quote = i8x16.splat(0x22);
    const quotes = mask64(i8x16.eq(a, quote), i8x16.eq(b, quote), i8x16.eq(c, quote), i8x16.eq(d, quote));
    const last = i8x16.splat(0x1f);
    const controls = mask64(i8x16.le_u(a, last), i8x16.le_u(b, last), i8x16.le_u(c, last), i8x16.le_u(d, last));
    let after = carry;
    if (slashes !== 0) {
      // Which bytes have an odd run of backslashes before them: simdjson's subtraction.
      const candidates = slashes & ~carry;
      const codes = (((candidates << 1) | ODD) - candidates) ^ ODD;
      after = codes ^ (slashes | carry);
      carry = (codes & slashes) >> 63;
    } else {
      carry = 0;
    }
    const stops = (quotes & ~after) | controls;
    if (stops === 0) {
      at += 64;
      continue;
    }
    const index = ctz(stops);
    at += usize(index);
    const byte: u32 = load<u8>(at);
    if (byte === QUOTE) return at + 1;
    if (byte !== LF || at !== border) return failInString(at);
    at = refill(at);
    carry = (after >> index) & 1;
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

/**
 * `from` is at the opening bracket, `level` brackets are open around it. Commas and colons are not looked at. A block
 * without quote, bracket or control character is passed at once; else the brackets outside strings are taken one by
 * one, up to the first byte that is not so simple.
 */
export function skipContainer(from: usize, level: i32): usize {
  const limit = MAX_DEPTH - level;
  let at = from;
  // Kinds of the open brackets, the newest in bit 0; 64 at a time go to memory.
  let kinds: u64 = 0;
  let depth: i32 = 0;
  while (true) {
    const a = v128.load(at);
    const b = v128.load(at, 16);
    const c = v128.load(at, 32);
    const d = v128.load(at, 48);
    if (
      !v128.any_true(
        v128.or(v128.or(stopsContainer(a), stopsContainer(b)), v128.or(stopsContainer(c), stopsContainer(d))),
      )
    ) {
      at += 64;
      continue;
    }
    const backslash = i8x16.splat(0x5c);
    const slashes = mask64(
      i8x16.eq(a, backslash),
      i8x16.eq(b, backslash),
      i8x16.eq(c, backslash),
      i8x16.eq(d, backslash),
    );
    const quote = i8x16.splat(0x22);
    let quotes = mask64(i8x16.eq(a, quote), i8x16.eq(b, quote), i8x16.eq(c, quote), i8x16.eq(d, quote));
    const last = i8x16.splat(0x1f);
    const controls = mask64(i8x16.le_u(a, last), i8x16.le_u(b, last), i8x16.le_u(c, last), i8x16.le_u(d, last));
    let brackets = mask64(isBracket(a), isBracket(b), isBracket(c), isBracket(d));
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
    let hard = (slashes & ~inside) | controls;
    if (controls !== 0) hard = withoutWhite(at, hard, inside);
    brackets &= ~inside;
    if (hard !== 0) brackets &= (hard & -hard) - 1;
    while (brackets !== 0) {
      const bracket = at + usize(ctz(brackets));
      brackets &= brackets - 1;
      const byte: u32 = load<u8>(bracket);
      // Bit 5 tells curly from square, bit 1 opening from closing.
      const kind = u64((byte >> 5) & 1);
      if ((byte & 2) !== 0) {
        if (depth >= limit) return fail(bracket, FAULT_DEPTH);
        if ((depth & 63) === 0) store<u64>(BRACKET_BITS + (usize(depth) >> 3), kinds);
        kinds = (kinds << 1) | kind;
        depth++;
      } else {
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
