/**
 * Runs of floats in one of four forms. A run stops where the ways taken here are not known to be exact, and the host
 * prints that one value: below 2^-30, whole from 2^53 on (singles 2^24), rounded from 2^52 over the power of ten on.
 */
import { writeWhole } from './decimals';
import { END, FLOATS } from './layout';
import { restOfFours, writeFours } from './rounded';
import { writeShortest } from './shortest';

/** Rounded to a number of decimals as Python does. */
const ROUNDED: i32 = 0;
/** Whole numbers without a point; other forms print `1.0`. */
const PLAIN: i32 = 2;
/** The shortest among singles. */
const SINGLE: i32 = 3;

const COMMA: u32 = 0x2c;
const MINUS: u32 = 0x2d;
const NULL: u32 = 0x6c6c_756e;
const POINT_ZERO: u32 = 0x302e;

/** Whole numbers up to here are all doubles. */
const WHOLE_LIMIT: f64 = 9_007_199_254_740_992;
/** Whole numbers up to here are all singles. */
const SINGLE_WHOLE_LIMIT: f64 = 16_777_216;
/** Up to here a half is a double. */
const HALVES_LIMIT: f64 = 4_503_599_627_370_496;
/** 2^-30: what is smaller is left to the host. */
const SMALLEST: f64 = 9.313225746154785e-10;

/** 10^0 to 10^9, all exact. */
const POWERS: usize = memory.data<f64>([1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9], 16);

/**
 * Prints the floats `[from, count)` with commas between them. Returns the index of the first that it leaves to the
 * host, `count` when there is none, and keeps the address behind the last byte in END. `decimals` is for ROUNDED.
 */
export function writeFloats(to: usize, from: i32, count: i32, form: i32, decimals: i32): i32 {
  const end = FLOATS + ((<usize>count) << 3);
  const power = load<f64>(POWERS + ((<usize>decimals) << 3));
  let place = FLOATS + ((<usize>from) << 3);
  const start = place;
  let at = to;
  while (place < end) {
    if (form === ROUNDED) {
      at = writeFours(at, place, end, power, decimals);
      place = restOfFours;
      if (place === end) break;
    }
    const value = load<f64>(place);
    const next = form === ROUNDED ? writeRounded(at, value, power) : writeFloat(at, value, form);
    if (next === 0) break;
    store<u8>(next, COMMA);
    at = next + 1;
    place += 8;
  }
  store<u32>(END, <u32>(place > start ? at - 1 : at));
  return <i32>(place - FLOATS) >> 3;
}

/** Returns the address behind the text, or 0 when nothing is known to be right. */
function writeRounded(to: usize, value: f64, power: f64): usize {
  const size = abs(value);
  const scaled = size * power;
  if (!(scaled < HALVES_LIMIT)) return writeUnusual(to, value);
  let whole = nearest(scaled);
  // A product that is not exact lies on the same side of the middle between two whole numbers as the true one, or on it.
  if (abs(scaled - whole) === 0.5) whole = roundMiddle(size, power, scaled);
  // The double nearest to the decimal.
  return writeFloat(to, copysign(whole / power, value), ROUNDED);
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

function writeFloat(to: usize, value: f64, form: i32): usize {
  const size = abs(value);
  const limit = form === SINGLE ? SINGLE_WHOLE_LIMIT : WHOLE_LIMIT;
  if (!(size < limit)) return writeUnusual(to, value);
  if (size === floor(size)) {
    // An integer has no negative zero.
    if (form === PLAIN) return writeWhole(size === 0 ? to : writeSign(to, value), <u64>size);
    const at = writeWhole(writeSign(to, value), <u64>size);
    store<u16>(at, POINT_ZERO);
    return at + 2;
  }
  return size < SMALLEST ? 0 : writeShortest(writeSign(to, value), size, form === SINGLE);
}

/** Null for what is not finite; what is large is left to the host. */
function writeUnusual(to: usize, value: f64): usize {
  if (abs(value) < Infinity) return 0;
  store<u32>(to, NULL);
  return to + 4;
}

function writeSign(to: usize, value: f64): usize {
  store<u8>(to, MINUS);
  return to + <usize>(reinterpret<u64>(value) >>> 63);
}
