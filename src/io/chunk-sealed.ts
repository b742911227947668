/**
 * A sealed chunk: zstd frames, read one by one through the seek table, or by walking the headers when there is none.
 * While one frame is consumed the next is decompressed. Memory is two frames, whatever the file's size; a damaged
 * frame costs its own bytes and no others.
 */
import type { FileHandle } from 'node:fs/promises';
import type { Frame, FrameMap } from '../core/stream/frame-map.js';
import { parseSeekFooter, parseSeekTable, SEEK_FOOTER_BYTES } from '../core/stream/seek-table.js';
import { decodeFrame, describeFrameError, MAX_WHOLE_FRAME_BYTES, streamFrame } from './chunk-decode.js';
import { walkFrames } from './chunk-frames.js';
import type { ChunkPiece, ChunkSource } from './chunk-source.js';

/** The seek table of a file of `fileBytes`, or why it has none that can be used. */
export async function readSeekTable(handle: FileHandle, fileBytes: number): Promise<FrameMap | string> {
  const footerBytes = Math.min(SEEK_FOOTER_BYTES, fileBytes);
  const footer = parseSeekFooter(await readTail(handle, fileBytes, footerBytes), fileBytes);
  if (!footer.ok) return footer.reason;
  const table = parseSeekTable(await readTail(handle, fileBytes, footer.tableBytes), fileBytes);
  return table.ok ? table.frames : table.reason;
}

async function readTail(handle: FileHandle, fileBytes: number, bytes: number): Promise<Buffer> {
  const tail = Buffer.alloc(bytes);
  await handle.read(tail, 0, bytes, fileBytes - bytes);
  return tail;
}

/** A chunk whose seek table holds. */
export class SealedChunk implements ChunkSource {
  readonly #handle: FileHandle;
  readonly #frames: FrameMap;
  /** Frames decompressed so far, for tests of random access. */
  decodedFrames = 0;

  constructor(handle: FileHandle, frames: FrameMap) {
    this.#handle = handle;
    this.#frames = frames;
  }

  get uncompressedBytes(): number {
    return this.#frames.uncompressedBytes;
  }

  async *pieces(start: number, end: number, signal?: AbortSignal): AsyncGenerator<ChunkPiece, void> {
    const stop = Math.min(end, this.uncompressedBytes);
    const first = this.#frames.find(start);
    if (first === null || start >= stop) return;
    let ahead = this.#decodeAhead(first, stop);
    try {
      for (let index = first; index < this.#frames.count; index += 1) {
        signal?.throwIfAborted();
        const frame = this.#frames.at(index);
        if (frame.offset >= stop) return;
        const current = ahead;
        ahead = this.#decodeAhead(index + 1, stop);
        if (current === null) yield* this.#inPieces(frame, start, stop);
        else yield* this.#whole(frame, await current, start, stop);
      }
    } finally {
      // A frame that nobody waits for any more must not outlive the handle it reads from.
      await ahead;
    }
  }

  /** Starts on a frame that fits into memory whole; never rejects. */
  #decodeAhead(index: number, stop: number): Promise<Buffer | string> | null {
    if (index >= this.#frames.count) return null;
    const frame = this.#frames.at(index);
    if (frame.offset >= stop || frame.bytes > MAX_WHOLE_FRAME_BYTES) return null;
    this.decodedFrames += 1;
    return decodeFrame(this.#handle, frame, frame.bytes).catch(describeFrameError);
  }

  *#whole(frame: Frame, content: Buffer | string, start: number, stop: number): Generator<ChunkPiece, void> {
    if (typeof content === 'string') {
      yield lostFrame(frame, Math.max(start, frame.offset), Math.min(stop, frame.offset + frame.bytes), content);
    } else {
      const piece = cut(frame.offset, content, start, stop);
      if (piece !== null) yield piece;
    }
  }

