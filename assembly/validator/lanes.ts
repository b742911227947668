/** 64 bytes at a time, one bit each. */

// biome-ignore lint/complexity/noStaticOnlyClass: only methods take the decorator that has the compiler inline them
export class Lanes {
  /** Where the four vectors hold `byte`. */
  @inline
  static equal(a: v128, b: v128, c: v128, d: v128, byte: v128): u64 {
    return Lanes.join(
      i8x16.bitmask(i8x16.eq(a, byte)),
      i8x16.bitmask(i8x16.eq(b, byte)),
      i8x16.bitmask(i8x16.eq(c, byte)),
      i8x16.bitmask(i8x16.eq(d, byte)),
    );
  }

  /** Where the four vectors hold less than `bound`, as bytes without sign. */
  @inline
  static below(a: v128, b: v128, c: v128, d: v128, bound: v128): u64 {
    return Lanes.join(
      i8x16.bitmask(i8x16.lt_u(a, bound)),
      i8x16.bitmask(i8x16.lt_u(b, bound)),
      i8x16.bitmask(i8x16.lt_u(c, bound)),
      i8x16.bitmask(i8x16.lt_u(d, bound)),
    );
  }

  @inline
  static join(a: i32, b: i32, c: i32, d: i32): u64 {
    return <u64>(<u32>a | ((<u32>b) << 16)) | ((<u64>(<u32>c | ((<u32>d) << 16))) << 32);
  }
}
