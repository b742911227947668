/**
 * Runs of the four shapes of shape-episode.ts, of any size and at the speed of the disk. Same shape, size and seed,
 * same bytes.
 */
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { seededRandom } from './generated-run.js';
import { compressFrames, seekTable } from './seal.js';
import { EpisodeSource, type Shape } from './shape-episode.js';
import { hexId } from './shape-text.js';

export const SHAPES: readonly Shape[] = ['A', 'B', 'C', 'D'];

/** Uncompressed bytes of a frame of a sealed chunk, as upstream seals. */
export const FRAME_BYTES = 4_194_304;

export type ShapeRun = {
  readonly shape: Shape;
  /** Bytes of the stream in all; it ends before the line that would pass them, but has one line at least. */
  readonly bytes: number;
  /** Uncompressed bytes after which a new chunk begins; default 5 GiB, as upstream. */
  readonly chunkBytes?: number;
  /** All chunks compressed, as a run leaves them that ended well. Default false. */
  readonly sealed?: boolean;
  /** With an annotation of producer `orch` for each trace. Default false. */
  readonly annotations?: boolean;
  /** Default 1. */
  readonly seed?: number;
};

export type WrittenRun = {
  readonly episodes: number;
  readonly bytes: number;
  /** Absolute paths in order. */
  readonly chunks: readonly string[];
};

/** Lines, LF included, of at most `bytes` in all, but one at least; each belongs to its receiver. */
export function* shapeLines(shape: Shape, bytes: number, seed = 1): Generator<Buffer, void> {
  const source = sourceOf(shape, bytes, seed);
  for (let total = 0; ; ) {
    const line = source.next();
    if (total > 0 && total + line.length > bytes) return;
    total += line.length;
    yield Buffer.from(line);
  }
}

/** Writes `monitors/file/traces/stream/NNNNN.jsonl[.zst]` below `directory`. */
export function writeShapeRun(directory: string, options: ShapeRun): WrittenRun {
  const { shape, bytes, chunkBytes = 5 * 1024 ** 3, sealed = false, seed = 1 } = options;
  const traces = join(directory, 'monitors', 'file', 'traces');
  const source = sourceOf(shape, bytes, seed);
  const stream = new ChunkedStream(join(traces, 'stream'), chunkBytes, sealed);
  const notes =
    options.annotations === true ? new ChunkedStream(join(traces, 'annotations', 'orch'), chunkBytes, sealed) : null;
  let episodes = 0;
  for (let total = 0; ; ) {
    const line = source.next();
    if (total > 0 && total + line.length > bytes) break;
    stream.append(line);
    for (const traceId of source.traceIds) notes?.append(annotation(traceId, episodes));
    total += line.length;
    episodes += 1;
  }
  notes?.close();
  stream.close();
  return { episodes, bytes: stream.bytes, chunks: stream.paths };
}

/** Writes one episode of about `bytes`, which may be longer than a string can be; returns its exact length. */
export function writeLongLine(path: string, shape: Shape, bytes: number, seed = 1): number {
  const chunk = new ChunkWriter(path, false);
  const id = hexId(seededRandom(seed));
  for (const part of new EpisodeSource(shape, { seed }).parts(id, [], bytes)) chunk.push(part);
  chunk.close();
  return chunk.bytes;
}

/** A run that is smaller than an episode of its shape gets a smaller episode. */
function sourceOf(shape: Shape, bytes: number, seed: number): EpisodeSource {
  return new EpisodeSource(shape, { seed, mostBytes: bytes });
}

function annotation(traceId: string, step: number): Buffer {
  const info = `{"effective":true,"ship":{"step":${step},"time":${1_790_000_000 + step}.5},"advantage":0.25}`;
  return Buffer.from(`{"version":1,"trace_id":"${traceId}","info":${info},"branches":[]}\n`);
}

/** One chunk, plain or sealed, through one buffer that is used again: fresh memory is what costs most. */
export class ChunkWriter {
  readonly #file: number;
  readonly #block: Buffer;
  readonly #isSealed: boolean;
  #used = 0;
  /** Uncompressed bytes so far. */
  bytes = 0;
  /** Of a sealed chunk, as its seek table lists them. */
  readonly frames: { readonly compressedBytes: number; readonly bytes: number }[] = [];

  constructor(path: string, isSealed: boolean, frameBytes = FRAME_BYTES) {
    this.#file = openSync(path, 'w');
    this.#block = Buffer.alloc(frameBytes);
    this.#isSealed = isSealed;
  }

  push(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      const end = Math.min(bytes.length, at + this.#block.length - this.#used);
      bytes.copy(this.#block, this.#used, at, end);
      this.#used += end - at;
      at = end;
      if (this.#used === this.#block.length) this.#write();
    }
    this.bytes += bytes.length;
  }

  close(): void {
    if (this.#used > 0) this.#write();
    if (this.#isSealed) writeSync(this.#file, seekTable(this.frames));
    closeSync(this.#file);
  }

  #write(): void {
    const content = this.#block.subarray(0, this.#used);
    const pieces = this.#isSealed ? compressFrames(content, { frameBytes: this.#block.length }) : [content];
    for (const piece of pieces) {
      writeSync(this.#file, piece);
      if (this.#isSealed) this.frames.push({ compressedBytes: piece.length, bytes: content.length });
    }
    this.#used = 0;
  }
}

/** A directory of numbered chunks, rolled as spec 03 section 2 says. */
class ChunkedStream {
  readonly #directory: string;
  readonly #chunkBytes: number;
  readonly #isSealed: boolean;
  #chunk: ChunkWriter;
  bytes = 0;
  readonly paths: string[] = [];

  constructor(directory: string, chunkBytes: number, isSealed: boolean) {
    this.#directory = directory;
    this.#chunkBytes = chunkBytes;
    this.#isSealed = isSealed;
    mkdirSync(directory, { recursive: true });
    this.#chunk = this.#open();
  }

  append(line: Buffer): void {
    if (this.#chunk.bytes > 0 && this.#chunk.bytes + line.length > this.#chunkBytes) {
      this.#chunk.close();
      this.#chunk = this.#open();
    }
    this.#chunk.push(line);
    this.bytes += line.length;
  }

  close(): void {
    this.#chunk.close();
  }

  #open(): ChunkWriter {
    const path = join(this.#directory, chunkName(this.paths.length, this.#isSealed));
    this.paths.push(path);
    return new ChunkWriter(path, this.#isSealed);
  }
}

export function chunkName(chunk: number, isSealed: boolean): string {
  return `${String(chunk).padStart(5, '0')}.jsonl${isSealed ? '.zst' : ''}`;
}
