/** Stream directories for tests: what lies in them, and what a reader makes of it. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseChunkName } from '../../src/core/stream/chunk-names.js';
import { inspectChunk } from '../../src/io/chunk-open.js';
import { readRange } from '../../src/io/chunk-range.js';
import type { ChunkFile } from '../../src/io/run-types.js';
import type { RecordPlace, StreamNotice, StreamWriterOptions } from '../../src/io/stream-types.js';
import { StreamWriter } from '../../src/io/stream-writer.js';
import { tempFolder } from './temp-folder.js';

/** Seals from the sources. */
export const SEAL_WORKER = new URL('./seal-worker.mjs', import.meta.url);

export type OpenedWriter = {
  readonly writer: StreamWriter;
  readonly directory: string;
  readonly notices: StreamNotice[];
};

/** A writer of a directory of its own, or of a given one. */
export async function openWriter(options: StreamWriterOptions = {}, at?: string): Promise<OpenedWriter> {
  const directory = at ?? join(tempFolder(), 'stream');
  const notices: StreamNotice[] = [];
  const onNotice = (notice: StreamNotice): void => void notices.push(notice);
  const writer = await StreamWriter.open(directory, { workerUrl: SEAL_WORKER, onNotice, ...options });
  return { writer, directory, notices };
}

/** Names and contents of a folder, as text. */
export function contents(directory: string): Record<string, string> {
  const names = readdirSync(directory).sort();
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(directory, name), 'latin1')]));
}

export function names(directory: string): string[] {
  return readdirSync(directory).sort();
}

/** The bytes of a record as a reader finds them, whatever form the chunk has by now. */
export async function readPlace(directory: string, { chunk, offset, bytes }: RecordPlace): Promise<Buffer> {
  return readRange(await chunkFile(directory, chunk), offset, bytes);
}

async function chunkFile(directory: string, chunk: number): Promise<ChunkFile> {
  const forms = readdirSync(directory).filter((name) => parseChunkName(name)?.chunk === chunk);
  const name = forms.sort()[0] ?? '';
  const path = join(directory, name);
  const { form, sizeBytes, uncompressedBytes } = await inspectChunk(path);
  return { chunk, path, relativePath: name, form, sizeBytes, uncompressedBytes };
}
