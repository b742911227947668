/** What a stream writer takes and gives. No logic. */
import type { EncodedPart } from '../core/encode/types.js';
import type { PrlError } from '../core/errors.js';

/** Bytes of a line, without its LF: pooled ones are told when they are not needed any more. */
export type LinePart = EncodedPart | Uint8Array;

/** Where a record lies. `bytes` counts its LF. */
export type RecordPlace = { readonly chunk: number; readonly offset: number; readonly bytes: number };

/** Something a user should know and nobody waits for. */
export type StreamNotice = {
  /**
   * `torn`: a line without end was found, or left, at the end of a file. `seal`: a chunk stays plain. `lock`: nothing
   * keeps a second writer away. `index`: rows are missing that nobody will add.
   */
  readonly kind: 'torn' | 'seal' | 'lock' | 'index';
  readonly message: string;
};

export type StreamWriterOptions = {
  /** Uncompressed bytes of a chunk; a longer line has one of its own. */
  readonly chunkBytes?: number;
  /** Seal chunks that are complete; else they stay plain for ever. */
  readonly compress?: boolean;
  /** Of zstd, 1 to 22. */
  readonly level?: number;
  /** Uncompressed bytes of a zstd frame, at most 1 GiB. */
  readonly frameBytes?: number;
  /** `flush`: a flush waits for the disk. `never` survives the death of the process, not of the machine, as upstream. */
  readonly fsync?: 'never' | 'flush';
  readonly onNotice?: (notice: StreamNotice) => void;
  /** The built worker; only tests that run from the sources give it. */
  readonly workerUrl?: URL;
};

/** As upstream (spec 03 section 1). */
export const STREAM_DEFAULTS = {
  chunkBytes: 5_368_709_120,
  compress: true,
  level: 3,
  frameBytes: 4_194_304,
  fsync: 'never',
} as const satisfies StreamWriterOptions;

/** A line that is being written. It ends with the first of `commit` and `abort`. */
export type StreamLine = {
  /** Why it will not be in the stream; null as long as it may. Whoever makes its parts can stop early. */
  readonly failure: PrlError | null;
  /** Takes the next bytes, which must not hold an LF; never blocks, never copies. They are the line's until released. */
  write(part: LinePart): void;
  /**
   * Ends it with an LF. Resolves when all of it is in the file.
   * @throws PrlError `PRL_ERR_LIMIT` without room, else `PRL_ERR_TEMPORARY` or `PRL_ERR_USAGE`; it is then not there
   */
  commit(): Promise<RecordPlace>;
  /**
   * Gives it up; resolves when what was written of it is gone, or told in a notice. The chunk that it made room for
   * itself in stays the live one, so the one before may not be full.
   */
  abort(): Promise<void>;
};

/** One moment of a stream. */
export type StreamSnapshot = {
  /** The chunk that grows, and the bytes of its whole lines. */
  readonly chunk: number;
  readonly liveBytes: number;
  /** Written by this writer, LFs included. */
  readonly lines: number;
  readonly bytes: number;
  /** Lines that are not there because they could not be written. */
  readonly failedLines: number;
  /** Not written yet; the open line counts. */
  readonly pendingLines: number;
  readonly pendingBytes: number;
  /** Chunks sealed by this writer, those that wait to be, and those that could not. */
  readonly sealed: number;
  readonly sealBacklog: number;
  readonly failedSeals: number;
};
