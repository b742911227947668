/** Where the digits of one number and its point go. */
import { Digits } from './digits';

const POINT: u32 = 0x2e;
const MINUS: u32 = 0x2d;
const ZERO: u32 = 0x30;
const LOWER_E: u32 = 0x65;
const TEN: u32 = 0x3031;
const ZERO_POINT_ZEROS: u64 = ((<u64>0x3030_3030) << 32) | 0x3030_2e30;

const SIXTEEN_DIGITS: u64 = 10_000_000_000_000_000;
const FIFTEEN_DIGITS: u64 = 1_000_000_000_000_000;
const FOURTEEN_DIGITS: u64 = 100_000_000_000_000;

/** 10^0 to 10^3. */
const TENS: usize = memory.data<u64>([1, 10, 100, 1_000], 16);
/** 0 to 15, then nothing: loading further on drops what is in front. */
const ORDER: usize = memory.data(32, 16);
const ZEROS: usize = memory.data<u8>([0x30]);

for (let index = 0; index < 32; index += 1) store<u8>(ORDER + index, index);

/** A whole number below 10^16. */
export function writeWhole(to: usize, value: u64): usize {
  const digits = Digits.ofSixteen(value);
  const text = v128.or(digits, v128.load8_splat(ZEROS));
  const zeros = <usize>ctz(i8x16.bitmask(i8x16.ne(digits, i64x2.splat(0))) | 0x8000);
  v128.store(to, i8x16.swizzle(text, v128.load(ORDER + zeros)));
  return to + 16 - zeros;
}

/**
 * `value` / 10^`decimals`; value from 10^13 up to but not including 10^17. Below 10^`lowest`, -5 or -6, it is printed
 * with an exponent, down to -10.
 */
export function writeDecimal(to: usize, value: u64, decimals: i32, lowest: i32): usize {
  const missing = <i32>(value < SIXTEEN_DIGITS) + <i32>(value < FIFTEEN_DIGITS) + <i32>(value < FOURTEEN_DIGITS);
  const seventeen = value * load<u64>(TENS + ((<usize>missing) << 3));
  const first = seventeen / SIXTEEN_DIGITS;
  const sixteen = seventeen - first * SIXTEEN_DIGITS;
  const digits = Digits.ofSixteen(sixteen);
  const text = v128.or(digits, v128.load8_splat(ZEROS));
  // Where the last digit stands that is not 0, the first one being at 0.
  const last = 32 - clz(i8x16.bitmask(i8x16.ne(digits, i64x2.splat(0))));
  const exponent = 16 - decimals - missing;
  if (exponent >= 0) {
    store<u8>(to, ZERO + <u32>first);
    v128.store(to, text, 1);
    const point = to + <usize>exponent + 1;
    store<u8>(point, POINT);
    v128.store(point, i8x16.swizzle(text, v128.load(ORDER + <usize>exponent)), 1);
    return point + 1 + <usize>max(last - exponent, 1);
  }
  if (exponent >= lowest) {
    store<u64>(to, ZERO_POINT_ZEROS);
    const at = to + 1 - exponent;
    store<u8>(at, ZERO + <u32>first);
    v128.store(at, text, 1);
    return at + 1 + last;
  }
  store<u8>(to, ZERO + <u32>first);
  store<u8>(to, POINT, 1);
  v128.store(to, text, 2);
  let at = last === 0 ? to + 1 : to + 2 + last;
  store<u8>(at, LOWER_E);
  store<u8>(at, MINUS, 1);
  at += 2;
  // 6 to 10.
  if (exponent === -10) {
    store<u16>(at, TEN);
    return at + 2;
  }
  store<u8>(at, ZERO - exponent);
  return at + 1;
}
