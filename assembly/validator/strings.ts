/** The fast way through a string. */
import { Lanes } from './lanes';

/** Every other bit. */
const ODD_BITS: u64 = ((<u64>0xaaaa_aaaa) << 32) | 0xaaaa_aaaa;

/**
 * From a place inside a string to its closing quote, or to what is left to the machine: a fault, half of a surrogate
 * pair, or anything at or behind `limit`. Loads 64 bytes at most from where it stands.
 */
export function skipText(from: usize, limit: usize): usize {
  if (from > limit) return from;
  // Most strings are keys and short names.
  const bytes = v128.load(from);
  const special = v128.or(
    v128.or(i8x16.eq(bytes, i8x16.splat(0x22)), i8x16.eq(bytes, i8x16.splat(0x5c))),
    i8x16.lt_s(bytes, i8x16.splat(0x20)),
  );
  const mask = i8x16.bitmask(special);
  if (mask === 0) return skipLongText(from + 16, limit);
  const at = from + ctz(mask);
  return load<u8>(at) === 0x22 ? at : skipLongText(at, limit);
}

export function skipLongText(from: usize, limit: usize): usize {
  let at = from;
  while (at <= limit) {
    const a = v128.load(at);
    const b = v128.load(at, 16);
    const c = v128.load(at, 32);
    const d = v128.load(at, 48);
    const quote = Lanes.equal(a, b, c, d, i8x16.splat(0x22));
    const backslash = Lanes.equal(a, b, c, d, i8x16.splat(0x5c));
    // Control characters, and what is no ASCII.
    const other = Lanes.belowSigned(a, b, c, d, i8x16.splat(0x20));
    if ((quote | backslash | other) === 0) {
      at += 64;
      continue;
    }
    // As simdjson does: borrows run through each row of backslashes and find which of them escape. The first byte of
    // the block is never itself escaped.
    const escapesAndEnds = (((backslash << 1) | ODD_BITS) - backslash) ^ ODD_BITS;
    const escaped = escapesAndEnds ^ backslash;
    const escapes = escapesAndEnds & backslash;
    let stop = (quote & ~escaped) | other;
    if (escaped !== 0) stop |= findOddEscapes(at, escaped & ~Lanes.simpleEscapes(a, b, c, d));
    if (stop === 0) {
      // An escape whose second byte is not in the block is read again.
      at += 64 - <usize>(escapes >>> 63);
      continue;
    }
    at += <usize>ctz(stop);
    if (((escaped >>> ctz(stop)) & 1) !== 0) at -= 1;
    if (at > limit) return at;
    const byte = <u32>load<u8>(at);
    if (byte === 0x22 || byte < 0x20) return at;
    const next = byte === 0x5c ? skipEscape(at) : skipWide(at, limit);
    if (next === at) return at;
    at = next;
  }
  return at;
}

/** Of the escaped characters in a block those from the first on that is no `u` with its digits in the block. */
function findOddEscapes(at: usize, unsure: u64): u64 {
  let odd = unsure;
  while (odd !== 0) {
    const place = <usize>ctz(odd);
    if (load<u8>(at + place) !== 0x75 || place > 59 || !isPlainUnit(load<u32>(at + place, 1))) break;
    odd &= odd - 1;
  }
  return odd;
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

/** Whether four bytes are the hex digits of a code unit that is no surrogate, given lowest byte first. */
function isPlainUnit(digits: u32): bool {
  if (((digits & 0xff) | 0x20) === 0x64 && ((digits >>> 8) & 0xff) > 0x37) return false;
  const bytes = i32x4.splat(digits);
  const isDigit = i8x16.lt_u(i8x16.sub(bytes, i8x16.splat(0x30)), i8x16.splat(10));
  const isLetter = i8x16.lt_u(i8x16.sub(v128.or(bytes, i8x16.splat(0x20)), i8x16.splat(0x61)), i8x16.splat(6));
  return i8x16.all_true(v128.or(isDigit, isLetter));
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
