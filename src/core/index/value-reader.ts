/**
 * A cursor over the JSON text of one small value: the rewards or the timing of a trace, a number, an annotation's info.
 * Strict on everything, but for what I8 lets through and flags: `NaN` and its kin are null, lone surrogate escapes stay.
 * No garbage and no recursion: what was read last stands in the fields. Longer than the file rule since every reader of
 * a token moves the same cursor.
 */
import type { PythonNumber } from './exact-sum.js';
import { isSafe } from './exact-sum.js';
import { NOTE } from './notes.js';

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const UPPER_E = 0x45;
const UPPER_I = 0x49;
const UPPER_N = 0x4e;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const LOWER_E = 0x65;
const LOWER_F = 0x66;
const LOWER_N = 0x6e;
const LOWER_T = 0x74;
const LOWER_U = 0x75;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

const { NON_FINITE, LONE_SURROGATE } = NOTE;

/** Digits that a double adds up without rounding. */
const EXACT_DIGITS = 15;
const POWERS_OF_TEN = Float64Array.from({ length: EXACT_DIGITS + 1 }, (_, exponent) => Number(`1e${exponent}`));

/** A quotient of two exact doubles is off by half a step at most; one step less and one more enclose the true value. */
const STEP_DOWN = 1 - Number.EPSILON;
const STEP_UP = 1 + Number.EPSILON;

const MIN_INT = -(2n ** 63n);
const MAX_INT = 2n ** 64n - 1n;

const UPPER_HALVES = 0xf0f0f0f0 | 0;
const DIGITS = 0x30303030;

/** `"sta`, `rt":`, `"end` and `":`, as words are read from memory: the keys of a span. */
const START_WORD = 0x61747322;
const START_REST = 0x3a227472;
const END_WORD = 0x646e6522;
const END_REST = 0x3a22;

/** 1 for the characters that may follow a backslash, `u` aside. */
const SIMPLE_ESCAPE = Uint8Array.from({ length: 256 }, (_, byte) =>
  '"\\/bfnrt'.includes(String.fromCharCode(byte)) ? 1 : 0,
);

/** What kind of value begins at the cursor. */
export const VALUE = { OBJECT: 1, ARRAY: 2, STRING: 3, NUMBER: 4, NULL: 5, BOOLEAN: 6, BAD: 0 } as const;

export class ValueReader implements PythonNumber {
  /** The text lies in `bytes[at, end)`. */
  bytes: Uint8Array = new Uint8Array(0);
  /** The same memory, for reading several bytes at once: up to eight behind `end` may be read when `hasWords`. */
  words = new DataView(this.bytes.buffer);
  hasWords = false;
  at = 0;
  end = 0;
  /** NOTE bits of what was passed over since the owner cleared them. */
  notes = 0;
  /** The number read last. */
  value = 0;
  isInt = true;
  big: bigint | null = null;
  /** The string read last, without its quotes. */
  stringStart = 0;
  stringEnd = 0;
  hasEscape = false;
  /** All bytes of strings since `open`, or-ed together: 0x80 or more when not all were ASCII. */
  union = 0;
  /** The boolean read last. */
  isTrue = false;
  /** Why reading failed, plain ASCII; null while it has not. */
  fault: string | null = null;

  /** Kinds of open brackets while a container is passed over, 1 for an object. */
  #brackets = new Uint8Array(256);
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

  /** Passes over white space; returns the byte that follows, 0 at the end. */
  peek(): number {
    const { bytes, end } = this;
    let at = this.at;
    while (at < end) {
      const byte = bytes[at] as number;
      if (byte > SPACE || (byte !== SPACE && byte !== LF && byte !== CR && byte !== TAB)) {
        this.at = at;
        return byte;
      }
      at += 1;
    }
    this.at = at;
    return 0;
  }

  /** Passes over the opening bracket at the cursor; true when the closing one `close` does not follow at once. */
  enter(close: number): boolean {
    this.at += 1;
    if (this.peek() !== close) return true;
    this.at += 1;
    return false;
  }

  /** Behind a member or element: true when another follows, whose first byte is then at the cursor or behind space. */
  hasNext(close: number): boolean {
    const byte = this.peek();
    if (byte === COMMA) {
      this.at += 1;
      return true;
    }
    if (byte !== close) return this.fail('no comma or closing bracket where one belongs');
    this.at += 1;
    return false;
  }

  /** Reads `"key" :`; the key is then the string read last. */
  readKey(): boolean {
    if (this.peek() !== QUOTE) return this.fail('no key where one belongs');
    if (!this.readString()) return false;
    if (this.peek() !== COLON) return this.fail('no colon after a key');
    this.at += 1;
    return true;
  }

