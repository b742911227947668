/**
 * Prints runs of plain values in WebAssembly (assembly/encoder): the caller puts values into scratch memory, one call
 * prints them into a slot. Slots and scratch are one memory that never grows, so that every view of it stays attached.
 * Any run takes 0.2 ms at most (30 Nov 2026, 2 cores): the longest are control characters between emoji.
 */

/** Bytes of one slot. */
export const SLOT_BYTES = 1_048_576;

/** Values of one run at most; assembly/encoder/layout.ts. */
export const RUN_VALUES = 4_096;

/** UTF-16 units of one run of text at most. */
export const TEXT_UNITS = 16_384;

/** Room that one value of a run needs, its comma included, and one unit of text. */
export const INT_BYTES = 12;
export const FLAG_BYTES = 6;
/** Also enough for any text of `slowNumberText`, and a comma. */
export const FLOAT_BYTES = 25;
export const TEXT_UNIT_BYTES = 6;

/** How floats are printed; assembly/encoder/floats.ts. */
export const FLOAT_FORM = {
  /** Rounded to a number of decimals from 0 to 9 as Python's `round` does: exactly, ties to even (spec 02 section 7). */
  ROUNDED: 0,
  /** The shortest text, whole numbers as `1.0`. */
  FLOAT: 1,
  /** As FLOAT, but whole numbers as the integers that `JSON.stringify` prints, -0 as `0`. */
  PLAIN: 2,
  /** As FLOAT for what a Float32Array holds: the shortest text that tells it from other singles. */
  SINGLE: 3,
} as const;

/** Bytes behind the room of a run that may be overwritten. Each slot has them, so that rooms may reach to its end. */
const SLACK_BYTES = 64;

const PAGE_BYTES = 65_536;

type KernelExports = {
  readonly memory: WebAssembly.Memory;
  readonly INTS: { readonly value: number };
  readonly FLOATS: { readonly value: number };
  readonly FLAGS: { readonly value: number };
  readonly TEXT: { readonly value: number };
  readonly END: { readonly value: number };
  writeInts(at: number, count: number): number;
  writeFlags(at: number, count: number): number;
  writeFloats(at: number, from: number, count: number, form: number, decimals: number): number;
  writeText(at: number, units: number): number;
};

/**
 * The caller keeps to the rooms and limits above; nothing is checked. What lies behind the end of a run, up to 32 bytes
 * behind its room, may have been overwritten. A run has to be printed before another is put into the same scratch.
 */
export class EncodeKernel {
  /** The whole memory; addresses index it. */
  readonly bytes: Uint8Array;
  /** Scratch of RUN_VALUES each. */
  readonly ints: Int32Array;
  readonly floats: Float64Array;
  /** 0 or 1. */
  readonly flags: Uint8Array;
  /** Scratch of TEXT_UNITS units, little-endian, as `write(text, 'ucs2')` puts them. */
  readonly text: Buffer;
  readonly #module: KernelExports;
  readonly #end: Uint32Array;
  readonly #firstSlot: number;

  /** @param module assembly/encoder.wasm, compiled */
  constructor(module: WebAssembly.Module, slots: number) {
    this.#module = new WebAssembly.Instance(module).exports as unknown as KernelExports;
    const { memory, INTS, FLOATS, FLAGS, TEXT, END } = this.#module;
    this.#firstSlot = memory.buffer.byteLength;
    memory.grow(Math.ceil((slots * (SLOT_BYTES + SLACK_BYTES)) / PAGE_BYTES));
    const { buffer } = memory;
    this.bytes = new Uint8Array(buffer);
    this.ints = new Int32Array(buffer, INTS.value, RUN_VALUES);
    this.floats = new Float64Array(buffer, FLOATS.value, RUN_VALUES);
    this.flags = new Uint8Array(buffer, FLAGS.value, RUN_VALUES);
    this.text = Buffer.from(buffer, TEXT.value, TEXT_UNITS * 2);
    this.#end = new Uint32Array(buffer, END.value, 1);
  }

  /** Where a slot begins; SLOT_BYTES are its own. */
  slotAddress(slot: number): number {
    return this.#firstSlot + slot * (SLOT_BYTES + SLACK_BYTES);
  }

  /** Prints `1,-2,3`; returns the address behind the last byte, as all of these do. */
  writeInts(at: number, count: number): number {
    return this.#module.writeInts(at, count);
  }

  /** Prints `true,false`. */
  writeFlags(at: number, count: number): number {
    return this.#module.writeFlags(at, count);
  }

  /**
   * Prints `floats[from, count)`. Returns the index of the first value that needs `slowNumberText`, `count` when none
   * does; `end` is the address behind the last byte. There is no comma at either end.
   *
   * @param form one of FLOAT_FORM
   * @param decimals 0 to 9, for ROUNDED
   */
  writeFloats(at: number, count: number, form: number, decimals: number, from = 0): number {
    return this.#module.writeFloats(at, from, count, form, decimals);
  }

  /** Where the last `writeFloats` ended. */
  get end(): number {
    return this.#end[0] as number;
  }

  /**
   * Prints text as UTF-8 with the escapes of JSON, without quotes. A surrogate pair must not be split between two runs.
   * Returns -1 less the index of the first unit that is half of no pair, when there is one.
   */
  writeText(at: number, units: number): number {
    return this.#module.writeText(at, units);
  }
}
