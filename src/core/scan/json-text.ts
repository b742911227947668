/**
 * One JSON text as bytes, with the first fault found in it. The scanners of this folder move over it by offset and
 * return the offset behind what they read, or -1 after `fail`: a hot path without exceptions, objects or strings.
 */

/** Where a text stops being JSON, and why: one clause, plain ASCII. `offset` counts from the start of the buffer. */
export type JsonFault = { readonly offset: number; readonly reason: string };

export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'true' | 'false' | 'null';

export class JsonText {
  readonly bytes: Buffer;
  /** First offset that does not belong to the text. */
  readonly end: number;
  /** Kinds of the containers that are open; shared by all skips of this text, since they never nest. */
  readonly brackets = new BracketStack();
  fault: JsonFault | null = null;

  constructor(bytes: Buffer, end: number) {
    // A view that ends with the text gives Buffer.indexOf, which has no end bound of its own, the bound it needs.
    this.bytes = end < bytes.length ? bytes.subarray(0, end) : bytes;
    this.end = this.bytes.length;
  }

  /** Notes the fault and returns -1. */
  fail(offset: number, reason: string): -1 {
    this.fault = { offset, reason };
    return -1;
  }
}

/** The open containers of a text, one bit each, so that a hostile 64 MiB of `[` costs 8 MiB. */
export class BracketStack {
  #bits = new Uint8Array(64);
  depth = 0;

  clear(): void {
    this.depth = 0;
  }

  push(isObject: boolean): void {
    const index = this.depth >> 3;
    if (index === this.#bits.length) {
      const grown = new Uint8Array(this.#bits.length * 2);
      grown.set(this.#bits);
      this.#bits = grown;
    }
    const mask = 1 << (this.depth & 7);
    const byte = this.#bits[index] as number;
    this.#bits[index] = isObject ? byte | mask : byte & ~mask;
    this.depth += 1;
  }

  pop(): void {
    this.depth -= 1;
  }

  /** Whether the innermost open container is an object. The depth must not be 0. */
  isTopObject(): boolean {
    const top = this.depth - 1;
    return ((this.#bits[top >> 3] as number) & (1 << (top & 7))) !== 0;
  }
}
