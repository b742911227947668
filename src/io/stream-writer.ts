/**
 * Appends lines to a chunked stream (spec 03). A line comes in parts while it is being encoded, and they are written as
 * they come: what collects during one write goes out with the next. One loop does everything that touches the files, so
 * that nothing overlaps. A line is in the stream whole, with its place told, or is not there at all; a failed write
 * costs its own line and no other. Long for one module: it is one state machine.
 */
import { unlink } from 'node:fs/promises';
import { PrlError } from '../core/errors.js';
import { bytesOf, LineQueue, type QueuedLine } from './line-queue.js';
import { createChunk, type LiveChunk, moveTail } from './live-chunk.js';
import { type OpenStream, openStream } from './stream-open.js';
import type { LinePart, RecordPlace, StreamLine, StreamSnapshot, StreamWriterOptions } from './stream-types.js';
import { syncDirectory } from './sync-directory.js';
import { describeWriteError, writeFailure } from './write-failure.js';

/** Whoever waits for all lines up to one. */
type Flush = { readonly line: number; readonly resolve: () => void; readonly reject: (error: PrlError) => void };

export class StreamWriter {
  readonly #stream: OpenStream;
  readonly #queue = new LineQueue();
  readonly #flushes: Flush[] = [];
  #chunk: LiveChunk;
  /** The line that takes parts. */
  #open: QueuedLine | null = null;
  #lastCommitted = -1;
  /** Whoever waits for the next chunk. */
  #rolling: PromiseWithResolvers<void> | null = null;
  #working: Promise<void> | null = null;
  #ending: Promise<void> | null = null;
  /** A chunk has a name that the disk may not have. */
  #isDirectoryDirty = true;
  /** Why a chunk that was left behind may not be on the disk; told by the next flush. */
  #retireFailure: PrlError | null = null;
  #written = { lines: 0, bytes: 0, failedLines: 0 };

  private constructor(stream: OpenStream) {
    this.#stream = stream;
    this.#chunk = stream.chunk;
  }

  /**
   * Opens a stream for appending, made if it is not there, by the table of spec 03 section 3. The lock is the file
   * `<directory>.lock`. Chunks that a crash left plain are sealed in the background.
   *
   * @throws PrlError `PRL_ERR_LOCKED` when another prl writes it, `PRL_ERR_LIMIT` without room, `PRL_ERR_USAGE` where
   *   nothing may be written, RangeError for options out of range
   */
  static async open(directory: string, options: StreamWriterOptions = {}): Promise<StreamWriter> {
    return new StreamWriter(await openStream(directory, options));
  }

  /** Begins a line; one at a time. @throws PrlError `PRL_ERR_USAGE` when the stream is closed, Error while a line is open */
  openLine(): StreamLine {
    this.#refuseEnded();
    if (this.#open !== null) throw new Error('a line is open already');
    const line = this.#queue.open();
    this.#open = line;
    return {
      get failure() {
        return line.failure;
      },
      write: (part) => {
        line.add(part);
        this.#wake();
      },
      commit: () => this.#commit(line),
      abort: () => this.#abort(line),
    };
  }

  /** Appends a line of these parts, without LF (R-CHK-1). They must not change until it resolves. @throws as `StreamLine.commit` */
  async append(parts: Iterable<LinePart>): Promise<RecordPlace> {
    const line = this.openLine();
    try {
      for (const part of parts) line.write(part);
    } catch (error) {
      await line.abort();
      throw error;
    }
    return line.commit();
  }

  /**
   * Resolves when every line committed by now is in the file, or was refused, which its `commit` says; with `fsync:
   * 'flush'` when they are on the disk.
   * @throws PrlError when the disk could not be waited for; what was written since the last flush may then be lost with
   *   the machine, and a later flush does not tell
   */
  async flush(): Promise<void> {
    this.#refuseEnded();
    await this.#flush();
  }

  /**
   * Ends the chunk that grows, unless it is empty: lines that begin when it has resolved are in the next one.
   * @throws PrlError when that could not be started; the chunk then goes on
   */
  async roll(): Promise<void> {
    this.#refuseEnded();
    this.#rolling ??= Promise.withResolvers();
    this.#wake();
    await this.#rolling.promise;
  }

  /**
   * The clean end of a run: gives an open line up, seals the last chunk, or removes it when it is empty, and waits for
   * all seals. Once; later calls get the same answer.
   * @throws PrlError when a chunk stays plain or the end could not be made durable; everything else was done
   */
  close(): Promise<void> {
    this.#ending ??= this.#end(true);
    return this.#ending;
  }

  /** Ends the writing for now: the last chunk stays plain for the next writer, and so do chunks that wait for a seal. */
  leave(): Promise<void> {
    this.#ending ??= this.#end(false);
    return this.#ending;
  }

  snapshot(): StreamSnapshot {
    const { sealer } = this.#stream;
    return {
      chunk: this.#chunk.chunk,
      liveBytes: this.#chunk.file.wholeBytes,
      ...this.#written,
      pendingLines: this.#queue.lines,
      pendingBytes: this.#queue.pendingBytes,
      sealed: sealer.sealed,
      sealBacklog: sealer.backlog,
      failedSeals: sealer.failures.length,
    };
  }

  #refuseEnded(): void {
    if (this.#ending === null) return;
    throw new PrlError('PRL_ERR_USAGE', `${this.#stream.directory} is closed for writing`);
  }

  #commit(line: QueuedLine): Promise<RecordPlace> {
    if (this.#open === line) this.#open = null;
    const place = line.commit();
    if (!line.isGivenUp) this.#lastCommitted = line.number;
    this.#wake();
    return place;
  }

  #abort(line: QueuedLine): Promise<void> {
    if (this.#open === line) this.#open = null;
    const gone = line.giveUp();
    this.#wake();
    return gone;
  }

  #flush(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#flushes.push({ line: this.#lastCommitted, resolve, reject });
    this.#wake();
    return promise;
  }

