/**
 * A cursor over the JSON text of one small value: the rewards or the timing of a trace, a number, an annotation's info.
 * Strict on everything, but for what I8 lets through and flags: `NaN` and its kin are null, lone surrogate escapes stay.
 * No garbage and no recursion: what was read last stands in the fields.
 */
import { NOTE } from './notes.js';
import { NumberReader } from './number-reader.js';

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const UPPER_I = 0x49;
const UPPER_N = 0x4e;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const LOWER_F = 0x66;
const LOWER_N = 0x6e;
const LOWER_T = 0x74;
const LOWER_U = 0x75;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

const { NON_FINITE, LONE_SURROGATE } = NOTE;

/** 1 for the characters that may follow a backslash, `u` aside. */
const SIMPLE_ESCAPE = Uint8Array.from({ length: 256 }, (_, byte) =>
  '"\\/bfnrt'.includes(String.fromCharCode(byte)) ? 1 : 0,
);

/** What kind of value begins at the cursor. */
export const VALUE = { OBJECT: 1, ARRAY: 2, STRING: 3, NUMBER: 4, NULL: 5, BOOLEAN: 6, BAD: 0 } as const;

export class ValueReader extends NumberReader {
  /** NOTE bits of what was passed over since the owner cleared them. */
  notes = 0;
  /** The string read last, without its quotes. */
  stringStart = 0;
  stringEnd = 0;
  hasEscape = false;
  /** The boolean read last. */
  isTrue = false;

  /** Kinds of open brackets while a container is passed over, 1 for an object. */
  #brackets = new Uint8Array(256);

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
    const kind = this.readScalar(false);
    if (kind !== VALUE.OBJECT && kind !== VALUE.ARRAY) return kind !== VALUE.BAD;
    return this.#skipContainer();
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
