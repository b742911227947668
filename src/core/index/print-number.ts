/**
 * Numbers as orjson 3.11.7 and newer prints them (spec 02 section 7, docs/decisions/0002): floats with at least one
 * decimal from 1e-5 up to but not including 1e16, else as `1.5e-6` and `1e+16`; anything not finite is `null`.
 */
import type { RowBuffer } from './row-buffer.js';

/** Bytes that one number takes at most, a big integer aside. */
export const NUMBER_BYTES = 32;

const NULL = Uint8Array.of(0x6e, 0x75, 0x6c, 0x6c);
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const LOWER_E = 0x65;

/** Floats below this have at most nine digits before the point, so that six decimals more stay exact. */
const SHORT_FLOAT_LIMIT = 1e9;

/** Writes `null`. The room must be reserved. */
export function writeNull(target: RowBuffer): void {
  target.writeBytes(NULL, 0, 4);
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
    writeLongFloat(target, value);
  }
}

/**
 * The fast way for what scores and costs look like: up to six decimals. A decimal of at most 15 digits belongs to one
 * double only, so when dividing gives the value back, its digits are the shortest. False: nothing was written.
 */
function writeShortFloat(target: RowBuffer, value: number): boolean {
  const size = value < 0 ? -value : value;
  if (!(size < SHORT_FLOAT_LIMIT)) return false;
  const whole = Math.floor(size);
  if (whole === size) {
    if (value < 0) target.writeByte(MINUS);
    writeDecimal(target, whole, 0);
    return true;
  }
  const millionths = Math.round(size * 1e6);
  // Below 10 stand the values that are printed with an exponent.
  if (millionths < 10 || millionths / 1e6 !== size) return false;
  if (value < 0) target.writeByte(MINUS);
  const whole6 = Math.floor(millionths / 1e6);
  writeDecimal(target, whole6, millionths - whole6 * 1e6);
  return true;
}

/** `whole`, a point and `millionths` without the zeros at its end. */
function writeDecimal(target: RowBuffer, whole: number, millionths: number): void {
  target.writeDigits(whole);
  target.writeByte(POINT);
  let rest = millionths | 0;
  let unit = 100_000;
  do {
    const digit = (rest / unit) | 0;
    target.writeByte(ZERO + digit);
    rest -= digit * unit;
    unit = (unit / 10) | 0;
  } while (rest > 0);
}

/** By way of the engine's shortest text, which is positional from 1e-6 to 1e21. */
function writeLongFloat(target: RowBuffer, value: number): void {
  if (!Number.isFinite(value)) {
    writeNull(target);
    return;
  }
  const size = Math.abs(value);
  const text = String(size);
  if (value < 0) target.writeByte(MINUS);
  if (size >= 1e21 || size < 1e-6) target.writeAscii(text);
  else if (size >= 1e16) writeScientific(target, text.replace(/0+$/, ''), text.length - 1);
  else if (size < 1e-5) writeScientific(target, text.slice(text.search(/[1-9]/)), 1 - text.search(/[1-9]/));
  else {
    target.writeAscii(text);
    if (Number.isInteger(size)) target.writeAscii('.0');
  }
}

/** `D.DDDe+NN` or `De-N`. */
function writeScientific(target: RowBuffer, digits: string, exponent: number): void {
  target.writeAscii(digits.slice(0, 1));
  if (digits.length > 1) target.writeAscii(`.${digits.slice(1)}`);
  target.writeByte(LOWER_E);
  target.writeAscii(exponent < 0 ? String(exponent) : `+${exponent}`);
}
