/**
 * Appends rows to `metrics.jsonl`, which the trainer and the orchestrator share (spec 01 section 3): each row is one
 * write at the end of the file, so rows of several processes never mix. What somebody's end left without its LF is shut
 * off by an LF that comes with the next row; nothing is ever taken away, since others append meanwhile.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { PrlError } from '../core/errors.js';
import { makeDirectory } from '../io/make-directory.js';
import { describeReadError, systemErrorCode } from '../io/run-fault.js';

const LF = 0x0a;

/** What a full disk, quota or file size limit is called. */
const NO_ROOM = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

export class MetricsFile {
  readonly #path: string;
  readonly #handle: FileHandle;
  /** Rows go one after the other. */
  #last: Promise<void> = Promise.resolve();
  #rows = 0;
  #failed = 0;

  private constructor(path: string, handle: FileHandle) {
    this.#path = path;
    this.#handle = handle;
  }

  /** @throws PrlError when it cannot be written */
  static async open(path: string): Promise<MetricsFile> {
    try {
      await makeDirectory(dirname(path));
      return new MetricsFile(path, await open(path, 'a+'));
    } catch (error) {
      throw writeFailure(path, error);
    }
  }

  /** Rows in the file, and rows that failed. */
  get counts(): { readonly rows: number; readonly failed: number } {
    return { rows: this.#rows, failed: this.#failed };
  }

  /**
   * Appends a row behind those given before.
   * @param row with its LF
   * @throws PrlError `PRL_ERR_LIMIT` without room, `PRL_ERR_TEMPORARY` for other failures; later rows are tried all the same
   */
  append(row: string): Promise<void> {
    const appended = this.#last.then(() => this.#write(row));
    this.#last = appended.catch(() => {}); // whoever gave the row is told
    return appended;
  }

  /** Resolves when all rows given so far are in the file or have failed. */
  settled(): Promise<void> {
    return this.#last;
  }

  /** Makes what is in the file survive a loss of power. @throws PrlError as `append` */
  async sync(): Promise<void> {
    await this.#last;
    await this.#handle.datasync().catch((error: unknown) => {
      throw writeFailure(this.#path, error);
    });
  }

  async close(): Promise<void> {
    await this.#last;
    await this.#handle.close();
  }

  async #write(row: string): Promise<void> {
    try {
      const bytes = Buffer.from((await this.#endsTorn()) ? `\n${row}` : row);
      const { bytesWritten } = await this.#handle.write(bytes);
      if (bytesWritten < bytes.length) throw shortWrite(this.#path, bytesWritten, bytes.length);
      this.#rows += 1;
    } catch (error) {
      this.#failed += 1;
      throw writeFailure(this.#path, error);
    }
  }

  async #endsTorn(): Promise<boolean> {
    const { size } = await this.#handle.stat();
    if (size === 0) return false;
    const last = Buffer.alloc(1);
    const { bytesRead } = await this.#handle.read(last, 0, 1, size - 1);
    return bytesRead === 1 && last[0] !== LF;
  }
}

function shortWrite(path: string, writtenBytes: number, bytes: number): PrlError {
  const message = `no room to write ${path}: of a row of ${bytes} bytes ${writtenBytes} were taken`;
  return new PrlError('PRL_ERR_LIMIT', message, { hint: 'make room; the next row shuts the broken one off' });
}

function writeFailure(path: string, cause: unknown): PrlError {
  if (cause instanceof PrlError) return cause;
  const code = systemErrorCode(cause);
  if (code !== null && NO_ROOM.has(code)) {
    return new PrlError('PRL_ERR_LIMIT', `no room to write ${path} (${code})`, { hint: 'make room', cause });
  }
  return new PrlError('PRL_ERR_TEMPORARY', `cannot write ${path}: ${describeReadError(cause)}`, {
    hint: 'see to the directory; the next row is tried all the same',
    cause,
  });
}
