/**
 * Runs of floats in one of three forms. A float is printed by way of a whole number below 10^15 and a power of ten:
 * decimals of up to 15 digits all round to doubles of their own, so the one that was found is the shortest, and its
 * text is its digits without the zeros at both ends. Where no such number is known to be right the run stops, and the
 * host prints that one value.
 */
import { Digits, EIGHT_ZEROS } from './digits';
import { END, FLOATS } from './layout';
import { restOfFours, writeFours } from './rounded';

/** Rounded to a number of decimals as Python does. */
const ROUNDED: i32 = 0;
/** Whole numbers without a point; other forms print `1.0`. */
const PLAIN: i32 = 2;

const COMMA: u32 = 0x2c;
const MINUS: u32 = 0x2d;
const POINT: u32 = 0x2e;
const ZERO: u32 = 0x30;
const LOWER_E: u32 = 0x65;
const NULL: u32 = 0x6c6c_756e;
const POINT_ZERO: u32 = 0x302e;

const EIGHT_DIGITS: u64 = 100_000_000;
/** What stays below 10^15 when it is rounded to a whole number. */
const FIFTEEN_DIGITS: f64 = 999_999_999_999_999;
/** Whole numbers up to here are all doubles. */
const WHOLE_LIMIT: f64 = 9_007_199_254_740_992;
/** Below this floats are printed with an exponent. */
const SMALLEST_POSITIONAL: f64 = 1e-5;

/** 10^0 to 10^15, all exact. */
const POWERS: usize = memory.data<f64>(
  [1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15],
  16,
);

/**
 * For each number of decimals from 0 to 14 where the 16 bytes of a text come from: the digits before the point, the
 * point, the digits behind it. Loading further on drops zeros in front. Byte 0, always a zero, holds the point.
 */
const ORDERS: usize = memory.data(16 * 32, 16);
/** 0 to 15, then nothing: as ORDERS for whole numbers. */
const WHOLE_ORDER: usize = memory.data(32, 16);

const ORDER_BYTES: usize = 32;

for (let decimals = 0; decimals < 16; decimals += 1) {
  const point = 15 - decimals;
  for (let index = 0; index < 32; index += 1) {
    const source = index < point ? index + 1 : index === point ? 0 : index;
    store<u8>(ORDERS + <usize>decimals * ORDER_BYTES + <usize>index, source);
    store<u8>(WHOLE_ORDER + <usize>index, index);
  }
}

/**
 * Prints the floats `[from, count)` with commas between them. Returns the index of the first that it leaves to the
 * host, `count` when there is none, and keeps the address behind the last byte in END. `decimals` is for ROUNDED.
 */
export function writeFloats(to: usize, from: i32, count: i32, form: i32, decimals: i32): i32 {
  let at = to;
  let index = from;
  while (index < count) {
    if (form === ROUNDED) {
      const power = load<f64>(POWERS + ((<usize>decimals) << 3));
      at = writeFours(at, FLOATS + ((<usize>index) << 3), FLOATS + ((<usize>count) << 3), power, decimals);
      index = <i32>(restOfFours - FLOATS) >> 3;
      if (index === count) break;
    }
    const value = load<f64>(FLOATS + ((<usize>index) << 3));
    const next = form === ROUNDED ? writeRounded(at, value, decimals) : writeShortest(at, value, form === PLAIN);
    if (next === 0) break;
    store<u8>(next, COMMA);
    at = next + 1;
    index += 1;
  }
  store<u32>(END, <u32>(index > from ? at - 1 : at));
  return index;
}

/** Returns the address behind the text, or 0 when nothing is known to be right. */
function writeRounded(to: usize, value: f64, decimals: i32): usize {
  const power = load<f64>(POWERS + ((<usize>decimals) << 3));
  const size = abs(value);
  const scaled = size * power;
  if (!(scaled < FIFTEEN_DIGITS)) return writeUnusual(to, value);
  let whole = nearest(scaled);
  // A product that is not exact lies on the same side of the middle between two whole numbers as the true one, or on it.
  if (abs(scaled - whole) === 0.5) whole = roundMiddle(size, power, scaled);
  const at = writeSign(to, value);
  if (decimals > 5 && whole !== 0 && whole < load<f64>(POWERS + ((<usize>decimals - 5) << 3)))
    return writeSmall(at, <u32>whole, decimals);
  // Without decimals a zero is printed behind the point all the same.
  if (decimals === 0) return writePoint(writeWhole(at, <u64>whole));
  return writeDecimal(at, <u64>whole, decimals);
}

/**
 * `scaled`, the product as a double, is a whole number and a half. The error of the product decides; it is exact,
 * since a power of ten up to 10^9 has 21 bits beside its twos, and each half of `size` has 27 at most.
 */
function roundMiddle(size: f64, power: f64, scaled: f64): f64 {
  const high = reinterpret<f64>(reinterpret<u64>(size) & 0xffff_ffff_f800_0000);
  const error = high * power - scaled + (size - high) * power;
  if (error > 0) return ceil(scaled);
  return error < 0 ? floor(scaled) : nearest(scaled);
}

