/** Strings, numbers and literals of the TypeScript walker: checked byte by byte and, when wanted, put on the tape. */
import { TYPE } from './record-tape.js';
import type { TapeWriter } from './text-walker-tape.js';
import type { ByteWindow } from './text-walker-window.js';
import { FAULT } from './walker.js';

const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const ONE = 0x31;
const NINE = 0x39;
const UPPER_I = 0x49;
const UPPER_N = 0x4e;
const CLOSE_ARRAY = 0x5d;
const LOWER_F = 0x66;
const LOWER_N = 0x6e;
const LOWER_T = 0x74;
const CLOSE_OBJECT = 0x7d;

const T = TYPE;

/** Digits of the longest INT. */
const INT_DIGITS = 9;

/** What a number can turn out to be, apart from a TYPE: none at all. */
const NO_NUMBER = -1;

export class ScalarReader {
  readonly #window: ByteWindow;
  readonly #tape: TapeWriter;

  constructor(window: ByteWindow, tape: TapeWriter) {
    this.#window = window;
    this.#tape = tape;
  }

  /** Reads a string from its opening quote. */
  string(field: number): boolean {
    const window = this.#window;
    window.at += 1;
    if (field === 0) return window.skipString();
    window.beginCapture();
    if (!window.skipString()) return false;
    window.endCapture(window.at - 1);
    this.#tape.textEntry(field, this.#tape.hasBackslash() ? T.ESCAPED : T.STRING);
    return true;
  }

  /** Reads the number or literal that begins with `byte`, the byte looked at. Nothing goes on the tape for field 0. */
  bare(byte: number, field: number): boolean {
    if (byte === MINUS || isDigit(byte)) return this.#number(field);
    if (byte === LOWER_T) return this.#literal('true', field, T.TRUE);
    if (byte === LOWER_F) return this.#literal('false', field, T.FALSE);
    if (byte === LOWER_N) return this.#literal('null', field, T.NULL);
    if (byte === UPPER_N) return this.#literal('NaN', field, T.NON_FINITE);
    if (byte === UPPER_I) return this.#literal('Infinity', field, T.NON_FINITE);
    return this.#window.refuse(FAULT.GRAMMAR);
  }

  #literal(word: string, field: number, type: number): boolean {
    if (!this.#word(word)) return false;
    if (field !== 0) this.#tape.entry(field, type, 0, 0);
    return true;
  }

  #word(word: string): boolean {
    const window = this.#window;
    let byte = window.peek();
    for (let index = 0; index < word.length; index += 1) {
      if (byte !== word.charCodeAt(index)) return window.refuse(FAULT.GRAMMAR);
      byte = window.advance();
    }
    return true;
  }

  /** Reads a number. One of few digits that ends in the window, the usual case, needs no copy. */
  #number(field: number): boolean {
    const window = this.#window;
    const { bytes } = window;
    const start = window.at;
    let at = start;
    let byte = bytes[at] as number;
    let value = 0;
    while (isDigit(byte) && at - start < INT_DIGITS) {
      value = value * 10 + byte - ZERO;
      at += 1;
      byte = bytes[at] as number;
    }
    const isWhole = byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_ARRAY || byte === 0x20;
    if (!isWhole || at === start || (bytes[start] === ZERO && at > start + 1)) return this.#longNumber(field);
    window.at = at;
    if (field !== 0) this.#tape.entry(field, T.INT, value, 0);
    return true;
  }

  #longNumber(field: number): boolean {
    const window = this.#window;
    if (field === 0) return this.#passNumber() !== NO_NUMBER;
    window.beginCapture();
    const type = this.#passNumber();
    if (type === NO_NUMBER) return false;
    window.endCapture(window.at);
    if (type === T.INT) this.#tape.digitsEntry(field);
    else if (type === T.NUMBER) this.#tape.textEntry(field, type);
    else {
      this.#tape.dropText();
      this.#tape.entry(field, type, 0, 0);
    }
    return true;
  }

  /** Passes over a number by the grammar of RFC 8259; returns its type, INT for digits alone however many. */
  #passNumber(): number {
    const window = this.#window;
    let type: number = T.INT;
    let byte = window.peek();
    if (byte === MINUS) {
      type = T.NUMBER;
      byte = window.advance();
      if (byte === UPPER_I) return this.#word('Infinity') ? T.NON_FINITE : NO_NUMBER;
    }
    if (byte === ZERO) byte = window.advance();
    else if (byte >= ONE && byte <= NINE) byte = this.#digits();
    else return this.#noNumber();
    if (byte === POINT) {
      type = T.NUMBER;
      if (!isDigit(window.advance())) return this.#noNumber();
      byte = this.#digits();
    }
    if (byte === 0x65 || byte === 0x45) {
      type = T.NUMBER;
      byte = window.advance();
      if (byte === PLUS || byte === MINUS) byte = window.advance();
      if (!isDigit(byte)) return this.#noNumber();
      this.#digits();
    }
    return type;
  }

  /** Passes over digits; the byte behind them. */
  #digits(): number {
    const window = this.#window;
    let byte = window.advance();
    while (isDigit(byte)) byte = window.advance();
    return byte;
  }

  #noNumber(): number {
    this.#window.refuse(FAULT.GRAMMAR);
    return NO_NUMBER;
  }
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= NINE;
}
