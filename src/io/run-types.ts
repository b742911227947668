/** What a run looks like once it has been found on disk. No logic. */
import type { Damage } from '../core/scan/types.js';
import type { ChunkHole } from '../core/stream/chunk-names.js';

/**
 * The generation of spec 01 section 1, as far as files tell. `R3` stands for R3 to R5 and VE, which share one layout.
 * `R1` and `V1` are used where no record tells a from b or c.
 */
export type RunLayout = 'R3' | 'R2' | 'R1' | 'R1a' | 'R1b' | 'R0' | 'FLOW' | 'V1' | 'V1a' | 'V1b' | 'V1c' | 'B';

/**
 * How the bytes of a chunk lie on disk: `plain` JSONL, `sealed` in zstd, a JSON `document` that is no JSONL, or
 * `stdin`. Settled by content, not by name (spec 01 section 2, rule 1).
 */
export type ChunkForm = 'plain' | 'sealed' | 'document' | 'stdin';

/** One file of a run, as it was when the run was opened. */
export type ChunkFile = {
  /** Number in the stream for R3; position in `Run.files` for every other layout (spec 04 section 8). */
  readonly chunk: number;
  /** Absolute path, or `-` for standard input. */
  readonly path: string;
  /** Path as reports show it: relative to the run, with `/`. */
  readonly relativePath: string;
  readonly form: ChunkForm;
  /** Bytes on disk when the run was opened; 0 for standard input. Nothing behind them is read (U17). */
  readonly sizeBytes: number;
  /** Uncompressed bytes; null where only reading tells: zstd without a seek table, standard input. */
  readonly uncompressedBytes: number | null;
};

/** A run that was found and can be read. */
export type Run = {
  /** Absolute path of the run directory, links resolved; for a bare file its directory. */
  readonly root: string;
  readonly layout: RunLayout;
  /** The rule that matched, as one line for reports. */
  readonly rule: string;
  /** In reading order. May be empty: a run without episodes is a run. */
  readonly files: readonly ChunkFile[];
  readonly holes: readonly ChunkHole[];
  /** Files that belong to the run and cannot be read, found while listing; each is reported, none stops the rest. */
  readonly damage: readonly Damage[];
  /** What a user may want to know and no data was lost by: foreign names, leftovers of a seal, files seen twice. */
  readonly notices: readonly string[];
  /** Absolute path of the index that lies beside the stream, null when there is none. */
  readonly indexPath: string | null;
  /** Absolute path of the directory that holds stream, index and annotations (R2, R3); null in every other layout. */
  readonly tracesDirectory: string | null;
};