  /** The kind of value at the cursor, white space before it allowed. Number, null and boolean are read, a string too. */
  readScalar(wantsNumber: boolean): number {
    const byte = this.peek();
    if (byte === QUOTE) return this.readString() ? VALUE.STRING : VALUE.BAD;
    if (byte === OPEN_OBJECT) return VALUE.OBJECT;
    if (byte === OPEN_ARRAY) return VALUE.ARRAY;
    if (byte === LOWER_N) return this.#word(4, 0x75, 0x6c, 0x6c) ? VALUE.NULL : VALUE.BAD;
    if (byte === LOWER_T || byte === LOWER_F) return this.#boolean(byte);
    if (byte === UPPER_N || byte === UPPER_I || (byte === MINUS && this.bytes[this.at + 1] === UPPER_I)) {
      return this.#nonFinite(byte);
    }
    return this.readNumber(wantsNumber) ? VALUE.NUMBER : VALUE.BAD;
  }

  #boolean(first: number): number {
    this.isTrue = first === LOWER_T;
    if (this.isTrue) return this.#word(4, 0x72, 0x75, 0x65) ? VALUE.BOOLEAN : VALUE.BAD;
    this.at += 1;
    return this.bytes[this.at] === 0x61 && this.#word(4, 0x6c, 0x73, 0x65) ? VALUE.BOOLEAN : this.#badWord();
  }

  #badWord(): number {
    this.fail('no value where one belongs');
    return VALUE.BAD;
  }

  #word(length: number, second: number, third: number, fourth: number): boolean {
    const { bytes, at } = this;
    const fits = at + length <= this.end;
    if (!fits || bytes[at + 1] !== second || bytes[at + 2] !== third || bytes[at + 3] !== fourth) {
      return this.fail('no value where one belongs');
    }
    this.at = at + length;
    return true;
  }

  #nonFinite(first: number): number {
    const word = first === UPPER_N ? 'NaN' : first === MINUS ? '-Infinity' : 'Infinity';
    if (this.at + word.length > this.end) return this.#badWord();
    for (let index = 0; index < word.length; index += 1) {
      if (this.bytes[this.at + index] !== word.charCodeAt(index)) return this.#badWord();
    }
    this.at += word.length;
    this.notes |= NON_FINITE;
    return VALUE.NULL;
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

  /** Reads the string at the cursor, which is at its opening quote, and checks its escapes. UTF-8 is not checked. */
  readString(): boolean {
    const { bytes, end } = this;
    let at = this.at + 1;
    this.stringStart = at;
    this.hasEscape = false;
    let union = 0;
    while (at < end) {
      const byte = bytes[at] as number;
      union |= byte;
      if (byte === QUOTE) {
        this.union |= union;
        this.stringEnd = at;
        this.at = at + 1;
        return true;
      }
      if (byte < SPACE) return this.fail('a raw control character inside a string');
      if (byte === BACKSLASH) {
        this.hasEscape = true;
        at = this.escapeEnd(at);
        if (at < 0) return false;
      } else {
        at += 1;
      }
    }
    return this.fail('the text ends inside a string');
  }

  /** The offset behind the escape at `at`, a pair of surrogates in one; -1 when it is none. */
  escapeEnd(at: number): number {
    const { bytes } = this;
    const kind = bytes[at + 1] as number;
    if (at + 1 < this.end && SIMPLE_ESCAPE[kind] === 1) return at + 2;
    if (kind !== LOWER_U) {
      this.fail('an unknown escape inside a string');
      return -1;
    }
    const unit = this.hexUnit(at + 2);
    if (unit < 0) {
      this.fail('a unicode escape without four hex digits');
      return -1;
    }
    if (unit < 0xd800 || unit > 0xdfff) return at + 6;
    if (unit < 0xdc00 && bytes[at + 6] === BACKSLASH && bytes[at + 7] === LOWER_U) {
      const low = this.hexUnit(at + 8);
      if (low >= 0xdc00 && low <= 0xdfff) return at + 12;
    }
    this.notes |= LONE_SURROGATE;
    return at + 6;
  }

  /** The value of four hex digits, -1 when they are none. */
  hexUnit(at: number): number {
    if (at + 4 > this.end) return -1;
    let unit = 0;
    for (let index = at; index < at + 4; index += 1) {
      const byte = this.bytes[index] as number;
      const lower = byte | 0x20;
      const isDigit = byte >= ZERO && byte <= NINE;
      if (!isDigit && (lower < 0x61 || lower > 0x66)) return -1;
      unit = unit * 16 + (isDigit ? byte - ZERO : lower - 0x57);
    }
    return unit;
  }

  /** Passes over the value at the cursor, whatever is in it. */
  skipValue(): boolean {
    const behind = this.#plainEnd();
    if (behind >= 0) {
      this.at = behind;
      return true;
    }
    const kind = this.readScalar(false);
    if (kind !== VALUE.OBJECT && kind !== VALUE.ARRAY) return kind !== VALUE.BAD;
    return this.#skipContainer();
  }

  /**
   * The end of the value at the cursor when it is written as producers write it: no white space, escapes or exponents,
   * not nested deeper than 30. Else -1, for wrong ones as well: then the slow way looks. Its state is in locals, which
   * makes it three times as fast; longer than the rule for functions since it is one loop.
   */
  #plainEnd(): number {
    const { bytes, end } = this;
    if (!this.hasWords) return -1;
    const { words } = this;
    let at = this.at;
    let union = 0;
    let depth = 0;
    // One bit for each open bracket, the innermost lowest: 1 for an object.
    let open = 0;
    let isKey = false;
    for (;;) {
      if (at >= end) return -1;
      let byte = bytes[at] as number;
      if (byte === QUOTE) {
        const word = isKey ? words.getInt32(at, true) : 0;
        if (word === START_WORD && words.getInt32(at + 4, true) === START_REST) {
          at += 8;
          isKey = false;
          continue;
        }
        if (word === END_WORD && words.getInt16(at + 4, true) === END_REST) {
          at += 6;
          isKey = false;
          continue;
        }
        do {
          at += 1;
          byte = bytes[at] as number;
          union |= byte;
        } while (byte >= SPACE && byte !== QUOTE && byte !== BACKSLASH);
        if (byte !== QUOTE) return -1;
        at += 1;
        if (isKey) {
          if (bytes[at] !== COLON) return -1;
          at += 1;
          isKey = false;
          continue;
        }
      } else if (isKey) {
        return -1;
      } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        const isObject = byte === OPEN_OBJECT;
        at += 1;
        if (bytes[at] !== (isObject ? CLOSE_OBJECT : CLOSE_ARRAY)) {
          if (depth === 30) return -1;
          depth += 1;
          open = (open << 1) | (isObject ? 1 : 0);
          isKey = isObject;
          continue;
        }
        at += 1;
      } else if (byte === LOWER_N || byte === LOWER_T || byte === LOWER_F) {
        at = afterWord(bytes, at, byte);
        if (at < 0) return -1;
      } else {
        if (byte === MINUS) {
          at += 1;
          byte = bytes[at] as number;
        }
        const first = at;
        while (at < end && areDigits(words.getInt32(at, true))) at += 4;
        byte = bytes[at] as number;
        while (byte >= ZERO && byte <= NINE) {
          at += 1;
          byte = bytes[at] as number;
        }
        const digits = at - first;
        if (digits === 0 || digits > EXACT_DIGITS || (digits > 1 && bytes[first] === ZERO)) return -1;
        if (byte === POINT) {
          at += 1;
          const point = at;
          while (at < end && areDigits(words.getInt32(at, true))) at += 4;
          byte = bytes[at] as number;
          while (byte >= ZERO && byte <= NINE) {
            at += 1;
            byte = bytes[at] as number;
          }
          if (at === point) return -1;
        }
        if (byte === LOWER_E || byte === UPPER_E) return -1;
      }
      while (depth > 0) {
        byte = bytes[at] as number;
        const isObject = (open & 1) === 1;
        at += 1;
        if (byte === COMMA) {
          isKey = isObject;
          break;
        }
        if (byte !== (isObject ? CLOSE_OBJECT : CLOSE_ARRAY)) return -1;
        open >>= 1;
        depth -= 1;
      }
      if (depth > 0) continue;
      this.union |= union;
      return at <= end ? at : -1;
    }
  }

  /** The open brackets stand in for recursion. */
  #skipContainer(): boolean {
    let depth = 0;
    for (;;) {
      const kind = this.readScalar(false);
      if (kind === VALUE.BAD) return false;
      if (kind === VALUE.OBJECT || kind === VALUE.ARRAY) {
        const isObject = kind === VALUE.OBJECT;
        if (this.enter(isObject ? CLOSE_OBJECT : CLOSE_ARRAY)) {
          this.#open(depth, isObject);
          depth += 1;
          if (isObject && !this.readKey()) return false;
          continue;
        }
      }
      for (;;) {
        if (depth === 0) return true;
        const isObject = this.#brackets[depth - 1] === 1;
        if (this.hasNext(isObject ? CLOSE_OBJECT : CLOSE_ARRAY)) {
          if (isObject && !this.readKey()) return false;
          break;
        }
        if (this.fault !== null) return false;
        depth -= 1;
      }
    }
  }

  #open(depth: number, isObject: boolean): void {
    if (depth === this.#brackets.length) {
      const grown = new Uint8Array(depth * 2);
      grown.set(this.#brackets);
      this.#brackets = grown;
    }
    this.#brackets[depth] = isObject ? 1 : 0;
  }
}

/** The offset behind `null`, `true` or `false`, of which the first byte is read; -1 when it is another word. */
function afterWord(bytes: Uint8Array, at: number, first: number): number {
  if (first === LOWER_N)
    return bytes[at + 1] === 0x75 && bytes[at + 2] === 0x6c && bytes[at + 3] === 0x6c ? at + 4 : -1;
  if (first === LOWER_T)
    return bytes[at + 1] === 0x72 && bytes[at + 2] === 0x75 && bytes[at + 3] === LOWER_E ? at + 4 : -1;
  const isFalse = bytes[at + 1] === 0x61 && bytes[at + 2] === 0x6c && bytes[at + 3] === 0x73;
  return isFalse && bytes[at + 4] === LOWER_E ? at + 5 : -1;
}

/** Whether four bytes are digits: their upper halves are 3, and adding 6 to the lower ones carries into none. */
function areDigits(word: number): boolean {
  return (word & UPPER_HALVES) === DIGITS && ((word + 0x06060606) & UPPER_HALVES) === DIGITS;
}
