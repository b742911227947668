/**
 * Cuts lines into batches by the rules of spec 06 section 3 and nothing else: same lines, same batches, same keys,
 * whatever the concurrency. A batch never spans two chunks (R-UP-1) nor two line formats. A line that cannot be part
 * of its batch (too large, an id twice) is left out and returned as rejected; the batches are those of the input
 * without it (R-UP-4, B25).
 */
import { PrlError } from '../errors.js';
import type { LineFormat } from '../scan/types.js';
import { DEFAULT_TARGET_BATCH_BYTES, MAX_BATCH_BYTES, MAX_BATCH_LINES, MAX_LINE_BYTES } from './limits.js';
import type { Batch, BatchLine, RejectedLine } from './types.js';

/** A line on its way into a batch, with the ids that may occur only once in a request. */
export type Candidate = {
  readonly format: LineFormat;
  readonly line: BatchLine;
  readonly episodeId: string | null;
  /** Ids of the traces in the line, in order; one id for a trace line. */
  readonly traceIds: readonly string[];
  /** Rows the service stages for the line: 1 for a trace, 1 + traces for an episode. */
  readonly rows: number;
};

export type BatcherOptions = {
  /** Uncompressed bytes, 1 to 256 MiB; default 30 MiB. */
  readonly targetBytes?: number;
  /** Default 64 MiB, without trailing LFs but with CR. */
  readonly maxLineBytes?: number;
  /** Default 1,000,000. */
  readonly maxLines?: number;
  /** Staged rows a request (B28); off (null) by default, so that digests equal upstream's. */
  readonly maxRows?: number | null;
};

/** What one line did: `closed` went before it, `rejected` is the line itself, left out. */
export type Pushed = { readonly closed: Batch | null; readonly rejected: RejectedLine | null };

type OpenBatch = {
  readonly format: LineFormat;
  readonly chunk: number;
  readonly lines: BatchLine[];
  batchBytes: number;
  rows: number;
  /** Id to the line number that brought it. */
  readonly episodeIds: Map<string, number>;
  readonly traceIds: Map<string, number>;
};

export class Batcher {
  readonly #targetBytes: number;
  readonly #maxLineBytes: number;
  readonly #maxLines: number;
  readonly #maxRows: number;
  #open: OpenBatch | null = null;

