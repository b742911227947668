/**
 * Numbers as orjson 3.11.7 and newer prints them (spec 02 section 7, docs/decisions/0002): floats with at least one
 * decimal from 1e-5 up to but not including 1e16, else as `1.5e-6` and `1e+16`; anything not finite is `null`.
 */
import { floatText } from '../encode/float-text.js';
import { type RowBuffer, RowKey } from './row-buffer.js';

/** Bytes that one number takes at most, a big integer aside. */
export const NUMBER_BYTES = 32;

const NULL = new RowKey('null');
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;

/**
 * Below this, doubles lie closer together than millionths: at most one decimal of six places rounds to each, so that a
 * decimal of six places that does is the shortest.
 */
const MILLIONTHS_LIMIT = 2 ** 33;

/** The doubles of these seconds, 2004 to 2038, lie 2^-22 apart: seven places are always enough, six not always. */
const CLOCK_START = 2 ** 30;
const CLOCK_END = 2 ** 31;

/** Writes `null`. The room must be reserved. */
export function writeNull(target: RowBuffer): void {
  target.writeKey(NULL);
}

/** Writes an integer; `big` holds the value where a double cannot. Reserves by itself. */
export function writeInt(target: RowBuffer, value: number, big: bigint | null): void {
  target.reserve(NUMBER_BYTES);
  if (big !== null) target.writeAscii(String(big));
  else if (value >= 0) target.writeDigits(value);
  else {
    target.writeByte(MINUS);
    target.writeDigits(-value);
  }
}

/** Writes a float. Reserves by itself. */
export function writeFloat(target: RowBuffer, value: number): void {
  target.reserve(NUMBER_BYTES);
  if (value === 0) {
    if (Object.is(value, -0)) target.writeByte(MINUS);
    writeDecimal(target, 0, 0);
  } else if (!writeShortFloat(target, value)) {
    target.writeAscii(floatText(value));
  }
}

/** The fast way for what scores, costs and times look like. False: nothing was written. */
function writeShortFloat(target: RowBuffer, value: number): boolean {
  const size = value < 0 ? -value : value;
  if (!(size < MILLIONTHS_LIMIT)) return false;
  const whole = Math.floor(size);
  const part = size - whole;
  const millionths = Math.round(part * 1e6);
  // Below 10 millionths stand the values that are printed with an exponent.
  if (isMillionths(size, whole, millionths)) {
    if (whole === 0 && millionths < 10) return false;
    if (value < 0) target.writeByte(MINUS);
    writeDecimal(target, whole, millionths);
    return true;
  }
  if (size < CLOCK_START || size >= CLOCK_END) return false;
  // Exact, with 46 bits at most. Between two decimals in the middle, the engine decides.
  const scaled = part * 1e7;
  const tenths = Math.floor(scaled + 0.5);
  if (scaled - Math.floor(scaled) === 0.5) return false;
  if (value < 0) target.writeByte(MINUS);
  target.writeDigits(whole);
  target.writeByte(POINT);
  const first = (tenths / 1_000_000) | 0;
  target.writeByte(ZERO + first);
  target.writeMillionths(tenths - first * 1_000_000);
  target.trimZeros();
  return true;
}

function isMillionths(size: number, whole: number, millionths: number): boolean {
  return (whole * 1e6 + millionths) / 1e6 === size;
}

/** `whole`, a point and six decimals without the zeros at their end. */
function writeDecimal(target: RowBuffer, whole: number, millionths: number): void {
  target.writeDigits(whole);
  target.writeByte(POINT);
  target.writeMillionths(millionths);
  target.trimZeros();
}
