/**
 * A cursor over bytes that reads the numbers of JSON as orjson does, most of them without the engine's parser. What was
 * read last stands in the fields: no garbage.
 */
import { isSafe, type PythonNumber } from './exact-sum.js';

const PLUS = 0x2b;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const UPPER_E = 0x45;
const LOWER_E = 0x65;

/** Digits that a double adds up without rounding. */
const EXACT_DIGITS = 15;
const POWERS_OF_TEN = Float64Array.from({ length: EXACT_DIGITS + 1 }, (_, exponent) => Number(`1e${exponent}`));

/** A quotient of two exact doubles is off by half a step at most; one step less and one more enclose the true value. */
const STEP_DOWN = 1 - Number.EPSILON;
const STEP_UP = 1 + Number.EPSILON;

const MIN_INT = -(2n ** 63n);
const MAX_INT = 2n ** 64n - 1n;

export class NumberReader implements PythonNumber {
  /** The text lies in `bytes[at, end)`. */
  bytes: Uint8Array = new Uint8Array(0);
  /** The same memory, for reading several bytes at once: up to eight behind `end` may be read when `hasWords`. */
  words = new DataView(this.bytes.buffer);
  hasWords = false;
  at = 0;
  end = 0;
  /** The number read last. */
  value = 0;
  isInt = true;
  big: bigint | null = null;
  /** Why reading failed, plain ASCII; null while it has not. */
  fault: string | null = null;
  /** All bytes of strings since `open`, or-ed together: 0x80 or more when not all were ASCII. */
  union = 0;

  #view: Buffer = Buffer.alloc(0);

  /** Puts the cursor on new text. */
  open(bytes: Uint8Array, start: number, end: number): void {
    if (bytes !== this.bytes) {
      this.bytes = bytes;
      this.words = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    }
    this.hasWords = end + 8 <= bytes.length;
    this.at = start;
    this.end = end;
    this.fault = null;
    this.union = 0;
  }

  /** Notes the fault and returns false. */
  fail(reason: string): false {
    this.fault ??= reason;
    return false;
  }

  /**
   * Reads the number at the cursor and, if wanted, its value: an integer if it is written as one and has at most 64
   * bits, else the nearest double, as orjson reads it. What overflows a double is no number.
   */
  readNumber(wantsValue: boolean): boolean {
    const { bytes, end } = this;
    const start = this.at;
    const first = bytes[start] === MINUS ? start + 1 : start;
    let at = first;
    let whole = 0;
    let byte = at < end ? (bytes[at] as number) : 0;
    while (byte >= ZERO && byte <= NINE) {
      whole = whole * 10 + (byte - ZERO);
      at += 1;
      byte = at < end ? (bytes[at] as number) : 0;
    }
    const wholeDigits = at - first;
    if (wholeDigits === 0) return this.fail('no value where one belongs');
    if (wholeDigits > 1 && bytes[first] === ZERO) return this.fail('a number with a leading zero');
    if (byte === POINT || byte === LOWER_E || byte === UPPER_E) {
      return this.#readFloat(start, at, whole, wholeDigits, wantsValue);
    }
    this.at = at;
    if (wholeDigits > EXACT_DIGITS) return this.#longInt(start, at);
    this.isInt = true;
    this.big = null;
    // An integer has no negative zero.
    this.value = first === start || whole === 0 ? whole : -whole;
    return true;
  }

  #readFloat(start: number, point: number, whole: number, wholeDigits: number, wantsValue: boolean): boolean {
    const { bytes, end } = this;
    let at = point;
    let fraction = 0;
    let byte = bytes[at] as number;
    if (byte === POINT) {
      at += 1;
      byte = at < end ? (bytes[at] as number) : 0;
      while (byte >= ZERO && byte <= NINE) {
        fraction = fraction * 10 + (byte - ZERO);
        at += 1;
        byte = at < end ? (bytes[at] as number) : 0;
      }
      if (at === point + 1) return this.fail('a number without digits after the point');
    }
    this.isInt = false;
    this.big = null;
    if (byte === LOWER_E || byte === UPPER_E) return this.#readExponent(start, at);
    this.at = at;
    const decimals = at - point - 1;
    if (!wantsValue && wholeDigits <= 300) return true;
    if (wholeDigits > EXACT_DIGITS || decimals > EXACT_DIGITS) return this.#slowFloat(start, at);
    const scale = POWERS_OF_TEN[decimals] as number;
    let size: number;
    if (wholeDigits + decimals <= EXACT_DIGITS) {
      size = (whole * scale + fraction) / scale;
    } else {
      // Times of the clock have ten digits and seven decimals. When both ends of the doubt round to one sum, it is right.
      const part = fraction / scale;
      size = whole + part * STEP_DOWN;
      if (size !== whole + part * STEP_UP) return this.#slowFloat(start, at);
    }
    this.value = bytes[start] === MINUS ? -size : size;
    return true;
  }

  #readExponent(start: number, mark: number): boolean {
    const { bytes, end } = this;
    let at = mark + 1;
    if (bytes[at] === MINUS || bytes[at] === PLUS) at += 1;
    const digits = at;
    while (at < end && (bytes[at] as number) >= ZERO && (bytes[at] as number) <= NINE) at += 1;
    if (at === digits) return this.fail('a number without digits in the exponent');
    this.at = at;
    return this.#slowFloat(start, at);
  }

  #slowFloat(start: number, end: number): boolean {
    this.value = Number(this.latin1(start, end));
    return Number.isFinite(this.value) || this.fail('a number too large for a double');
  }

  #longInt(start: number, end: number): boolean {
    const text = this.latin1(start, end);
    this.value = Number(text);
    // No integer of 64 bits has more digits; converting a million of them would take minutes.
    const exact = text.length <= 20 ? BigInt(text) : null;
    this.isInt = exact !== null && exact >= MIN_INT && exact <= MAX_INT;
    this.big = this.isInt && exact !== null && !isSafe(exact) ? exact : null;
    return Number.isFinite(this.value) || this.fail('a number too large for a double');
  }

  /** The text of a range of the open bytes as characters of one byte each. */
  latin1(start: number, end: number): string {
    return this.latin1Of(this.bytes, start, end);
  }

  /** The same of other bytes. */
  latin1Of(bytes: Uint8Array, start: number, end: number): string {
    const view = this.#view;
    if (view.buffer !== bytes.buffer || view.byteOffset !== bytes.byteOffset || view.length !== bytes.length) {
      this.#view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    }
    return this.#view.toString('latin1', start, end);
  }
}
