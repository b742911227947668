/**
 * The whole lines of a growing file as a source that ends early: before anything is told of a file that changed under
 * the reader, and at a line too long to be gathered by doubling a buffer, which is then read at once by its length.
 */
import type { FileHandle } from 'node:fs/promises';
import type { FramedLine } from '../core/scan/types.js';
import { PlainChunk } from './chunk-plain.js';
import { type ChunkPiece, type ChunkSource, READ_BYTES } from './chunk-source.js';
import { findLineEnd } from './follow-line-ends.js';

const LF = 0x0a;

/** Longest line that is gathered piece by piece. */
const GATHERED_BYTES = 4 * READ_BYTES;

export type CheckedSourceOptions = {
  readonly handle: FileHandle;
  /** Whether what was read up to this offset is still what the file holds. */
  readonly stands: (end: number) => Promise<boolean>;
  /** Whether to end at a long line. */
  readonly stopsAtLongLine: boolean;
};

export class CheckedSource implements ChunkSource {
  readonly #options: CheckedSourceOptions;
  readonly uncompressedBytes = null;
  #openBytes = 0;
  #isAtLongLine = false;

  constructor(options: CheckedSourceOptions) {
    this.#options = options;
  }

  /** Whether a long line is why the pieces ended. */
  get isAtLongLine(): boolean {
    return this.#isAtLongLine;
  }

  async *pieces(start: number, end: number, signal?: AbortSignal): AsyncGenerator<ChunkPiece, void> {
    const { handle, stands, stopsAtLongLine } = this.#options;
    for await (const piece of new PlainChunk(handle, end).pieces(start, end, signal)) {
      if (!(await stands(piece.offset + (piece.kind === 'lost' ? piece.bytes : piece.bytes.length)))) return;
      this.#count(piece);
      this.#isAtLongLine = stopsAtLongLine && this.#openBytes > GATHERED_BYTES;
      if (this.#isAtLongLine) return;
      yield piece;
    }
  }

  /** The handle is the file's. */
  async close(): Promise<void> {}

  #count(piece: ChunkPiece): void {
    const lastEnd = piece.kind === 'bytes' ? piece.bytes.lastIndexOf(LF) + 1 : 0;
    if (piece.kind === 'lost' || lastEnd > 0) this.#openBytes = 0;
    if (piece.kind === 'bytes') this.#openBytes += piece.bytes.length - lastEnd;
  }
}

export type LongLineRange = {
  readonly start: number;
  /** The line has its LF before it. */
  readonly stop: number;
  /** A longer one is found and not read. */
  readonly maxLineBytes: number;
  readonly signal: AbortSignal;
};

/** The line that begins at `start`, in memory of just its length; null when it cannot be read, or changes meanwhile. */
export async function readLongLine(
  handle: FileHandle,
  { start, stop, maxLineBytes, signal }: LongLineRange,
): Promise<Pick<FramedLine, 'length' | 'bytes'> | null> {
  const end = await findLineEnd(handle, start, stop, signal);
  if (end === null) return null;
  const length = end - start;
  if (length - 1 > maxLineBytes) return { length, bytes: null };
  const bytes = Buffer.allocUnsafe(length);
  for (let at = 0; at < length; ) {
    signal.throwIfAborted();
    const read = await handle.read(bytes, at, Math.min(READ_BYTES, length - at), start + at).catch(() => null); // said by whoever reads it in pieces
    if (read === null || read.bytesRead === 0) return null;
    at += read.bytesRead;
  }
  // What stood there may have been taken back meanwhile, and shorter lines written.
  return bytes.indexOf(LF) === length - 1 ? { length, bytes } : null;
}
