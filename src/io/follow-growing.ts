/**
 * One plain file that may grow while it is read: how far its whole lines go, and whether what was read of it still
 * stands. What lies behind the last LF is searched and never held, so a line of any length costs no memory until it is
 * whole. Marks are compared after each read and before its lines are told: a rewrite can only show in what is read
 * after it began.
 */
import type { BigIntStats } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { LineFramer } from '../core/scan/framing.js';
import { PlainChunk } from './chunk-plain.js';
import { countLines, type LineEvent, readGap, type SkipRange } from './chunk-reader.js';
import { LineEnds } from './follow-line-ends.js';
import { FileMarks } from './follow-marks.js';
import { CheckedSource, readLongLine } from './follow-source.js';

export type GrowingFileOptions = {
  /** Ranges that need not be read; as in `readRecords`. */
  readonly skip: readonly SkipRange[];
  readonly maxLineBytes: number;
  readonly signal: AbortSignal;
  readonly nowMs: () => number;
};

/** What tells one state of a file from another, without looking into it. */
type FileState = { readonly dev: bigint; readonly ino: bigint; readonly sizeBytes: number; readonly mtimeNs: bigint };

const NOT_LOOKED_AT = { sizeBytes: 0, mtimeNs: -1n } as const;

export class GrowingFile {
  readonly #path: string;
  readonly #options: GrowingFileOptions;
  readonly #marks = new FileMarks();
  readonly #ends: LineEnds;
  #handle: FileHandle | null;
  #seen: FileState;
  /** Whether the state was found twice: a file system's clock is coarse, so one more change can hide behind it. */
  #isSettled = false;
  #changedAtMs: number;
  #skip: readonly SkipRange[];
  #position = 0;
  /** Bytes at the start of the file that were passed over. */
  #startOffset = 0;
  #lineNumber = 1;

  private constructor(path: string, handle: FileHandle, options: GrowingFileOptions & { readonly stats: BigIntStats }) {
    this.#path = path;
    this.#handle = handle;
    this.#options = options;
    this.#skip = options.skip;
    this.#ends = new LineEnds(0, options.nowMs);
    this.#seen = { ...stateOf(options.stats), ...NOT_LOOKED_AT };
    this.#changedAtMs = options.nowMs();
  }

