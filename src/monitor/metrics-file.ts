/**
 * Appends rows to `metrics.jsonl`, which the trainer and the orchestrator share (spec 01 section 3): each row is one
 * write at the end of the file, so rows of several processes never mix. What somebody's end left without its LF is shut
 * off by an LF that comes with the next row; nothing is ever taken away, since others append meanwhile.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { PrlError } from '../core/errors.js';
import { makeDirectory } from '../io/make-directory.js';
import { writeFailure } from '../io/write-failure.js';

const LF = 0x0a;

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

  /** @throws PrlError `PRL_ERR_LIMIT` without room, `PRL_ERR_USAGE` where nothing may be written, else `PRL_ERR_TEMPORARY` */
  static async open(path: string): Promise<MetricsFile> {
    try {
      await makeDirectory(dirname(path));
      return new MetricsFile(path, await open(path, 'a+'));
    } catch (error) {
      throw writeFailure(`open ${path} for writing`, error, null);
    }
  }

  /** Rows in the file, and rows that failed. */
  get counts(): { readonly rows: number; readonly failed: number } {
    return { rows: this.#rows, failed: this.#failed };
  }

  /**
   * Appends a row behind those given before.
   * @param row with its LF
   * @throws PrlError as `open`; later rows are tried all the same
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
      throw writeFailure(`bring ${this.#path} to the disk`, error, null);
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
      if (bytesWritten < bytes.length) {
        // To write the rest now would put it behind what another process has appended meanwhile.
        throw new PrlError('PRL_ERR_LIMIT', `of ${bytes.length} bytes of a row ${bytesWritten} were taken`);
      }
      this.#rows += 1;
    } catch (error) {
      this.#failed += 1;
      throw writeFailure(`write ${this.#path}`, error, 'the row is not there');
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
