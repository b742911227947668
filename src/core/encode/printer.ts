/**
 * Prints scalars and runs of them behind one another into the slots of a pool. It makes no garbage: short ASCII text is
 * written here, everything longer by the kernel (core/encode/kernel) from its scratch memory.
 */
import {
  type EncodeKernel,
  FLAG_BYTES,
  FLOAT_BYTES,
  FLOAT_FORM,
  INT_BYTES,
  RUN_VALUES,
  SLOT_BYTES,
  TEXT_UNIT_BYTES,
  TEXT_UNITS,
} from './kernel.js';
import { SlotPool } from './slot-pool.js';
import { slowNumberText } from './slow-number.js';

/** What a printer prints at most between two calls of `makeRoom`, punctuation included. */
const RESERVE_BYTES =
  Math.max(TEXT_UNITS * TEXT_UNIT_BYTES, RUN_VALUES * Math.max(INT_BYTES, FLAG_BYTES, FLOAT_BYTES)) + 1024;

/** Longer text goes by way of the kernel, units. */
const SHORT_TEXT_UNITS = 24;

/** Text printed in one go, units; a longer one is cut with `cutText`. */
export const MOST_TEXT_UNITS = TEXT_UNITS;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const COMMA = 0x2c;
const MINUS = 0x2d;
const ZERO = 0x30;
const ASCII_END = 0x80;

const NULL = Buffer.from('null');
const TRUE = Buffer.from('true');
const FALSE = Buffer.from('false');

/** Whole numbers below this are printed here. */
const SMALL_INT_END = 1e9;

const { PLAIN } = FLOAT_FORM;

/** So many integers are a run of their own, whatever follows. */
const INT_RUN = 16;

/** Floats printed one by one in a run, at 0.2 µs each, before the run ends. */
const MOST_SLOW_VALUES = 256;

/** One of FLOAT_FORM. */
export type FloatForm = (typeof FLOAT_FORM)[keyof typeof FLOAT_FORM];

export class Printer {
  readonly pool: SlotPool;
  readonly #kernel: EncodeKernel;
  readonly #bytes: Uint8Array;
  readonly #text: Buffer;
  /** Where the next byte goes. */
  at: number;
  #limit: number;
  /** Values of the next run of floats: fewer where the last one met many that the kernel cannot print. */
  #floatRun = RUN_VALUES;

  constructor(kernel: EncodeKernel, slots: number) {
    this.pool = new SlotPool(kernel, slots, SLOT_BYTES);
    this.#kernel = kernel;
    this.#bytes = kernel.bytes;
    this.#text = kernel.text;
    this.at = this.pool.start;
    this.#limit = this.pool.end - RESERVE_BYTES;
  }