function writeShortest(to: usize, value: f64, isPlain: bool): usize {
  const size = abs(value);
  if (size < WHOLE_LIMIT && size === floor(size)) {
    if (!isPlain) return writePoint(writeWhole(writeSign(to, value), <u64>size));
    // An integer has no negative zero.
    return writeWhole(size === 0 ? to : writeSign(to, value), <u64>size);
  }
  if (!(size < FIFTEEN_DIGITS)) return writeUnusual(to, value);
  if (size < SMALLEST_POSITIONAL) return 0;
  let decimals: i32 = size < 1 ? 15 : 14;
  while (size * load<f64>(POWERS + ((<usize>decimals) << 3)) >= FIFTEEN_DIGITS) decimals -= 1;
  const power = load<f64>(POWERS + ((<usize>decimals) << 3));
  // Whatever decimal of 15 digits rounds to the value, the product comes within a quarter of it.
  const whole = nearest(size * power);
  if (whole / power !== size) return 0;
  const at = writeSign(to, value);
  return decimals < 15 ? writeDecimal(at, <u64>whole, decimals) : writeFraction(at, <u64>whole);
}

/** What no decimal of 15 digits stands for: null for what is not finite, the rest is left to the host. */
function writeUnusual(to: usize, value: f64): usize {
  if (abs(value) < Infinity) return 0;
  store<u32>(to, NULL);
  return to + 4;
}

function writeSign(to: usize, value: f64): usize {
  store<u8>(to, MINUS);
  return to + <usize>(reinterpret<u64>(value) >>> 63);
}

function writePoint(to: usize): usize {
  store<u16>(to, POINT_ZERO);
  return to + 2;
}

/** A whole number below 10^16. */
function writeWhole(to: usize, value: u64): usize {
  const high = value / EIGHT_DIGITS;
  const first = Digits.ofEight(<u32>high);
  const second = Digits.ofEight(<u32>(value - high * EIGHT_DIGITS));
  const zeros = first !== 0 ? Digits.leadingZeros(first) : 8 + Digits.leadingZeros(second);
  const text = i64x2.replace_lane(i64x2.splat(first | EIGHT_ZEROS), 1, second | EIGHT_ZEROS);
  v128.store(to, i8x16.swizzle(text, v128.load(WHOLE_ORDER + <usize>zeros)));
  return to + 16 - <usize>zeros;
}

/** `value` / 10^`decimals` with a digit on both sides of the point at least; value below 10^15, decimals 1 to 14. */
function writeDecimal(to: usize, value: u64, decimals: i32): usize {
  const point: u32 = 15 - decimals;
  const high = value / EIGHT_DIGITS;
  const first = Digits.ofEight(<u32>high);
  const second = Digits.ofEight(<u32>(value - high * EIGHT_DIGITS));
  // Where the first and the last digit stand that is not 0, among 16.
  const leading: u32 = <u32>(first !== 0 ? ctz(first) >>> 3 : 8 + (ctz(second) >>> 3));
  const last: u32 = <u32>(second !== 0 ? 15 - (clz(second) >>> 3) : 7 - (clz(first) >>> 3));
  const start = min<u32>(leading - 1, point - 1);
  const end = max<i32>(<i32>last, <i32>point + 1);
  const text = i64x2.replace_lane(i64x2.splat((first | EIGHT_ZEROS) - (ZERO - POINT)), 1, second | EIGHT_ZEROS);
  const order = v128.load(ORDERS + <usize>decimals * ORDER_BYTES + <usize>start);
  v128.store(to, i8x16.swizzle(text, order));
  return to + <usize>(end + 1 - <i32>start);
}

/** `value` / 10^15, from 10^-5 on and below 1. */
function writeFraction(to: usize, value: u64): usize {
  const high = value / EIGHT_DIGITS;
  const first = Digits.ofEight(<u32>high);
  const second = Digits.ofEight(<u32>(value - high * EIGHT_DIGITS));
  const last: u64 = second !== 0 ? 15 - (clz(second) >>> 3) : 7 - (clz(first) >>> 3);
  // The first of 16 digits is a zero: it stands before the point.
  store<u16>(to, 0x2e30);
  store<u64>(to, (first | EIGHT_ZEROS) >>> 8, 2);
  store<u64>(to, second | EIGHT_ZEROS, 9);
  return to + 2 + <usize>last;
}

/** `value` / 10^`decimals` below 10^-5: `D.DDDe-N`, of at most four digits since there are nine decimals at most. */
function writeSmall(to: usize, value: u32, decimals: i32): usize {
  let digits = value;
  let exponent = decimals;
  while (digits % 10 === 0) {
    digits /= 10;
    exponent -= 1;
  }
  let unit: u32 = 1;
  while (digits / unit >= 10) {
    unit *= 10;
    exponent -= 1;
  }
  store<u8>(to, ZERO + digits / unit);
  let at = to + 1;
  if (unit > 1) {
    store<u8>(at, POINT);
    at += 1;
  }
  for (unit /= 10; unit > 0; unit /= 10) {
    store<u8>(at, ZERO + ((digits / unit) % 10));
    at += 1;
  }
  store<u8>(at, LOWER_E);
  store<u8>(at, MINUS, 1);
  store<u8>(at, ZERO + exponent, 2);
  return at + 3;
}
