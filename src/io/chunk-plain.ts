/**
 * A plain chunk: positional reads into one buffer that is used again, so memory does not depend on the file's size.
 * The handle stays open, so sealing may unlink the file underneath (R-CHK-5).
 */
import type { FileHandle } from 'node:fs/promises';
import { type ChunkPiece, type ChunkSource, READ_BYTES } from './chunk-source.js';
import { describeReadError } from './run-fault.js';

/** After this many failed reads in a row the rest of the file is given up. */
const MAX_FAILED_READS = 16;

export class PlainChunk implements ChunkSource {
  readonly #handle: FileHandle;
  readonly uncompressedBytes: number;

  /** `uncompressedBytes`: how much of the file is looked at; what was appended later is not. */
  constructor(handle: FileHandle, uncompressedBytes: number) {
    this.#handle = handle;
    this.uncompressedBytes = uncompressedBytes;
  }

  async *pieces(start: number, end: number, signal?: AbortSignal): AsyncGenerator<ChunkPiece, void> {
    const stop = Math.min(end, this.uncompressedBytes);
    const buffer = Buffer.allocUnsafe(Math.max(0, Math.min(READ_BYTES, stop - start)));
    let offset = start;
    let failedReads = 0;
    while (offset < stop) {
      signal?.throwIfAborted();
      const wanted = Math.min(buffer.length, stop - offset);
      const read = await this.#read(buffer, wanted, offset);
      if (typeof read === 'number') {
        if (read === 0) {
          yield lost(offset, stop - offset, `the file was cut to ${offset} bytes while it was read`);
          return;
        }
        failedReads = 0;
        yield { kind: 'bytes', offset, bytes: buffer.subarray(0, read) };
        offset += read;
      } else {
        failedReads += 1;
        const bytes = failedReads < MAX_FAILED_READS ? wanted : stop - offset;
        yield lost(offset, bytes, read.reason);
        offset += bytes;
      }
    }
  }

  async #read(buffer: Buffer, length: number, position: number): Promise<number | { readonly reason: string }> {
    try {
      return (await this.#handle.read(buffer, 0, length, position)).bytesRead;
    } catch (error) {
      return { reason: describeReadError(error) };
    }
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

function lost(offset: number, bytes: number, reason: string): ChunkPiece {
  return { kind: 'lost', offset, bytes, damage: 'unreadable', reason };
}
