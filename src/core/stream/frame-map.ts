/**
 * Where the frames of a sealed chunk lie, in the file and in the uncompressed chunk, as prefix sums: a lookup by
 * offset is a binary search, and reading a record never starts at the beginning of the file (spec 03 section 5.1).
 */

/** One zstd frame. Sizes in bytes; `checksum` is the low half of XXH64 of the content, null when the table has none. */
export type Frame = {
  readonly index: number;
  readonly compressedOffset: number;
  readonly compressedBytes: number;
  readonly offset: number;
  readonly bytes: number;
  readonly checksum: number | null;
};

export type FrameSizes = { readonly compressedBytes: number; readonly bytes: number; readonly checksum: number | null };

/** All frames of one file. Holds 20 bytes a frame: a full chunk at the defaults has 1280 of them. */
export class FrameMap {
  readonly count: number;
  readonly hasChecksums: boolean;
  readonly #compressed: Float64Array;
  readonly #uncompressed: Float64Array;
  readonly #checksums: Uint32Array | null;

  constructor(count: number, sizesOf: (index: number) => FrameSizes) {
    this.count = count;
    this.#compressed = new Float64Array(count + 1);
    this.#uncompressed = new Float64Array(count + 1);
    const checksums = new Uint32Array(count);
    let hasChecksums = count > 0;
    for (let index = 0; index < count; index += 1) {
      const { compressedBytes, bytes, checksum } = sizesOf(index);
      this.#compressed[index + 1] = (this.#compressed[index] as number) + compressedBytes;
      this.#uncompressed[index + 1] = (this.#uncompressed[index] as number) + bytes;
      if (checksum === null) hasChecksums = false;
      else checksums[index] = checksum;
    }
    this.hasChecksums = hasChecksums;
    this.#checksums = hasChecksums ? checksums : null;
  }

  /** Bytes of the whole chunk, uncompressed. */
  get uncompressedBytes(): number {
    return this.#uncompressed[this.count] as number;
  }

  /** Bytes of all frames in the file, the seek table not included. */
  get compressedBytes(): number {
    return this.#compressed[this.count] as number;
  }

  /** The frame with this number. Throws RangeError outside 0..count-1. */
  at(index: number): Frame {
    if (!Number.isInteger(index) || index < 0 || index >= this.count) {
      throw new RangeError(`frame ${index} of ${this.count}`);
    }
    const compressedOffset = this.#compressed[index] as number;
    const offset = this.#uncompressed[index] as number;
    return {
      index,
      compressedOffset,
      compressedBytes: (this.#compressed[index + 1] as number) - compressedOffset,
      offset,
      bytes: (this.#uncompressed[index + 1] as number) - offset,
      checksum: this.#checksums === null ? null : (this.#checksums[index] as number),
    };
  }

  /** Number of the frame that holds the byte at `offset`, empty frames passed over; null at or behind the end. */
  find(offset: number): number | null {
    if (offset < 0 || offset >= this.uncompressedBytes) return null;
    let low = 0;
    let high = this.count - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((this.#uncompressed[middle] as number) <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
