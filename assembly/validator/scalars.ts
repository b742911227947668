/**
 * The fast ways over numbers and literals. Each stops in front of what it does not know to be legal and never reads
 * beyond the 64 bytes from `limit` on.
 */
import { Lanes } from './lanes';
import { REACH } from './layout';

const COMMA: u32 = 0x2c;
const POINT: u32 = 0x2e;
const SPACE: u32 = 0x20;
const CLOSE_ARRAY: u32 = 0x5d;

/** Each sixteen times: vectors that are loaded stay in registers, literal ones are made anew in each turn of a loop. */
const COMMAS: usize = memory.data<u32>([0x2c2c_2c2c, 0x2c2c_2c2c, 0x2c2c_2c2c, 0x2c2c_2c2c], 16);
const MINUSES: usize = memory.data<u32>([0x2d2d_2d2d, 0x2d2d_2d2d, 0x2d2d_2d2d, 0x2d2d_2d2d], 16);
const POINTS: usize = memory.data<u32>([0x2e2e_2e2e, 0x2e2e_2e2e, 0x2e2e_2e2e, 0x2e2e_2e2e], 16);
const ZEROS: usize = memory.data<u32>([0x3030_3030, 0x3030_3030, 0x3030_3030, 0x3030_3030], 16);
const TENS: usize = memory.data<u32>([0x0a0a_0a0a, 0x0a0a_0a0a, 0x0a0a_0a0a, 0x0a0a_0a0a], 16);

/** Digits that an exponent may have, when it is not negative, behind less than 64 others without an overflow. */
const SAFE_EXPONENT_DIGITS: u32 = 2;

/**
 * Passes over numbers in an array, as many at a time as 64 bytes hold: grammar as arithmetic on one bit a byte. Stops
 * behind a comma, where a value belongs, or in front of the bracket that closes the array. White space may stand behind
 * commas. Numbers with an exponent that is not negative are left, since they may overflow; others of less than 64 bytes
 * cannot. One long loop, so that all the masks stay in registers.
 */
export function skipNumbers(from: usize, limit: usize): usize {
  const commas = v128.load(COMMAS);
  const minuses = v128.load(MINUSES);
  const points = v128.load(POINTS);
  const zeros = v128.load(ZEROS);
  const tens = v128.load(TENS);
  let at = from;
  while (at <= limit) {
    const a = v128.load(at);
    const b = v128.load(at, 16);
    const c = v128.load(at, 32);
    const d = v128.load(at, 48);
    const comma = Lanes.equal(a, b, c, d, commas);
    const zero = Lanes.equal(a, b, c, d, zeros);
    const digit = Lanes.below(i8x16.sub(a, zeros), i8x16.sub(b, zeros), i8x16.sub(c, zeros), i8x16.sub(d, zeros), tens);
    let unknown = ~(comma | digit);
    let minus: u64 = 0;
    let point: u64 = 0;
    let space: u64 = 0;
    let exponent: u64 = 0;
    let close: u64 = 0;
    // Arrays are of one kind, so that each of these branches is either taken all along or not at all.
    if (unknown !== 0) {
      minus = Lanes.equal(a, b, c, d, minuses);
      point = Lanes.equal(a, b, c, d, points);
      unknown &= ~(minus | point);
      if (unknown !== 0) {
        const byte = <u32>load<u8>(at + <usize>ctz(unknown));
        if (byte === CLOSE_ARRAY) close = unknown & (0 - unknown);
        else if (byte === SPACE || (byte | 0x20) === 0x65) {
          const lower = i8x16.splat(0x20);
          space = Lanes.equal(a, b, c, d, lower);
          exponent = Lanes.equal(
            v128.or(a, lower),
            v128.or(b, lower),
            v128.or(c, lower),
            v128.or(d, lower),
            i8x16.splat(0x65),
          );
          exponent &= minus >> 1;
          unknown &= ~(space | exponent);
        }
      }
    }
    // Up to the first unknown byte, to the end when there is none.
    const ends = (comma & ((unknown & (0 - unknown)) - 1)) | close;
    if (ends === 0) return at;
    const start = ((comma | space) << 1) | 1;
    const first = (start & ~(minus | space)) | ((minus & start) << 1);
    // Each byte that is no digit says what must stand before it; so what must follow needs no rule.
    let wrong =
      ((point | ends | exponent) & ~(digit << 1)) |
      (minus & ~(start | (exponent << 1))) |
      (space & ~start) |
      (((first & zero) << 1) & digit);
    if (point !== 0) {
      // The sum carries through the digits of each fraction and exponent and leaves a bit behind the last of them.
      const behind = (digit + ((point << 1) | (exponent << 2))) & ~digit;
      wrong |= behind & point;
    }
    if (exponent !== 0) wrong |= (digit + (exponent << 2)) & ~digit & exponent;
    const rest = clz(ends);
    if (wrong << rest !== 0) return at;
    at += 64 - <usize>rest;
    if (close !== 0) return at - 1;
  }
  return at;
}

