/**
 * The fast way for runs of rounded floats: four at a time, where each has eight digits at most, one to seven of them
 * behind the point, does not stand in the middle between two decimals and needs no exponent. All else is left alone. One
 * loop, so that its vectors stay in registers.
 */
import { Digits } from './digits';

const COMMA: u32 = 0x2c;
const MINUS: u32 = 0x2d;
const POINT: u32 = 0x2e;
const ZERO: u32 = 0x30;

const MAX_DECIMALS: i32 = 7;
/** Products below this have at most eight digits when they are rounded. */
const EIGHT_DIGITS: usize = memory.data<f64>([99_999_999]);
/** Adding this rounds to a whole number, half to even, which then stands in the low bits. */
const ROUNDING: usize = memory.data<f64>([4_503_599_627_370_496]);
const HALF: usize = memory.data<f64>([0.5]);

/**
 * A frame is eight digits with the point among them. Where its bytes come from, for the first and the last of the two
 * numbers in a vector, and what is added to make text of digits. Loading further on drops zeros in front.
 */
const FIRST_ORDER: usize = memory.data(32, 16);
const LAST_ORDER: usize = memory.data(32, 16);
const CHARACTERS: usize = memory.data(32, 16);
/** Swizzles to 0. */
const NOTHING: u32 = 0x80;

let framedDecimals: i32 = -1;
/** Where `writeFours` stopped. */
export let restOfFours: usize = 0;

function frame(decimals: i32): void {
  if (decimals === framedDecimals) return;
  framedDecimals = decimals;
  const point = 8 - decimals;
  for (let place = 0; place < 9; place += 1) {
    const isPoint = place === point;
    const digit = place < point ? place : place - 1;
    store<u8>(FIRST_ORDER + place, isPoint ? NOTHING : digit);
    store<u8>(LAST_ORDER + place, isPoint ? NOTHING : digit + 8);
    store<u8>(CHARACTERS + place, isPoint ? POINT : ZERO);
  }
}

/**
 * Prints the floats from the address `start` on, four by four, each with a comma behind it, up to the first four that
 * are left alone; `restOfFours` is then their address. `power` is 10^`decimals`.
 */
export function writeFours(to: usize, start: usize, end: usize, power: f64, decimals: i32): usize {
  let at = to;
  let from = start;
  if (decimals > 0 && decimals <= MAX_DECIMALS) {
    frame(decimals);
    const none = i64x2.splat(0);
    const powers = f64x2.splat(power);
    const rounding = v128.load64_splat(ROUNDING);
    const largest = v128.load64_splat(EIGHT_DIGITS);
    const half = v128.load64_splat(HALF);
    // What is smaller and not zero is printed with an exponent.
    const smallest = i32x4.splat(decimals === 7 ? 100 : decimals === 6 ? 10 : 1);
    // Bits at the last digit before the point and the first one behind it: those are printed in any case.
    const before = (<u64>1) << ((7 - decimals) << 3);
    const behind = before << 8;
    while (from + 32 <= end) {
      const a = v128.load(from);
      const b = v128.load(from, 16);
      const scaledA = f64x2.mul(f64x2.abs(a), powers);
      const scaledB = f64x2.mul(f64x2.abs(b), powers);
      const sumA = f64x2.add(scaledA, rounding);
      const sumB = f64x2.add(scaledB, rounding);
      const restA = f64x2.abs(f64x2.sub(scaledA, f64x2.sub(sumA, rounding)));
      const restB = f64x2.abs(f64x2.sub(scaledB, f64x2.sub(sumB, rounding)));
      const isFast = v128.and(
        v128.and(f64x2.lt(scaledA, largest), f64x2.lt(scaledB, largest)),
        v128.and(f64x2.ne(restA, half), f64x2.ne(restB, half)),
      );
      const whole = v128.shuffle<i32>(sumA, sumB, 0, 2, 4, 6);
      const isSmall = v128.and(i32x4.lt_s(whole, smallest), i32x4.gt_s(whole, none));
      if (i64x2.bitmask(isFast) !== 3 || v128.any_true(isSmall)) break;
      const high = Digits.tenThousands(whole);
      const low = Digits.lessTenThousands(whole, high);
      const highDigits = Digits.ofFour(high);
      const lowDigits = Digits.ofFour(low);
      const first = v128.shuffle<i32>(highDigits, lowDigits, 0, 4, 1, 5);
      const last = v128.shuffle<i32>(highDigits, lowDigits, 2, 6, 3, 7);
      at = Fours.write(at, load<u8>(from, 7), first, i64x2.extract_lane(first, 0), FIRST_ORDER, before, behind);
      at = Fours.write(at, load<u8>(from, 15), first, i64x2.extract_lane(first, 1), LAST_ORDER, before, behind);
      at = Fours.write(at, load<u8>(from, 23), last, i64x2.extract_lane(last, 0), FIRST_ORDER, before, behind);
      at = Fours.write(at, load<u8>(from, 31), last, i64x2.extract_lane(last, 1), LAST_ORDER, before, behind);
      from += 32;
    }
  }
  restOfFours = from;
  return at;
}

// biome-ignore lint/complexity/noStaticOnlyClass: only methods take the decorator that has the compiler inline them
class Fours {
  /** One number of the two in `pair`, whose digits are `digits`; `top` is the highest byte of the float, with its sign. */
  @inline
  static write(to: usize, top: u32, pair: v128, digits: u64, order: usize, before: u64, behind: u64): usize {
    store<u8>(to, MINUS);
    const at = to + (top >>> 7);
    const leading = <usize>(ctz(digits | before) >>> 3);
    const trailing = <usize>(clz(digits | behind) >>> 3);
    v128.store(at, v128.or(i8x16.swizzle(pair, v128.load(order + leading)), v128.load(CHARACTERS + leading)));
    const next = at + 9 - leading - trailing;
    store<u8>(next, COMMA);
    return next + 1;
  }
}
