/** The fast way through a string. */

/**
 * From a place inside a string to its closing quote, or to what is left to the machine: a fault, half of a surrogate
 * pair, or anything at or behind `limit`. Loads 64 bytes at most from where it stands.
 */
export function skipText(from: usize, limit: usize): usize {
  let at = from;
  while (at <= limit) {
    const bytes = v128.load(at);
    // Signed, so that bytes from 0x80 on are below 0x20 as well.
    const special = v128.or(
      v128.or(i8x16.eq(bytes, i8x16.splat(0x22)), i8x16.eq(bytes, i8x16.splat(0x5c))),
      i8x16.lt_s(bytes, i8x16.splat(0x20)),
    );
    const mask = i8x16.bitmask(special);
    if (mask === 0) {
      at += 16;
      continue;
    }
    at += ctz(mask);
    const byte = <u32>load<u8>(at);
    if (byte === 0x22 || byte < 0x20 || at > limit) return at;
    const next = byte === 0x5c ? skipEscape(at) : skipWide(at, limit);
    if (next === at) return at;
    at = next;
  }
  return at;
}

/** Behind the escape at `at`; `at` when it is none or half of a pair. */
function skipEscape(at: usize): usize {
  const kind = <u32>load<u8>(at, 1);
  if (kind === 0x75) return isPlainUnit(load<u32>(at, 2)) ? at + 6 : at;
  return isSimpleEscape(kind) ? at + 2 : at;
}

/** The characters that may follow a backslash, `u` aside. */
export function isSimpleEscape(byte: u32): bool {
  switch (byte) {
    case 0x22:
    case 0x2f:
    case 0x5c:
    case 0x62:
    case 0x66:
    case 0x6e:
    case 0x72:
    case 0x74:
      return true;
    default:
      return false;
  }
}

/** Four hex digits, lowest byte first, of a code unit that is no surrogate. */
function isPlainUnit(digits: u32): bool {
  if (((digits & 0xff) | 0x20) === 0x64 && ((digits >>> 8) & 0xff) > 0x37) return false;
  for (let rest = digits; rest !== 0; rest >>>= 8) {
    const digit = (rest & 0xff) - 0x30;
    const letter = ((rest & 0xff) | 0x20) - 0x61;
    if (digit > 9 && letter > 5) return false;
  }
  return digits > 0xff_ffff;
}

/** Behind a run of characters of two to four bytes; stops at the first byte that begins none. */
function skipWide(from: usize, limit: usize): usize {
  let at = from;
  while (at <= limit) {
    const bytes = load<u32>(at);
    if ((bytes & 0x80) === 0) return at;
    if ((bytes & 0xc0e0) === 0x80c0) {
      if ((bytes & 0xff) < 0xc2) return at;
      at += 2;
    } else if ((bytes & 0xc0c0f0) === 0x8080e0) {
      const point = ((bytes & 0x0f) << 12) | ((bytes & 0x3f00) >>> 2) | ((bytes & 0x3f0000) >>> 16);
      if (point < 0x800 || (point & 0xf800) === 0xd800) return at;
      at += 3;
    } else if ((bytes & 0xc0c0c0f8) === 0x808080f0) {
      const high = ((bytes & 0x07) << 6) | ((bytes >>> 8) & 0x3f);
      if (high < 0x10 || high > 0x10f) return at;
      at += 4;
    } else return at;
  }
  return at;
}
