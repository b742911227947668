/**
 * Text: UTF-16 units to UTF-8 with JSON's escapes, without branches on single characters. Sixteen units of plain ASCII
 * are narrowed and stored; eight of any kind are spread to one, two or three bytes each, in lanes that leave bytes
 * unused, and a table of shuffles closes the gaps.
 */
import { TEXT } from './layout';

const BACKSLASH_U: u32 = 0x755c;
const ZEROS: u32 = 0x3030;

/** For each of 256 sets of lanes that use both of their bytes, where the 16 bytes of the packed text come from. */
const PAIRS: usize = memory.data(256 * 16, 16);
/** For four lanes of four bytes: those that use a second byte in the low four bits, a third one in the high four. */
const TRIPLES: usize = memory.data(256 * 16, 16);

for (let set = 0; set < 256; set += 1) {
  let pair = PAIRS + ((<usize>set) << 4);
  for (let lane = 0; lane < 8; lane += 1) {
    store<u8>(pair, lane << 1);
    pair += 1;
    if (((set >> lane) & 1) !== 0) {
      store<u8>(pair, (lane << 1) + 1);
      pair += 1;
    }
  }
  let triple = TRIPLES + ((<usize>set) << 4);
  for (let lane = 0; lane < 4; lane += 1) {
    store<u8>(triple, lane << 2);
    triple += 1;
    if (((set >> lane) & 1) !== 0) {
      store<u8>(triple, (lane << 2) + 1);
      triple += 1;
    }
    if (((set >> (lane + 4)) & 1) !== 0) {
      store<u8>(triple, (lane << 2) + 2);
      triple += 1;
    }
  }
}

/**
 * Writes the first `units` units as the inside of a JSON string. Returns the address behind the last byte, or, when a
 * surrogate is not half of a pair, -1 less the index of the first such unit.
 */
