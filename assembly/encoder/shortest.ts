/**
 * The shortest decimal that reads back as a float, by the rule of Schubfach (R. Giulietti, "The Schubfach way to render
 * doubles"): of the decimals at a distance of 10^-k, k such that one at least and ten at most lie in the float's
 * interval, one of every ten if it is inside, else the nearest. From 2^-30 up to 2^53 the numbers of that rule are whole:
 * a product of 55 and 59 bits, at most 59 of its bits behind the point, so that all of it is exact.
 */
import { writeDecimal } from './decimals';

const FRACTION_BITS: u64 = 52;
const FRACTION_MASK: u64 = 0xf_ffff_ffff_ffff;
/** What a significand of 53 bits is to be multiplied with is 2 to the power of the exponent bits less this. */
const EXPONENT_BIAS: i32 = 1_075;
/** Bits that a significand of a single has less. */
const SINGLE_BITS: i32 = 29;

/** log10(2) and log10(4/3) in units of 2^-22. */
const LOG_TWO: i32 = 1_262_611;
const LOG_FOUR_THIRDS: i32 = 524_031;

/** 5^0 to 5^25. */
const FIVES: usize = memory.data(26 * 8, 16);
/** What the digits of singles are short of those of doubles. */
const EIGHT_DIGITS: u64 = 100_000_000;

let five: u64 = 1;
for (let index = 0; index < 26; index += 1) {
  store<u64>(FIVES + ((<usize>index) << 3), five);
  five *= 5;
}

/** `size` from 2^-30 up to but not including 2^53, for singles 2^24; it has no sign. Returns the address behind it. */
export function writeShortest(to: usize, size: f64, isSingle: bool): usize {
  const bits = reinterpret<u64>(size);
  const fraction = bits & FRACTION_MASK;
  let significand = fraction | (FRACTION_MASK + 1);
  let power = <i32>(bits >>> FRACTION_BITS) - EXPONENT_BIAS;
  if (isSingle) {
    significand >>= SINGLE_BITS;
    power += SINGLE_BITS;
  }
  // Below a power of two floats lie closer together.
  const isPower = fraction === 0;
  const decimals = -((power * LOG_TWO - (isPower ? LOG_FOUR_THIRDS : 0)) >> 22);
  const unit = load<u64>(FIVES + ((<usize>decimals) << 3));
  // The float in quarters of its distance to the next, times 10^decimals: the point stands `places` bits from the right.
  const quarters = significand << 2;
  const low = quarters * unit;
  const high = highProduct(quarters, unit);
  const places = <u64>(2 - power - decimals);
  const whole = (high << (64 - places)) | (low >>> places);
  const one = (<u64>1) << places;
  const rest = low & (one - 1);
  // How far the interval reaches up and down; its ends belong to it when the significand is even.
  const open = significand & 1;
  const up = (unit << 1) - open;
  const down = (isPower ? unit : unit << 1) - open;
  const tenth = whole / 10;
  const restOfTen = ((whole - tenth * 10) << places) + rest;
  const isTenthInside = restOfTen <= down;
  const isNextTenthInside = one * 10 - restOfTen <= up;
  const isInside = rest <= down;
  const isNextInside = one - rest <= up;
  const half = one >>> 1;
  const isNextNearer = rest > half || (rest === half && (whole & 1) !== 0);
  const near = whole + <u64>(isInside !== isNextInside ? isNextInside : isNextNearer);
  const isTen = isTenthInside !== isNextTenthInside;
  const digits = isTen ? tenth + <u64>isNextTenthInside : near;
  const exponent = decimals - <i32>isTen;
  return isSingle ? writeDecimal(to, digits * EIGHT_DIGITS, exponent + 8, -6) : writeDecimal(to, digits, exponent, -5);
}

function highProduct(a: u64, b: u64): u64 {
  const aLow = a & 0xffff_ffff;
  const aHigh = a >>> 32;
  const bLow = b & 0xffff_ffff;
  const bHigh = b >>> 32;
  const first = aLow * bHigh;
  const second = aHigh * bLow;
  const carry = ((aLow * bLow) >>> 32) + (first & 0xffff_ffff) + (second & 0xffff_ffff);
  return aHigh * bHigh + (first >>> 32) + (second >>> 32) + (carry >>> 32);
}
