/** The document of `prl index --json` (cli.md, "prl index"); schemas/prl.index-1.json says the same as JSON Schema. */
import type { IndexComparison } from '../core/index/compare.js';
import type { IndexOutcome, StreamOutcome } from '../core/index/outcome.js';
import type { Oddity, OddityKind } from '../core/index/segment-types.js';
import type { Damage } from '../core/scan/types.js';

/** A last line that ends before its record does. */
export type TornTail = Pick<Damage, 'file' | 'chunk' | 'offset' | 'bytes' | 'message'>;

/** One stream and its index. Bytes and offsets are uncompressed. */
export type StreamEntry = {
  /** Path relative to the run. */
  readonly stream: string;
  /** The index that was written or compared, relative to the run, or as given with `--out`; null with `--rows`. */
  readonly index: string | null;
  readonly holds: 'episodes' | 'annotations';
  /** False when a signal came before the end of the stream: all figures are as far as it was read. */
  readonly complete: boolean;
  /** Records that have a row. */
  readonly episodes: number;
  readonly bytes: number;
  /** The part of `bytes` that an earlier command had settled, and that was not read again. */
  readonly resumed_bytes: number;
  readonly chunks: number;
  readonly sealed: number;
  readonly rows_written: number;
  readonly changed: boolean;
  readonly torn: TornTail | null;
  /** The last chunk grew while it was read: then a torn last line is one on its way, and no damage. */
  readonly growing: boolean;
  readonly damaged: readonly Damage[];
  /** Legal but odd records, the first 1,000; `oddity_counts` counts all. */
  readonly oddities: readonly Oddity[];
  readonly oddity_counts: Readonly<Partial<Record<OddityKind, number>>>;
  readonly repeated: StreamOutcome['repeated'];
  readonly out_of_order: StreamOutcome['outOfOrder'];
  readonly token_differences: number;
  /** Null without `--check`. */
  readonly check: IndexComparison | null;
};

/** The result of indexing one run; fields are only ever added. */
export type IndexDocument = {
  readonly schema: 'prl.index/1';
  readonly run: string;
  readonly layout: string;
  readonly streams: readonly StreamEntry[];
  /** Of the work, from the first byte read to the last row in place. */
  readonly seconds: number;
  /** Of the bytes that were read. */
  readonly bytes_per_second: number;
  readonly peak_rss_bytes: number;
  /** Of all streams. */
  readonly episodes: number;
  readonly bytes: number;
  readonly mode: 'compat' | 'exact';
  readonly threads: number;
  /** True when a signal ended the work before its end. */
  readonly partial: boolean;
};

/** What the command knows beside the outcome. */
export type IndexSurroundings = {
  /** The run as typed. */
  readonly run: string;
  readonly layout: string;
  readonly mode: IndexDocument['mode'];
  readonly seconds: number;
  readonly peakRssBytes: number;
  readonly threads: number;
};

/** The document of an indexing, finished or not. */
export function indexDocument({ streams, interrupted }: IndexOutcome, surroundings: IndexSurroundings): IndexDocument {
  const { run, layout, mode, seconds, peakRssBytes, threads } = surroundings;
  const bytes = streams.reduce((sum, stream) => sum + stream.bytes, 0);
  const readBytes = streams.reduce((sum, stream) => sum + stream.bytes - stream.resumedBytes, 0);
  return {
    schema: 'prl.index/1',
    run,
    layout,
    streams: streams.map(streamEntry),
    seconds: Math.round(seconds * 1000) / 1000,
    bytes_per_second: seconds > 0 ? Math.round(readBytes / seconds) : 0,
    peak_rss_bytes: peakRssBytes,
    episodes: streams.reduce((sum, stream) => sum + stream.episodes, 0),
    bytes,
    mode,
    threads,
    partial: interrupted,
  };
}

function streamEntry(outcome: StreamOutcome): StreamEntry {
  const { stream, index, holds, episodes, bytes, chunks, sealed, changed, damaged, oddities, repeated, check } =
    outcome;
  return {
    stream,
    index,
    holds,
    complete: outcome.isComplete,
    episodes,
    bytes,
    resumed_bytes: outcome.resumedBytes,
    chunks,
    sealed,
    rows_written: outcome.rowsWritten,
    changed,
    torn: outcome.torn === null ? null : tornTail(outcome.torn),
    growing: outcome.isGrowing,
    damaged,
    oddities,
    oddity_counts: outcome.oddityCounts,
    repeated,
    out_of_order: outcome.outOfOrder,
    token_differences: outcome.tokenDifferences,
    check,
  };
}

function tornTail({ file, chunk, offset, bytes, message }: Damage): TornTail {
  return { file, chunk, offset, bytes, message };
}

/** Everything that is damaged in a stream: a torn last line too, unless it is on its way. */
export function damageOf({ damaged, torn, growing }: StreamEntry): readonly Damage[] {
  return torn === null || growing ? damaged : [...damaged, { ...torn, kind: 'torn', recovered: false }];
}

/** Differences of all checks; the legal ones are none. */
export function countDifferences(streams: readonly StreamEntry[]): number {
  return streams.reduce((sum, { check }) => {
    if (check === null || check.ok) return sum;
    const { line_gap: legal = 0, ...wrong } = check.counts;
    return sum + Object.values(wrong).reduce((total, count) => total + count, 0);
  }, 0);
}
