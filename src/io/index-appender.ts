/**
 * The writer's side of an index: rows go to its end, all of an append or nothing of it. What a crash left of a row is
 * cut off when the index is opened, so that no row is ever glued to it and the count of rows is right (B20).
 */
import { dirname } from 'node:path';
import { type IndexedRow, readRow } from '../core/index/row-text.js';
import { GrowingFile } from './growing-file.js';
import { systemErrorCode } from './run-fault.js';
import type { StreamNotice } from './stream-types.js';
import { syncDirectory } from './sync-directory.js';
import { writeFailure } from './write-failure.js';

export type IndexAppenderOptions = {
  /** As for the stream; default `never`. */
  readonly fsync?: 'never' | 'flush';
  readonly onNotice?: (notice: StreamNotice) => void;
};

/** A longer line is no row. */
const MAX_ROW_BYTES = 67_108_864;

const LF = 0x0a;

/** What the rows of an index amount to. */
type Counted = { readonly rows: number; readonly lastStart: number; readonly wholeBytes: number };

export class IndexAppender {
  readonly #file: GrowingFile;
  readonly #fsync: 'never' | 'flush';
  #rows: number;
  #lastRow: IndexedRow | null;
  #isDirectoryDirty = true;
  /** One append at a time; never rejects. */
  #last: Promise<unknown> = Promise.resolve();

  private constructor(file: GrowingFile, { fsync = 'never' }: IndexAppenderOptions, counted: Counted) {
    this.#file = file;
    this.#fsync = fsync;
    this.#rows = counted.rows;
    this.#lastRow = null;
  }

  /**
   * Opens an index for appending, made if it is not there. Reads all of it, to count its rows. Whoever opens it must
   * hold the lock of its stream.
   * @throws PrlError `PRL_ERR_LIMIT` without room, `PRL_ERR_USAGE` where nothing may be written, else
   *   `PRL_ERR_TEMPORARY`
   */
  static async open(path: string, options: IndexAppenderOptions = {}): Promise<IndexAppender> {
    try {
      const file = await openOrMake(path);
      try {
        const counted = await countRows(file);
        if (counted.wholeBytes < file.endBytes) await cutTornRow(file, counted.wholeBytes, options);
        const appender = new IndexAppender(file, options, counted);
        appender.#lastRow = await readLast(file, counted);
        return appender;
      } catch (error) {
        await file.close();
        throw error;
      }
    } catch (error) {
      throw writeFailure(`open ${path} for writing`, error, null);
    }
  }

  get path(): string {
    return this.#file.path;
  }

  /** Rows in the file; the next one is line `rows + 1` of the stream. */
  get rows(): number {
    return this.#rows;
  }

  /** The last row as it was when the index was opened; null when there was none, or when that line was no row. */
  get lastRow(): IndexedRow | null {
    return this.#lastRow;
  }

  /**
   * Appends whole rows, LF included, with one write. They must not change until it resolves.
   * @throws PrlError `PRL_ERR_LIMIT` without room, else `PRL_ERR_TEMPORARY` or `PRL_ERR_USAGE`; nothing of them is there
   */
  append(rows: Uint8Array): Promise<void> {
    const done = this.#last.then(() => this.#append(rows));
    this.#last = done.catch(() => {}); // told to whoever appends
    return done;
  }

  /** Resolves when everything appended by now is in the file; with `fsync: 'flush'` on the disk. @throws PrlError as `append` */
  flush(): Promise<void> {
    const done = this.#last.then(() => this.#sync());
    this.#last = done.catch(() => {}); // told to whoever flushes
    return done;
  }

  /** Waits for what is under way. */
  async close(): Promise<void> {
    await this.#last;
    await this.#file.close();
  }

  async #append(rows: Uint8Array): Promise<void> {
    const file = this.#file;
    const torn = file.isTorn ? await file.cutBack() : null;
    if (torn !== null)
      throw writeFailure(`write ${file.path} at byte ${file.wholeBytes}`, torn, 'it ends in a torn row');
    const { bytes, failure } = await file.write([rows]);
    if (failure === null) {
      file.settle(file.endBytes);
      this.#rows += countLf(rows);
      return;
    }
    const isCut = (await file.cutBack()) === null;
    const state = isCut
      ? 'no row was added'
      : 'its torn rows could not be cut off, which is tried again before the next';
    throw writeFailure(`write ${file.path} at byte ${file.wholeBytes + bytes}`, failure, state);
  }

  async #sync(): Promise<void> {
    if (this.#fsync === 'never') return;
    try {
      await this.#file.sync();
      if (this.#isDirectoryDirty) await syncDirectory(dirname(this.path));
      this.#isDirectoryDirty = false;
    } catch (error) {
      throw writeFailure(`bring ${this.path} to the disk`, error, null);
    }
  }
}

async function openOrMake(path: string): Promise<GrowingFile> {
  try {
    return await GrowingFile.open(path, 'r+');
  } catch (error) {
    if (systemErrorCode(error) !== 'ENOENT') throw error;
    return GrowingFile.open(path, 'wx+');
  }
}

async function countRows(file: GrowingFile): Promise<Counted> {
  let rows = 0;
  let lastStart = 0;
  let wholeBytes = 0;
  let offset = 0;
  for await (const block of file.blocks(0, file.endBytes)) {
    for (let at = block.indexOf(LF); at >= 0; at = block.indexOf(LF, at + 1)) {
      rows += 1;
      lastStart = wholeBytes;
      wholeBytes = offset + at + 1;
    }
    offset += block.length;
  }
  return { rows, lastStart, wholeBytes };
}

async function cutTornRow(file: GrowingFile, wholeBytes: number, { onNotice }: IndexAppenderOptions): Promise<void> {
  const tornBytes = file.endBytes - wholeBytes;
  file.settle(wholeBytes);
  const failure = await file.cutBack();
  if (failure !== null) throw failure;
  onNotice?.({ kind: 'torn', message: `${file.path} ended in ${tornBytes} bytes of a torn row, which were cut off` });
}

async function readLast(file: GrowingFile, { rows, lastStart, wholeBytes }: Counted): Promise<IndexedRow | null> {
  if (rows === 0 || wholeBytes - lastStart > MAX_ROW_BYTES) return null;
  const parts: Buffer[] = [];
  for await (const block of file.blocks(lastStart, wholeBytes)) parts.push(Buffer.from(block));
  return readRow(Buffer.concat(parts));
}

function countLf(rows: Uint8Array): number {
  let count = 0;
  for (let at = rows.indexOf(LF); at >= 0; at = rows.indexOf(LF, at + 1)) count += 1;
  return count;
}
