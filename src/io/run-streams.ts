/** The streams of a run that have an index: the episodes, and the annotations of each producer (spec 05 section 4). */
import { basename, join } from 'node:path';
import type { Damage } from '../core/scan/types.js';
import type { ChunkHole } from '../core/stream/chunk-names.js';
import { FileCollector } from './run-files.js';
import { kindAt, listDirectory } from './run-layout.js';
import { collectStream } from './run-stream.js';
import type { ChunkFile, Run } from './run-types.js';

export type RunStream = {
  /** As reports show it, relative to the run: a directory of chunks, or a file. */
  readonly name: string;
  readonly holds: 'episodes' | 'annotations';
  readonly files: readonly ChunkFile[];
  /** Found while the chunks were listed. */
  readonly damage: readonly Damage[];
  readonly notices: readonly string[];
  readonly holes: readonly ChunkHole[];
  /** Absolute path of the index file, there or not; null for layouts without one. */
  readonly indexPath: string | null;
  /** Whether rows name their chunk: not in R2. */
  readonly hasChunks: boolean;
};

/** The episodes first, then the producers by name. */
export async function listStreams(run: Run): Promise<readonly RunStream[]> {
  const { tracesDirectory: traces, layout } = run;
  const episodes: RunStream = {
    name: streamName(run),
    holds: 'episodes',
    files: run.files,
    damage: run.damage,
    notices: run.notices,
    holes: run.holes,
    indexPath: traces === null ? null : join(traces, 'stream.index.jsonl'),
    hasChunks: layout !== 'R2',
  };
  if (traces === null) return [episodes];
  const directory = join(traces, 'annotations');
  if ((await kindAt(directory)) !== 'directory') return [episodes];
  const streams: RunStream[] = [episodes];
  const entries = (await listDirectory(directory)).map(({ name }) => name).sort();
  for (const name of entries) {
    const stream = await annotationStream(run.root, directory, name);
    if (stream !== null) streams.push(stream);
  }
  return streams;
}

function streamName({ root, tracesDirectory: traces, layout, files }: Run): string {
  const collector = new FileCollector(root);
  if (traces !== null) return collector.relativePath(join(traces, layout === 'R2' ? 'stream.jsonl' : 'stream'));
  const [first] = files;
  return files.length === 1 && first !== undefined ? first.relativePath : basename(root);
}

/** A producer's chunks lie in a directory; in R2 they are one file. */
async function annotationStream(root: string, directory: string, name: string): Promise<RunStream | null> {
  const path = join(directory, name);
  const files = new FileCollector(root);
  const kind = await kindAt(path);
  const isFile = kind === 'file' && name.endsWith('.jsonl') && !name.endsWith('.index.jsonl');
  if (kind !== 'directory' && !isFile) return null;
  const producer = isFile ? name.slice(0, -'.jsonl'.length) : name;
  const holes = isFile ? [] : await collectStream(files, path, root);
  if (isFile) await files.add(path);
  return {
    name: files.relativePath(path),
    holds: 'annotations',
    files: files.files,
    damage: files.damage,
    notices: files.notices,
    holes,
    indexPath: join(directory, `${producer}.index.jsonl`),
    hasChunks: !isFile,
  };
}
