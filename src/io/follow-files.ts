/**
 * The flat files of a run while they are followed: one that grows (R2, verifiers, a bare file), or one a step and kind
 * (R1, R0), among which new ones appear. Of many files none is held open between two looks.
 */
import { basename, dirname } from 'node:path';
import { FollowedChunk, type FollowedChunkOptions } from './follow-chunk.js';
import type { FollowContext, FollowEvent, FollowOptions, FollowSource, WatchedPlace } from './follow-types.js';
import { FileCollector } from './run-files.js';
import type { ChunkFile } from './run-types.js';

export type FollowedFilesOptions = {
  readonly context: FollowContext;
  readonly files: readonly Pick<ChunkFile, 'path' | 'relativePath' | 'chunk'>[];
  readonly from: NonNullable<FollowOptions['from']>;
  /** Lists the files there are now; null where no others can appear. */
  readonly relist: (() => Promise<readonly ChunkFile[]>) | null;
};

/** Files that may stay open. */
const MAX_OPEN_FILES = 8;

/** Part of the time that listing the files again may take: of thousands it is not cheap. */
const MAX_LISTING_SHARE = 0.02;

export class FollowedFiles implements FollowSource {
  readonly #options: FollowedFilesOptions;
  readonly #chunks = new Map<string, FollowedChunk>();
  #nextListingAtMs: number;

  constructor(options: FollowedFilesOptions) {
    this.#options = options;
    this.#nextListingAtMs = options.context.clock.nowMs();
    for (const file of options.files) this.#add(file, startOf(file.chunk, options.from));
  }

  /** A single file is watched through its directory, so that another one in its place is noticed. */
  get watched(): WatchedPlace | null {
    const [only, other] = this.#options.files;
    if (only === undefined || other !== undefined || this.#options.relist !== null) return null;
    return { directory: dirname(only.path), name: basename(only.path) };
  }

  async *sweep(): AsyncGenerator<FollowEvent, void> {
    await this.#addNew();
    for (const chunk of this.#chunks.values()) {
      this.#options.context.signal.throwIfAborted();
      yield* chunk.sweep();
      if (this.#chunks.size > MAX_OPEN_FILES) await chunk.letGo();
    }
  }

  async *finish(): AsyncGenerator<FollowEvent, void> {
    for (const chunk of this.#chunks.values()) yield* chunk.finish();
  }

  async close(): Promise<void> {
    for (const chunk of this.#chunks.values()) await chunk.close();
  }

  async #addNew(): Promise<void> {
    const { relist, context } = this.#options;
    const startMs = context.clock.nowMs();
    if (relist === null || startMs < this.#nextListingAtMs) return;
    for (const file of await relist()) {
      // Numbers go by position, and a new file may stand before known ones: here it comes last.
      if (!this.#chunks.has(file.relativePath)) this.#add({ ...file, chunk: this.#chunks.size }, 'start');
    }
    const nowMs = context.clock.nowMs();
    this.#nextListingAtMs = nowMs + (nowMs - startMs) / MAX_LISTING_SHARE;
  }

  #add({ path, relativePath: name, chunk }: FollowedFilesOptions['files'][number], start: Start): void {
    const { context } = this.#options;
    const locate = async (): Promise<FileCollector> => {
      const files = new FileCollector(context.root);
      await files.add(path, chunk);
      return files;
    };
    this.#chunks.set(name, new FollowedChunk({ context, chunk, name, locate, start }));
  }
}

type Start = FollowedChunkOptions['start'];

/** Files before the place are passed over up to their present end. */
function startOf(chunk: number, from: FollowedFilesOptions['from']): Start {
  if (typeof from === 'string' || chunk === from.chunk) return from;
  return chunk < from.chunk ? 'end' : 'start';
}
