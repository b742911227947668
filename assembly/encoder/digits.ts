/** Decimal digits without loops or tables: eight at a time in the bytes of a word, the first in the lowest byte. */

export const EIGHT_ZEROS: u64 = ((<u64>0x3030_3030) << 32) | 0x3030_3030;

// biome-ignore lint/complexity/noStaticOnlyClass: only methods take the decorator that has the compiler inline them
export class Digits {
  /** The eight digits of a number below 10^8 as 0 to 9. Each step halves: four and four, two and two, one and one. */
  @inline
  static ofEight(value: u32): u64 {
    const high: u32 = value / 10_000;
    const fours = <u64>high | ((<u64>(value - high * 10_000)) << 32);
    const hundreds = ((fours * 10_486) >>> 20) & 0x7f_0000_007f;
    const twos = hundreds | ((fours - hundreds * 100) << 16);
    const tens = ((twos * 103) >>> 10) & 0xf_000f_000f_000f;
    return tens | ((twos - tens * 10) << 8);
  }

  /** How many of eight digits are zeros in front of the first other one; 7 at most, as one digit is always written. */
  @inline
  static leadingZeros(digits: u64): u64 {
    return ctz(digits | ((<u64>1) << 56)) >>> 3;
  }
}
