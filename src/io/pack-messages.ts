/** What a packing thread and whoever feeds it say to each other (io/packer, io/pack-worker). */

/** Some of the lines of the batch under way, in order. The thread gives the memory back with its answer. */
export type PackWindow = {
  /** Transferred; `length` bytes of it count. */
  readonly memory: ArrayBuffer;
  readonly length: number;
  /** Where lines end inside it, ascending, behind their last byte; a line may begin and end in other windows. */
  readonly lineEnds: readonly number[];
  /** With it the batch is complete. */
  readonly isLast: boolean;
  /** zlib level 1 to 9; null hashes only. */
  readonly level: number | null;
};

export type PackAnswer = {
  /** The window's, transferred back. */
  readonly memory: ArrayBuffer;
  /** What the window was compressed to, transferred; all of a batch joined are one gzip member. Null where nothing is. */
  readonly payload: Uint8Array<ArrayBuffer> | null;
  /** With the last window of a batch only. */
  readonly digests: PackDigests | null;
};

export type PackDigests = {
  /** 64 lower-case hex: SHA-256 of the bytes of all windows. */
  readonly digest: string;
  readonly lineDigests: readonly string[];
};