export function writeText(to: usize, units: i32): i32 {
  const end = TEXT + ((<usize>units) << 1);
  // What is loaded beyond the end is one byte of output a unit, and taken off again.
  const padding = i16x8.splat(0x61);
  v128.store(end, padding);
  v128.store(end, padding, 16);
  let at = to;
  let from = TEXT;
  while (from < end) {
    const a = v128.load(from);
    const b = v128.load(from, 16);
    // With a sign: what is no ASCII becomes 0 or at least 128, and counts as less than a space.
    const bytes = i8x16.narrow_i16x8_u(a, b);
    const special = v128.or(
      i8x16.lt_s(bytes, i8x16.splat(0x20)),
      v128.or(i8x16.eq(bytes, i8x16.splat(0x22)), i8x16.eq(bytes, i8x16.splat(0x5c))),
    );
    const stops = i8x16.bitmask(special);
    v128.store(at, bytes);
    if (stops === 0) {
      from += 32;
      at += 16;
      continue;
    }
    const plain = <usize>ctz(stops);
    if (plain >= 8) {
      from += plain << 1;
      at += plain;
      continue;
    }
    // Eight units of any kind.
    const isAscii = i16x8.lt_u(a, i16x8.splat(0x80));
    const isControl = i16x8.lt_u(a, i16x8.splat(0x20));
    const isEscaped = v128.or(isControl, v128.or(i16x8.eq(a, i16x8.splat(0x22)), i16x8.eq(a, i16x8.splat(0x5c))));
    // Letters of \b \t \n \f \r by their code, 0 for other control characters.
    const names = i8x16(0, 0, 0, 0, 0, 0, 0, 0, 0x62, 0x74, 0x6e, 0, 0x66, 0x72, 0, 0);
    const letter = v128.bitselect(i8x16.swizzle(names, a), a, isControl);
    const rare = i16x8.bitmask(v128.and(isControl, i16x8.eq(letter, i16x8.splat(0))));
    let count: u32 = 8;
    if (rare !== 0) count = ctz(rare);
    const escaped = v128.or(i16x8.splat(0x5c), i16x8.shl(letter, 8));
    const last = v128.and(a, i16x8.splat(0x3f));
    const two = v128.or(v128.or(i16x8.shr_u(a, 6), i16x8.shl(last, 8)), i16x8.splat(<i16>0x80c0));
    let pair = v128.bitselect(v128.bitselect(escaped, a, isEscaped), two, isAscii);
    const isWide = i16x8.ge_u(a, i16x8.splat(0x800));
    const wide = <u32>i16x8.bitmask(isWide);
    const second = <u32>i16x8.bitmask(v128.or(v128.not(isAscii), isEscaped));
    if (wide === 0) {
      v128.store(at, i8x16.swizzle(pair, v128.load(PAIRS + ((<usize>second) << 4))));
      const used = second & ((1 << count) - 1);
      at += <usize>(count + popcnt(used));
    } else {
      const surrogate = i16x8.eq(v128.and(a, i16x8.splat(<i16>0xf800)), i16x8.splat(<i16>0xd800));
      const three = v128.or(
        v128.or(i16x8.shr_u(a, 12), v128.and(i16x8.shl(a, 2), i16x8.splat(0x3f00))),
        i16x8.splat(<i16>0x80e0),
      );
      pair = v128.bitselect(three, pair, isWide);
      let third = wide;
      if (v128.any_true(surrogate)) {
        const isLow = v128.and(surrogate, i16x8.ge_u(a, i16x8.splat(<i16>0xdc00)));
        const all = <u32>i16x8.bitmask(surrogate);
        const low = <u32>i16x8.bitmask(isLow);
        const high = all ^ low;
        // Each high one must be followed by a low one; one at the end of the eight is left for the next.
        const wrong = (low ^ (high << 1)) & 0xff;
        if (wrong !== 0) {
          const place = ctz(wrong);
          const isLone = ((low >> place) & 1) !== 0;
          return -1 - (<i32>((from - TEXT) >> 1) + <i32>place - (isLone ? 0 : 1));
        }
        if (high >= 0x80 && count === 8) count = 7;
        // Ten bits and the 0x10000 that a pair counts from, in units of 2^10.
        const top = i16x8.add(v128.and(a, i16x8.splat(0x3ff)), i16x8.splat(0x40));
        const highPair = v128.or(
          v128.or(i16x8.shr_u(top, 8), v128.and(i16x8.shl(top, 6), i16x8.splat(0x3f00))),
          i16x8.splat(<i16>0x80f0),
        );
        const before = i8x16.shuffle(a, a, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13);
        const lowPair = v128.or(
          v128.or(v128.and(i16x8.shr_u(a, 6), i16x8.splat(0x0f)), v128.and(i16x8.shl(before, 4), i16x8.splat(0x30))),
          v128.or(i16x8.shl(last, 8), i16x8.splat(<i16>0x8080)),
        );
        pair = v128.bitselect(v128.bitselect(lowPair, highPair, isLow), pair, surrogate);
        third &= ~all;
      }
      const rest = v128.or(last, i16x8.splat(0x80));
      const firstFour = i8x16.shuffle(pair, rest, 0, 1, 16, 17, 2, 3, 18, 19, 4, 5, 20, 21, 6, 7, 22, 23);
      const lastFour = i8x16.shuffle(pair, rest, 8, 9, 24, 25, 10, 11, 26, 27, 12, 13, 28, 29, 14, 15, 30, 31);
      const firstSet = (second & 0x0f) | ((third & 0x0f) << 4);
      v128.store(at, i8x16.swizzle(firstFour, v128.load(TRIPLES + ((<usize>firstSet) << 4))));
      const behind = at + 4 + <usize>popcnt(firstSet);
      const lastSet = (second >> 4) | (third & 0xf0);
      v128.store(behind, i8x16.swizzle(lastFour, v128.load(TRIPLES + ((<usize>lastSet) << 4))));
      const used = (1 << count) - 1;
      at += <usize>(count + popcnt(second & used) + popcnt(third & used));
    }
    from += (<usize>count) << 1;
    if (rare !== 0 && <u32>ctz(rare) === count) {
      at = writeRareControl(at, load<u16>(from));
      from += 2;
    }
  }
  return <i32>(at - ((from - end) >> 1));
}

/** `\u00xx`: a control character without a letter of its own. */
function writeRareControl(to: usize, unit: u32): usize {
  const low = unit & 0x0f;
  store<u16>(to, BACKSLASH_U);
  store<u16>(to, ZEROS, 2);
  store<u8>(to, 0x30 + (unit >> 4), 4);
  store<u8>(to, low < 10 ? 0x30 + low : 0x57 + low, 5);
  return to + 6;
}
