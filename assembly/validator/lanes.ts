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

  /** Where they hold less than `bound`, as bytes with a sign. */
  @inline
  static belowSigned(a: v128, b: v128, c: v128, d: v128, bound: v128): u64 {
    return Lanes.join(
      i8x16.bitmask(i8x16.lt_s(a, bound)),
      i8x16.bitmask(i8x16.lt_s(b, bound)),
      i8x16.bitmask(i8x16.lt_s(c, bound)),
      i8x16.bitmask(i8x16.lt_s(d, bound)),
    );
  }

  /** Where they hold a character that may follow a backslash, `u` aside. */
  @inline
  static simpleEscapes(a: v128, b: v128, c: v128, d: v128): u64 {
    return Lanes.join(Lanes.simple(a), Lanes.simple(b), Lanes.simple(c), Lanes.simple(d));
  }

  @inline
  static simple(bytes: v128): i32 {
    // For each low half of a byte the one character that has it; three have 2.
    const wanted = i8x16(0, 0, 0x22, 0, 0x74, 0, 0x66, 0, 0, 0, 0, 0, 0x5c, 0, 0x6e, 0x2f);
    const one = i8x16.eq(bytes, i8x16.swizzle(wanted, v128.and(bytes, i8x16.splat(0x0f))));
    const others = v128.or(i8x16.eq(bytes, i8x16.splat(0x62)), i8x16.eq(bytes, i8x16.splat(0x72)));
    return i8x16.bitmask(v128.or(one, others));
  }

  @inline
  static join(a: i32, b: i32, c: i32, d: i32): u64 {
    return <u64>(<u32>a | ((<u32>b) << 16)) | ((<u64>(<u32>c | ((<u32>d) << 16))) << 32);
  }
}
