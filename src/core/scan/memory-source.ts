/** Bytes in memory as a source: one record that is walked by itself. */
import type { ByteSource } from './walker.js';

export class MemorySource implements ByteSource {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  read(target: Uint8Array): number {
    const read = Math.min(target.length, this.#bytes.length - this.#at);
    target.set(this.#bytes.subarray(this.#at, this.#at + read));
    this.#at += read;
    return read;
  }
}
