/**
 * The strings of a record that its row repeats, as the text between the quotes that orjson would print: without a
 * backslash the bytes of the source, else decoded and escaped anew. Kept until the record ends, since a walker reuses
 * its memory.
 */
import { isUtf8 } from 'node:buffer';
import { NOTE } from './notes.js';
import type { ValueReader } from './value-reader.js';

const SPACE = 0x20;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const ASCII_END = 0x80;
const LOWER_U = 0x75;

const { LONE_SURROGATE } = NOTE;

/** What a character behind a backslash stands for; 0 for those that are no simple escape. */
const ESCAPED_BYTE = new Uint8Array(256);
for (const [letter, byte] of Object.entries({ '"': 0x22, '\\': 0x5c, '/': 0x2f, b: 8, f: 12, n: 10, r: 13, t: 9 })) {
  ESCAPED_BYTE[letter.charCodeAt(0)] = byte;
}

/** The highest bit of each byte of a word: set where the byte is not ASCII. */
const HIGH_BITS = 0x80808080 | 0;

/** Texts longer than this are copied by the native copy. */
const LOOP_BYTES = 64;

/** Most bytes of strings that one record may have kept: the ids of 2 million traces. */
export const MAX_KEPT_BYTES = 67_108_864;

const HEX_DIGITS = '0123456789abcdef';

export class KeptText {
  bytes: Uint8Array = new Uint8Array(4096);
  /** The same memory. */
  view = new DataView(this.bytes.buffer);
  /** Bytes in use. */
  length = 0;
  /** Where the text kept last begins; its length is what `keep` returned. */
  start = 0;
  /** Why nothing was kept, when -1 was returned: bytes that are not UTF-8, no room, or else no JSON. */
  isBadUtf8 = false;
  isFull = false;

  readonly #reader: ValueReader;
  #source = this.bytes;
  #sourceView = this.view;

  /** @param reader lends its escape check, and takes the notes */
  constructor(reader: ValueReader) {
    this.#reader = reader;
  }

  /** Forgets all texts. */
  clear(): void {
    this.length = 0;
    this.isFull = false;
  }

