/**
 * Random access to a run by (chunk, offset), as an index or a journal names its records: plain chunks by a positional
 * read, sealed ones by decompressing the frames that hold the range and no others (spec 03 section 5.1).
 */
import { createHash } from 'node:crypto';
import { PrlError } from '../core/errors.js';
import { LineFramer } from '../core/scan/framing.js';
import type { FramedLine } from '../core/scan/types.js';
import { MAX_LINE_BYTES } from '../core/upload/limits.js';
import { openChunk, openChunkFile } from './chunk-open.js';
import { readLines } from './chunk-reader.js';
import type { ChunkSource } from './chunk-source.js';
import { describeReadError } from './run-fault.js';
import type { ChunkFile } from './run-types.js';

/** Uncompressed bytes at the start of a chunk that its identity hashes. */
const IDENTITY_HEAD_BYTES = 4096;

/** Which file a chunk is, cheaply: what tells a file that grew from one that was replaced (U17, U18, T4, T5). */
export type ChunkIdentity = {
  readonly dev: number;
  readonly ino: number;
  readonly sizeBytes: number;
  /** How many bytes were hashed: 4096, or all there are. A chunk that grew is compared over the shorter head. */
  readonly headBytes: number;
  /** SHA-256, lower-case hex, of the first `headBytes` uncompressed bytes; sealing a chunk leaves it as it is. */
  readonly headSha256: string;
};

/**
 * The identity of a chunk now. `headBytes` limits the hash to what an earlier identity covered.
 * @throws PrlError `PRL_ERR_DAMAGED` when the start of the chunk cannot be read
 */
export async function identifyChunk(file: ChunkFile, headBytes = IDENTITY_HEAD_BYTES): Promise<ChunkIdentity> {
  const { source, dev, ino, sizeBytes } = await open(file, openChunkFile);
  try {
    const head = await collect(file, source, 0, Math.min(headBytes, IDENTITY_HEAD_BYTES));
    const headSha256 = createHash('sha256').update(head).digest('hex');
    return { dev, ino, sizeBytes, headBytes: head.length, headSha256 };
  } finally {
    await source.close();
  }
}

/**
 * The uncompressed bytes `[start, start + length)` of a chunk, fewer when it ends before. Of a document they are the
 * bytes as they stand in the file, not the compacted record.
 * @throws PrlError `PRL_ERR_DAMAGED` when a byte of the range cannot be read
 */
export async function readRange(file: ChunkFile, start: number, length: number): Promise<Buffer> {
  const source = await open(file, openChunk);
  try {
    return await collect(file, source, start, length);
  } finally {
    await source.close();
  }
}

/**
 * The bytes `[start, end)` of a chunk as they are now: fewer when it ends early, null when they cannot be read. Of a
 * document, whose records are compacted, the last `end - start` bytes of the record that ends at `end`, as
 * `readRecords` gives it: what the caller kept of a record can be compared in any form.
 */
export async function readChunkRange(file: ChunkFile, start: number, end: number): Promise<Buffer | null> {
  try {
    if (file.form === 'document') return await readDocumentTail(file, end, end - start);
    return await readRange(file, start, end - start);
  } catch (error) {
    if (error instanceof PrlError) return null;
    throw error;
  }
}

/** Empty when no record ends there any more. Reads the document up to the record: its structure has no shortcut. */
async function readDocumentTail(file: ChunkFile, end: number, length: number): Promise<Buffer> {
  for await (const event of readLines(file)) {
    if (event.type === 'lost' && event.lost.kind === 'unreadable')
      throw damaged(file, event.lost.offset, event.lost.reason);
    if (event.type !== 'line' || event.line.offset + event.line.length < end) continue;
    const { offset, length: sourceBytes, bytes } = event.line;
    return bytes !== null && offset + sourceBytes === end ? bytes.subarray(-length) : Buffer.alloc(0);
  }
  return Buffer.alloc(0);
}

/**
 * The line that begins at `offset`, up to its LF; null when the chunk ends at or before it. Its number is not known
 * here and given as 1.
 * @throws PrlError `PRL_ERR_DAMAGED` when a byte of the line cannot be read
 */
export async function readLineAt(
  file: ChunkFile,
  offset: number,
  maxLineBytes = MAX_LINE_BYTES,
): Promise<FramedLine | null> {
  const source = await open(file, openChunk);
  try {
    const framer = new LineFramer({ startOffset: offset, startLineNumber: 1, maxLineBytes });
    for await (const piece of source.pieces(offset, Number.POSITIVE_INFINITY)) {
      if (piece.kind === 'lost') throw damaged(file, piece.offset, piece.reason);
      for (const line of framer.push(piece.bytes)) return line;
    }
    return framer.finish();
  } finally {
    await source.close();
  }
}

async function open<T>(file: ChunkFile, opener: (file: ChunkFile) => Promise<T>): Promise<T> {
  try {
    return await opener(file);
  } catch (cause) {
    throw new PrlError('PRL_ERR_DAMAGED', `cannot read ${file.relativePath}: ${describeReadError(cause)}`, { cause });
  }
}

async function collect(file: ChunkFile, source: ChunkSource, start: number, length: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const piece of source.pieces(start, start + length)) {
    if (piece.kind === 'lost') throw damaged(file, piece.offset, piece.reason);
    parts.push(Buffer.from(piece.bytes));
  }
  return Buffer.concat(parts);
}

function damaged(file: ChunkFile, offset: number, reason: string): PrlError {
  return new PrlError('PRL_ERR_DAMAGED', `cannot read ${file.relativePath} at byte ${offset}: ${reason}`);
}
