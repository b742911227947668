/**
 * The file of a journal: opened with its torn end cut and its damage set aside, appended and made durable record by
 * record. A disk that fails suspends it, once and for all; it never stops whoever writes.
 */
import { constants, copyFile, type FileHandle, open, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { messageOf } from '../core/errors.js';
import {
  type Decoded,
  decodeJournal,
  encodeEntry,
  encodeHeader,
  type JournalEntry,
} from '../core/upload/journal-format.js';
import { systemErrorCode } from './run-fault.js';
import { syncDirectory } from './sync-directory.js';

export class JournalFile {
  readonly #onNotice: (message: string) => void;
  #file: FileHandle | null = null;
  #pending: Buffer[] = [];
  #writing: Promise<void> | null = null;
  #hasLost = false;

  /** @param onNotice told once of each thing a user should know: damage set aside, a journal that cannot be kept */
  constructor(onNotice: (message: string) => void) {
    this.#onNotice = onNotice;
  }

  /** False when it could not be opened or written: nothing is remembered from then on. */
  get isKept(): boolean {
    return this.#file !== null;
  }

  /** Whether damage has taken entries that were written. */
  get hasLost(): boolean {
    return this.#hasLost;
  }

  /** Opens the file for appending; `replay` gets what it holds, also when it then turns out that it cannot be written. */
  async open(path: string, replay: (entries: readonly JournalEntry[]) => void): Promise<void> {
    try {
      const bytes = await readOrEmpty(path);
      const decoded = decodeJournal(bytes, crc32);
      // First, so that a disk too full to keep the damaged file costs nothing that is known.
      replay(decoded.entries);
      this.#hasLost = decoded.state === 'damaged' || decoded.state === 'foreign';
      if (this.#hasLost) await this.#setAside(path, bytes, decoded);
      this.#file = await open(path, 'a');
      if (decoded.state === 'torn') await this.#file.truncate(decoded.validBytes);
      const isNew = decoded.validBytes === 0 && decoded.state !== 'foreign';
      if (isNew) await this.#file.appendFile(encodeHeader(crc32));
      await this.#file.datasync();
      if (isNew) await keepName(path);
    } catch (error) {
      this.suspend(messageOf(error));
    }
  }

  /** Resolves when the entry is on disk, or not kept; entries that come meanwhile share one write and one sync. */
  async append(entry: JournalEntry): Promise<void> {
    if (this.#file === null) return;
    this.#pending.push(encodeEntry(entry, crc32));
    while (this.#pending.length > 0 || this.#writing !== null) {
      this.#writing ??= this.#flush();
      await this.#writing;
    }
  }

  /** Goes on without a journal (U21): what this run cannot remember the next one asks the service for (U4). */
  suspend(reason: string): void {
    this.#file?.close().catch(() => {}); // its disk has failed already; that is what is told
    this.#file = null;
    this.#pending = [];
    this.#onNotice(`the journal is not kept (${reason}); a repeated upload has to ask the service what is stored`);
  }

  /** Waits for what is being written and lets the file go. */
  async close(): Promise<void> {
    await this.#writing;
    await this.#file?.close();
    this.#file = null;
  }

  /**
   * Keeps the damaged file under another name and puts a fresh one in its place, beginning with what stands before the
   * damage: that was checked record by record. There is a journal at every moment, whatever kills us.
   */
  async #setAside(path: string, bytes: Buffer, { validBytes, reason }: Decoded): Promise<void> {
    const fresh = `${path}.new`;
    await writeFile(fresh, validBytes > 0 ? bytes.subarray(0, validBytes) : encodeHeader(crc32), { flush: true });
    const aside = await copyAside(path);
    await rename(fresh, path);
    await keepName(path);
    this.#onNotice(`the journal is damaged (${reason}); kept as ${aside}, a fresh one goes on from what was readable`);
  }

  async #flush(): Promise<void> {
    const bytes = Buffer.concat(this.#pending);
    this.#pending = [];
    try {
      await this.#file?.appendFile(bytes);
      await this.#file?.datasync();
    } catch (error) {
      this.suspend(messageOf(error));
    } finally {
      this.#writing = null;
    }
  }
}

/** Keeps a copy under a name that nobody has: a clock that was set back comes to the same moment again (U25). */
async function copyAside(path: string): Promise<string> {
  const stem = `${path}.damaged-${new Date().toISOString().replaceAll(/[-:.]/g, '')}`;
  for (let count = 1; ; count += 1) {
    const aside = count === 1 ? stem : `${stem}-${count}`;
    try {
      await copyFile(path, aside, constants.COPYFILE_EXCL);
      return aside;
    } catch (error) {
      if (systemErrorCode(error) !== 'EEXIST') throw error;
    }
  }
}

/** A crash of the machine takes no new file with it. Not every file system can: then the service is asked (U4). */
async function keepName(path: string): Promise<void> {
  await syncDirectory(dirname(path)).catch(() => {});
}

/** What a journal that is only read holds; nothing when it is not there. @throws the system's error */
export async function readJournal(path: string): Promise<readonly JournalEntry[]> {
  return decodeJournal(await readOrEmpty(path), crc32).entries;
}

async function readOrEmpty(path: string): Promise<Buffer> {
  return readFile(path).catch((error: unknown) => {
    if (systemErrorCode(error) === 'ENOENT') return Buffer.alloc(0);
    throw error;
  });
}
