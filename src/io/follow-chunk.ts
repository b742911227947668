/**
 * One file of a run while it is followed: found, opened, drained again and again, and begun anew when another file took
 * its place. The handle stays open, so that what was written before the file was sealed, renamed or removed is read to
 * its end, and no other file can come to bear its inode meanwhile (T4).
 */
import type { BigIntStats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { MAX_LINE_BYTES } from '../core/upload/limits.js';
import { inspectChunk } from './chunk-open.js';
import type { LineEvent, SkipRange } from './chunk-reader.js';
import { GrowingFile } from './follow-growing.js';
import { FollowedRecords } from './follow-records.js';
import type { FollowContext, FollowEvent, FollowPlace } from './follow-types.js';
import { describeReadError, systemErrorCode } from './run-fault.js';
import type { FileCollector } from './run-files.js';
import { readFileRecords } from './run-records.js';
import type { ChunkFile } from './run-types.js';

export type FollowedChunkOptions = {
  readonly context: FollowContext;
  readonly chunk: number;
  /** Path as reports show it. */
  readonly name: string;
  /** Looks for the file under its names; what was found, or is wrong with it, lies in the collector. */
  readonly locate: () => Promise<FileCollector>;
  readonly start: 'start' | 'end' | FollowPlace;
};

/**
 * `missing`: no such file; `refused`: it may not be opened; `short`: nothing more can be opened at the moment; `open`:
 * it may grow; `whole`: sealed, and read to its end.
 */
export type FollowedState = 'missing' | 'refused' | 'short' | 'open' | 'whole';

/** Shortages that pass, whatever file is opened. */
const SHORTAGES = new Set(['EMFILE', 'ENFILE', 'ENOMEM']);

/** Whoever holds a file that another one replaced may still end the line it was at. */
const LAST_LINE_MS = 1_000;

const REPLACED = 'another file took its place';

/** A plain file that is open, and what was told of it. */
type OpenFile = { readonly path: string; readonly growing: GrowingFile; readonly records: FollowedRecords };

export class FollowedChunk {
  readonly #options: FollowedChunkOptions;
  readonly #notices = new Set<string>();
  #state: FollowedState = 'missing';
  #refusal = '';
  #start: FollowedChunkOptions['start'];
  #open: OpenFile | null = null;
  /** A sealed file as it was when it was read. */
  #sealed: { readonly path: string; readonly stats: BigIntStats | null } | null = null;
  /** The line without LF that was told last. */
  #openLine = { offset: 0, bytes: 0 };

  constructor(options: FollowedChunkOptions) {
    this.#options = options;
    this.#start = options.start;
  }

  get chunk(): number {
    return this.#options.chunk;
  }

  get state(): FollowedState {
    return this.#state;
  }

  /** Bytes behind the last line that was told. */
  get restBytes(): number {
    return this.#open?.growing.restBytes ?? 0;
  }

  /** Tells what is there by now: all whole lines, and how long the one without LF is. */
  async *sweep(): AsyncGenerator<FollowEvent, void> {
    for (;;) {
      if (this.#sealed !== null) {
        if (!(await isOther(this.#sealed))) return;
        yield* this.#restart(REPLACED);
      }
      const open = this.#open ?? (yield* this.#openFile());
      if (open === null) return;
      const change = (yield* this.#drain(open)) ?? (yield* this.#giveWay(open));
      if (change === null) {
        yield* this.#tellOpenLine(open.growing);
        return;
      }
      yield* this.#restart(change);
    }
  }

  /** Tells the rest of a file that nobody will go on with, and closes it. One that could not be read is damage. */
  async *finish(): AsyncGenerator<FollowEvent, void> {
    const { chunk, name: file } = this.#options;
    if (this.#open !== null) {
      const { records, growing } = this.#open;
      yield* records.tellLines(growing.rest());
      yield* records.tellSummary();
    } else if (this.#state === 'refused' || this.#state === 'short') {
      const damage = { file, chunk, offset: 0, bytes: 0, kind: 'unreadable', recovered: false } as const;
      yield { type: 'damage', damage: { ...damage, message: this.#refusal } };
    }
    await this.close();
  }

  /** Gives the descriptor back until the file changes. */
  async letGo(): Promise<void> {
    await this.#open?.growing.letGo();
  }

  async close(): Promise<void> {
    const open = this.#open;
    this.#open = null;
    await open?.growing.letGo();
  }

  /** Opens the file and passes over what is not wanted; a sealed one is read at once. Null when nothing is open. */
  async *#openFile(): AsyncGenerator<FollowEvent, OpenFile | null> {
    const { files, damage, notices } = await this.#options.locate();
    for (const message of notices) yield* this.#notice(message);
    const [file] = files;
    this.#state = 'missing';
    if (file === undefined) {
      if (damage[0] !== undefined) yield* this.#refuse(damage[0].message, null);
      // What comes there later was not there when following began.
      else if (this.#start === 'end') this.#start = 'start';
      return null;
    }
    try {
      if (file.form !== 'sealed') return yield* this.#openPlain(file);
      const stats = await statQuietly(file.path);
      await inspectChunk(file.path);
      yield* this.#readSealed(file);
      this.#sealed = { path: file.path, stats };
    } catch (error) {
      const code = systemErrorCode(error);
      if (code === null || this.#options.context.signal.aborted) throw error;
      // Sealed or removed meanwhile: it is looked for again.
      if (code !== 'ENOENT') yield* this.#refuse(describeReadError(error), code);
    }
    return null;
  }

  async *#openPlain(file: ChunkFile): AsyncGenerator<FollowEvent, OpenFile> {
    const { context } = this.#options;
    const { signal, clock, reading } = context;
    const maxLineBytes = reading.maxLineBytes ?? MAX_LINE_BYTES;
    const ranges = skipRanges(this.#start, reading.skip?.(file) ?? []);
    const growing = await GrowingFile.open(file.path, {
      skip: ranges,
      maxLineBytes,
      signal,
      nowMs: () => clock.nowMs(),
    });
    const skip = this.#start === 'end' ? await growing.skipToEnd() : ranges;
    this.#open = { path: file.path, growing, records: new FollowedRecords(file, skip, context) };
    yield* this.#begin(file, 'open');
    return this.#open;
  }

  async *#readSealed(file: ChunkFile): AsyncGenerator<FollowEvent, void> {
    const { context } = this.#options;
    const end = { start: 0, end: file.uncompressedBytes ?? 0, lines: 0 };
    const ranges = skipRanges(this.#start, context.reading.skip?.(file) ?? []);
    const skip = this.#start === 'end' ? [end] : ranges;
    const records = new FollowedRecords(file, skip, context);
    yield* this.#begin(file, 'whole');
    if (this.#start === 'end') yield* records.tellSummary();
    else {
      const events = readFileRecords(file, { ...context.reading, signal: context.signal, skip: () => skip });
      yield* records.tellEvents(events);
    }
  }

  *#begin(file: ChunkFile, state: FollowedState): Generator<FollowEvent, void> {
    this.#state = state;
    this.#openLine = { offset: 0, bytes: 0 };
    this.#notices.clear();
    yield { type: 'file', file, summary: null };
  }

  /** Returns null, or why what was told no longer stands. */
  async *#drain({ growing, records }: OpenFile): AsyncGenerator<FollowEvent, string | null> {
    const { context, name } = this.#options;
    for (;;) {
      context.signal.throwIfAborted();
      try {
        const change = await growing.look();
        if (change !== null || !growing.hasLines) return change;
      } catch (error) {
        const code = systemErrorCode(error);
        if (code === 'ESTALE') return describeReadError(error);
        // A file that was let go may be away for the moment.
        if (code !== 'ENOENT') yield* this.#notice(`${name} cannot be read: ${describeReadError(error)}`);
        return null;
      }
      yield* records.tellLines(growing.lines());
    }
  }

  /** Ends with a file that another one replaced under its path; null while it is still there, or may still grow. */
  async *#giveWay({ path, growing, records }: OpenFile): AsyncGenerator<FollowEvent, string | null> {
    const there = await statQuietly(path);
    if (there === null || growing.isSameFile(there)) return null;
    if (growing.restBytes > 0 && growing.quietMs < LAST_LINE_MS) return null;
    yield* records.tellLines(growing.rest());
    // Nobody asked for what lies before the start, so it is not to be told when it comes again.
    if (this.#start !== 'start') await this.#noteAll(growing.passedOver());
    return REPLACED;
  }

  async #noteAll(lines: AsyncIterable<LineEvent>): Promise<void> {
    for await (const event of lines) {
      const bytes = event.type === 'line' ? event.line.bytes : null;
      if (bytes !== null) this.#options.context.told.admit({ bytes });
    }
  }

  async *#restart(reason: string): AsyncGenerator<FollowEvent, void> {
    const { chunk, name: file, context } = this.#options;
    if (this.#open !== null) yield* this.#open.records.tellSummary();
    // Of an empty file nothing was told: a run that ended and was started again begins with one.
    if (this.#open?.growing.position !== 0) {
      yield { type: 'rewritten', file, chunk, reason };
      context.told.rewritten();
    }
    this.#start = 'start';
    this.#sealed = null;
    await this.close();
  }

  *#tellOpenLine({ position: offset, openBytes: bytes }: GrowingFile): Generator<FollowEvent, void> {
    const { chunk, name: file } = this.#options;
    const told = this.#openLine;
    this.#openLine = { offset, bytes };
    if (bytes === told.bytes && (bytes === 0 || offset === told.offset)) return;
    // A line that got its LF was told as what it is.
    if (bytes > 0 || offset === told.offset) yield { type: 'growing', file, chunk, offset, bytes };
  }

  *#refuse(reason: string, code: string | null): Generator<FollowEvent, void> {
    this.#state = code !== null && SHORTAGES.has(code) ? 'short' : 'refused';
    this.#refusal = reason;
    yield* this.#notice(`${this.#options.name} cannot be read: ${reason}; it is tried again`);
  }

  /** Once each, however often it is found. */
  *#notice(message: string): Generator<FollowEvent, void> {
    if (this.#notices.has(message)) return;
    this.#notices.add(message);
    yield { type: 'notice', message };
  }
}

/** What lies before the start, then what else need not be read. */
function skipRanges(start: FollowedChunkOptions['start'], ranges: readonly SkipRange[]): readonly SkipRange[] {
  if (typeof start === 'string' || start.offset === 0) return start === 'end' ? [] : ranges;
  const { offset, lineNumber = 1 } = start;
  const later = ranges.filter(({ end }) => end > offset);
  const rest = later.map((range) => (range.start >= offset ? range : { start: offset, end: range.end }));
  return [{ start: 0, end: offset, lines: lineNumber - 1 }, ...rest];
}

async function isOther({ path, stats }: { path: string; stats: BigIntStats | null }): Promise<boolean> {
  const there = await statQuietly(path);
  if (there === null || stats === null) return false;
  return there.ino !== stats.ino || there.size !== stats.size || there.mtimeNs !== stats.mtimeNs;
}

async function statQuietly(path: string): Promise<BigIntStats | null> {
  return stat(path, { bigint: true }).catch(() => null); // not there, or not to be seen
}
