/**
 * Reads a chunk line by line: the bytes of any form of chunk, framed at LF, with ranges left out that are settled
 * already. Every byte of the range that is read comes out once, in a line or in a loss.
 */
import { LineFramer } from '../core/scan/framing.js';
import type { LineMemory } from '../core/scan/line-memory.js';
import type { DamageKind, FramedLine } from '../core/scan/types.js';
import { MAX_LINE_BYTES } from '../core/upload/limits.js';
import { openChunk } from './chunk-open.js';
import type { ChunkPiece, ChunkSource } from './chunk-source.js';
import { type ReadDocumentOptions, readDocument } from './document-reader.js';
import { describeReadError } from './run-fault.js';
import type { ChunkFile } from './run-types.js';

/** Uncompressed bytes that need not be read again; begins at the start of a line and ends behind an LF. */
export type SkipRange = {
  readonly start: number;
  readonly end: number;
  /** Physical lines inside, so that later line numbers stay true. Left out: the range is read to count them. */
  readonly lines?: number;
};

export type ReadLinesOptions = {
  /** Sorted, without overlap. */
  readonly skip?: readonly SkipRange[];
  /** Uncompressed offset to stop at; default: all that was there when the run was opened. */
  readonly endOffset?: number;
  /** Longest line that is handed out whole, without LF but with CR; default the 64 MiB that the service takes. */
  readonly maxLineBytes?: number;
  /** Where lines are put; default memory of their own. Records of a document have their own. */
  readonly memory?: LineMemory;
  readonly signal?: AbortSignal;
};

/** Uncompressed bytes that could not be read; a line that was open before them is part of them. */
export type LostRange = {
  readonly offset: number;
  /** 0 when nothing tells how much was lost. */
  readonly bytes: number;
  readonly kind: DamageKind;
  readonly reason: string;
};

export type LineEvent =
  | { readonly type: 'line'; readonly line: FramedLine }
  | { readonly type: 'lost'; readonly lost: LostRange }
  /** Bytes of a document that belong to no record: brackets, commas and white space between its records. */
  | { readonly type: 'structure'; readonly bytes: number };

/**
 * The lines of a chunk in order. After a loss the rest of the line it cut comes as a line of its own, and the loss
 * counts as one line. A chunk that cannot be opened is one loss; only an abort throws.
 */
export async function* readLines(file: ChunkFile, options: ReadLinesOptions = {}): AsyncGenerator<LineEvent, void> {
  options.signal?.throwIfAborted();
  let source: ChunkSource;
  try {
    source = await openChunk(file, options.signal);
  } catch (error) {
    options.signal?.throwIfAborted();
    const bytes = file.uncompressedBytes ?? 0;
    yield { type: 'lost', lost: { offset: 0, bytes, kind: 'unreadable', reason: describeReadError(error) } };
    return;
  }
  try {
    if (file.form === 'document') yield* readDocument(source, documentOptions(options));
    else yield* readGaps(source, file, options);
  } finally {
    await source.close();
  }
}

/** A document is read whole: where a record ends only its structure tells. */
function documentOptions({ maxLineBytes = MAX_LINE_BYTES, signal }: ReadLinesOptions): ReadDocumentOptions {
  return signal === undefined ? { maxLineBytes } : { maxLineBytes, signal };
}

async function* readGaps(
  source: ChunkSource,
  file: ChunkFile,
  options: ReadLinesOptions,
): AsyncGenerator<LineEvent, void> {
  const end = options.endOffset ?? file.uncompressedBytes ?? Number.POSITIVE_INFINITY;
  const maxLineBytes = options.maxLineBytes ?? MAX_LINE_BYTES;
  const framer = new LineFramer({ startOffset: 0, startLineNumber: 1, maxLineBytes, memory: options.memory });
  let gapStart = 0;
  for (const skip of options.skip ?? []) {
    if (skip.start >= end) break;
    yield* readGap(source, framer, gapStart, skip.start, options.signal);
    const lines = skip.lines ?? (await countLines(source, skip, options.signal));
    framer.restart(skip.end, framer.lineNumber + lines);
    gapStart = skip.end;
  }
  yield* readGap(source, framer, gapStart, end, options.signal);
}

/** The lines of `[start, end)`; the framer stands at `start`, and at the end of the range afterwards. */
export async function* readGap(
  source: ChunkSource,
  framer: LineFramer,
  start: number,
  end: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<LineEvent, void> {
  if (start >= end) return;
  for await (const piece of source.pieces(start, end, signal)) {
    if (piece.kind === 'bytes') for (const line of framer.push(piece.bytes)) yield { type: 'line', line };
    else yield { type: 'lost', lost: lose(framer, piece) };
  }
  const last = framer.finish();
  if (last !== null) yield { type: 'line', line: last };
}

function lose(framer: LineFramer, piece: Extract<ChunkPiece, { kind: 'lost' }>): LostRange {
  const offset = framer.lineOffset;
  const end = piece.offset + piece.bytes;
  framer.restart(end);
  return { offset, bytes: end - offset, kind: piece.damage, reason: piece.reason };
}

/** Physical lines that end in a range; what is lost of it counts as none. */
export async function countLines(
  source: ChunkSource,
  range: SkipRange,
  signal: AbortSignal | undefined,
): Promise<number> {
  let lines = 0;
  for await (const piece of source.pieces(range.start, range.end, signal)) {
    if (piece.kind === 'lost') continue;
    for (let at = piece.bytes.indexOf(0x0a); at >= 0; at = piece.bytes.indexOf(0x0a, at + 1)) lines += 1;
  }
  return lines;
}
