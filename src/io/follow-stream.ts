/**
 * The numbered chunks of a stream while they are followed (spec 03 section 8): one after the other, each drained before
 * the next. An open line at the end of a chunk counts as torn only once a later chunk shows that it was left: a writer
 * may be moving it there at the moment. The directory stays open, so that another one in its place has another inode.
 */
import type { BigIntStats } from 'node:fs';
import { type FileHandle, lstat, open, readdir, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { type ChunkListing, type ChunkNames, listChunks } from '../core/stream/chunk-names.js';
import { MAX_LINE_BYTES } from '../core/upload/limits.js';
import { FollowedChunk, type FollowedChunkOptions } from './follow-chunk.js';
import { GrowingFile } from './follow-growing.js';
import type { FollowContext, FollowEvent, FollowOptions, FollowSource, WatchedPlace } from './follow-types.js';
import { describeReadError, systemErrorCode } from './run-fault.js';
import { FileCollector } from './run-files.js';
import { addChunk, damageOfHole } from './run-stream.js';

export type FollowedStreamOptions = {
  readonly context: FollowContext;
  /** Absolute path of the directory that holds the chunks. */
  readonly directory: string;
  readonly from: NonNullable<FollowOptions['from']>;
};

export class FollowedStream implements FollowSource {
  readonly #context: FollowContext;
  readonly #directory: string;
  readonly #name: string;
  #from: NonNullable<FollowOptions['from']>;
  /** The directory that is followed; null until there is one. */
  #held: { readonly handle: FileHandle; readonly stats: BigIntStats } | null = null;
  #current: FollowedChunk | null = null;
  /** Number of the current chunk, or of the last one that is done with; null before the first. */
  #number: number | null = null;
  /** The chunk behind the current one, while its first line decides on the current one's last. */
  #ahead: GrowingFile | null = null;
  /** Chunks that may not be opened: passed over, and told once they can be. */
  #refused: FollowedChunk[] = [];
  #listingFault = '';

  constructor({ context, directory, from }: FollowedStreamOptions) {
    this.#context = context;
    this.#directory = directory;
    this.#name = relative(context.root, directory).split(sep).join('/');
    this.#from = from;
  }

  get watched(): WatchedPlace {
    return { directory: this.#directory, name: null };
  }

  async *sweep(): AsyncGenerator<FollowEvent, void> {
    yield* this.#sweepRefused();
    for (;;) {
      this.#context.signal.throwIfAborted();
      if (await this.#isReplaced()) yield* this.#restart();
      const listing = yield* this.#list();
      if (this.#current === null && !(yield* this.#next(listing))) return;
      const current = this.#current as FollowedChunk | null;
      if (current === null) continue;
      yield* current.sweep();
      if (!(yield* this.#isDone(current, listing))) return;
      this.#current = null;
    }
  }

  /** Chunks behind an open line, which the sweeps left to be gone on with, are told too. */
  async *finish(): AsyncGenerator<FollowEvent, void> {
    do {
      const current = this.#current;
      this.#current = null;
      if (current !== null) {
        yield* current.sweep();
        yield* current.finish();
      }
    } while (yield* this.#next(yield* this.#list()));
    for (const chunk of this.#refused) yield* chunk.finish();
    await this.close();
  }

  async close(): Promise<void> {
    const [current, held, ahead] = [this.#current, this.#held, this.#ahead];
    this.#current = null;
    this.#held = null;
    this.#ahead = null;
    this.#refused = [];
    await Promise.all([current?.close(), held?.handle.close(), ahead?.letGo()]);
  }

  /** Takes the next chunk there is; false when there is none yet. Missing numbers are looked for twice, then told. */
  async *#next(listing: ChunkListing): AsyncGenerator<FollowEvent, boolean> {
    const least = this.#leastNumber(listing);
    let found = listing.chunks.find(({ chunk }) => chunk >= least);
    // A listing that is made while a chunk is sealed can miss both of its names (R-CHK-5).
    if (found !== undefined && found.chunk > least) {
      found = (yield* this.#list()).chunks.find(({ chunk }) => chunk >= least);
    }
    if (found === undefined) {
      // What comes now was not there when following began.
      if (this.#from === 'end') this.#from = 'start';
      return false;
    }
    if (found.chunk > least) {
      yield { type: 'damage', damage: damageOfHole(this.#name, { first: least, last: found.chunk - 1 }) };
    }
    const first = await this.#firstName(found, listing);
    if (first === null) {
      this.#current = this.#follow(found, this.#number === null ? this.#startOf(found.chunk) : 'start');
    } else {
      const message = `${this.#name}/${found.plain ?? found.sealed} is the same file as ${first} and is read once`;
      yield { type: 'notice', message };
    }
    this.#number = found.chunk;
    return true;
  }

  /** The earlier chunk that a link leads to; null when the chunk is a file of its own (T10). */
  async #firstName({ chunk, plain, sealed }: ChunkNames, { chunks }: ChunkListing): Promise<string | null> {
    const path = join(this.#directory, (plain ?? sealed) as string);
    const link = await lstat(path, { bigint: true }).catch(() => null); // away: whoever opens it says so
    const there = link?.isSymbolicLink() === true ? await stat(path, { bigint: true }).catch(() => null) : link;
    if (link === null || there === null || (!link.isSymbolicLink() && link.nlink === 1n)) return null;
    for (const earlier of chunks) {
      if (earlier.chunk >= chunk) return null;
      const name = (earlier.plain ?? earlier.sealed) as string;
      const other = await stat(join(this.#directory, name), { bigint: true }).catch(() => null); // away
      if (other?.ino === there.ino && other.dev === there.dev) return `${this.#name}/${name}`;
    }
    return null;
  }

  #leastNumber(listing: ChunkListing): number {
    if (this.#number !== null) return this.#number + 1;
    if (this.#from === 'end') return listing.chunks.at(-1)?.chunk ?? 0;
    return this.#from === 'start' ? 0 : this.#from.chunk;
  }

  #startOf(chunk: number): FollowedChunkOptions['start'] {
    if (typeof this.#from === 'string') return this.#from;
    return this.#from.chunk === chunk ? this.#from : 'start';
  }

  #follow({ chunk, plain, sealed }: ChunkNames, start: FollowedChunkOptions['start']): FollowedChunk {
    const plainName = plain ?? (sealed as string).slice(0, -'.zst'.length);
    // Plain before sealed, whatever was listed (R-CHK-5).
    const names = { chunk, plain: plainName, sealed: null };
    const locate = async (): Promise<FileCollector> => {
      const files = new FileCollector(this.#context.root);
      await addChunk(files, this.#directory, names);
      return files;
    };
    return new FollowedChunk({ context: this.#context, chunk, name: `${this.#name}/${plainName}`, locate, start });
  }

  /** Whether nothing more will come of the current chunk; what was left of it is told then. */
  async *#isDone(current: FollowedChunk, { chunks }: ChunkListing): AsyncGenerator<FollowEvent, boolean> {
    const names = chunks.find(({ chunk }) => chunk === current.chunk);
    const later = chunks.filter(({ chunk }) => chunk > current.chunk);
    switch (current.state) {
      case 'whole':
        return true;
      case 'short':
        return false;
      case 'refused':
        if (later.length > 0) this.#refused.push(current);
        return later.length > 0;
      case 'missing':
        if (names === undefined && later.length > 0) {
          const { chunk } = current;
          yield { type: 'damage', damage: damageOfHole(this.#name, { first: chunk, last: chunk }) };
        }
        return names === undefined && later.length > 0;
      case 'open': {
        // Sealed under the open handle: nobody can add to it any more.
        const isSealed = names?.plain === null;
        if (!isSealed && later.length === 0) return false;
        if (!isSealed && current.restBytes > 0 && !(await this.#isLeft(later))) return false;
        if (!isSealed && current.restBytes > 0) yield* current.sweep();
        yield* current.finish();
        await this.#ahead?.letGo();
        this.#ahead = null;
        return true;
      }
    }
  }

  /** Whether a later chunk holds a whole line, so that the open line of the current one is not on its way there. */
  async #isLeft([next, afterNext]: readonly ChunkNames[]): Promise<boolean> {
    if (next === undefined || next.plain === null || afterNext !== undefined) return next !== undefined;
    const { signal, clock, reading } = this.#context;
    try {
      this.#ahead ??= await GrowingFile.open(join(this.#directory, next.plain), {
        skip: [],
        maxLineBytes: reading.maxLineBytes ?? MAX_LINE_BYTES,
        signal,
        nowMs: () => clock.nowMs(),
      });
      await this.#ahead.look();
      return this.#ahead.hasLines;
    } catch {
      return false; // sealed or removed meanwhile: the next listing tells
    }
  }

  async *#sweepRefused(): AsyncGenerator<FollowEvent, void> {
    for (const chunk of this.#refused) {
      yield* chunk.sweep();
      if (chunk.state === 'open') yield* chunk.finish();
    }
    this.#refused = this.#refused.filter(({ state }) => state === 'refused' || state === 'short');
  }

  /** Opens the directory once it is there; afterwards tells whether another one has its path. */
  async #isReplaced(): Promise<boolean> {
    const there = await stat(this.#directory, { bigint: true }).catch(() => null); // not there at the moment
    if (there === null) return false;
    if (this.#held !== null) return there.dev !== this.#held.stats.dev || there.ino !== this.#held.stats.ino;
    const handle = await open(this.#directory, 'r').catch(() => null); // the listing says why
    if (handle !== null) this.#held = { handle, stats: await handle.stat({ bigint: true }) };
    return false;
  }

  /** Ends with the chunk at hand, and begins with the directory that took the place of the one before. */
  async *#restart(): AsyncGenerator<FollowEvent, void> {
    if (this.#current !== null) yield* this.#current.finish();
    await this.close();
    yield { type: 'rewritten', file: this.#name, chunk: 0, reason: 'another directory took its place' };
    this.#context.told.rewritten();
    this.#number = null;
    this.#from = 'start';
    await this.#isReplaced();
  }

  /** The chunks there are; none while the directory is away or cannot be listed. */
  async *#list(): AsyncGenerator<FollowEvent, ChunkListing> {
    try {
      const listing = listChunks(await readdir(this.#directory));
      this.#listingFault = '';
      return listing;
    } catch (error) {
      const fault = describeReadError(error);
      if (systemErrorCode(error) !== 'ENOENT' && fault !== this.#listingFault) {
        yield { type: 'notice', message: `${this.#name} cannot be listed: ${fault}; it is tried again` };
      }
      this.#listingFault = fault;
      return listChunks([]);
    }
  }
}