  /** Starts the loop, after the parts that whoever calls is about to add. */
  #wake(): void {
    this.#working ??= Promise.resolve().then(() => this.#work());
  }

  async #work(): Promise<void> {
    while (this.#queue.head?.isReady === true || this.#isFlushDue() || this.#isRollDue()) {
      if (this.#isFlushDue()) await this.#passFlushes();
      else if (this.#isRollDue()) await this.#passRoll();
      else await this.#advance(this.#queue.head as QueuedLine);
    }
    // In one go with the look above, so that nobody is overlooked who comes meanwhile.
    this.#working = null;
  }

  /** Writes what there is of the first lines, or does what comes before that. */
  async #advance(head: QueuedLine): Promise<void> {
    if (head.isGivenUp) return this.#drop(head);
    try {
      // Parts may come meanwhile. Between the last look and what is taken there is no wait, so that none can.
      while (this.#lacksRoom(head)) await this.#makeRoom(head);
    } catch (error) {
      return this.#fail(head, error);
    }
    const shares = this.#queue.take(this.#chunk.file.endBytes, this.#stream.settings.chunkBytes);
    const { bytes, failure } = await this.#chunk.file.write(shares.flatMap(({ parts }) => parts.map(bytesOf)));
    this.#queue.finish(shares, bytes, (line) => this.#settle(line));
    if (failure !== null) await this.#fail(this.#queue.head as QueuedLine, failure);
  }

  #settle(line: QueuedLine): void {
    this.#chunk.file.settle(line.offset + line.bytes);
    this.#written.lines += 1;
    this.#written.bytes += line.bytes;
    line.settle({ chunk: this.#chunk.chunk, offset: line.offset, bytes: line.bytes });
  }

  /** Whether the chunk does not take the line, as far as the line is known. */
  #lacksRoom(head: QueuedLine): boolean {
    const { isTorn, wholeBytes } = this.#chunk.file;
    return isTorn || (wholeBytes > 0 && wholeBytes + head.bytes > this.#stream.settings.chunkBytes);
  }

  /** Repairs the chunk, or turns to the next one. */
  async #makeRoom(head: QueuedLine): Promise<void> {
    if (this.#chunk.file.isTorn) return this.#repair();
    const { directory } = this.#stream;
    const isBegun = head.writtenBytes > 0;
    await this.#turn((old) => (isBegun ? moveTail(old, directory) : createChunk(directory, old.chunk + 1)));
    head.offset = 0;
  }

  /** Goes on in the chunk behind. */
  async #turn(start: (old: LiveChunk) => Promise<LiveChunk>): Promise<void> {
    const old = this.#chunk;
    try {
      this.#chunk = await start(old);
    } catch (error) {
      throw writeFailure(`start the chunk behind ${old.path}`, error, null);
    }
    this.#isDirectoryDirty = true;
    await this.#retire(old);
  }

  /** Closes a chunk that is complete, and has it sealed. */
  async #retire({ path, file }: LiveChunk): Promise<void> {
    const { settings, sealer } = this.#stream;
    try {
      if (settings.fsync === 'flush') await file.sync();
      await file.close();
    } catch (error) {
      this.#retireFailure ??= writeFailure(`end ${path}`, error, 'its last lines may not be on the disk');
    }
    if (settings.compress) sealer.add(path);
  }

  /** Makes a torn chunk one that takes lines: cut back, if that works by now, else with the torn line ended (R-CHK-3). */
  async #repair(): Promise<void> {
    const { path, file } = this.#chunk;
    if ((await file.cutBack()) === null) return;
    const offset = await file.endOpenLine();
    if (offset === null) return;
    const message = `${path}: the torn line at byte ${offset} could not be cut off; an LF now ends it`;
    this.#stream.onNotice({ kind: 'torn', message });
  }

  async #fail(line: QueuedLine, cause: unknown): Promise<void> {
    const { path, file } = this.#chunk;
    const { endBytes } = file;
    const state = await this.#cutBack();
    this.#queue.shift();
    if (line.isGivenUp) line.settle(null);
    else {
      this.#written.failedLines += 1;
      line.fail(writeFailure(`write ${path} at byte ${endBytes}`, cause, `the line is not there, ${state}`));
    }
  }

  async #drop(line: QueuedLine): Promise<void> {
    if (line.writtenBytes > 0) await this.#cutBack();
    this.#queue.shift();
    line.settle(null);
  }

  /** Leaves whole lines alone in the chunk; says what that came to. */
  async #cutBack(): Promise<string> {
    const { path, file } = this.#chunk;
    const failure = await file.cutBack();
    if (failure === null) return 'and the lines before it are whole';
    const message = `${path} could not be cut back to ${file.wholeBytes} bytes: ${describeWriteError(failure)}`;
    this.#stream.onNotice({ kind: 'torn', message });
    return `and its torn beginning could not be cut off, which is tried again before the next line (${message})`;
  }

  /** Not inside a line, which stays in one chunk. */
  #isRollDue(): boolean {
    const { head } = this.#queue;
    return this.#rolling !== null && (head === undefined || (head.writtenBytes === 0 && !head.isGivenUp));
  }

  async #passRoll(): Promise<void> {
    const rolling = this.#rolling;
    this.#rolling = null;
    try {
      if (this.#chunk.file.isTorn) await this.#repair();
      if (this.#chunk.file.wholeBytes > 0) {
        await this.#turn((old) => createChunk(this.#stream.directory, old.chunk + 1));
      }
      rolling?.resolve();
    } catch (error) {
      rolling?.reject(error);
    }
  }

  #isFlushDue(): boolean {
    const [flush] = this.#flushes;
    if (flush === undefined) return false;
    const { head } = this.#queue;
    // A line that was given up goes first, so that nothing of it is left when whoever waits closes the file.
    return head === undefined || (head.number > flush.line && !head.isGivenUp);
  }

  async #passFlushes(): Promise<void> {
    const due: Flush[] = [];
    while (this.#isFlushDue()) due.push(this.#flushes.shift() as Flush);
    try {
      await this.#sync();
      for (const { resolve } of due) resolve();
    } catch (error) {
      for (const { reject } of due) reject(error as PrlError);
    }
  }

  async #sync(): Promise<void> {
    const { directory, settings } = this.#stream;
    const failure = this.#retireFailure;
    this.#retireFailure = null;
    if (failure !== null) throw failure;
    if (settings.fsync === 'never') return;
    try {
      await this.#chunk.file.sync();
      if (this.#isDirectoryDirty) await syncDirectory(directory);
      this.#isDirectoryDirty = false;
    } catch (error) {
      throw writeFailure(`bring ${this.#chunk.path} to the disk`, error, null);
    }
  }

  async #end(isFinal: boolean): Promise<void> {
    const { sealer, lock } = this.#stream;
    const failures: PrlError[] = [];
    try {
      if (this.#open !== null) await this.#abort(this.#open);
      await this.#flush();
    } catch (error) {
      failures.push(error as PrlError);
    }
    try {
      await this.#endChunk(isFinal);
    } catch (error) {
      failures.push(writeFailure(`end ${this.#chunk.path}`, error, null));
    }
    if (!isFinal) sealer.giveUpWaiting();
    await sealer.idle();
    await lock?.release();
    failures.push(...sealer.failures);
    const [first] = failures;
    if (first === undefined) return;
    const message = failures.map((failure) => failure.message).join('; ');
    throw new PrlError(first.code, message, {
      cause: first,
      ...(first.hint === undefined ? {} : { hint: first.hint }),
    });
  }

  async #endChunk(isFinal: boolean): Promise<void> {
    const { settings, sealer } = this.#stream;
    const { path, file } = this.#chunk;
    // What could not be cut off was told; the next writer ends the line.
    if (file.isTorn) await file.cutBack();
    await file.close();
    if (!isFinal) return;
    if (file.endBytes === 0) await unlink(path);
    else if (settings.compress) sealer.add(path);
  }
}
