/**
 * Where records wait for the service when no run keeps them: a run directory with one stream of small chunks and no
 * index, so that everything of prl reads it, and `prl upload` sends what is left. Whoever holds it is its one writer;
 * chunks that are settled to their end are removed, and with the last of them the directory.
 */
import { readdir, rmdir, stat, unlink } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { chunkName, listChunks } from '../core/stream/chunk-names.js';
import type { ChunkSettlement } from './settlement.js';
import type { RecordPlace, StreamLine, StreamNotice } from './stream-types.js';
import { StreamWriter } from './stream-writer.js';
import type { StreamEnd } from './upload-messages.js';

/** Where the stream lies in a run directory (spec 01 section 3), and where an upload keeps its state. */
const STREAM = 'monitors/file/traces/stream';
const JOURNAL = 'monitors/prl/journal';

/** Small enough that the disk is soon given back, large enough for two full requests. */
export const SPOOL_CHUNK_BYTES = 67_108_864;

export type SpoolOptions = {
  readonly chunkBytes?: number;
  readonly onNotice: (notice: StreamNotice) => void;
};

/** A chunk there is, and where its last whole line ends. */
type SpoolChunk = { readonly name: string; endBytes: number };

export class Spool {
  /** The run directory. */
  readonly directory: string;
  /** Where that ends which an earlier process left. */
  readonly leftUpTo: StreamEnd;
  /** What it left, settled or not. */
  readonly earlierBytes: number;
  readonly #stream: string;
  readonly #writer: StreamWriter;
  readonly #chunks: Map<number, SpoolChunk>;

  private constructor(directory: string, writer: StreamWriter, chunks: Map<number, SpoolChunk>) {
    this.directory = directory;
    this.#stream = join(directory, STREAM);
    this.#writer = writer;
    this.#chunks = chunks;
    this.leftUpTo = this.end;
    this.earlierBytes = this.bytes;
  }

  /**
   * Opens a spool, or makes it. What is in it is taken over.
   * @throws PrlError `PRL_ERR_LOCKED` when another prl writes it, `PRL_ERR_LIMIT` without room, `PRL_ERR_USAGE` where
   *   nothing may be written
   */
  static async open(directory: string, { chunkBytes = SPOOL_CHUNK_BYTES, onNotice }: SpoolOptions): Promise<Spool> {
    const stream = join(directory, STREAM);
    const writer = await StreamWriter.open(stream, { chunkBytes, compress: false, onNotice });
    try {
      const chunks = await chunksIn(stream);
      // Numbers begin anew: nothing that is remembered of an earlier chunk of this number is about this one.
      if ([...chunks.values()].every(({ endBytes }) => endBytes === 0))
        await unlink(join(directory, JOURNAL)).catch(() => {});
      return new Spool(directory, writer, chunks);
    } catch (error) {
      await writer.leave().catch(() => {}); // the first failure is the one to tell
      throw error;
    }
  }

  /** Behind the last whole line. */
  get end(): StreamEnd {
    const { chunk, liveBytes } = this.#writer.snapshot();
    return { chunk, offset: liveBytes };
  }

  /** On the disk, settled or not. */
  get bytes(): number {
    return [...this.#chunks.values()].reduce((sum, { endBytes }) => sum + endBytes, 0);
  }

  /** Begins the line of a record; one at a time. */
  openLine(): StreamLine {
    return this.#writer.openLine();
  }

  /** Accounts for a line that is in the stream. */
  note({ chunk, offset, bytes }: RecordPlace): void {
    const known = this.#chunks.get(chunk);
    if (known === undefined) this.#chunks.set(chunk, { name: chunkName(chunk), endBytes: offset + bytes });
    else known.endBytes = offset + bytes;
  }

  /** Removes chunks that are complete and settled. Returns whether there was one. */
  async removeSettled(settled: ReadonlyMap<number, ChunkSettlement>): Promise<boolean> {
    const { chunk: live } = this.#writer.snapshot();
    let hasRemoved = false;
    for (const [chunk, known] of this.#chunks) {
      if (chunk >= live || !isSettled(known, settled.get(chunk))) continue;
      hasRemoved = (await this.#remove(chunk, known)) || hasRemoved;
    }
    return hasRemoved;
  }

  /**
   * Does what it can for a disk without room: the chunk that grows is ended, so that it can go too once it is settled.
   * Returns whether there is more room now.
   */
  async makeRoom(settled: ReadonlyMap<number, ChunkSettlement>): Promise<boolean> {
    await this.#writer.roll().catch(() => {}); // not even room for a name: what is settled may give some
    return this.removeSettled(settled);
  }

  /**
   * Lets go of it. What is settled to its end is removed, and where nothing is left the directory too.
   * @returns bytes that stay for the next process @throws PrlError when the last lines may not be in their file
   */
  async close(settled: ReadonlyMap<number, ChunkSettlement>): Promise<number> {
    for (const [chunk, known] of this.#chunks) {
      if (isSettled(known, settled.get(chunk))) await this.#remove(chunk, known);
    }
    const isEmpty = this.#chunks.size === 0;
    if (isEmpty) await unlink(join(this.directory, JOURNAL)).catch(() => {}); // there may be none
    await this.#writer.leave();
    if (isEmpty) await this.#removeDirectories();
    return this.bytes;
  }

  async #remove(chunk: number, { name }: SpoolChunk): Promise<boolean> {
    try {
      await unlink(join(this.#stream, name));
    } catch {
      return false; // tried again with the next settlement
    }
    this.#chunks.delete(chunk);
    return true;
  }

  /** From the innermost out, as far as they are empty: what others put there stays. */
  async #removeDirectories(): Promise<void> {
    const state = dirname(join(this.directory, JOURNAL));
    await rmdir(state).catch(() => {}); // see above
    const names = relative(this.directory, this.#stream).split(sep);
    for (let depth = names.length; depth >= 0; depth -= 1) {
      await rmdir(join(this.directory, ...names.slice(0, depth))).catch(() => {}); // see above
    }
  }
}

function isSettled({ endBytes }: SpoolChunk, settlement: ChunkSettlement | undefined): boolean {
  return (settlement?.endBytes ?? 0) >= endBytes;
}

/** A torn line that a crash left was ended when the stream was opened, and counts. */
async function chunksIn(stream: string): Promise<Map<number, SpoolChunk>> {
  const chunks = new Map<number, SpoolChunk>();
  for (const { chunk, plain } of listChunks(await readdir(stream)).chunks) {
    if (plain === null) continue; // sealed by somebody else, whose it is
    chunks.set(chunk, { name: plain, endBytes: (await stat(join(stream, plain))).size });
  }
  return chunks;
}
