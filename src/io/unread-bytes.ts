/**
 * How much of a growing run lies on disk behind what was read of it: what a slow service keeps waiting there. Looked at
 * now and then, for the eyes of a person only; what cannot be looked at counts as nothing.
 */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { listChunks } from '../core/stream/chunk-names.js';
import { inspectChunk } from './chunk-open.js';
import type { Run } from './run-types.js';

/** @param readBytes uncompressed bytes of each chunk up to the end of what was read */
export async function unreadBytes(run: Run, readBytes: ReadonlyMap<number, number>): Promise<number> {
  const { layout, root, tracesDirectory: traces, files } = run;
  const sizes =
    layout === 'R3'
      ? await sizesOfStream(traces === null ? root : join(traces, 'stream'), Math.max(0, ...readBytes.keys()))
      : await sizesOf(files.map(({ chunk, path }) => ({ chunk, path })));
  return sizes.reduce((sum, { chunk, bytes }) => sum + Math.max(0, bytes - (readBytes.get(chunk) ?? 0)), 0);
}

type ChunkSize = { readonly chunk: number; readonly bytes: number };

/** Of the chunk that is read and those behind it: a chunk is left only when all of it was read. */
async function sizesOfStream(directory: string, current: number): Promise<ChunkSize[]> {
  const names = await readdir(directory).catch(() => []); // away for the moment
  const chunks = listChunks(names).chunks.filter(({ chunk }) => chunk >= current);
  return sizesOf(chunks.map(({ chunk, plain, sealed }) => ({ chunk, path: join(directory, plain ?? sealed ?? '') })));
}

async function sizesOf(files: readonly { readonly chunk: number; readonly path: string }[]): Promise<ChunkSize[]> {
  const sizes: ChunkSize[] = [];
  for (const { chunk, path } of files) {
    const bytes = path.endsWith('.zst')
      ? ((await inspectChunk(path).catch(() => null))?.uncompressedBytes ?? 0) // sealed over, or removed meanwhile
      : ((await stat(path).catch(() => null))?.size ?? 0);
    sizes.push({ chunk, bytes });
  }
  return sizes;
}
