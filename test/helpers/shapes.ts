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
  const stream = new ChunkedFile(join(traces, 'stream'), chunkBytes, sealed);
  const notes =
    options.annotations === true ? new ChunkedFile(join(traces, 'annotations', 'orch'), chunkBytes, sealed) : null;
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
  const file = openSync(path, 'w');
  const frame = new FrameBuffer((content) => writeSync(file, content));
  let total = 0;
  for (const part of new EpisodeSource(shape, { seed }).parts(hexId(seededRandom(seed)), [], bytes)) {
    frame.push(part);
    total += part.length;
  }
  frame.flush();
  closeSync(file);
  return total;
}

/** A run that is smaller than an episode of its shape gets a smaller episode. */
function sourceOf(shape: Shape, bytes: number, seed: number): EpisodeSource {
  return new EpisodeSource(shape, { seed, mostBytes: bytes });
}

function annotation(traceId: string, step: number): Buffer {
  const info = `{"effective":true,"ship":{"step":${step},"time":${1_790_000_000 + step}.5},"advantage":0.25}`;
  return Buffer.from(`{"version":1,"trace_id":"${traceId}","info":${info},"branches":[]}\n`);
}

/** Gathers bytes into blocks of FRAME_BYTES in one buffer that is used again: fresh memory is what costs most. */
class FrameBuffer {
  readonly #block = Buffer.alloc(FRAME_BYTES);
  readonly #take: (content: Buffer) => void;
  #used = 0;

  constructor(take: (content: Buffer) => void) {
    this.#take = take;
  }

  push(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      const end = Math.min(bytes.length, at + FRAME_BYTES - this.#used);
      bytes.copy(this.#block, this.#used, at, end);
      this.#used += end - at;
      at = end;
      if (this.#used === FRAME_BYTES) this.flush();
    }
  }

  flush(): void {
    if (this.#used > 0) this.#take(this.#block.subarray(0, this.#used));
    this.#used = 0;
  }
}

/** A directory of numbered chunks, rolled as spec 03 section 2 says, plain or sealed. */
export class ChunkedFile {
  readonly #directory: string;
  readonly #chunkBytes: number;
  readonly #sealed: boolean;
  readonly #buffer = new FrameBuffer((content) => this.#write(content));
  #file = -1;
  #size = 0;
  #frames: { compressedBytes: number; bytes: number }[] = [];
  bytes = 0;
  readonly paths: string[] = [];

  constructor(directory: string, chunkBytes: number, sealed: boolean) {
    this.#directory = directory;
    this.#chunkBytes = chunkBytes;
    this.#sealed = sealed;
    mkdirSync(directory, { recursive: true });
    this.#open();
  }

  append(line: Buffer): void {
    if (this.#size > 0 && this.#size + line.length > this.#chunkBytes) {
      this.close();
      this.#open();
    }
    this.#buffer.push(line);
    this.#size += line.length;
    this.bytes += line.length;
  }

  close(): void {
    this.#buffer.flush();
    if (this.#sealed) writeSync(this.#file, seekTable(this.#frames));
    closeSync(this.#file);
  }

  #open(): void {
    const name = `${String(this.paths.length).padStart(5, '0')}.jsonl${this.#sealed ? '.zst' : ''}`;
    this.paths.push(join(this.#directory, name));
    this.#file = openSync(this.paths.at(-1) as string, 'w');
    this.#size = 0;
    this.#frames = [];
  }

  #write(content: Buffer): void {
    if (!this.#sealed) {
      writeSync(this.#file, content);
      return;
    }
    for (const frame of compressFrames(content, { isStreamed: true })) {
      writeSync(this.#file, frame);
      this.#frames.push({ compressedBytes: frame.length, bytes: content.length });
    }
  }
}