/**
 * Behind the number at `at`, or `at` when it is left to the machine: not a number, longer than most, or one that may
 * overflow.
 */
export function skipNumber(at: usize): usize {
  const first = load<u8>(at) === 0x2d ? at + 1 : at;
  const low = i8x16.bitmask(i8x16.lt_u(i8x16.sub(v128.load(first), v128.load(ZEROS)), v128.load(TENS)));
  const high = i8x16.bitmask(i8x16.lt_u(i8x16.sub(v128.load(first, 16), v128.load(ZEROS)), v128.load(TENS)));
  // One bit for each byte that is no digit.
  let breaks = ~(<u32>low | ((<u32>high) << 16));
  let end: u32 = ctz(breaks);
  if (end === 0 || (end > 1 && load<u8>(first) === 0x30)) return at;
  if (<u32>load<u8>(first + end) === POINT) {
    const fraction = end + 1;
    breaks &= breaks - 1;
    end = ctz(breaks);
    if (end === fraction) return at;
  }
  if ((<u32>load<u8>(first + end) | 0x20) === 0x65) {
    breaks &= breaks - 1;
    const sign = load<u8>(first + end + 1);
    let exponent = end + 1;
    if (sign === 0x2b || sign === 0x2d) {
      breaks &= breaks - 1;
      exponent += 1;
    }
    end = ctz(breaks);
    if (end === exponent || (sign !== 0x2d && end - exponent > SAFE_EXPONENT_DIGITS)) return at;
  }
  return end < 32 ? first + end : at;
}

/** Behind `true`, `false` or `null` at `at`, or `at` when none of them stands there. */
export function skipLiteral(at: usize): usize {
  const four = load<u32>(at);
  if (four === 0x65757274 || four === 0x6c6c756e) return at + 4;
  return four === 0x736c6166 && load<u8>(at, 4) === 0x65 ? at + 5 : at;
}

/**
 * Passes over `true` and `false` in an array, each with its comma and one space at most; stops where skipNumbers does.
 * Masks are long runs of one of them.
 */
export function skipFlags(from: usize, limit: usize): usize {
  let at = from;
  let lengthBefore: usize = 0;
  let repeats = 0;
  while (at <= limit) {
    const word = load<u64>(at);
    const isTrue = (word & 0xffff_ffff) === 0x6575_7274;
    const isFalse = (word & 0xff_ffff_ffff) === 0x65_736c_6166;
    if (!isTrue && !isFalse) return at;
    // No branches: in a mixed mask nothing can be foretold.
    const behind = isTrue ? word >>> 32 : word >>> 40;
    const token: usize = 5 - <usize>isTrue;
    if (<u32>(behind & 0xff) !== COMMA) return <u32>(behind & 0xff) === CLOSE_ARRAY ? at + token : at;
    const length = token + 1 + <usize>(<u32>((behind >>> 8) & 0xff) === SPACE);
    repeats = length === lengthBefore ? repeats + 1 : 0;
    lengthBefore = length;
    if (repeats < 4) at += length;
    else {
      at = skipRepeats(at, length, limit);
      repeats = 0;
    }
  }
  return at;
}

/** Passes over the token of `length` bytes at `at`, comma included, and over as many more of the same as follow in blocks. */
function skipRepeats(from: usize, length: usize, limit: usize): usize {
  let at = from;
  const stride = (REACH / length) * length;
  while (at + length <= limit) {
    const same = v128.and(
      v128.and(
        i8x16.eq(v128.load(at), v128.load(at + length)),
        i8x16.eq(v128.load(at, 16), v128.load(at + length, 16)),
      ),
      v128.and(
        i8x16.eq(v128.load(at, 32), v128.load(at + length, 32)),
        i8x16.eq(v128.load(at, 48), v128.load(at + length, 48)),
      ),
    );
    if (!i8x16.all_true(same)) break;
    at += stride;
  }
  return at + length;
}
