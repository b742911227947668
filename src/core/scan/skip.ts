/**
 * Passing over values without reading them: strings by a byte loop (the fastest in JavaScript where escapes are
 * frequent), arrays of numbers by Buffer.indexOf; measurements in design/scanning.md section 5.
 * A skip checks that quotes and brackets pair up and that no control character stands in a string; it does not check
 * numbers, commas, colons or escapes inside. It never leaves the text.
 */
import type { JsonText } from './json-text.js';
import { PLAIN_IN_STRING } from './lexical.js';

const QUOTE = 0x22;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** The bytes that end an array of plain scalars too early to be one. */
const STRUCTURAL = [QUOTE, OPEN_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] as const;

/** Arrays shorter than this are looked through byte by byte: five indexOf calls cost about 100 ns. */
const SHORT_ARRAY_BYTES = 48;

const ENDS_IN_STRING = 'the text ends inside a string';

/** Passes over a string from its opening quote. */
export function skipString(text: JsonText, at: number): number {
  const { bytes, end } = text;
  // A local table: under a test runner each access to an import is a call.
  const plain = PLAIN_IN_STRING;
  let position = at + 1;
  for (;;) {
    while (position < end && plain[bytes[position] as number] === 1) position += 1;
    if (position >= end) return text.fail(end, ENDS_IN_STRING);
    const byte = bytes[position];
    if (byte === QUOTE) return position + 1;
    if (byte !== 0x5c) return text.fail(position, 'a raw control character inside a string');
    if (position + 1 >= end) return text.fail(end, ENDS_IN_STRING);
    if ((bytes[position + 1] as number) < 0x20) {
      return text.fail(position + 1, 'a raw control character inside a string');
    }
    position += 2;
  }
}

/** Skips containers of one text; keeps where the next structural bytes lie, so that each is searched for once. */
export class ContainerSkipper {
  readonly #text: JsonText;
  /** Next position of each byte of STRUCTURAL; valid while it is not behind the reader. */
  readonly #next = [-1, -1, -1, -1];

  constructor(text: JsonText) {
    this.#text = text;
  }

  /** Passes over an array or object from its opening bracket, at any depth, without recursion. */
  skip(at: number): number {
    const text = this.#text;
    const { bytes, end, brackets } = text;
    brackets.clear();
    let position = at;
    do {
      if (position >= end) return text.fail(end, 'the text ends inside an object or array');
      const byte = bytes[position] as number;
      if (byte === QUOTE) {
        position = skipString(text, position);
        if (position < 0) return -1;
      } else if (byte === OPEN_ARRAY) {
        const close = this.#closeOfScalars(position + 1);
        if (close < 0) brackets.push(false);
        position = close < 0 ? position + 1 : close + 1;
      } else {
        if (byte === OPEN_OBJECT) brackets.push(true);
        else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
          if (brackets.isTopObject() !== (byte === CLOSE_OBJECT)) return text.fail(position, 'brackets that cross');
          brackets.pop();
        }
        position += 1;
      }
    } while (brackets.depth > 0);
    return position;
  }

  /** Where the array whose content starts at `at` closes, when it holds scalars other than strings; else -1. */
  #closeOfScalars(at: number): number {
    const { bytes, end } = this.#text;
    const nearEnd = Math.min(end, at + SHORT_ARRAY_BYTES);
    for (let position = at; position < nearEnd; position += 1) {
      const byte = bytes[position] as number;
      if (byte === CLOSE_ARRAY) return position;
      if (byte === QUOTE || byte === OPEN_ARRAY || byte === OPEN_OBJECT || byte === CLOSE_OBJECT) return -1;
    }
    const close = bytes.indexOf(CLOSE_ARRAY, nearEnd);
    return close >= 0 && close < this.#nextStructural(nearEnd) ? close : -1;
  }

  #nextStructural(at: number): number {
    const { bytes, end } = this.#text;
    let nearest = end;
    for (let index = 0; index < STRUCTURAL.length; index += 1) {
      let next = this.#next[index] as number;
      if (next < at) {
        const found = bytes.indexOf(STRUCTURAL[index] as number, at);
        next = found < 0 ? end : found;
        this.#next[index] = next;
      }
      if (next < nearest) nearest = next;
    }
    return nearest;
  }
}
