/**
 * The window of the TypeScript walker: a part of the input that is read over and over into one buffer, and passing over
 * strings and containers in it. Behind the last byte stands an LF, so that every loop ends there without comparing
 * positions; an LF at `end` means "look for more", one before it ends the line.
 *
 * Strings go byte by byte, the fastest in JavaScript where escapes are frequent (design/scanning.md section 5). Runs of
 * numbers go in words of four bytes: indexOf for quotes and brackets would leave control characters unseen.
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

/** 1 for what is passed over in a container: no quote or bracket, and of the control characters tab and CR. */
const PASSED = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte === 0x09 || byte === 0x0d || (byte >= 0x20 && !'"[]{}'.includes(String.fromCharCode(byte))) ? 1 : 0,
);

/** Runs are looked through byte by byte this far, then in words. */
const SHORT_RUN_BYTES = 24;

/** The same in each byte of a word; see farFromStop. */
const TURN = 0x02020202;
const LOW = 0x21212121;
const LOWER = 0x20202020;
const HIGH = 0x05050505;
const TOP_BITS = 0x80808080;

/** Words are read a step beyond the LF behind the window. */
const PADDING_BYTES = 20;

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
  readonly #brackets = new BracketStack();

  constructor(windowBytes: number, tape: TapeWriter) {
    const memory = new ArrayBuffer(Math.ceil(windowBytes / 4) * 4 + PADDING_BYTES);
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
      const near = at + SHORT_RUN_BYTES;
      while (at < near && PASSED[bytes[at] as number] === 1) at += 1;
      if (at === near) at = farFromStop(this.#words, at);
      const byte = bytes[at] as number;
      if (PASSED[byte] === 1) continue;
      this.at = at;
      if (at < this.end || !this.refill()) return byte;
      at = 0;
    }
  }
}

/**
 * A position at or behind `from` up to which nothing in a container has to be looked at: 16 bytes a step. The LF behind
 * the window ends it. Of a byte in a word the top bit is set by two sums: by the first when it is below 0x20 or a quote
 * (0x20 once bit 1 is turned), by the second when it is a bracket (0x7b or more once bit 5 is set). Carries and the few
 * other bytes that do it only end the run early.
 */
function farFromStop(words: Int32Array, from: number): number {
  let word = from >> 2;
  for (;;) {
    const a = words[word] as number;
    const b = words[word + 1] as number;
    const c = words[word + 2] as number;
    const d = words[word + 3] as number;
    const stops =
      (((a ^ TURN) - LOW) & ~a) |
      (((b ^ TURN) - LOW) & ~b) |
      (((c ^ TURN) - LOW) & ~c) |
      (((d ^ TURN) - LOW) & ~d) |
      ((a | LOWER) + HIGH) |
      ((b | LOWER) + HIGH) |
      ((c | LOWER) + HIGH) |
      ((d | LOWER) + HIGH);
    if ((stops & TOP_BITS) !== 0) return Math.max(from, word << 2);
    word += 4;
  }
}

/**
 * Where a string whose content goes on at `at` stops: the position of its quote or of a control character; of one behind
 * a backslash the complement. A function of its own, without calls: text full of escapes went at 0.57 GB/s, inside the
 * method at 0.40 (2-core EPYC, 30 Nov 2026).
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