  /** Keeps a string without a backslash; returns its length, -1 when it is not UTF-8. */
  keepPlain(source: Uint8Array, from: number, count: number): number {
    if (!this.#reserve(count)) return -1;
    const { bytes } = this;
    const at = this.length;
    let union = 0;
    if (count <= LOOP_BYTES) {
      let index = 0;
      if (count >= 8) {
        // Four bytes at a time: ids have 32.
        const words = this.#viewOf(source);
        const { view } = this;
        let wordUnion = 0;
        for (; index + 4 <= count; index += 4) {
          const word = words.getInt32(from + index, true);
          wordUnion |= word;
          view.setInt32(at + index, word, true);
        }
        if ((wordUnion & HIGH_BITS) !== 0) union = 0x80;
      }
      for (; index < count; index += 1) {
        const byte = source[from + index] as number;
        union |= byte;
        bytes[at + index] = byte;
      }
    } else {
      bytes.set(source.subarray(from, from + count), at);
      union = 0x80;
    }
    return this.#finish(at, count, union);
  }

  /** Keeps a string with backslashes; returns the length of its canonical text, -1 when it is no JSON or not UTF-8. */
  keepEscaped(source: Uint8Array, from: number, count: number): number {
    this.isBadUtf8 = false;
    if (!this.#reserve(count)) return -1;
    const start = this.length;
    const reader = this.#reader;
    reader.open(source, from, from + count);
    let at = from;
    let to = start;
    while (at < from + count) {
      const byte = source[at] as number;
      if (byte !== BACKSLASH) {
        this.bytes[to] = byte;
        at += 1;
        to += 1;
        continue;
      }
      const next = reader.escapeEnd(at);
      if (next < 0 || next > from + count) return -1;
      to = this.#writeEscape(source, at, next, to);
      at = next;
    }
    return this.#finish(start, to - start, 0x80);
  }

  /** Keeps bytes as they are, unchecked; false when there is no room. */
  keepRaw(source: Uint8Array, from: number, count: number): boolean {
    if (!this.#reserve(count)) return false;
    this.start = this.length;
    this.bytes.set(source.subarray(from, from + count), this.length);
    this.length += count;
    return true;
  }

  /** Keeps a string of the language; returns its length, -1 without room. A half character becomes its escape. */
  keepString(text: string): number {
    if (text.length <= LOOP_BYTES && this.#keepAscii(text)) return text.length;
    const quoted = JSON.stringify(text);
    if (!text.isWellFormed()) this.#reader.notes |= LONE_SURROGATE;
    const encoded = Buffer.from(quoted);
    return this.keepPlain(encoded, 1, encoded.length - 2);
  }

  /** Text of no escape, character by character: what ids look like, without garbage. False for any other text. */
  #keepAscii(text: string): boolean {
    if (!this.#reserve(text.length)) return false;
    const { bytes, length: at } = this;
    for (let index = 0; index < text.length; index += 1) {
      const unit = text.charCodeAt(index);
      if (unit < SPACE || unit === QUOTE || unit === BACKSLASH || unit >= ASCII_END) return false;
      bytes[at + index] = unit;
    }
    this.start = at;
    this.length = at + text.length;
    return true;
  }

  /** A view of the memory of a walker, made once since it stays the same. */
  #viewOf(source: Uint8Array): DataView {
    if (source !== this.#source) {
      this.#source = source;
      this.#sourceView = new DataView(source.buffer, source.byteOffset, source.byteLength);
    }
    return this.#sourceView;
  }

  /** No canonical text is longer than what it came from. */
  #reserve(count: number): boolean {
    if (this.length + count <= this.bytes.length) return true;
    this.isFull = this.length + count > MAX_KEPT_BYTES;
    if (this.isFull) return false;
    const wanted = Math.max(this.bytes.length * 2, this.length + count);
    const grown = new Uint8Array(Math.min(wanted, MAX_KEPT_BYTES));
    grown.set(this.bytes.subarray(0, this.length));
    this.bytes = grown;
    this.view = new DataView(grown.buffer);
    return true;
  }

  #finish(start: number, count: number, union: number): number {
    this.isBadUtf8 = false;
    if (union >= 0x80 && !isUtf8(this.bytes.subarray(start, start + count))) {
      this.isBadUtf8 = true;
      return -1;
    }
    this.start = start;
    this.length = start + count;
    return count;
  }

  #writeEscape(source: Uint8Array, at: number, next: number, to: number): number {
    const kind = source[at + 1] as number;
    if (kind !== LOWER_U) return this.#writeCharacter(ESCAPED_BYTE[kind] as number, to);
    const unit = this.#reader.hexUnit(at + 2);
    if (next - at === 12) {
      const low = this.#reader.hexUnit(at + 8);
      return this.#writeCharacter(0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00), to);
    }
    if (unit < 0xd800 || unit > 0xdfff) return this.#writeCharacter(unit, to);
    for (let index = 0; index < 6; index += 1) this.bytes[to + index] = source[at + index] as number;
    return to + 6;
  }

  #writeCharacter(code: number, to: number): number {
    const { bytes } = this;
    if (code < 0x20 || code === 0x22 || code === BACKSLASH) return this.#writeAscii(escapeOf(code), to);
    if (code < 0x80) {
      bytes[to] = code;
      return to + 1;
    }
    let at = to;
    if (code < 0x800) bytes[at++] = 0xc0 | (code >> 6);
    else {
      if (code < 0x10000) bytes[at++] = 0xe0 | (code >> 12);
      else {
        bytes[at++] = 0xf0 | (code >> 18);
        bytes[at++] = 0x80 | ((code >> 12) & 0x3f);
      }
      bytes[at++] = 0x80 | ((code >> 6) & 0x3f);
    }
    bytes[at] = 0x80 | (code & 0x3f);
    return at + 1;
  }

  #writeAscii(text: string, to: number): number {
    for (let index = 0; index < text.length; index += 1) this.bytes[to + index] = text.charCodeAt(index);
    return to + text.length;
  }
}

/** The escape of a control character, a quote or a backslash. */
function escapeOf(code: number): string {
  if (code === 0x22) return '\\"';
  if (code === BACKSLASH) return '\\\\';
  const letter = 'btn fr'[code - 8] ?? ' ';
  if (letter !== ' ') return `\\${letter}`;
  return `\\u00${HEX_DIGITS[code >> 4]}${HEX_DIGITS[code & 15]}`;
}
