/**
 * Standard input as a chunk: read once, in order. Compressed input is put into a temporary file first, because frames
 * have to be cut out by length before they can be decompressed (spec 03 section 5.2).
 */
import { createWriteStream } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { isZstd } from '../core/stream/zstd-frames.js';
import { readSeekTable, SealedChunk, WalkedChunk } from './chunk-sealed.js';
import type { ChunkPiece, ChunkSource } from './chunk-source.js';

const MAGIC_BYTES = 4;

/**
 * Plain or compressed, told by the first bytes that arrive. The source reads from `input` and cannot go back.
 * @throws the reason of the signal, also while nothing arrives: whoever is to write may never do so
 */
export async function openStdin(input: Readable, signal?: AbortSignal): Promise<ChunkSource> {
  signal?.throwIfAborted();
  signal?.addEventListener('abort', () => input.destroy(signal.reason as Error), { once: true });
  const parts = input[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const head: Buffer[] = [];
  let headBytes = 0;
  while (headBytes < MAGIC_BYTES) {
    const next = await parts.next();
    if (next.done === true) break;
    head.push(next.value);
    headBytes += next.value.length;
  }
  const first = Buffer.concat(head);
  return isZstd(first) ? spoolSealed(first, parts) : new StdinChunk(first, parts);
}

class StdinChunk implements ChunkSource {
  readonly #first: Buffer;
  readonly #parts: AsyncIterator<Buffer>;
  readonly uncompressedBytes = null;

  constructor(first: Buffer, parts: AsyncIterator<Buffer>) {
    this.#first = first;
    this.#parts = parts;
  }

  /** The part of the input that lies in `[start, end)`; may be asked for once. */
  async *pieces(start: number, end: number, signal?: AbortSignal): AsyncGenerator<ChunkPiece, void> {
    let offset = 0;
    let part: Buffer = this.#first;
    while (offset < end) {
      signal?.throwIfAborted();
      const from = Math.max(0, start - offset);
      const to = Math.min(part.length, end - offset);
      if (from < to) yield { kind: 'bytes', offset: offset + from, bytes: part.subarray(from, to) };
      offset += part.length;
      const next = await this.#parts.next();
      if (next.done === true) return;
      part = next.value;
    }
  }

  async close(): Promise<void> {
    await this.#parts.return?.();
  }
}

async function spoolSealed(first: Buffer, parts: AsyncIterator<Buffer>): Promise<ChunkSource> {
  const directory = await mkdtemp(join(tmpdir(), 'prl-stdin-'));
  try {
    const path = join(directory, 'input.zst');
    await pipeline(Readable.from(joined(first, parts)), createWriteStream(path, { mode: 0o600 }));
    const handle = await open(path, 'r');
    const { size } = await handle.stat();
    const table = await readSeekTable(handle, size);
    const source = typeof table === 'string' ? new WalkedChunk(handle, size) : new SealedChunk(handle, table);
    return withCleanUp(source, directory);
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw error;
  }
}

async function* joined(first: Buffer, parts: AsyncIterator<Buffer>): AsyncGenerator<Buffer, void> {
  yield first;
  for (let next = await parts.next(); next.done !== true; next = await parts.next()) yield next.value;
}

function withCleanUp(source: ChunkSource, directory: string): ChunkSource {
  return {
    uncompressedBytes: source.uncompressedBytes,
    pieces: (start, end, signal) => source.pieces(start, end, signal),
    close: async () => {
      await source.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
