/** Runs of integers: the digits of four at a time in vectors, then each by itself is put where the last one ended. */
import { Digits, EIGHT_ZEROS } from './digits';
import { INTS } from './layout';

const COMMA: u32 = 0x2c;
const MINUS: u32 = 0x2d;
const ZERO: u32 = 0x30;
const EIGHT_DIGITS: u32 = 100_000_000;

/** The sign, and what has more than seven digits: bits from 2^23 on. */
const LONG_BITS: usize = memory.data<u32>([0xff80_0000]);
/** Seven zeros and a comma. */
const ZEROS_COMMA: u64 = (EIGHT_ZEROS >>> 8) | ((<u64>COMMA) << 56);
/** A bit of the last of seven digits: it is printed in any case. */
const LAST_DIGIT: u64 = (<u64>1) << 48;

/** Prints the first `count` integers with commas between them; returns the address behind the last byte. */
export function writeInts(to: usize, count: i32): usize {
  let at = to;
  let from = INTS;
  const end = INTS + ((<usize>count) << 2);
  const longBits = v128.load32_splat(LONG_BITS);
  while (from + 16 <= end) {
    const values = v128.load(from);
    if (v128.any_true(v128.and(values, longBits))) {
      at = writeEach(at, from, from + 16);
    } else {
      const high = Digits.tenThousands(values);
      const highDigits = Digits.ofFour(high);
      const lowDigits = Digits.ofFour(Digits.lessTenThousands(values, high));
      const first = i64x2.shr_u(v128.shuffle<i32>(highDigits, lowDigits, 0, 4, 1, 5), 8);
      const last = i64x2.shr_u(v128.shuffle<i32>(highDigits, lowDigits, 2, 6, 3, 7), 8);
      at = Ints.write(at, i64x2.extract_lane(first, 0));
      at = Ints.write(at, i64x2.extract_lane(first, 1));
      at = Ints.write(at, i64x2.extract_lane(last, 0));
      at = Ints.write(at, i64x2.extract_lane(last, 1));
    }
    from += 16;
  }
  at = writeEach(at, from, end);
  return count > 0 ? at - 1 : at;
}

function writeEach(to: usize, first: usize, end: usize): usize {
  let at = to;
  for (let from = first; from < end; from += 4) {
    const value = load<u32>(from);
    // No branch for the sign: its place is written over when there is none.
    store<u8>(at, MINUS);
    at += value >>> 31;
    let size: u32 = value >>> 31 === 1 ? 0 - value : value;
    if (size >= EIGHT_DIGITS) {
      const high = size / EIGHT_DIGITS;
      size -= high * EIGHT_DIGITS;
      if (high >= 10) {
        store<u8>(at, ZERO + high / 10);
        at += 1;
      }
      store<u8>(at, ZERO + (high % 10));
      store<u64>(at, Digits.ofEight(size) | EIGHT_ZEROS, 1);
      at += 9;
    } else {
      const digits = Digits.ofEight(size);
      const zeros = Digits.leadingZeros(digits);
      store<u64>(at, (digits | EIGHT_ZEROS) >>> (zeros << 3));
      at += 8 - <usize>zeros;
    }
    store<u8>(at, COMMA);
    at += 1;
  }
  return at;
}

// biome-ignore lint/complexity/noStaticOnlyClass: only methods take the decorator that has the compiler inline them
class Ints {
  /** Seven digits without the zeros in front, and a comma. */
  @inline
  static write(at: usize, digits: u64): usize {
    const zeroBits = ctz(digits | LAST_DIGIT) & 56;
    store<u64>(at, (digits | ZEROS_COMMA) >>> zeroBits);
    return at + 8 - <usize>(zeroBits >>> 3);
  }
}
