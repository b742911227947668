/**
 * The fast ways over numbers and literals. Each stops in front of what it does not know to be legal, at a place where a
 * value begins, and never reads beyond the 64 bytes from `limit` on.
 */
import { Lanes } from './lanes';
import { REACH } from './layout';

/** Digits that a number may have before and in its exponent without being able to overflow a double. */
const SAFE_EXPONENT_DIGITS: usize = 2;

/**
 * Passes over numbers in an array, each with its comma, as many at a time as 64 bytes hold: grammar as arithmetic on
 * one bit a byte. White space may stand behind commas. Numbers with an exponent that is not negative are left, since
 * they may overflow; others of less than 64 bytes cannot.
 */
export function skipNumbers(from: usize, limit: usize): usize {
  let at = from;
  while (at <= limit) {
    const a = v128.load(at);
    const b = v128.load(at, 16);
    const c = v128.load(at, 32);
    const d = v128.load(at, 48);
    const comma = Lanes.equal(a, b, c, d, i8x16.splat(0x2c));
    const minus = Lanes.equal(a, b, c, d, i8x16.splat(0x2d));
    const point = Lanes.equal(a, b, c, d, i8x16.splat(0x2e));
    const zero = Lanes.equal(a, b, c, d, i8x16.splat(0x30));
    const space = Lanes.equal(a, b, c, d, i8x16.splat(0x20));
    const lower = i8x16.splat(0x20);
    const letter = Lanes.equal(
      v128.or(a, lower),
      v128.or(b, lower),
      v128.or(c, lower),
      v128.or(d, lower),
      i8x16.splat(0x65),
    );
    const base = i8x16.splat(0x30);
    const digit = Lanes.below(
      i8x16.sub(a, base),
      i8x16.sub(b, base),
      i8x16.sub(c, base),
      i8x16.sub(d, base),
      i8x16.splat(10),
    );
    const exponent = letter & (minus >> 1);
    const unknown = ~(comma | minus | point | digit | space | exponent);
    // What stands before the first unknown byte; all when there is none.
    const commas = comma & ((unknown & (0 - unknown)) - 1);
    if (commas === 0) return at;
    const start = ((comma | space) << 1) | 1;
    const first = (start & ~(minus | space)) | ((minus & start) << 1);
    const wanted = first | ((minus | point) << 1);
    // The sum carries through the digits of each fraction and exponent and leaves a bit behind its last one.
    const run = (point << 1) | (exponent << 2);
    const runEnd = (digit + run) & ~digit;
    const exponentEnd = (digit + (exponent << 2)) & ~digit;
    const wrong =
      (wanted & ~digit) |
      ((point | comma | exponent) & ~(digit << 1)) |
      (minus & ~(start | (exponent << 1))) |
      (space & ~start) |
      (((first & zero) << 1) & digit) |
      (runEnd & point) |
      (exponentEnd & exponent);
    const last = clz(commas);
    if (wrong << last !== 0) return at;
    at += 64 - <usize>last;
  }
  return at;
}

/**
 * Behind the number at `at`, or `at` when it is left to the machine: not a number, cut by the end of the window, or one
 * that may overflow.
 */
export function skipNumber(at: usize): usize {
  const end = at + REACH - 1;
  let next = at;
  if (load<u8>(next) === 0x2d) next += 1;
  const first = next;
  next = skipDigits(next, end);
  if (next === first || (load<u8>(first) === 0x30 && next > first + 1)) return at;
  if (load<u8>(next) === 0x2e) {
    const fraction = next + 1;
    next = skipDigits(fraction, end);
    if (next === fraction) return at;
  }
  if ((load<u8>(next) | 0x20) === 0x65) {
    const sign = load<u8>(next + 1);
    const exponent = sign === 0x2b || sign === 0x2d ? next + 2 : next + 1;
    next = skipDigits(exponent, end);
    if (next === exponent || (next - exponent > SAFE_EXPONENT_DIGITS && sign !== 0x2d)) return at;
  }
  return next < end ? next : at;
}

function skipDigits(from: usize, end: usize): usize {
  let at = from;
  while (at < end && <u32>load<u8>(at) - 0x30 <= 9) at += 1;
  return at;
}

/** Behind `true`, `false` or `null` at `at`, or `at` when none of them stands there. */
export function skipLiteral(at: usize): usize {
  const four = load<u32>(at);
  if (four === 0x65757274 || four === 0x6c6c756e) return at + 4;
  return four === 0x736c6166 && load<u8>(at, 4) === 0x65 ? at + 5 : at;
}

/** Passes over `true` and `false` in an array, each with its comma and one space at most. Masks are long runs of one. */
export function skipFlags(from: usize, limit: usize): usize {
  let at = from;
  let lengthBefore: usize = 0;
  while (at <= limit) {
    const word = load<u64>(at);
    const isTrue = (word & 0xff_ffff_ffff) === 0x2c_6575_7274;
    const isFalse = (word & 0xffff_ffff_ffff) === 0x2c65_736c_6166;
    if (!isTrue && !isFalse) return at;
    const comma: usize = isTrue ? 5 : 6;
    const length = comma + <usize>(load<u8>(at + comma) === 0x20);
    if (length === lengthBefore) at = skipRepeats(at, length, limit);
    else at += length;
    lengthBefore = length;
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
