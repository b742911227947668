/** Runs of integers. */
import { Digits, EIGHT_ZEROS } from './digits';
import { INTS } from './layout';

const COMMA: u32 = 0x2c;
const MINUS: u32 = 0x2d;
const ZERO: u32 = 0x30;
const EIGHT_DIGITS: u32 = 100_000_000;

/** Prints the first `count` integers with commas between them; returns the address behind the last byte. */
export function writeInts(to: usize, count: i32): usize {
  let at = to;
  let from = INTS;
  const end = INTS + ((<usize>count) << 2);
  while (from < end) {
    const value = load<i32>(from);
    from += 4;
    // No branch for the sign: its place is written over when there is none.
    store<u8>(at, MINUS);
    at += <u32>value >>> 31;
    let size = <u32>(value < 0 ? 0 - value : value);
    if (size >= EIGHT_DIGITS) {
      at = writeHigh(at, size / EIGHT_DIGITS);
      size %= EIGHT_DIGITS;
      store<u64>(at, Digits.ofEight(size) | EIGHT_ZEROS);
      at += 8;
    } else {
      const digits = Digits.ofEight(size);
      const zeros = Digits.leadingZeros(digits);
      store<u64>(at, (digits | EIGHT_ZEROS) >>> (zeros << 3));
      at += 8 - <usize>zeros;
    }
    store<u8>(at, COMMA);
    at += 1;
  }
  return count > 0 ? at - 1 : at;
}

/** One or two digits: what stands before the last eight of 32 bits. */
function writeHigh(at: usize, value: u32): usize {
  if (value < 10) {
    store<u8>(at, ZERO + value);
    return at + 1;
  }
  const tens = value / 10;
  store<u8>(at, ZERO + tens);
  store<u8>(at, ZERO + value - tens * 10, 1);
  return at + 2;
}
