/** What a packing thread and whoever feeds it say to each other (io/packer, io/pack-worker). */

/** What a thread is started with: its windows, shared, since every transfer would be one more buffer to collect. */
export type PackWindows = readonly SharedArrayBuffer[];

/** Some of the lines of the batch under way, in order, in a window that is the thread's until its answer. */
export type PackWindow = {
  /** Which window. */
  readonly index: number;
  /** Bytes of it that count. */
  readonly length: number;
  /** Where lines end inside it, ascending, behind their last byte; a line may begin and end in other windows. */
  readonly lineEnds: readonly number[];
  /** With it the batch is complete. */
  readonly isLast: boolean;
  /** zlib level 1 to 9; null hashes only. */
  readonly level: number | null;
};

export type PackAnswer = {
  /** Which window is free again. */
  readonly index: number;
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