  /** Opens a regular file; the caller closes it. @throws the system's error */
  static async open(path: string, options: GrowingFileOptions): Promise<GrowingFile> {
    const handle = await open(path, 'r');
    try {
      return new GrowingFile(path, handle, { ...options, stats: await handle.stat({ bigint: true }) });
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** First byte that was not told. */
  get position(): number {
    return this.#position;
  }

  /** Whether there are whole lines to be read. */
  get hasLines(): boolean {
    return this.#ends.lastEnd > this.#position;
  }

  /** Bytes of the line that has no LF yet. */
  get openBytes(): number {
    return Math.max(0, this.#ends.contentEnd - this.#position);
  }

  /** Bytes that were not told, NUL bytes at the end included. */
  get restBytes(): number {
    return this.#seen.sizeBytes - this.#position;
  }

  /** How long the file has been found as it is now. */
  get quietMs(): number {
    return this.#options.nowMs() - this.#changedAtMs;
  }

  /** Whether this is the file that lies at a path with the given state. */
  isSameFile({ dev, ino }: BigIntStats): boolean {
    return dev === this.#seen.dev && ino === this.#seen.ino;
  }

  /**
   * Looks how far whole lines go by now. Returns null, or why what was read before no longer stands.
   * @throws the system's error
   */
  async look(): Promise<string | null> {
    if (this.#handle === null) {
      const there = stateOf(await stat(this.#path, { bigint: true }));
      if (this.#isSettled && isSame(there, this.#seen)) return null;
    }
    const handle = await this.#opened();
    const now = stateOf(await handle.stat({ bigint: true }));
    if (now.dev !== this.#seen.dev || now.ino !== this.#seen.ino) return 'another file took its place';
    const isUnchanged = isSame(now, this.#seen);
    if (isUnchanged && this.#isSettled) return null;
    const change = await this.#findChange(now.sizeBytes);
    if (change !== null) return change;
    const from = this.#searchFrom(now, isUnchanged);
    if (from === null) return null;
    await this.#ends.search(handle, { position: this.#position, from, sizeBytes: now.sizeBytes });
    this.#seen = now;
    this.#isSettled = isUnchanged;
    if (!isUnchanged) this.#changedAtMs = this.#options.nowMs();
    return null;
  }

  /**
   * Where to search for line ends from; null when it has to wait. What has no LF behind the searched bytes may have one
   * in them by now, when a failed append was taken back and others followed: a quiet file is searched from its open line.
   */
  #searchFrom(now: FileState, isUnchanged: boolean): number | null {
    const { contentEnd, mayRepeat } = this.#ends;
    if (isUnchanged) return mayRepeat || this.restBytes === 0 ? this.#position : null;
    if (this.hasLines || now.sizeBytes < this.#seen.sizeBytes) return this.#position;
    const hasRoom = this.#seen.sizeBytes > contentEnd;
    return hasRoom && !mayRepeat ? null : Math.max(this.#position, contentEnd);
  }

  async #findChange(sizeBytes: number): Promise<string | null> {
    if (sizeBytes < this.#position) return `cut to ${sizeBytes} bytes when ${this.#position} had been read`;
    return (await this.#marks.stand(this.#handle as FileHandle)) ? null : 'bytes that had been read are other ones now';
  }

  /** Passes over all whole lines there are, without reading them; returns what was passed over. */
  async skipToEnd(): Promise<readonly SkipRange[]> {
    await this.look();
    const range = { start: 0, end: this.#ends.lastEnd, lines: 0 };
    await this.#passOver(range);
    return [range];
  }

  /** The whole lines found by the last look. Ends early when the file changes under it; the next look finds how. */
  async *lines(): AsyncGenerator<LineEvent, void> {
    yield* this.#linesTo(this.#ends.lastEnd);
    if (this.hasLines) this.#seen = { ...this.#seen, ...NOT_LOOKED_AT };
  }

  async *#linesTo(end: number): AsyncGenerator<LineEvent, void> {
    while (this.#position < end) {
      const [next] = this.#skip;
      if (next !== undefined && next.start <= this.#position) {
        await this.#passOver(next);
        this.#skip = this.#skip.slice(1);
        continue;
      }
      const before = this.#position;
      const stop = Math.min(end, next?.start ?? end);
      const isAtLongLine = yield* this.#framed(stop, true);
      if (isAtLongLine && !(yield* this.#longLine(stop))) yield* this.#framed(stop, false);
      if (this.#position === before) return;
    }
  }

  /** Lines up to `stop`; returns whether it ended before a long one. */
  async *#framed(stop: number, stopsAtLongLine: boolean): AsyncGenerator<LineEvent, boolean> {
    let checked = this.#seen;
    const stands = async (end: number): Promise<boolean> => {
      const now = await this.#stat();
      if (now.sizeBytes < end) return false;
      if (!isSame(now, checked) && (await this.#findChange(now.sizeBytes)) !== null) return false;
      checked = now;
      return true;
    };
    const source = new CheckedSource({ handle: this.#handle as FileHandle, stands, stopsAtLongLine });
    const framer = this.#framer();
    for await (const event of readGap(source, framer, this.#position, stop, this.#options.signal)) {
      if (event.type === 'line' && !event.line.terminated) break;
      this.#advance(event, framer);
      yield event;
    }
    return source.isAtLongLine;
  }

  /** The line at the position, which has its LF before `stop`; false when it cannot be read as a whole. */
  async *#longLine(stop: number): AsyncGenerator<LineEvent, boolean> {
    const [start, lineNumber] = [this.#position, this.#lineNumber];
    const found = await readLongLine(this.#handle as FileHandle, { ...this.#options, start, stop });
    if (found === null || (await this.#findChange((await this.#stat()).sizeBytes)) !== null) return false;
    const line = { offset: start, length: found.length, terminated: true, lineNumber, bytes: found.bytes };
    this.#marks.take(line);
    this.#position += found.length;
    this.#lineNumber += 1;
    yield { type: 'line', line };
    return true;
  }

  /** What is left when the file will not grow any more: a line without LF, bytes that cannot be read. */
  async *rest(): AsyncGenerator<LineEvent, void> {
    const source = await this.#whole();
    if (source === null) return;
    const { uncompressedBytes: sizeBytes } = source;
    const framer = this.#framer();
    for await (const event of readGap(source, framer, this.#position, sizeBytes, this.#options.signal)) {
      this.#advance(event, framer);
      yield event;
    }
  }

  /** The lines before the place where reading began. */
  async *passedOver(): AsyncGenerator<LineEvent, void> {
    const source = await this.#whole();
    const end = this.#startOffset;
    const framer = new LineFramer({ startOffset: 0, startLineNumber: 1, maxLineBytes: this.#options.maxLineBytes });
    if (source !== null) yield* readGap(source, framer, 0, end, this.#options.signal);
  }

  /** Closes the file until the next look finds that it changed. */
  async letGo(): Promise<void> {
    const handle = this.#handle;
    this.#handle = null;
    await handle?.close();
  }

  /** All bytes as they are now; null when the file was let go and is away. */
  async #whole(): Promise<PlainChunk | null> {
    const handle = await this.#opened().catch(() => null); // away
    return handle === null ? null : new PlainChunk(handle, (await this.#stat()).sizeBytes);
  }

  async #opened(): Promise<FileHandle> {
    this.#handle ??= await open(this.#path, 'r');
    return this.#handle;
  }

  async #stat(): Promise<FileState> {
    return stateOf(await (this.#handle as FileHandle).stat({ bigint: true }));
  }

  #framer(): LineFramer {
    const { maxLineBytes } = this.#options;
    return new LineFramer({ startOffset: this.#position, startLineNumber: this.#lineNumber, maxLineBytes });
  }

  #advance(event: LineEvent, framer: LineFramer): void {
    if (event.type === 'line') this.#marks.take(event.line);
    this.#position = framer.lineOffset;
    this.#lineNumber = framer.lineNumber;
  }

  async #passOver({ start, end, lines }: SkipRange): Promise<void> {
    const handle = this.#handle as FileHandle;
    if (this.#position === 0) this.#startOffset = end;
    const range = { start: Math.max(start, this.#position), end };
    this.#lineNumber += lines ?? (await countLines(new PlainChunk(handle, end), range, this.#options.signal));
    this.#position = Math.max(this.#position, end);
    await this.#marks.read(handle, this.#position);
  }
}

function stateOf({ dev, ino, size, mtimeNs }: BigIntStats): FileState {
  return { dev, ino, sizeBytes: Number(size), mtimeNs };
}

function isSame(a: FileState, b: FileState): boolean {
  return a.sizeBytes === b.sizeBytes && a.mtimeNs === b.mtimeNs && a.ino === b.ino && a.dev === b.dev;
}
