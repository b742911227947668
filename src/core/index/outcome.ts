/** What indexing a run came to; plain facts that reports and documents are made from. No logic. */
import type { Damage } from '../scan/types.js';
import type { IndexComparison } from './compare.js';
import type { Oddity, OddityKind } from './segment-types.js';

/** An episode that is in the stream twice; both rows are kept (I12). Lines are numbers of rows, from 1. */
export type RepeatedEpisode = { readonly line: number; readonly first_line: number };

/**
 * An episode that arrived at an earlier step than one before it in the stream; its row is kept (I12). `line` is the
 * number of its row, `after` the largest step before it.
 */
export type OutOfOrderEpisode = { readonly line: number; readonly step: number; readonly after: number };

/** One stream and its index. Bytes are uncompressed. */
export type StreamOutcome = {
  /** Path of the stream, relative to the run. */
  readonly stream: string;
  /** Path of the index as the user would name it; null when no file has to do with it. */
  readonly index: string | null;
  readonly holds: 'episodes' | 'annotations';
  /** False when the work was stopped before the end of the stream: what follows is as far as it was read. */
  readonly isComplete: boolean;
  /** Records that have a row. */
  readonly episodes: number;
  /** All that was read: records, damage and blank lines. */
  readonly bytes: number;
  /** The part of `bytes` that an earlier command had settled, and this one took over. */
  readonly resumedBytes: number;
  readonly chunks: number;
  readonly sealed: number;
  /** 0 when nothing was written. */
  readonly rowsWritten: number;
  /** Whether the file on disk is another one now. */
  readonly changed: boolean;
  /** A last line that ends before its record does. */
  readonly torn: Damage | null;
  /** Whether the last chunk grew while it was read: then a torn line is a line on its way. */
  readonly isGrowing: boolean;
  readonly damaged: readonly Damage[];
  readonly oddities: readonly Oddity[];
  readonly oddityCounts: Readonly<Partial<Record<OddityKind, number>>>;
  readonly repeated: { readonly count: number; readonly first: readonly RepeatedEpisode[] };
  /** Never of a copy of what was trained on (R1 `effective`), which is in the order of shipping. */
  readonly outOfOrder: { readonly count: number; readonly first: readonly OutOfOrderEpisode[] };
  /** Records whose stored token counts differ from what their calls tell; legal between versions of the writer. */
  readonly tokenDifferences: number;
  readonly check: IndexComparison | null;
};

export type IndexOutcome = {
  /** Those that were read, the last perhaps not to its end. */
  readonly streams: readonly StreamOutcome[];
  /** Whether a signal ended it before its end. */
  readonly interrupted: boolean;
};
