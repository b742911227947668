/**
 * The window of the TypeScript walker: a part of the input that is read over and over into one buffer, and passing over
 * strings and containers in it. Behind the last byte stands an LF, so that every loop ends there without comparing
 * positions; an LF at `end` means "look for more", one before it ends the line.
 *
 * Strings go byte by byte, the fastest in JavaScript where escapes are frequent; long runs of numbers by
 * Buffer.indexOf and a search for control characters in words (design/scanning.md section 5).
 */
import { BracketStack } from './json-text.js';
import { PLAIN_IN_STRING } from './lexical.js';
import type { TapeWriter } from './text-walker-tape.js';
import { type ByteSource, FAULT, type Fault, MAX_DEPTH } from './walker.js';

const LF = 0x0a;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

const PLAIN = PLAIN_IN_STRING;
const DEEPEST = MAX_DEPTH;

/** The bytes that mean something in a container that is passed over. */
const STRUCTURAL = Uint8Array.of(QUOTE, OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT);

/** 1 for what is passed over in a container: no structural byte, and of the control characters tab and CR. */
const PASSED = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte === 0x09 || byte === 0x0d || (byte >= 0x20 && !STRUCTURAL.includes(byte)) ? 1 : 0,
);

/** Runs shorter than this are looked through byte by byte: five calls of indexOf cost about 100 ns. */
const SHORT_RUN_BYTES = 48;

export class ByteWindow {
  readonly bytes: Buffer;
  /** The byte to look at next. */
  at = 0;
  /** Behind the last byte; there stands an LF. */
  end = 0;
  /** Offset of the first byte of the window. */
  base = 0;
  fault: Fault = FAULT.NONE;
  faultOffset = 0;
  readonly #tape: TapeWriter;
  readonly #words: Int32Array;
  /** Where bytes are read to. */
  readonly #room: Buffer;
  /** What was read: gives indexOf, which has no bound of its own, its bound. */
  #filled: Buffer;
  #source: ByteSource | null = null;
  #isExhausted = true;
  /** First byte of the window that belongs to the open text of the tape; -1 when none is open. */
  #captureStart = -1;
  /** Next position of each byte of STRUCTURAL; valid while it is not behind the reader. */
  readonly #next = new Int32Array(STRUCTURAL.length);
  readonly #brackets = new BracketStack();

  constructor(windowBytes: number, tape: TapeWriter) {
    const memory = new ArrayBuffer((Math.ceil(windowBytes / 4) + 1) * 4);
    this.bytes = Buffer.from(memory);
    this.#words = new Int32Array(memory);
    this.#room = this.bytes.subarray(0, windowBytes);
    this.#filled = this.#room;
    this.#tape = tape;
    this.#limit(0);
  }

  reset(source: ByteSource, offset: number): void {
    this.#source = source;
    this.#isExhausted = false;
    this.#captureStart = -1;
    this.base = offset;
    this.at = 0;
    this.#limit(0);
  }