  async *#inPieces(frame: Frame, start: number, stop: number): AsyncGenerator<ChunkPiece, void> {
    let offset = frame.offset;
    this.decodedFrames += 1;
    try {
      for await (const content of streamFrame(this.#handle, frame, frame.bytes)) {
        const piece = cut(offset, content, start, stop);
        offset += content.length;
        if (piece !== null) yield piece;
        if (offset >= stop) return;
      }
    } catch (error) {
      const end = Math.min(stop, frame.offset + frame.bytes);
      yield lostFrame(frame, Math.max(start, Math.min(offset, end)), end, describeFrameError(error));
    }
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

/** A zstd file without a usable table: every read starts at the first frame, and skips those of known size. */
export class WalkedChunk implements ChunkSource {
  readonly #handle: FileHandle;
  readonly #fileBytes: number;
  readonly uncompressedBytes = null;

  constructor(handle: FileHandle, fileBytes: number) {
    this.#handle = handle;
    this.#fileBytes = fileBytes;
  }

  async *pieces(start: number, end: number, signal?: AbortSignal): AsyncGenerator<ChunkPiece, void> {
    let offset = 0;
    for await (const frame of walkFrames(this.#handle, this.#fileBytes)) {
      signal?.throwIfAborted();
      if (offset >= end) return;
      if (frame.kind === 'broken') {
        const bytes = this.#fileBytes - frame.compressedOffset;
        yield lostRest(Math.max(start, offset), `${frame.reason}; the last ${bytes} compressed bytes cannot be read`);
        return;
      }
      const frameEnd = frame.bytes === null ? null : offset + frame.bytes;
      if (frameEnd !== null && frameEnd <= start) {
        offset = frameEnd;
        continue;
      }
      const failure = yield* this.#frame(frame, offset, start, end);
      offset = failure.offset;
      if (failure.reason === null) continue;
      const where = `frame at compressed byte ${frame.compressedOffset}: ${failure.reason}`;
      if (frameEnd === null) {
        yield lostRest(Math.max(start, offset), `${where}; its size is unknown, so nothing behind it can be placed`);
        return;
      }
      const from = Math.max(start, Math.min(offset, frameEnd));
      const to = Math.min(end, frameEnd);
      yield { kind: 'lost', offset: from, bytes: to - from, damage: 'corrupt_frame', reason: where };
      offset = frameEnd;
    }
  }

  /** Yields what one frame holds; returns where it stopped, and why when that was not its end. */
  async *#frame(
    frame: { readonly compressedOffset: number; readonly compressedBytes: number; readonly bytes: number | null },
    frameOffset: number,
    start: number,
    end: number,
  ): AsyncGenerator<ChunkPiece, { readonly offset: number; readonly reason: string | null }> {
    let offset = frameOffset;
    try {
      for await (const content of streamFrame(this.#handle, frame, frame.bytes)) {
        const piece = cut(offset, content, start, end);
        offset += content.length;
        if (piece !== null) yield piece;
        if (offset >= end) break;
      }
      return { offset, reason: null };
    } catch (error) {
      return { offset, reason: describeFrameError(error) };
    }
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

/** The part of `content`, which begins at `offset`, that lies in `[start, stop)`. */
function cut(offset: number, content: Buffer, start: number, stop: number): ChunkPiece | null {
  const from = Math.max(0, start - offset);
  const to = Math.min(content.length, stop - offset);
  return from < to ? { kind: 'bytes', offset: offset + from, bytes: content.subarray(from, to) } : null;
}

function lostFrame(frame: Frame, from: number, to: number, reason: string): ChunkPiece {
  const where = `frame ${frame.index} at compressed byte ${frame.compressedOffset}: ${reason}`;
  return { kind: 'lost', offset: from, bytes: to - from, damage: 'corrupt_frame', reason: where };
}

function lostRest(offset: number, reason: string): ChunkPiece {
  return { kind: 'lost', offset, bytes: 0, damage: 'corrupt_frame', reason };
}
