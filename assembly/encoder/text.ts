/**
 * Text: UTF-16 units to UTF-8 with JSON's escapes, without a branch on any one character. Plain ASCII is narrowed; all
 * else is spread to lanes of two or four bytes, a table of shuffles then closes the gaps. One long loop, so that the
 * vectors it compares with stay in registers: built where they are used, they cost a third of the speed.
 */
import { TEXT } from './layout';
import { loneSurrogate, nextUnit, writeOdd } from './odd-units';
import { LETTERS, PAIRS, TRIPLES } from './text-tables';

/** Bytes and units that vectors are filled with. */
const PADDING: usize = memory.data<u16>([0x61]);
const SPACE: usize = memory.data<u8>([0x20]);
const QUOTE: usize = memory.data<u16>([0x22]);
const BACKSLASH: usize = memory.data<u16>([0x5c]);
const ABOVE_5_BITS: usize = memory.data<u16>([0xffe0]);
const ABOVE_7_BITS: usize = memory.data<u16>([0xff80]);
const ABOVE_11_BITS: usize = memory.data<u16>([0xf800]);
const SURROGATE: usize = memory.data<u16>([0xd800]);
const SIX_BITS: usize = memory.data<u16>([0x3f]);
const SIX_BITS_HIGH: usize = memory.data<u16>([0x3f00]);
const OF_TWO: usize = memory.data<u16>([0x80c0]);
const OF_THREE: usize = memory.data<u16>([0x80e0]);
const LAST: usize = memory.data<u16>([0x80]);

/**
 * Writes the first `units` units as the inside of a JSON string. Returns the address behind the last byte, or, when a
 * surrogate is not half of a pair, -1 less the index of the first such unit.
 */
