/** What the fast way through text leaves alone: surrogates, and control characters that have no letter. */
import { TEXT } from './layout';

const BACKSLASH_U: u32 = 0x755c;
const ZEROS: u32 = 0x3030;

/** Behind the units that `writeOdd` has written; at a lone surrogate when there was one. */
export let nextUnit: usize = 0;

/** Writes what starts at `from`, and the pairs that follow a pair. Returns the address behind it, 0 for a lone surrogate. */
export function writeOdd(to: usize, from: usize): usize {
  const unit = <u32>load<u16>(from);
  if (unit < 0x20) {
    nextUnit = from + 2;
    return writeControl(to, unit);
  }
  let at = to;
  let high = unit;
  nextUnit = from;
  do {
    const low = <u32>load<u16>(nextUnit, 2);
    if ((high & 0xfc00) !== 0xd800 || (low & 0xfc00) !== 0xdc00) return 0;
    at = writePair(at, high, low);
    nextUnit += 4;
    high = load<u16>(nextUnit);
  } while ((high & 0xf800) === 0xd800);
  return at;
}

/** What `writeText` returns when `nextUnit` is a lone surrogate. */
export function loneSurrogate(): i32 {
  return -1 - (<i32>(nextUnit - TEXT) >> 1);
}

function writePair(to: usize, high: u32, low: u32): usize {
  const point = 0x10000 + ((high & 0x3ff) << 10) + (low & 0x3ff);
  const leads = 0x80f0 | (point >> 18) | ((point >> 4) & 0x3f00);
  const rest = 0x8080 | ((point >> 6) & 0x3f) | ((point << 8) & 0x3f00);
  store<u32>(to, leads | (rest << 16));
  return to + 4;
}

/** `\u00xx` in lower case. */
function writeControl(to: usize, unit: u32): usize {
  const low = unit & 0x0f;
  store<u16>(to, BACKSLASH_U);
  store<u16>(to, ZEROS, 2);
  store<u8>(to, 0x30 + (unit >> 4), 4);
  store<u8>(to, low < 10 ? 0x30 + low : 0x57 + low, 5);
  return to + 6;
}
