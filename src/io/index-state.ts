/**
 * What an earlier indexing in place left behind: how far each chunk was settled and how long the index was there, so
 * that the next one goes on where it ended or was killed (I3, I10). It is only believed as far as chunks and index
 * still are what they were; whatever does not fit costs time, never a row.
 */
import { createHash } from 'node:crypto';
import { open, readFile, rename, stat, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { OutOfOrderEpisode } from '../core/index/outcome.js';
import type { Oddity, OddityKind } from '../core/index/segment-types.js';
import type { StepsSoFar } from '../core/index/step-order.js';
import type { Damage } from '../core/scan/types.js';
import { identifyChunk, readChunkRange } from './chunk-range.js';
import { findDraft } from './publish-file.js';
import type { RunStream } from './run-streams.js';
import type { ChunkFile } from './run-types.js';
import type { RowSettings } from './scan-types.js';

const FORMAT = 3;

/** Bytes before a mark that must be the same. */
const TAIL_BYTES = 4096;

/** Sums of one chunk, up to its mark. */
export type ChunkSums = {
  readonly episodes: number;
  readonly tokenDifferences: number;
  readonly oddityCounts: Readonly<Partial<Record<OddityKind, number>>>;
};

/** How far a chunk was settled. Offsets and bytes are uncompressed; the steps are those of the stream up to the mark. */
export type ChunkMark = ChunkSums &
  StepsSoFar & {
    readonly chunk: number;
    readonly form: ChunkFile['form'];
    readonly dev: number;
    readonly ino: number;
    readonly mtimeMs: number;
    readonly sizeBytes: number;
    readonly headBytes: number;
    readonly headSha256: string;
    /** The next line begins here. */
    readonly bytes: number;
    readonly tailSha256: string;
    /** Digests of the blocks up to the mark (core/index/block-digests), as text. */
    readonly digests: string;
    /** Number of the chunk's first row, and the length of the index before it. */
    readonly firstLine: number;
    readonly indexOffset: number;
  };

/** The file that holds the rows up to the last mark. */
export type IndexMark = {
  readonly path: string;
  /** A draft of an indexing that did not end. */
  readonly isDraft: boolean;
  readonly dev: number;
  readonly ino: number;
  readonly mtimeMs: number;
  readonly bytes: number;
  readonly tailSha256: string;
};

export type SavedState = {
  readonly format: typeof FORMAT;
  readonly settings: RowSettings;
  readonly chunks: readonly ChunkMark[];
  readonly index: IndexMark;
  /** Number of the next row. */
  readonly line: number;
  readonly damaged: readonly Damage[];
  readonly oddities: readonly Oddity[];
  readonly outOfOrder: readonly OutOfOrderEpisode[];
};

/** Where to go on. */
export type Resume = {
  readonly state: SavedState;
  /** Marks that still hold; the scan goes on in the file of the last one, or at the start of the one behind. */
  readonly marks: readonly ChunkMark[];
  readonly fileIndex: number;
  readonly offset: number;
  readonly line: number;
  readonly indexBytes: number;
};

/** The state of one stream, in the directory that prl may write for the run. */
export class IndexState {
  readonly #path: string;

  constructor(directory: string, stream: RunStream) {
    const key = createHash('sha256').update(stream.name).digest('hex').slice(0, 16);
    this.#path = join(directory, `index-${key}.json`);
  }

  /** Where an indexing of this stream can go on; null when it has to begin at the beginning. Never throws. */
  async load(stream: RunStream, settings: RowSettings): Promise<Resume | null> {
    const state = await this.#read();
    try {
      if (state === null || !isSameSettings(state.settings, settings)) return null;
      const index = await findIndex(state.index, stream.indexPath);
      return index === null ? null : await findResume({ ...state, index }, stream);
    } catch {
      return null; // JSON, but no state that prl wrote
    }
  }

  /** What was noted of the chunks by then, whether it still fits or not. Never throws. */
  async marks(): Promise<readonly ChunkMark[]> {
    const chunks: unknown = (await this.#read())?.chunks;
    return Array.isArray(chunks) ? chunks.filter((mark) => typeof mark?.digests === 'string') : [];
  }

  /** Replaces the state. What it speaks of must be durable. Without a place for it nothing is remembered. */
  async save(state: Omit<SavedState, 'format'>): Promise<void> {
    const draft = `${this.#path}.${process.pid}.tmp`;
    try {
      await writeFile(draft, JSON.stringify({ format: FORMAT, ...state }));
      await rename(draft, this.#path);
    } catch {
      await unlink(draft).catch(() => {}); // a full or read-only disk: the next indexing begins at the beginning
    }
  }

  async #read(): Promise<SavedState | null> {
    try {
      const state: SavedState = JSON.parse(await readFile(this.#path, 'utf8'));
      return state.format === FORMAT ? state : null;
    } catch {
      return null; // none, or damaged: it is only worth time
    }
  }
}

/** Marks a chunk that was settled up to `bytes`, or null when it cannot be read any more. */
export async function markChunk(
  file: ChunkFile,
  bytes: number,
  at: ChunkSums & StepsSoFar & Pick<ChunkMark, 'firstLine' | 'indexOffset' | 'digests'>,
): Promise<ChunkMark | null> {
  try {
    const { dev, ino, sizeBytes, headBytes, headSha256 } = await identifyChunk(file, bytes);
    const { mtimeMs } = await stat(file.path);
    const tailSha256 = await hashTail(file, bytes);
    if (tailSha256 === null) return null;
    return {
      ...at,
      chunk: file.chunk,
      form: file.form,
      dev,
      ino,
      mtimeMs,
      sizeBytes,
      headBytes,
      headSha256,
      bytes,
      tailSha256,
    };
  } catch {
    return null; // it is damaged or gone, and will be read again
  }
}

/** Marks a file of rows, of which the first `bytes` are durable. @throws the system's error */
export async function markIndex(path: string, bytes: number, isDraft: boolean): Promise<IndexMark> {
  const { dev, ino, mtimeMs } = await stat(path);
  return { path, isDraft, dev, ino, mtimeMs, bytes, tailSha256: await hashIndexTail(path, bytes) };
}

function isSameSettings(left: RowSettings, right: RowSettings): boolean {
  return left.tokens === right.tokens && left.mode === right.mode && left.isStrict === right.isStrict;
}

/** The mark with the path that its file has by now; null when it is gone, another, or a draft that is still written. */
async function findIndex(mark: IndexMark, indexPath: string | null): Promise<IndexMark | null> {
  const path = mark.isDraft && indexPath !== null ? await findDraft(indexPath, mark) : mark.path;
  if (path === null) return null;
  const found = { ...mark, path };
  return (await isSameIndex(found)) ? found : null;
}

/** A longer index was written to by its writer since; then what we wrote must still stand before that. */
async function isSameIndex(mark: IndexMark): Promise<boolean> {
  try {
    const { dev, ino, size, mtimeMs } = await stat(mark.path);
    if (dev !== mark.dev || ino !== mark.ino || size < mark.bytes) return false;
    if (!mark.isDraft && size === mark.bytes && mtimeMs !== mark.mtimeMs) return false;
    return (await hashIndexTail(mark.path, mark.bytes)) === mark.tailSha256;
  } catch {
    return false; // gone
  }
}

async function findResume(state: SavedState, { files }: RunStream): Promise<Resume | null> {
  const { chunks } = state;
  let same = 0;
  while (same < chunks.length && same < files.length) {
    const isLast = same === chunks.length - 1;
    if (!(await isSameChunk(files[same] as ChunkFile, chunks[same] as ChunkMark, isLast))) break;
    same += 1;
  }
  const marks = chunks.slice(0, same);
  const broken = chunks[same];
  if (broken !== undefined) {
    if (same === 0) return null;
    return { state, marks, fileIndex: same, offset: 0, line: broken.firstLine, indexBytes: broken.indexOffset };
  }
  const last = marks.at(-1);
  if (last === undefined) return null;
  return { state, marks, fileIndex: same - 1, offset: last.bytes, line: state.line, indexBytes: state.index.bytes };
}

async function isSameChunk(file: ChunkFile, mark: ChunkMark, isLast: boolean): Promise<boolean> {
  if (file.chunk !== mark.chunk) return false;
  const { uncompressedBytes } = file;
  if (uncompressedBytes === null || uncompressedBytes < mark.bytes) return false;
  // Only the last chunk of a stream grows.
  if (!isLast && uncompressedBytes !== mark.bytes) return false;
  try {
    const { dev, ino, size, mtimeMs } = await stat(file.path);
    const isSameFile = dev === mark.dev && ino === mark.ino;
    if (isSameFile && size === mark.sizeBytes && mtimeMs === mark.mtimeMs) return true;
    // What may happen to a chunk is that it grows and that it is sealed; both leave what was there.
    const isGrown = isSameFile && file.form === mark.form && size > mark.sizeBytes;
    const isSealed = mark.form === 'plain' && file.form === 'sealed';
    if (!isGrown && !isSealed) return false;
    const { headSha256 } = await identifyChunk(file, mark.headBytes);
    return headSha256 === mark.headSha256 && (await hashTail(file, mark.bytes)) === mark.tailSha256;
  } catch {
    return false; // it cannot be read now; the scan will say so
  }
}

/** Of the bytes before `end`; null when they cannot be read. */
async function hashTail(file: ChunkFile, end: number): Promise<string | null> {
  const start = Math.max(0, end - TAIL_BYTES);
  const tail = await readChunkRange(file, start, end);
  if (tail === null || tail.length !== end - start) return null;
  return createHash('sha256').update(tail).digest('hex');
}

async function hashIndexTail(path: string, end: number): Promise<string> {
  const start = Math.max(0, end - TAIL_BYTES);
  const tail = Buffer.alloc(end - start);
  const handle = await open(path, 'r');
  try {
    await handle.read(tail, 0, tail.length, start);
  } finally {
    await handle.close();
  }
  return createHash('sha256').update(tail).digest('hex');
}
