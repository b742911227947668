/** Decimal digits without loops or tables: eight at a time as bytes, the first in the lowest byte. */

export const EIGHT_ZEROS: u64 = ((<u64>0x3030_3030) << 32) | 0x3030_3030;

/**
 * Factors for lanes of 32 and of 16 bits. They lie in memory because the engine takes longer to build a vector than to
 * load one. The first is 2^45 / 10^4, rounded up: exact for what is below 10^8.
 */
const TEN_THOUSANDTH: usize = memory.data<u32>([3_518_437_209]);
const TEN_THOUSAND: usize = memory.data<u32>([10_000]);
const HUNDREDTH: usize = memory.data<u32>([10_486]);
const HUNDRED_LESS_ONE: usize = memory.data<u32>([6_553_599]);
const TENTH: usize = memory.data<u32>([103 * 65_537]);
const TEN_LESS_ONE: usize = memory.data<u32>([2_559 * 65_537]);

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

  /** What is left of four lanes when `high` of 10^4 are taken off. */
  @inline
  static lessTenThousands(lanes: v128, high: v128): v128 {
    return i32x4.sub(lanes, i32x4.mul(high, v128.load32_splat(TEN_THOUSAND)));
  }

  /** Four lanes below 10^8, divided by 10^4. */
  @inline
  static tenThousands(lanes: v128): v128 {
    const factor = v128.load32_splat(TEN_THOUSANDTH);
    const low = i64x2.shr_u(i64x2.extmul_low_i32x4_u(lanes, factor), 45);
    const high = i64x2.shr_u(i64x2.extmul_high_i32x4_u(lanes, factor), 45);
    return v128.shuffle<i32>(low, high, 0, 2, 4, 6);
  }

  /** The four digits of each of four lanes below 10^4, as 0 to 9. */
  @inline
  static ofFour(lanes: v128): v128 {
    const hundreds = i32x4.shr_u(i32x4.dot_i16x8_s(lanes, v128.load32_splat(HUNDREDTH)), 20);
    const twos = i32x4.sub(i32x4.shl(lanes, 16), i32x4.mul(hundreds, v128.load32_splat(HUNDRED_LESS_ONE)));
    const tens = i16x8.shr_u(i16x8.mul(twos, v128.load32_splat(TENTH)), 10);
    return i16x8.sub(i16x8.shl(twos, 8), i16x8.mul(tens, v128.load32_splat(TEN_LESS_ONE)));
  }

  /** The sixteen digits of a number below 10^16 as 0 to 9. */
  @inline
  static ofSixteen(value: u64): v128 {
    const eight = value / 100_000_000;
    const pair = i32x4.replace_lane(i32x4.splat(<i32>eight), 1, <i32>(value - eight * 100_000_000));
    const high = i64x2.shr_u(i64x2.extmul_low_i32x4_u(pair, v128.load32_splat(TEN_THOUSANDTH)), 45);
    const low = Digits.lessTenThousands(v128.shuffle<i32>(pair, pair, 0, 0, 1, 1), high);
    return Digits.ofFour(v128.shuffle<i32>(high, low, 0, 4, 2, 6));
  }

  /** How many of eight digits are zeros in front of the first other one; 7 at most, as one digit is always written. */
  @inline
  static leadingZeros(digits: u64): u64 {
    return ctz(digits | ((<u64>1) << 56)) >>> 3;
  }
}
