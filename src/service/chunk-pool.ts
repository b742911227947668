/**
 * The raw bytes of all uploads, in chunk files named as in spec 03 (`00000.jsonl`). Each upload that is under way leases
 * one chunk for itself and appends to its end; a refused upload is cut off again, a committed one is synced before its
 * rows are. So the bytes are written once, straight to their address, and a crash leaves at worst a tail that no row
 * names, which the next start cuts off.
 */
import { type FileHandle, open, readdir, unlink } from 'node:fs/promises';
import path from 'node:path';
import { PrlError } from '../core/errors.js';
import { makeDirectory } from '../io/make-directory.js';
import { systemErrorCode } from '../io/run-fault.js';

const CHUNK_NAME = /^([0-9]{5,})\.jsonl$/;

/** What a start had to put right: bytes behind the last committed upload of a chunk. */
export type CutTail = { readonly chunk: number; readonly offset: number; readonly bytes: number };

/** `retired`: its last upload may or may not have been committed, so nobody may touch its bytes for now. */
type Chunk = {
  readonly number: number;
  committedBytes: number;
  handle: FileHandle | null;
  use: 'free' | 'leased' | 'retired';
};

/** The right to append to one chunk; ends with the first of `keep`, `giveBack` and `retire`: later calls do nothing. */
export type ChunkLease = {
  readonly chunk: number;
  /** Where this upload begins. */
  readonly offset: number;
  /** Bytes appended so far. */
  readonly bytes: number;
  /** Appends all of it. After a failure only `giveBack` may follow. */
  append(bytes: Buffer): Promise<void>;
  /** Everything appended is on the disk, whatever happens to the machine. */
  sync(): Promise<void>;
  /** The bytes belong to a committed upload now. */
  keep(): Promise<void>;
  /** Cuts the bytes off again. */
  giveBack(): Promise<void>;
  /**
   * It is unknown whether the bytes were committed: leaves them as they are until `settleRetired`, or until the next
   * start has read the database anew.
   */
  retire(): void;
};

export class ChunkPool {
  readonly #directory: string;
  readonly #chunkBytes: number;
  readonly #writers: number;
  readonly #chunks: Chunk[];

  private constructor(directory: string, limits: { chunkBytes: number; writers: number }, chunks: Chunk[]) {
    this.#directory = directory;
    this.#chunkBytes = limits.chunkBytes;
    this.#writers = limits.writers;
    this.#chunks = chunks;
  }

  /**
   * Opens the stream and makes every chunk as long as `committed` says: longer ones are cut, unknown ones removed.
   *
   * @throws PrlError PRL_ERR_INTEGRITY when a chunk is missing or shorter than what was committed to it.
   */
  static async open(
    directory: string,
    limits: { chunkBytes: number; writers: number },
    committed: ReadonlyMap<number, number>,
  ): Promise<{ pool: ChunkPool; cut: CutTail[] }> {
    await makeDirectory(directory);
    const found = await chunkFiles(directory);
    const cut: CutTail[] = [];
    for (const number of found) {
      const tail = await cutTail(directory, number, committed.get(number));
      if (tail !== null) cut.push(tail);
    }
    for (const [number, bytes] of committed) {
      if (bytes > 0 && !found.has(number)) throw shortChunk(directory, number, 0, bytes);
    }
    if (cut.length > 0) await syncDirectory(directory);
    const chunks = [...committed].map(([number, bytes]) => newChunk(number, bytes));
    return { pool: new ChunkPool(directory, limits, chunks), cut };
  }