  #limit(end: number): void {
    this.end = end;
    this.bytes[end] = LF;
    this.#filled = end === this.#room.length ? this.#room : this.#room.subarray(0, end);
    this.#next.fill(-1);
  }

  /** Brings the next bytes when all of the window are used; false at the end of the bytes, which leaves it as it is. */
  refill(): boolean {
    if (this.#isExhausted || this.#source === null) return false;
    if (this.#captureStart >= 0) {
      this.#tape.append(this.bytes, this.#captureStart, this.end);
      this.#captureStart = this.end;
    }
    const count = this.#source.read(this.#room);
    if (count === 0) {
      this.#isExhausted = true;
      return false;
    }
    this.base += this.end;
    if (this.#captureStart >= 0) this.#captureStart = 0;
    this.at = 0;
    this.#limit(count);
    return true;
  }

  /** From here on bytes belong to a text on the tape. */
  beginCapture(): void {
    this.#tape.beginText();
    this.#captureStart = this.at;
  }

  /** The text ends before `end`. */
  endCapture(end: number): void {
    this.#tape.append(this.bytes, this.#captureStart, end);
    this.#captureStart = -1;
  }

  /** The byte to look at, LF at the end of the bytes. */
  peek(): number {
    const byte = this.bytes[this.at] as number;
    return byte === LF && this.at === this.end && this.refill() ? (this.bytes[0] as number) : byte;
  }

  /** Passes over the byte looked at; the next one. */
  advance(): number {
    this.at += 1;
    return this.peek();
  }

  /** Passes over white space; the byte behind it, LF at the end of the bytes. */
  space(): number {
    const byte = this.bytes[this.at] as number;
    return byte > 0x20 ? byte : this.#longSpace();
  }

  #longSpace(): number {
    let byte = this.peek();
    while (byte === 0x20 || byte === 0x09 || byte === 0x0d) byte = this.advance();
    return byte;
  }

  /** Passes over the rest of the line and its LF; false when the bytes end first. */
  skipLine(): boolean {
    for (;;) {
      const found = this.#filled.indexOf(LF, this.at);
      if (found >= 0) {
        this.at = found + 1;
        return true;
      }
      this.at = this.end;
      if (!this.refill()) return false;
    }
  }

  /** Notes a fault at the byte looked at. */
  fail(fault: Fault): false {
    this.fault = fault;
    this.faultOffset = this.base + this.at;
    this.#captureStart = -1;
    return false;
  }

  /** Notes that the byte looked at cannot stand there; the end of the line and NUL have faults of their own. */
  refuse(fault: Fault): false {
    const byte = this.bytes[this.at];
    if (byte === LF) return this.fail(FAULT.TORN);
    return this.fail(byte === 0 ? FAULT.NUL : fault);
  }

  /** Passes over a string from behind its opening quote. */
  skipString(): boolean {
    const { bytes } = this;
    let at = this.at;
    for (;;) {
      const stop = stringStop(bytes, at);
      const isEscaped = stop < 0;
      this.at = isEscaped ? ~stop : stop;
      if (bytes[this.at] === QUOTE && !isEscaped) {
        this.at += 1;
        return true;
      }
      if (this.at < this.end || !this.refill()) return this.refuse(FAULT.CONTROL);
      at = isEscaped && (bytes[0] as number) >= 0x20 ? 1 : 0;
    }
  }

  /** Passes over an object or array from its opening bracket, without recursion; `open` brackets are around it. */
  skipContainer(open: number): boolean {
    const brackets = this.#brackets;
    brackets.clear();
    do {
      const byte = this.#nextStructural();
      if (byte === QUOTE) {
        this.at += 1;
        if (!this.skipString()) return false;
      } else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
        if (open + brackets.depth >= DEEPEST) return this.fail(FAULT.DEPTH);
        brackets.push(byte === OPEN_OBJECT);
        this.at += 1;
      } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) {
        if (brackets.isTopObject() !== (byte === CLOSE_OBJECT)) return this.fail(FAULT.BRACKETS);
        brackets.pop();
        this.at += 1;
      } else return this.refuse(FAULT.GRAMMAR);
    } while (brackets.depth > 0);
    return true;
  }

  /** Goes to the next byte that is not passed over in a container: a structural byte or a control character. */
  #nextStructural(): number {
    const { bytes } = this;
    let at = this.at;
    for (;;) {
      const near = Math.min(at + SHORT_RUN_BYTES, this.end);
      while (at < near && PASSED[bytes[at] as number] === 1) at += 1;
      if (at === near && at < this.end) at = this.#farStop(at);
      const byte = bytes[at] as number;
      if (PASSED[byte] === 1) continue;
      this.at = at;
      if (at < this.end || !this.refill()) return byte;
      at = 0;
    }
  }

  /** The next structural byte or control character, whatever the distance, or the end of the window. */
  #farStop(at: number): number {
    const next = this.#next;
    let nearest = this.end;
    for (let index = 0; index < STRUCTURAL.length; index += 1) {
      let position = next[index] as number;
      if (position < at) {
        const found = this.#filled.indexOf(STRUCTURAL[index] as number, at);
        position = found < 0 ? this.end : found;
        next[index] = position;
      }
      if (position < nearest) nearest = position;
    }
    return this.#controlBefore(at, nearest);
  }

  /** The first byte below 0x20 in `[from, to)`, else `to`. Words, since a byte loop would be slower than all the rest. */
  #controlBefore(from: number, to: number): number {
    const { bytes } = this;
    const words = this.#words;
    let at = from;
    for (; at < to && (at & 3) !== 0; at += 1) if ((bytes[at] as number) < 0x20) return at;
    const lastWord = (to >> 2) - 4;
    let word = at >> 2;
    for (; word <= lastWord; word += 4) {
      const a = words[word] as number;
      const b = words[word + 1] as number;
      const c = words[word + 2] as number;
      const d = words[word + 3] as number;
      // The top bit of a byte is set when it is below 0x20; a borrow can only add bits above such a byte.
      const below =
        ((a - 0x20202020) & ~a) | ((b - 0x20202020) & ~b) | ((c - 0x20202020) & ~c) | ((d - 0x20202020) & ~d);
      if ((below & 0x80808080) !== 0) break;
    }
    at = Math.max(at, word << 2);
    while (at < to && (bytes[at] as number) >= 0x20) at += 1;
    return at;
  }
}

/**
 * Where a string whose content goes on at `at` stops: the position of its quote or of a control character; of one behind
 * a backslash the complement. A function of its own, without calls: inside the method this loop took twice the time.
 */
function stringStop(bytes: Buffer, from: number): number {
  let at = from;
  for (;;) {
    while (PLAIN[bytes[at] as number] === 1) at += 1;
    if (bytes[at] !== BACKSLASH) return at;
    if ((bytes[at + 1] as number) < 0x20) return ~(at + 1);
    at += 2;
  }
}
