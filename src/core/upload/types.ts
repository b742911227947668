/** What the batcher, the uploader and a sender agree on. No logic. */
import type { LineLease } from '../scan/line-memory.js';
import type { LineFormat } from '../scan/types.js';

/** One line of a batch: the exact bytes that travel, and the source range they came from. */
export type BatchLine = {
  readonly chunk: number;
  /** Source range inside the uncompressed chunk. `length` differs from `byteLength` when a run was stamped. */
  readonly offset: number;
  readonly length: number;
  readonly lineNumber: number;
  /** Episode or trace id, null where the record has none. */
  readonly id: string | null;
  /** The exact bytes that travel, LF included if the source had one, in slices: a stamp edits without copying. */
  readonly parts: readonly Buffer[];
  /** Sum of the parts' lengths. */
  readonly byteLength: number;
  /** The last source bytes of the line, at most 64: the journal's evidence that the chunk is still the same. */
  readonly sourceTail: Buffer;
  /** Between it and the line before it in the batch stands one that is not this batch's: settled, or not asked for. */
  readonly isBehindGap?: boolean;
  /** To give the memory of the parts back once the line is settled. */
  readonly lease?: LineLease;
};

/** What one request carries. Cut by the rules of spec 06 section 3 alone: same input, same batches, same keys. */
export type Batch = {
  readonly format: LineFormat;
  readonly chunk: number;
  readonly lines: readonly BatchLine[];
  /** Uncompressed bytes: the sum of the lines' byte lengths. */
  readonly batchBytes: number;
};

/** A batch as it goes over the wire: built once, sent as it is on every attempt. */
export type PackedBatch = {
  /** 64 lower-case hex: SHA-256 of the uncompressed JSONL bytes. */
  readonly digest: string;
  readonly format: LineFormat;
  readonly contentType: string;
  /** The whole multipart body, in slices. */
  readonly body: readonly Buffer[];
  readonly bodyBytes: number;
  /** One for each line, in order: what a journal recognises the line by wherever it stands (`lineDigest`). */
  readonly lineDigests: readonly string[];
};

/** The service's acceptance of one batch. */
export type Receipt = {
  readonly uploadId: string;
  readonly status: string;
  /** What differs from our digest or from `committed`, one line; null when the receipt is as expected. */
  readonly mismatch: string | null;
};

/** A line that is not stored and will not be, at its source address. */
export type RejectedLine = {
  readonly chunk: number;
  readonly offset: number;
  readonly length: number;
  /** Bytes that would have travelled; differs from `length` when a run was stamped. */
  readonly byteLength: number;
  readonly lineNumber: number;
  readonly id: string | null;
  /** A code of the service's error table, or one of ours: `line_too_large`, `duplicate_*`, `wrong_unit`, `bad_receipt`. */
  readonly code: string;
  readonly message: string;
  /** Of the line as it would have travelled; null until somebody who can hash has seen it. */
  readonly digest: string | null;
};

/** A stretch of one chunk, uncompressed bytes, end exclusive. */
export type SourceRange = { readonly chunk: number; readonly start: number; readonly end: number };

/** A stretch that need not be read again, and the physical lines in it; null when they were not counted. */
export type SettledRange = SourceRange & { readonly physicalLines: number | null };

/** Lines of a batch that stand together: a stretch of its chunk. */
export type Island = readonly [start: number, end: number, physicalLines: number];

/** A stretch of lines that were cut together; with islands, only what lies in them. */
export type Cut = SourceRange & {
  /** Sorted, apart from each other, the first at `start`, the last up to `end`. Left out where there is one. */
  readonly islands?: readonly Island[];
};

/** What a batch becomes in the journal: the source range it settles, islands alone if it has some, and what travelled. */
export type BatchRange = SettledRange & {
  readonly islands?: readonly Island[];
  readonly format: LineFormat;
  readonly lines: number;
  /** Uncompressed bytes as sent; differs from `end - start` when runs were stamped or lines left out. */
  readonly sentBytes: number;
  /** SHA-256 of the bytes as sent, 64 lower-case hex. */
  readonly digest: string;
  /** Last source bytes of the range, at most 64, to recognise a rewritten chunk. */
  readonly tail: Buffer;
  /** The lines that travelled, each by its digest, in order. */
  readonly lineDigests: readonly string[];
};

/**
 * Where settled work is remembered. A call resolves when the fact is durable, or when the journal has given up and
 * told so once: it never rejects, since an upload is correct without a journal (U2), only dearer to repeat.
 */
export type UploadJournal = {
  /** Before the first attempt: pins the cut, so that a repeat sends the same bytes under the same key. */
  planned(range: BatchRange): Promise<void>;
  /** After the receipt, never before. */
  stored(range: BatchRange): Promise<void>;
  rejected(line: RejectedLine): Promise<void>;
};

/**
 * One attempt to hand over a batch.
 *
 * - `stored`: the service holds it, durably.
 * - `refused`: this batch, as it is, will never be taken (400, 409, 413, 422).
 * - `retry`: the service or the network could not, now; `retryAfterMs` when the service named a time.
 * - `stop`: nothing will be taken from this sender (401, 402, 403).
 */
export type Attempt =
  | { readonly outcome: 'stored'; readonly receipt: Receipt }
  | { readonly outcome: 'refused'; readonly status: number; readonly code: string; readonly message: string }
  | {
      readonly outcome: 'retry';
      readonly status: number | null;
      readonly code: string;
      readonly message: string;
      readonly retryAfterMs: number | null;
      /** Bytes of the request that left; absent: all of them. */
      readonly acceptedBytes?: number;
    }
  | {
      readonly outcome: 'stop';
      readonly status: number | null;
      readonly code: string;
      readonly message: string;
      readonly errorCode: 'PRL_ERR_AUTH' | 'PRL_ERR_TEMPORARY' | 'PRL_ERR_USAGE' | 'PRL_ERR_BUG';
      /** What to do before it is worth another run. */
      readonly hint?: string;
    };

/** The edge that the uploader drives. One call is one attempt; it never retries, and never throws for a peer's doing. */
export type Sender = {
  send(batch: PackedBatch, signal: AbortSignal): Promise<Attempt>;
};

/** Time as the uploader sees it; monotonic, so that a clock jump moves nothing. */
export type Clock = {
  nowMs(): number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
};
