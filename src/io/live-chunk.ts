/**
 * The plain chunk that grows. Bytes go to its known end at explicit positions, never by O_APPEND, so what a failed or
 * short write left behind is cut off or written over, and no line is ever glued to it (R-CHK-2, R-CHK-3).
 */
import { type FileHandle, lstat, open, readdir, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { chunkName } from '../core/stream/chunk-names.js';
import type { PlainChunkName } from '../core/stream/resume-plan.js';
import { systemErrorCode } from './run-fault.js';

const LF = 0x0a;

/** Bytes that are copied or looked back at in one piece. */
const BLOCK_BYTES = 1_048_576;

/**
 * Where a line is put together that outgrew its chunk. Not `.jsonl` in its name: upstream takes each such name for a
 * chunk (B04, B05).
 */
const MOVING_NAME = /^[0-9]+\.moving$/;

/** The beginning of a line without LF, at the end of a chunk. */
export type TornTail = { readonly offset: number; readonly bytes: number };

export class LiveChunk {
  readonly chunk: number;
  readonly path: string;
  readonly #handle: FileHandle;
  #wholeBytes: number;
  #endBytes: number;
  #isTorn = false;

  private constructor(place: { chunk: number; path: string }, handle: FileHandle, wholeBytes: number) {
    this.chunk = place.chunk;
    this.path = place.path;
    this.#handle = handle;
    this.#wholeBytes = wholeBytes;
    this.#endBytes = wholeBytes;
  }

  /** Starts the chunk `first`, or the next one that nobody has. @throws the system's error */
  static async create(directory: string, first: number): Promise<LiveChunk> {
    for (let chunk = first; ; chunk += 1) {
      const path = join(directory, chunkName(chunk));
      try {
        return new LiveChunk({ chunk, path }, await open(path, 'wx+'), 0);
      } catch (error) {
        if (systemErrorCode(error) !== 'EEXIST') throw error;
      }
    }
  }

  /**
   * Goes on with a chunk. A last line without LF, whatever made it, is ended by one (R-CHK-3).
   * @throws the system's error
   */
  static async reopen(
    directory: string,
    { chunk, name }: PlainChunkName,
  ): Promise<{ readonly chunk: LiveChunk; readonly torn: TornTail | null }> {
    const path = join(directory, name);
    const handle = await open(path, 'r+');
    try {
      const { size } = await handle.stat();
      const lineStart = await findLastLineStart(handle, size);
      const live = new LiveChunk({ chunk, path }, handle, size);
      if (lineStart === size) return { chunk: live, torn: null };
      await live.#isolate();
      return { chunk: live, torn: { offset: lineStart, bytes: size - lineStart } };
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /**
   * Takes the beginning of a line out of `old` and starts the chunk `next` with it. Whenever this is killed, one chunk
   * at most ends in it: it is copied aside, cut off, and only then given a name.
   * @throws the system's error; the beginning may then still be where it was
   */
  static async moveTail(old: LiveChunk, directory: string, next: number): Promise<LiveChunk> {
    const chunk = await findFree(directory, next);
    const path = join(directory, chunkName(chunk));
    const draft = join(directory, `${chunk}.moving`);
    const handle = await open(draft, 'w+');
    try {
      const bytes = old.#endBytes - old.#wholeBytes;
      await copyRange(old.#handle, { start: old.#wholeBytes, bytes }, handle);
      await old.#truncate();
      await rename(draft, path);
      const live = new LiveChunk({ chunk, path }, handle, 0);
      live.#endBytes = bytes;
      return live;
    } catch (error) {
      await handle.close();
      await unlink(draft).catch(() => {}); // not written, or a disk that takes nothing: the next opening removes it
      throw error;
    }
  }

  /** Where the last whole line ends, and a chunk may end. */
  get wholeBytes(): number {
    return this.#wholeBytes;
  }

  /** Where the next byte goes. */
  get endBytes(): number {
    return this.#endBytes;
  }

  /** Whether behind the last whole line may lie what could not be cut off. */
  get isTorn(): boolean {
    return this.#isTorn;
  }

  /** Writes all of it at the end. Never rejects: says how much came there, and why no more. */
  async write(parts: readonly Uint8Array[]): Promise<{ readonly bytes: number; readonly failure: unknown }> {
    const start = this.#endBytes;
    try {
      for (let rest = parts; rest.length > 0; ) {
        const { bytesWritten } = await this.#handle.writev(rest as Uint8Array[], this.#endBytes);
        if (bytesWritten === 0) throw new Error('the file takes no bytes');
        this.#endBytes += bytesWritten;
        rest = behind(rest, bytesWritten);
      }
      return { bytes: this.#endBytes - start, failure: null };
    } catch (failure) {
      return { bytes: this.#endBytes - start, failure };
    }
  }

  /** Says that a line ends at `bytes`, which is nowhere behind the end. */
  settle(bytes: number): void {
    this.#wholeBytes = bytes;
  }

  /** Cuts off what stands behind the last whole line. Says why it could not; then the chunk is torn. */
  async cutBack(): Promise<unknown> {
    try {
      await this.#truncate();
      return null;
    } catch (failure) {
      this.#isTorn = true;
      return failure;
    }
  }

  /** Makes a torn chunk one that takes lines: cut back if that works by now, else with the torn line ended. @throws the system's error */
  async repair(): Promise<'cut' | 'isolated'> {
    if ((await this.cutBack()) === null) return 'cut';
    const { size } = await this.#handle.stat();
    this.#endBytes = size;
    if ((await findLastLineStart(this.#handle, size)) < size) await this.#isolate();
    this.#wholeBytes = this.#endBytes;
    this.#isTorn = false;
    return 'isolated';
  }

  /** Everything written is on the disk, whatever happens to the machine. @throws the system's error */
  async sync(): Promise<void> {
    await this.#handle.datasync();
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }

  async #truncate(): Promise<void> {
    await this.#handle.truncate(this.#wholeBytes);
    this.#endBytes = this.#wholeBytes;
    this.#isTorn = false;
  }

  async #isolate(): Promise<void> {
    const { failure } = await this.write([Uint8Array.of(LF)]);
    if (failure !== null) throw failure;
    this.#wholeBytes = this.#endBytes;
  }
}

/** Removes what a killed process left of a move; readers pass over it, so that it matters to nobody when this fails. */
export async function removeMoving(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (MOVING_NAME.test(name)) await unlink(join(directory, name)).catch(() => {}); // see above
  }
}

/** A chunk is given its name by a rename, which would replace a file of somebody else. */
async function findFree(directory: string, first: number): Promise<number> {
  for (let chunk = first; ; chunk += 1) {
    try {
      await lstat(join(directory, chunkName(chunk)));
    } catch (error) {
      if (systemErrorCode(error) === 'ENOENT') return chunk;
      throw error;
    }
  }
}

async function copyRange(
  source: FileHandle,
  { start, bytes }: { readonly start: number; readonly bytes: number },
  target: FileHandle,
): Promise<void> {
  const block = Buffer.allocUnsafe(Math.min(BLOCK_BYTES, bytes));
  for (let at = 0; at < bytes; ) {
    const { bytesRead } = await source.read(block, 0, Math.min(block.length, bytes - at), start + at);
    if (bytesRead === 0) throw new Error('the chunk is shorter than what was written to it');
    for (let written = 0; written < bytesRead; ) {
      written += (await target.write(block, written, bytesRead - written, at + written)).bytesWritten;
    }
    at += bytesRead;
  }
}

/** Where the last line begins; the size of the file when that ends in an LF, or is empty. */
async function findLastLineStart(handle: FileHandle, size: number): Promise<number> {
  const block = Buffer.allocUnsafe(Math.min(BLOCK_BYTES, size));
  // The first look is at one byte: usually it is an LF.
  for (let end = size, length = 1; end > 0; length = BLOCK_BYTES) {
    const start = Math.max(0, end - length);
    const { bytesRead } = await handle.read(block, 0, end - start, start);
    if (bytesRead < end - start) throw new Error('the chunk was cut while it was opened');
    const at = block.lastIndexOf(LF, end - start - 1);
    if (at >= 0) return start + at + 1;
    end = start;
  }
  return 0;
}

/** What is left of parts behind their first `bytes`. */
function behind(parts: readonly Uint8Array[], bytes: number): readonly Uint8Array[] {
  let left = bytes;
  for (const [index, part] of parts.entries()) {
    if (left < part.length) return [part.subarray(left), ...parts.slice(index + 1)];
    left -= part.length;
  }
  return [];
}