  /** A chunk to append to; null when as many uploads as allowed are being written already. */
  async lease(): Promise<ChunkLease | null> {
    if (this.#chunks.filter((chunk) => chunk.use === 'leased').length >= this.#writers) return null;
    const free = this.#chunks.find((chunk) => chunk.use === 'free' && chunk.committedBytes < this.#chunkBytes);
    const chunk = free ?? newChunk(Math.max(-1, ...this.#chunks.map(({ number }) => number)) + 1, 0);
    if (free === undefined) this.#chunks.push(chunk);
    chunk.use = 'leased';
    try {
      chunk.handle ??= await this.#openForAppend(chunk.number);
    } catch (error) {
      chunk.use = 'free';
      throw error;
    }
    return new Lease(chunk, chunk.handle, (done) => this.#release(done));
  }

  /**
   * Cuts the bytes of retired leases off. Only after a later transaction was committed: that one has overwritten
   * whatever the failed ones left in the database's log.
   */
  async settleRetired(): Promise<void> {
    for (const chunk of this.#chunks.filter(({ use }) => use === 'retired')) {
      await chunk.handle?.truncate(chunk.committedBytes);
      await this.#release(chunk);
    }
  }

  /** The file that holds a chunk. */
  pathOf(number: number): string {
    return chunkPath(this.#directory, number);
  }

  async close(): Promise<void> {
    for (const chunk of this.#chunks) {
      await chunk.handle?.close();
      chunk.handle = null;
    }
  }

  async #openForAppend(number: number): Promise<FileHandle> {
    // Not O_APPEND: writes are at explicit offsets, so that a chunk cannot grow anywhere but at its committed end.
    const file = chunkPath(this.#directory, number);
    try {
      return await open(file, 'r+');
    } catch (error) {
      if (systemErrorCode(error) !== 'ENOENT') throw error;
    }
    const created = await open(file, 'wx+');
    await syncDirectory(this.#directory);
    return created;
  }

  async #release(chunk: Chunk): Promise<void> {
    chunk.use = 'free';
    if (chunk.committedBytes < this.#chunkBytes || chunk.handle === null) return;
    const { handle } = chunk;
    chunk.handle = null;
    await handle.close();
  }
}

class Lease implements ChunkLease {
  readonly chunk: number;
  readonly offset: number;
  readonly #state: Chunk;
  readonly #handle: FileHandle;
  readonly #release: (chunk: Chunk) => Promise<void>;
  #isSettled = false;
  bytes = 0;

  constructor(state: Chunk, handle: FileHandle, release: (chunk: Chunk) => Promise<void>) {
    this.chunk = state.number;
    this.offset = state.committedBytes;
    this.#state = state;
    this.#handle = handle;
    this.#release = release;
  }

  async append(bytes: Buffer): Promise<void> {
    let from = 0;
    while (from < bytes.length) {
      const place = this.offset + this.bytes + from;
      const { bytesWritten } = await this.#handle.write(bytes, from, bytes.length - from, place);
      from += bytesWritten;
    }
    this.bytes += bytes.length;
  }

  async sync(): Promise<void> {
    await this.#handle.datasync();
  }

  async keep(): Promise<void> {
    if (!this.#settle()) return;
    this.#state.committedBytes = this.offset + this.bytes;
    await this.#release(this.#state);
  }

  retire(): void {
    if (this.#settle()) this.#state.use = 'retired';
  }

  async giveBack(): Promise<void> {
    if (!this.#settle()) return;
    try {
      await this.#handle.truncate(this.offset);
    } finally {
      await this.#release(this.#state);
    }
  }

  #settle(): boolean {
    const isFirst = !this.#isSettled;
    this.#isSettled = true;
    return isFirst;
  }
}

function newChunk(number: number, committedBytes: number): Chunk {
  return { number, committedBytes, handle: null, use: 'free' };
}

function chunkPath(directory: string, number: number): string {
  return path.join(directory, `${String(number).padStart(5, '0')}.jsonl`);
}

async function chunkFiles(directory: string): Promise<Set<number>> {
  const names = await readdir(directory);
  return new Set(names.flatMap((name) => CHUNK_NAME.exec(name)?.[1] ?? []).map(Number));
}

/** Makes one chunk file as long as the database says; a file the database does not know never held a receipt. */
async function cutTail(directory: string, number: number, committedBytes: number | undefined): Promise<CutTail | null> {
  const file = chunkPath(directory, number);
  const handle = await open(file, 'r+');
  try {
    const { size } = await handle.stat();
    if (size < (committedBytes ?? 0)) throw shortChunk(directory, number, size, committedBytes ?? 0);
    const keepBytes = committedBytes ?? 0;
    if (size > keepBytes) {
      await handle.truncate(keepBytes);
      await handle.sync();
    }
    if (committedBytes === undefined) await unlink(file);
    return size > keepBytes ? { chunk: number, offset: keepBytes, bytes: size - keepBytes } : null;
  } finally {
    await handle.close();
  }
}

function shortChunk(directory: string, number: number, foundBytes: number, committedBytes: number): PrlError {
  return new PrlError(
    'PRL_ERR_INTEGRITY',
    `${chunkPath(directory, number)} has ${foundBytes} bytes, but ${committedBytes} were committed to it`,
    { hint: 'restore the file from a copy, or start over an empty directory with --data' },
  );
}

async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