  /** Sees to it that any one thing can be printed; false when no slot is free. */
  makeRoom(): boolean {
    if (this.at <= this.#limit) return true;
    this.pool.close(this.at);
    if (!this.pool.advance()) return false;
    this.at = this.pool.start;
    this.#limit = this.pool.end - RESERVE_BYTES;
    return true;
  }

  get hasRoom(): boolean {
    return this.at <= this.#limit || this.pool.hasFree;
  }

  /** Forgets what was printed since the last part was closed. */
  rewind(): void {
    this.at = this.pool.start;
  }

  byte(value: number): void {
    this.#bytes[this.at] = value;
    this.at += 1;
  }

  /** @param text 1,024 bytes at most */
  copy(text: Uint8Array): void {
    const bytes = this.#bytes;
    const { at } = this;
    for (let index = 0; index < text.length; index += 1) bytes[at + index] = text[index] as number;
    this.at = at + text.length;
  }

  null(): void {
    this.copy(NULL);
  }

  boolean(value: boolean): void {
    this.copy(value ? TRUE : FALSE);
  }

  /** Digits and signs, 1,024 at most. */
  ascii(text: string): void {
    for (let index = 0; index < text.length; index += 1) this.byte(text.charCodeAt(index));
  }

  /** @param decimals of the form ROUNDED */
  number(value: number, form: FloatForm, decimals: number): void {
    if (form === PLAIN && Number.isInteger(value) && value < SMALL_INT_END && value > -SMALL_INT_END) {
      this.#smallInt(value);
      return;
    }
    this.#kernel.floats[0] = value;
    if (this.#kernel.writeFloats(this.at, 1, form, decimals) === 1) this.at = this.#kernel.end;
    else this.ascii(slowNumberText(value, form, decimals));
  }

  #smallInt(value: number): void {
    let rest = value;
    if (value < 0) {
      this.byte(MINUS);
      rest = -value;
    }
    let digits = 1;
    for (let bound = 10; bound <= rest; bound *= 10) digits += 1;
    const bytes = this.#bytes;
    const start = this.at;
    for (let index = start + digits - 1; index > start; index -= 1) {
      const next = Math.floor(rest / 10);
      bytes[index] = ZERO + (rest - next * 10);
      rest = next;
    }
    bytes[start] = ZERO + rest;
    this.at = start + digits;
  }

  /** A whole string of `MOST_TEXT_UNITS` at most, in quotes. Returns -1, or the place of a surrogate without its pair. */
  string(text: string): number {
    if (text.length <= SHORT_TEXT_UNITS && this.#shortString(text)) return -1;
    this.byte(QUOTE);
    const fault = this.text(text);
    if (fault < 0) this.byte(QUOTE);
    return fault;
  }

  /** Text without quotes, `MOST_TEXT_UNITS` at most. Returns as `string`. */
  text(text: string): number {
    this.#text.write(text, 0, text.length * 2, 'utf16le');
    const end = this.#kernel.writeText(this.at, text.length);
    if (end < 0) return -1 - end;
    this.at = end;
    return -1;
  }

  /** False when there is more to it than plain ASCII; nothing is printed then. */
  #shortString(text: string): boolean {
    const bytes = this.#bytes;
    const start = this.at + 1;
    for (let index = 0; index < text.length; index += 1) {
      const unit = text.charCodeAt(index);
      if (unit < SPACE || unit === QUOTE || unit === BACKSLASH || unit >= ASCII_END) return false;
      bytes[start + index] = unit;
    }
    bytes[start - 1] = QUOTE;
    bytes[start + text.length] = QUOTE;
    this.at = start + text.length + 1;
    return true;
  }

  /**
   * Booleans from `from` on, with commas between them. Returns how many: it ends before the first other value.
   * @param to `RUN_VALUES` behind `from` at most counts
   */
  flags(values: readonly unknown[], from: number, to: number): number {
    const { flags } = this.#kernel;
    const most = Math.min(to - from, RUN_VALUES);
    let count = 0;
    for (; count < most; count += 1) {
      const value = values[from + count];
      if (value === true) flags[count] = 1;
      else if (value === false) flags[count] = 0;
      else break;
    }
    this.at = this.#kernel.writeFlags(this.at, count);
    return count;
  }

  /** Numbers from `from` on; `values[from]` is one. Returns as `flags`. */
  numbers(values: readonly unknown[], run: NumberRun): number {
    const { from, form } = run;
    const most = Math.min(run.to - from, RUN_VALUES);
    if (form === PLAIN) {
      const count = this.#takeInts(values, from, most);
      if (count === most || count >= INT_RUN) return this.#printInts(count);
    }
    const { floats } = this.#kernel;
    const wanted = Math.min(most, this.#floatRun);
    let count = 0;
    for (; count < wanted; count += 1) {
      const value = values[from + count];
      if (typeof value !== 'number') break;
      floats[count] = value;
    }
    return this.#printFloats(count, run);
  }

  /** Integers of a typed array from `from` on; all that the run can take. */
  typedInts(values: SmallIntList, from: number, to: number): number {
    const count = Math.min(to - from, RUN_VALUES);
    this.#kernel.ints.set(values.subarray(from, from + count));
    return this.#printInts(count);
  }

  /** Floats of a typed array, or integers beyond 32 bits. Returns as `flags`. */
  typedFloats(values: SmallIntList | Uint32Array | Float32Array | Float64Array, run: NumberRun): number {
    const count = Math.min(run.to - run.from, this.#floatRun);
    this.#kernel.floats.set(values.subarray(run.from, run.from + count));
    return this.#printFloats(count, run);
  }

  /** Bytes that are 0 or 1 as booleans. Returns how many; it ends before the first other value. */
  typedFlags(values: Uint8Array, from: number, to: number): number {
    const { flags } = this.#kernel;
    const most = Math.min(to - from, RUN_VALUES);
    let count = 0;
    for (; count < most; count += 1) {
      const value = values[from + count] as number;
      if (value > 1) break;
      flags[count] = value;
    }
    this.at = this.#kernel.writeFlags(this.at, count);
    return count;
  }

  #takeInts(values: readonly unknown[], from: number, most: number): number {
    const { ints } = this.#kernel;
    for (let count = 0; count < most; count += 1) {
      const value = values[from + count];
      if (typeof value !== 'number') return count;
      // An integer of 32 bits; -0 is one, as the integer it stands for.
      const int = value | 0;
      if (int !== value) return count;
      ints[count] = int;
    }
    return most;
  }

  #printInts(count: number): number {
    this.at = this.#kernel.writeInts(this.at, count);
    return count;
  }

  #printFloats(count: number, { form, decimals }: NumberRun): number {
    const kernel = this.#kernel;
    let slow = 0;
    for (let from = 0; ; this.byte(COMMA)) {
      const printed = kernel.writeFloats(this.at, count, form, decimals, from);
      this.at = kernel.end;
      if (printed > from && printed < count) this.byte(COMMA);
      from = printed;
      if (from < count) {
        this.ascii(slowNumberText(kernel.floats[from] as number, form, decimals));
        from += 1;
        slow += 1;
      }
      if (from < count && slow < MOST_SLOW_VALUES) continue;
      this.#floatRun = slow < MOST_SLOW_VALUES ? Math.min(RUN_VALUES, 2 * this.#floatRun) : MOST_SLOW_VALUES;
      return from;
    }
  }
}

/** Typed arrays of integers that fit 32 bits. */
type SmallIntList = Int8Array | Uint8Array | Uint8ClampedArray | Int16Array | Uint16Array | Int32Array;

/** Elements `from` to before `to` of an array, and how their numbers are printed. */
export type NumberRun = {
  from: number;
  to: number;
  form: FloatForm;
  decimals: number;
};

/** The end of a piece of `text` from `from` on that can be printed in one go and parts no surrogate pair. */
export function cutText(text: string, from: number): number {
  const end = from + MOST_TEXT_UNITS;
  if (end >= text.length) return text.length;
  const last = text.charCodeAt(end - 1);
  return last >= 0xd800 && last < 0xdc00 ? end - 1 : end;
}
