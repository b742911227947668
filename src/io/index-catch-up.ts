/**
 * Gives records their rows that a crash came in between: they are in the stream, and the index ends before them. Only
 * what lies behind the last row is looked at; what is before it stays as it is, and is a matter of `prl index`.
 */
import { realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { annotationRow } from '../core/index/annotation-row.js';
import { RowNumberer } from '../core/index/number-rows.js';
import { ANNOTATIONS } from '../core/scan/classify.js';
import { openChunk } from './chunk-open.js';
import type { IndexAppender } from './index-appender.js';
import { FileCollector } from './run-files.js';
import { readFileRecords } from './run-records.js';
import { collectStream } from './run-stream.js';
import type { ChunkFile } from './run-types.js';
import { scanStream } from './scan-stream.js';
import type { RowSettings } from './scan-types.js';
import { SegmentRunner } from './segment-runner.js';
import type { StreamNotice } from './stream-types.js';

/** Uncompressed bytes that are read for it; a second of work. A crash leaves a few records without rows, no more. */
export const MAX_CATCH_UP_BYTES = 268_435_456;

/** As `prl index` makes rows of such a stream, and upstream. */
const SETTINGS: RowSettings = {
  tokens: 'auto',
  mode: 'compat',
  isStrict: false,
  isBothCounts: false,
  hasDigests: false,
};

const LF = 0x0a;

export type CatchUpOptions = {
  /** Of the chunks. Nobody may append to them meanwhile. */
  readonly directory: string;
  readonly holds: 'episodes' | 'annotations';
  readonly signal?: AbortSignal;
  readonly onNotice?: (notice: StreamNotice) => void;
  /** Default MAX_CATCH_UP_BYTES. */
  readonly maxBytes?: number;
};

/** The chunks that have records without rows, and where in the first of them those begin. */
type Tail = { readonly files: readonly ChunkFile[]; readonly startOffset: number };

/**
 * Appends the missing rows. To be called when the stream is open for writing, so that its last line is whole, and
 * before the first record of this writer.
 * @returns how many rows were added; 0 as well when a notice says that `prl index` has to do it
 * @throws PrlError as IndexAppender.append, and the reason of the signal
 */
export async function catchUpIndex(index: IndexAppender, options: CatchUpOptions): Promise<number> {
  const { directory, holds, onNotice, maxBytes = MAX_CATCH_UP_BYTES } = options;
  const files = await listFiles(directory);
  const tail = await findTail(index, files);
  if (typeof tail !== 'string') {
    const bytes = bytesOf(tail);
    if (bytes === 0) return 0;
    const before = index.rows;
    if (bytes <= maxBytes) {
      await (holds === 'episodes' ? addEpisodes(index, tail, options) : addAnnotations(index, tail, options));
      return index.rows - before;
    }
  }
  const reason = typeof tail === 'string' ? tail : `${bytesOf(tail)} bytes of the stream lie behind its last row`;
  const message = `${index.path} is left as it is: ${reason}; \`prl index\` makes it anew when the run is over`;
  onNotice?.({ kind: 'index', message });
  return 0;
}

async function listFiles(path: string): Promise<readonly ChunkFile[]> {
  const directory = await realpath(path);
  const root = dirname(directory);
  const collector = new FileCollector(root);
  await collectStream(collector, directory, root);
  return collector.files;
}

/** Or why it cannot be told. */
async function findTail({ rows, lastRow }: IndexAppender, files: readonly ChunkFile[]): Promise<Tail | string> {
  if (rows === 0) return { files, startOffset: 0 };
  if (lastRow === null) return 'its last line is no row';
  const { chunk, offset } = lastRow;
  const at = files.findIndex((file) => file.chunk === chunk);
  const file = files[at];
  const lineEnd = file === undefined ? null : await findLineEnd(file, offset);
  if (file === undefined || lineEnd === null) {
    return `its last row is of a record at byte ${offset} of chunk ${chunk}, which is not there`;
  }
  const isAtEnd = lineEnd === file.uncompressedBytes;
  return isAtEnd ? { files: files.slice(at + 1), startOffset: 0 } : { files: files.slice(at), startOffset: lineEnd };
}

/** Where the line ends that begins at an offset; null when there is none that can be read to its LF. */
async function findLineEnd(file: ChunkFile, offset: number): Promise<number | null> {
  const source = await openChunk(file).catch(() => null); // as good as not there
  if (source === null) return null;
  try {
    for await (const piece of source.pieces(offset, Number.POSITIVE_INFINITY)) {
      if (piece.kind === 'lost') return null;
      const at = piece.bytes.indexOf(LF);
      if (at >= 0) return piece.offset + at + 1;
    }
    return null;
  } finally {
    await source.close();
  }
}

/** Infinity when a chunk does not tell its length. */
function bytesOf({ files, startOffset }: Tail): number {
  const all = files.reduce((sum, { uncompressedBytes }) => sum + (uncompressedBytes ?? Number.POSITIVE_INFINITY), 0);
  return all - startOffset;
}

async function addEpisodes(index: IndexAppender, { files, startOffset }: Tail, options: CatchUpOptions): Promise<void> {
  const numberer = new RowNumberer(index.rows + 1);
  const parts = scanStream(files, {
    settings: SETTINGS,
    holds: 'episodes',
    hasChunks: true,
    runner: new SegmentRunner(),
    pool: null,
    startOffset,
    signal: options.signal ?? new AbortController().signal,
    onProgress: () => {},
  });
  for await (const { result } of parts) {
    if (result.counts.records > 0) await index.append(numberer.number(result.rows, result.lineAt));
  }
}

async function addAnnotations(index: IndexAppender, tail: Tail, { signal }: CatchUpOptions): Promise<void> {
  const reading = { units: ANNOTATIONS, maxLineBytes: MAX_CATCH_UP_BYTES, ...(signal === undefined ? {} : { signal }) };
  for (const [at, file] of tail.files.entries()) {
    const settled = at === 0 ? tail.startOffset : 0;
    const skip = settled === 0 ? [] : [{ start: 0, end: settled, lines: 0 }];
    for await (const event of readFileRecords(file, { ...reading, skip: () => skip })) {
      if (event.type !== 'record') continue;
      const { bytes, chunk, offset } = event.record;
      const row = annotationRow(bytes, { chunk, offset });
      if (row instanceof Uint8Array) await index.append(row);
    }
  }
}