export function writeText(to: usize, units: i32): i32 {
  const end = TEXT + ((<usize>units) << 1);
  // What is loaded behind the end takes one byte a unit, which is taken off again.
  const padding = v128.load16_splat(PADDING);
  v128.store(end, padding);
  v128.store(end, padding, 16);
  const none = i64x2.splat(0);
  const letters = v128.load(LETTERS);
  const space = v128.load8_splat(SPACE);
  const quoteByte = v128.load8_splat(QUOTE);
  const backslashByte = v128.load8_splat(BACKSLASH);
  const quote = v128.load16_splat(QUOTE);
  const backslash = v128.load16_splat(BACKSLASH);
  const above5 = v128.load16_splat(ABOVE_5_BITS);
  const above7 = v128.load16_splat(ABOVE_7_BITS);
  const above11 = v128.load16_splat(ABOVE_11_BITS);
  const surrogate = v128.load16_splat(SURROGATE);
  const sixBits = v128.load16_splat(SIX_BITS);
  const sixBitsHigh = v128.load16_splat(SIX_BITS_HIGH);
  const ofTwo = v128.load16_splat(OF_TWO);
  const ofThree = v128.load16_splat(OF_THREE);
  const lastOf = v128.load16_splat(LAST);
  let at = to;
  let from = TEXT;
  while (from < end) {
    const a = v128.load(from);
    const b = v128.load(from, 16);
    // With a sign: what is no ASCII becomes 0 or 128 and more, which counts as less than a space.
    const bytes = i8x16.narrow_i16x8_u(a, b);
    const isBelow = i8x16.lt_s(bytes, space);
    const isStop = v128.or(isBelow, v128.or(i8x16.eq(bytes, quoteByte), i8x16.eq(bytes, backslashByte)));
    const stops = i8x16.bitmask(isStop);
    v128.store(at, bytes);
    if (stops === 0) {
      from += 32;
      at += 16;
      continue;
    }
    if (!v128.any_true(v128.and(v128.or(a, b), above7))) {
      // Sixteen units of ASCII, each one byte or a backslash and a letter.
      const letter = v128.bitselect(i8x16.swizzle(letters, bytes), bytes, isBelow);
      const lead = v128.bitselect(backslashByte, bytes, isStop);
      const first = i8x16.shuffle(lead, letter, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
      const last = i8x16.shuffle(lead, letter, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
      const firstStops = <usize>(stops & 0xff);
      const lastStops = <usize>(stops >>> 8);
      v128.store(at, i8x16.swizzle(first, v128.load(PAIRS + (firstStops << 4))));
      const middle = at + 8 + popcnt(firstStops);
      v128.store(middle, i8x16.swizzle(last, v128.load(PAIRS + (lastStops << 4))));
      if (i8x16.all_true(letter)) {
        at = middle + 8 + popcnt(lastStops);
        from += 32;
        continue;
      }
      const odd = ctz(i8x16.bitmask(i8x16.eq(letter, none)));
      at = writeOdd(at + odd + popcnt(stops & ((1 << odd) - 1)), from + (odd << 1));
      from = nextUnit;
      continue;
    }
    const plain = <usize>ctz(stops);
    if (plain >= 8) {
      at += plain;
      from += plain << 1;
      continue;
    }
    // Eight units of any kind. Lanes of two bytes first: one byte, a backslash and a letter, or two bytes of UTF-8.
    const isAscii = i16x8.eq(v128.and(a, above7), none);
    const isControl = i16x8.eq(v128.and(a, above5), none);
    const isEscaped = v128.or(isControl, v128.or(i16x8.eq(a, quote), i16x8.eq(a, backslash)));
    const letter = v128.bitselect(i8x16.swizzle(letters, a), a, isControl);
    const escaped = v128.or(backslash, i16x8.shl(letter, 8));
    const low = v128.and(a, sixBits);
    const two = v128.or(v128.or(i16x8.shr_u(a, 6), i16x8.shl(low, 8)), ofTwo);
    const pair = v128.bitselect(v128.bitselect(escaped, a, isEscaped), two, isAscii);
    const second = i16x8.bitmask(v128.or(v128.not(isAscii), isEscaped));
    const upper = v128.and(a, above11);
    const isOdd = v128.or(i16x8.eq(letter, none), i16x8.eq(upper, surrogate));
    let third = 0;
    let next: usize;
    if (!v128.any_true(upper)) {
      v128.store(at, i8x16.swizzle(pair, v128.load(PAIRS + ((<usize>second) << 4))));
      next = at + 8 + popcnt(second);
    } else {
      // Lanes of four bytes, for the third one of what is above 11 bits.
      const isWide = i16x8.ne(upper, none);
      third = i16x8.bitmask(isWide);
      const three = v128.or(v128.or(i16x8.shr_u(a, 12), v128.and(i16x8.shl(a, 2), sixBitsHigh)), ofThree);
      const leads = v128.bitselect(three, pair, isWide);
      const rest = v128.or(low, lastOf);
      const firstFour = i8x16.shuffle(leads, rest, 0, 1, 16, 17, 2, 3, 18, 19, 4, 5, 20, 21, 6, 7, 22, 23);
      const lastFour = i8x16.shuffle(leads, rest, 8, 9, 24, 25, 10, 11, 26, 27, 12, 13, 28, 29, 14, 15, 30, 31);
      const firstSet = (second & 0x0f) | ((third & 0x0f) << 4);
      const lastSet = (second >>> 4) | (third & 0xf0);
      v128.store(at, i8x16.swizzle(firstFour, v128.load(TRIPLES + ((<usize>firstSet) << 4))));
      const middle = at + 4 + popcnt(firstSet);
      v128.store(middle, i8x16.swizzle(lastFour, v128.load(TRIPLES + ((<usize>lastSet) << 4))));
      next = middle + 4 + popcnt(lastSet);
    }
    if (!v128.any_true(isOdd)) {
      at = next;
      from += 16;
      continue;
    }
    const odd = ctz(i16x8.bitmask(isOdd));
    const before = (1 << odd) - 1;
    at = writeOdd(at + odd + popcnt(second & before) + popcnt(third & before), from + (odd << 1));
    if (at === 0) return loneSurrogate();
    from = nextUnit;
  }
  return <i32>(at - ((from - end) >> 1));
}
