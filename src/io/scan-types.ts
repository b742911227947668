/** What passes between the thread that writes an index and those that scan chunks. No logic. */
import type { ScanCounts } from '../core/index/segment-scan.js';
import type { Oddity, OddityKind } from '../core/index/segment-types.js';
import type { Segment } from '../core/index/segments.js';
import type { Damage, RecordUnit } from '../core/scan/types.js';

/** How rows are made; the same for a whole run. */
export type RowSettings = {
  /** Where token counts come from; spec 04 section 4.3. */
  readonly tokens: 'auto' | 'stored' | 'derived';
  /** What explicit nulls do; spec 04 section 6.4. */
  readonly mode: 'compat' | 'exact';
  /** Look at every byte of every record. */
  readonly isStrict: boolean;
  /** Derive token counts where stored ones are written, to tell where they differ. */
  readonly isBothCounts: boolean;
  /** Take digests of the data on the way. */
  readonly hasDigests: boolean;
};

/** An open chunk, named by a descriptor that all threads of the process share. */
export type ScanChunk = {
  readonly descriptor: number;
  readonly form: 'plain' | 'sealed';
  /** Bytes on disk. */
  readonly fileBytes: number;
  /** Uncompressed bytes that are scanned. */
  readonly bytes: number;
  /** As reports show it. */
  readonly file: string;
  readonly chunk: number;
  /** Number that the rows carry; null where they carry none (R2). */
  readonly rowChunk: number | null;
};

export type SegmentJob = {
  readonly chunk: ScanChunk;
  readonly segment: Segment;
  /** What the chunk holds; null when the scan is to find out. */
  readonly unit: RecordUnit | null;
  readonly settings: RowSettings;
};

/** Rows without the numbers of their lines, which only who has all rows before them knows. */
export type RowBatch = {
  /** Rows one behind the other, LF included. */
  readonly rows: Uint8Array;
  /** For each row, where in `rows` the number of its line belongs. */
  readonly lineAt: Uint32Array;
  /** Two words a row: a hash of the episode's id, both 0 when it has none. */
  readonly idHashes: Uint32Array;
  /** For each row the step at which its episode arrived, NaN when it says none. Empty for annotations. */
  readonly steps: Float64Array;
};

/** What one segment holds, or a part of one. */
export type SegmentResult = RowBatch & {
  readonly damage: readonly Damage[];
  readonly oddities: readonly Oddity[];
  readonly oddityCounts: Readonly<Partial<Record<OddityKind, number>>>;
  readonly counts: Readonly<ScanCounts>;
  /** Records whose stored token counts are not what their calls tell; legal between versions. */
  readonly tokenDifferences: number;
  readonly openLineOffset: number | null;
  /** Pairs of block and digest (core/index/block-digests); empty where none are taken. */
  readonly digests: Uint32Array;
  /** First byte that was not settled. */
  readonly position: number;
  readonly unit: RecordUnit | null;
};
