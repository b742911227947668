/** Runs of integers: the digits of four at a time in vectors, then each by itself is put where the last one ended. */
import { Digits, EIGHT_ZEROS } from './digits';
import { INTS } from './layout';

const COMMA: u32 = 0x2c;
const MINUS: u32 = 0x2d;
const ZERO: u32 = 0x30;
const EIGHT_DIGITS: u32 = 100_000_000;
const LARGEST: usize = memory.data<u32>([100_000_000]);

/** Prints the first `count` integers with commas between them; returns the address behind the last byte. */
export function writeInts(to: usize, count: i32): usize {
  let at = to;
  let from = INTS;
  const end = INTS + ((<usize>count) << 2);
  const largest = v128.load32_splat(LARGEST);
  while (from + 16 <= end) {
    const values = v128.load(from);
    const sizes = i32x4.abs(values);
    if (v128.any_true(i32x4.ge_u(sizes, largest))) {
      at = writeEach(at, from, from + 16);
    } else {
      const high = Digits.tenThousands(sizes);
      const low = Digits.lessTenThousands(sizes, high);
      const highDigits = Digits.ofFour(high);
      const lowDigits = Digits.ofFour(low);
      const first = v128.shuffle<i32>(highDigits, lowDigits, 0, 4, 1, 5);
      const last = v128.shuffle<i32>(highDigits, lowDigits, 2, 6, 3, 7);
      if (i32x4.bitmask(values) === 0) {
        at = Ints.writeSize(at, i64x2.extract_lane(first, 0));
        at = Ints.writeSize(at, i64x2.extract_lane(first, 1));
        at = Ints.writeSize(at, i64x2.extract_lane(last, 0));
        at = Ints.writeSize(at, i64x2.extract_lane(last, 1));
      } else {
        at = Ints.write(at, load<u32>(from), i64x2.extract_lane(first, 0));
        at = Ints.write(at, load<u32>(from, 4), i64x2.extract_lane(first, 1));
        at = Ints.write(at, load<u32>(from, 8), i64x2.extract_lane(last, 0));
        at = Ints.write(at, load<u32>(from, 12), i64x2.extract_lane(last, 1));
      }
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
    const size: u32 = value >>> 31 === 1 ? 0 - value : value;
    if (size < EIGHT_DIGITS) at = Ints.write(at, value, Digits.ofEight(size));
    else at = writeLong(at, value, size);
  }
  return at;
}

/** Nine or ten digits. */
function writeLong(to: usize, value: u32, size: u32): usize {
  store<u8>(to, MINUS);
  let at = to + (value >>> 31);
  const high = size / EIGHT_DIGITS;
  if (high >= 10) {
    store<u8>(at, ZERO + high / 10);
    at += 1;
  }
  store<u8>(at, ZERO + (high % 10));
  store<u64>(at, Digits.ofEight(size - high * EIGHT_DIGITS) | EIGHT_ZEROS, 1);
  store<u8>(at, COMMA, 9);
  return at + 10;
}

// biome-ignore lint/complexity/noStaticOnlyClass: only methods take the decorator that has the compiler inline them
class Ints {
  /** A sign if `value` has one, its eight digits without the zeros in front, and a comma. */
  @inline
  static write(to: usize, value: u32, digits: u64): usize {
    // No branch for the sign: its place is written over when there is none.
    store<u8>(to, MINUS);
    return Ints.writeSize(to + (value >>> 31), digits);
  }

  /** Eight digits without the zeros in front, and a comma. */
  @inline
  static writeSize(at: usize, digits: u64): usize {
    const zeros = Digits.leadingZeros(digits);
    store<u64>(at, (digits | EIGHT_ZEROS) >>> (zeros << 3));
    const behind = at + 8 - <usize>zeros;
    store<u8>(behind, COMMA);
    return behind + 1;
  }
}
