/**
 * How much of a growing run lies on disk behind what was read of it: what a slow service keeps waiting there. Looked at
 * now and then, for the eyes of a person only; what cannot be looked at counts as nothing.
 */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { listChunks } from '../core/stream/chunk-names.js';
import { inspectChunk } from './chunk-open.js';
import type { Run } from './run-types.js';

/**
 * @param readBytes uncompressed bytes of each chunk up to the end of what was read
 * @param current the chunk that is read
 */
export async function unreadBytes(run: Run, readBytes: ReadonlyMap<number, number>, current: number): Promise<number> {
  const sizes = run.layout === 'R3' ? await streamSizes(run, current) : await fileSizes(run, current);
  return sizes.reduce((sum, { chunk, bytes }) => sum + Math.max(0, bytes - (readBytes.get(chunk) ?? 0)), 0);
}

type ChunkSize = { readonly chunk: number; readonly bytes: number };

/** Of the chunk that is read and those behind it: a chunk is left only when all of it was read. */
async function streamSizes({ root, tracesDirectory: traces }: Run, current: number): Promise<ChunkSize[]> {
  const directory = traces === null ? root : join(traces, 'stream');
  const names = await readdir(directory).catch(() => []); // away for the moment
  const chunks = listChunks(names).chunks.filter(({ chunk }) => chunk >= current);
  return Promise.all(
    chunks.map(async ({ chunk, plain, sealed }) => ({
      chunk,
      bytes:
        plain === null ? await sealedBytes(join(directory, sealed ?? '')) : await plainBytes(join(directory, plain)),
    })),
  );
}

/** There may be thousands: only the one that is read is looked at, the others are taken to be as they were. */
function fileSizes({ files }: Run, current: number): Promise<ChunkSize[]> {
  return Promise.all(
    files.map(async ({ chunk, path, sizeBytes }) => ({
      chunk,
      bytes: chunk === current ? await plainBytes(path) : sizeBytes,
    })),
  );
}

async function plainBytes(path: string): Promise<number> {
  return (await stat(path).catch(() => null))?.size ?? 0; // sealed or removed meanwhile
}

async function sealedBytes(path: string): Promise<number> {
  return (await inspectChunk(path).catch(() => null))?.uncompressedBytes ?? 0; // removed meanwhile, or only reading tells
}