  /** @throws PrlError `PRL_ERR_USAGE` for a target outside 1 byte to 256 MiB. */
  constructor(options: BatcherOptions = {}) {
    this.#targetBytes = options.targetBytes ?? DEFAULT_TARGET_BATCH_BYTES;
    this.#maxLineBytes = options.maxLineBytes ?? MAX_LINE_BYTES;
    this.#maxLines = options.maxLines ?? MAX_BATCH_LINES;
    this.#maxRows = options.maxRows ?? Number.POSITIVE_INFINITY;
    if (!(this.#targetBytes >= 1 && this.#targetBytes <= MAX_BATCH_BYTES)) {
      throw new PrlError(
        'PRL_ERR_USAGE',
        `batch size is ${this.#targetBytes} bytes, allowed are 1 to ${MAX_BATCH_BYTES}`,
      );
    }
  }

  get openLines(): number {
    return this.#open?.lines.length ?? 0;
  }

  get openBytes(): number {
    return this.#open?.batchBytes ?? 0;
  }

  /**
   * Takes the next line of the input. `pinned` keeps an open batch open whatever its size: an earlier run cut here
   * with other options, and its cut must be repeated to be recognised.
   */
  push(candidate: Candidate, pinned = false): Pushed {
    const { line } = candidate;
    const contentBytes = contentLength(line);
    if (contentBytes > this.#maxLineBytes)
      return { closed: null, rejected: tooLarge(line, contentBytes, this.#maxLineBytes) };
    const ownDuplicate = duplicateWithin(candidate);
    if (ownDuplicate !== null) return { closed: null, rejected: ownDuplicate };
    const closes = this.#open !== null && this.#closesBefore(this.#open, candidate, pinned);
    if (!closes && this.#open !== null) {
      const duplicate = duplicateOf(this.#open, candidate);
      if (duplicate !== null) return { closed: null, rejected: duplicate };
    }
    const closed = closes ? this.flush() : null;
    this.#append(candidate);
    return { closed, rejected: null };
  }

  /** Closes the open batch, if any: at the end of a chunk, or where settled bytes follow. */
  flush(): Batch | null {
    const open = this.#open;
    this.#open = null;
    if (open === null) return null;
    return { format: open.format, chunk: open.chunk, lines: open.lines, batchBytes: open.batchBytes };
  }

  #closesBefore(open: OpenBatch, { format, line, rows }: Candidate, pinned: boolean): boolean {
    if (open.chunk !== line.chunk || open.format !== format || !endsInLf(open.lines.at(-1))) return true;
    if (pinned) return false;
    return (
      open.batchBytes + line.byteLength > this.#targetBytes ||
      open.lines.length >= this.#maxLines ||
      open.rows + rows > this.#maxRows
    );
  }

  #append({ format, line, episodeId, traceIds, rows }: Candidate): void {
    this.#open ??= {
      format,
      chunk: line.chunk,
      lines: [],
      batchBytes: 0,
      rows: 0,
      episodeIds: new Map(),
      traceIds: new Map(),
    };
    this.#open.lines.push(line);
    this.#open.batchBytes += line.byteLength;
    this.#open.rows += rows;
    if (episodeId !== null) this.#open.episodeIds.set(episodeId, line.lineNumber);
    for (const traceId of traceIds) this.#open.traceIds.set(traceId, line.lineNumber);
  }
}

/** A line as rejected, under a code and a message of one line. */
export function rejectLine(line: BatchLine, code: string, message: string): RejectedLine {
  const { chunk, offset, length, byteLength, lineNumber, id } = line;
  return { chunk, offset, length, byteLength, lineNumber, id, code, message, digest: null };
}

/** A record without LF can only be the last of a request: a chunk's open tail, or one that another was glued to. */
function endsInLf(line: BatchLine | undefined): boolean {
  return line?.parts.at(-1)?.at(-1) === 0x0a;
}

/** Bytes as the service counts them: without the LF, which a framed line has once at most, and with a CR before it. */
function contentLength(line: BatchLine): number {
  return line.byteLength - Number(endsInLf(line));
}

function tooLarge(line: BatchLine, contentBytes: number, maxLineBytes: number): RejectedLine {
  return rejectLine(
    line,
    'line_too_large',
    `line ${line.lineNumber} is ${contentBytes} bytes, the service takes at most ${maxLineBytes} a line`,
  );
}

function duplicateWithin({ line, traceIds }: Candidate): RejectedLine | null {
  if (traceIds.length < 2) return null;
  const seen = new Set<string>();
  for (const traceId of traceIds) {
    if (seen.has(traceId)) return duplicate(line, 'trace', traceId, line.lineNumber);
    seen.add(traceId);
  }
  return null;
}

function duplicateOf(open: OpenBatch, { line, episodeId, traceIds }: Candidate): RejectedLine | null {
  const firstEpisode = episodeId === null ? undefined : open.episodeIds.get(episodeId);
  if (episodeId !== null && firstEpisode !== undefined) return duplicate(line, 'episode', episodeId, firstEpisode);
  for (const traceId of traceIds) {
    const firstTrace = open.traceIds.get(traceId);
    if (firstTrace !== undefined) return duplicate(line, 'trace', traceId, firstTrace);
  }
  return null;
}

function duplicate(line: BatchLine, what: 'episode' | 'trace', id: string, firstLine: number): RejectedLine {
  return rejectLine(
    line,
    `duplicate_${what}_id`,
    `${what} ${id} appears twice in one request, on line ${firstLine} and on line ${line.lineNumber}; the later line is left out`,
  );
}
