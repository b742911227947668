/** Stream directories for tests: what lies in them, and what a reader makes of it. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { IndexOutcome, StreamOutcome } from '../../src/core/index/outcome.js';
import { parseChunkName } from '../../src/core/stream/chunk-names.js';
import { inspectChunk } from '../../src/io/chunk-open.js';
import { readRange } from '../../src/io/chunk-range.js';
import { openRun } from '../../src/io/run.js';
import { type IndexTarget, RunIndex } from '../../src/io/run-index.js';
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

/** Looks again after each turn of the event loop. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise(setImmediate);
}

/** The index that `prl index --rows` makes of a run, episodes only. */
export async function rebuiltRows(run: string): Promise<string> {
  const rows: Buffer[] = [];
  const write = async (bytes: Uint8Array): Promise<void> => void rows.push(Buffer.from(bytes));
  await indexRun(run, { kind: 'rows', write });
  return Buffer.concat(rows).toString();
}

/** What `prl index --check` finds in each stream of a run. */
export async function checkedIndexes(run: string): Promise<readonly StreamOutcome[]> {
  return (await indexRun(run, { kind: 'check', path: null })).streams;
}

async function indexRun(path: string, target: IndexTarget): Promise<IndexOutcome> {
  const run = await openRun(path);
  const options = { jobs: 1, tokens: 'auto', mode: null, isStrict: false, subset: 'all', environment: null } as const;
  return new RunIndex({ run, target, onNotice: () => {}, ...options }).run(new AbortController().signal);
}
