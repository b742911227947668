/**
 * What is seen of a run while it is followed: its chunks and bytes, which of them may grow, whether somebody writes, and
 * how much lies on disk behind what was read, which a slow service makes grow. For whoever shows it; decides nothing.
 */
import { join, relative, sep } from 'node:path';
import type { WriterState } from '../core/snapshot.js';
import type { Clock } from '../core/upload/types.js';
import type { FollowEvent } from './follow-types.js';
import type { ChunkFile, Run } from './run-types.js';
import { unreadBytes } from './unread-bytes.js';

/** Time between two looks at what is not read. */
const MEASURE_MS = 1_000;

export class RunGrowth {
  readonly #run: Run;
  /** Uncompressed bytes of each chunk, as far as they were seen. */
  readonly #chunkBytes: Map<number, number>;
  /** Where in each chunk reading has come to. */
  readonly #readBytes = new Map<number, number>();
  readonly #growing = new Set<number>();
  /** The chunk that something was told of last. */
  #current = 0;
  #hasCaughtUp = false;
  #writer: WriterState | null = null;
  #unreadBytes = 0;

  constructor(run: Run) {
    this.#run = run;
    this.#chunkBytes = new Map(run.files.map((file) => [file.chunk, bytesOf(file)]));
  }

  /** What the last look for a writer told; null before the first. */
  get writer(): WriterState | null {
    return this.#writer;
  }

  get chunks(): number {
    return this.#chunkBytes.size;
  }

  /** Files that may still grow; of a run of many, those that have been seen to. */
  get growing(): number {
    return this.#growing.size;
  }

  /** Uncompressed bytes of the run, as far as they were seen. */
  get runBytes(): number {
    return [...this.#chunkBytes.values()].reduce((sum, bytes) => sum + bytes, 0);
  }

  /** Bytes on disk behind what was read, as of the last second. */
  get unreadBytes(): number {
    return this.#unreadBytes;
  }

  note(event: FollowEvent): void {
    switch (event.type) {
      case 'record':
        if (this.#hasCaughtUp) this.#growing.add(event.record.chunk);
        this.#read(event.record.chunk, event.record.offset + event.record.length);
        break;
      case 'damage':
        this.#read(event.damage.chunk, event.damage.offset + event.damage.bytes);
        break;
      case 'growing':
        this.#read(event.chunk, event.offset + event.bytes);
        break;
      case 'file':
        this.#noteFile(event.file, event.summary !== null);
        break;
      case 'rewritten':
        this.#forget(this.rewrittenChunk(event));
        break;
      case 'writer':
        this.#writer = event.state;
        break;
      case 'caught-up':
        this.#hasCaughtUp = true;
        // What was passed over was not told.
        for (const [chunk, bytes] of this.#chunkBytes) {
          if (this.#readBytes.has(chunk)) raise(this.#readBytes, chunk, bytes);
        }
        this.#unreadBytes = 0;
        break;
      case 'notice':
        break;
    }
  }

  /** The chunk of an event; null when all chunks are new: another directory took the place of theirs. */
  rewrittenChunk({ file, chunk }: Extract<FollowEvent, { type: 'rewritten' }>): number | null {
    const { layout, root, tracesDirectory } = this.#run;
    const directory = tracesDirectory === null ? root : join(tracesDirectory, 'stream');
    const isDirectory = layout === 'R3' && file === relative(root, directory).split(sep).join('/');
    return isDirectory ? null : chunk;
  }

  /** Looks every second how much is not read, until the signal. */
  async measure(clock: Clock, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#unreadBytes = await unreadBytes(this.#run, this.#readBytes, this.#current);
      await clock.sleep(MEASURE_MS, signal).catch(() => {}); // the signal is asked above
    }
  }

  #noteFile(file: ChunkFile, isRead: boolean): void {
    raise(this.#chunkBytes, file.chunk, bytesOf(file));
    raise(this.#readBytes, file.chunk, 0);
    this.#current = file.chunk;
    const { layout, files } = this.#run;
    const isOnly = layout === 'R3' || files.length === 1;
    if (isRead) this.#growing.delete(file.chunk);
    else if (isOnly && file.form === 'plain') this.#growing.add(file.chunk);
  }

  #read(chunk: number, endOffset: number): void {
    raise(this.#chunkBytes, chunk, endOffset);
    raise(this.#readBytes, chunk, endOffset);
    this.#current = chunk;
  }

  #forget(chunk: number | null): void {
    for (const bytes of [this.#chunkBytes, this.#readBytes]) {
      if (chunk === null) bytes.clear();
      else bytes.delete(chunk);
    }
  }
}

function raise(bytes: Map<number, number>, chunk: number, endOffset: number): void {
  bytes.set(chunk, Math.max(endOffset, bytes.get(chunk) ?? 0));
}

function bytesOf({ uncompressedBytes, sizeBytes }: ChunkFile): number {
  return uncompressedBytes ?? sizeBytes;
}
