/**
 * Writes a file so that readers see the old one or the new one whole, and a crash leaves the old one: a temporary
 * sibling, fsync, rename, fsync of the directory (I2, I11).
 */
import { createHash, randomBytes } from 'node:crypto';
import { writeSync } from 'node:fs';
import { type FileHandle, open, readdir, rename, stat, unlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { PrlError } from '../core/errors.js';
import { describeReadError, isNoRoom, systemErrorCode } from './run-fault.js';
import { processExists } from './run-lock.js';
import { syncDirectory } from './sync-directory.js';

const DRAFT_SUFFIX = '.prl-draft';

/** Tells the drafts of this machine from those of others that share the file system. */
const HOST = createHash('sha256').update(hostname()).digest('hex').slice(0, 8);

/** A process of another machine that writes touches its draft more often than this. */
const ABANDONED_MS = 86_400_000;

/** A new content for a path, invisible until it is published. */
export class FileDraft {
  readonly #path: string;
  readonly #draftPath: string;
  readonly #handle: FileHandle;
  #writtenBytes = 0;

  private constructor(path: string, draftPath: string, handle: FileHandle) {
    this.#path = path;
    this.#draftPath = draftPath;
    this.#handle = handle;
  }

  /**
   * Starts a draft beside `path`, and takes away drafts that killed processes left there. A path that is no regular
   * file (a pipe, a device) is written directly.
   * @throws PrlError `PRL_ERR_LIMIT` without room, `PRL_ERR_USAGE` when the directory takes no files
   */
  static async create(path: string): Promise<FileDraft> {
    const draftPath = (await isSpecial(path)) ? path : draftOf(path);
    if (draftPath !== path) await sweep(path);
    try {
      const handle = await open(draftPath, 'w', 0o666);
      if (draftPath !== path) await keepOwner(path, handle);
      return new FileDraft(path, draftPath, handle);
    } catch (error) {
      throw writeFailure(path, error, null);
    }
  }

  /**
   * Goes on with the draft of a process that was killed, of which the first `bytes` count. It gets a name of this
   * process. @throws PrlError as `create`
   */
  static async adopt(path: string, oldDraft: string, bytes: number): Promise<FileDraft> {
    const draftPath = draftOf(path);
    try {
      await rename(oldDraft, draftPath);
      const handle = await open(draftPath, 'r+');
      await handle.truncate(bytes);
      const draft = new FileDraft(path, draftPath, handle);
      draft.#writtenBytes = bytes;
      return draft;
    } catch (error) {
      throw writeFailure(path, error, null);
    }
  }

  /** Where the draft lies until it is published. */
  get draftPath(): string {
    return this.#draftPath;
  }

  /** Makes what was written survive a crash. @throws PrlError as `write` */
  async sync(): Promise<void> {
    try {
      await this.#handle.datasync();
    } catch (error) {
      throw writeFailure(this.#path, error, null);
    }
  }

  /** Ends it with the draft left for a later `adopt`. */
  async leave(): Promise<void> {
    await this.#handle.close().catch(() => {}); // closed already
  }

  get writtenBytes(): number {
    return this.#writtenBytes;
  }

  /**
   * Synchronous, since a turn through the thread pool costs more than the copy into the page cache.
   * @throws PrlError as `create`; the message names what is missing of `expectedBytes`, if that is known
   */
  write(bytes: Uint8Array, expectedBytes: number | null = null): void {
    try {
      for (let at = 0; at < bytes.length; ) {
        const position = this.#draftPath === this.#path ? null : this.#writtenBytes;
        const bytesWritten = writeSync(this.#handle.fd, bytes, at, bytes.length - at, position);
        at += bytesWritten;
        this.#writtenBytes += bytesWritten;
      }
    } catch (error) {
      const missing = expectedBytes === null ? null : Math.max(0, expectedBytes - this.#writtenBytes);
      throw writeFailure(this.#path, error, missing);
    }
  }

  /** Makes the draft the file. @throws PrlError as `write`; the old file is then still there */
  async publish(): Promise<void> {
    if (this.#draftPath === this.#path) {
      await this.#handle.close();
      return;
    }
    try {
      await this.#handle.sync();
      await this.#handle.close();
      await rename(this.#draftPath, this.#path);
      await syncDirectory(dirname(this.#path));
    } catch (error) {
      throw writeFailure(this.#path, error, null);
    }
  }

  /** Leaves the old file as it is and takes the draft away. */
  async discard(): Promise<void> {
    await this.#handle.close().catch(() => {}); // closed already by a publish that failed
    if (this.#draftPath !== this.#path) await unlink(this.#draftPath).catch(() => {}); // already renamed
  }
}

/**
 * Where a draft of `path` lies by now: whoever took it over gave it another name, and may have been killed as well.
 * Null when it is gone, or when its process goes on with it.
 */
export async function findDraft(
  path: string,
  file: { readonly dev: number; readonly ino: number },
): Promise<string | null> {
  for (const { draft, host, pid } of await listDrafts(path)) {
    const stats = await stat(draft).catch(() => null); // taken away meanwhile
    if (stats === null || stats.dev !== file.dev || stats.ino !== file.ino) continue;
    const isAlive = host === HOST && pid !== process.pid && processExists(pid);
    return isAlive ? null : draft;
  }
  return null;
}

/** A name that no other process takes, and that tells whose it is. */
function draftOf(path: string): string {
  const name = `${startOf(path)}${HOST}.${process.pid}.${randomBytes(4).toString('hex')}${DRAFT_SUFFIX}`;
  return join(dirname(path), name);
}

function startOf(path: string): string {
  return `.${basename(path)}.`;
}

/** Takes away drafts of processes that are no more: of this machine at once, of others when nobody has touched them for long. */
async function sweep(path: string): Promise<void> {
  for (const { draft, host, pid } of await listDrafts(path)) {
    const isDead = host === HOST ? !processExists(pid) : await isAbandoned(draft);
    if (isDead) await unlink(draft).catch(() => {}); // swept by another
  }
}

/** The drafts of a path, and whose they are. */
async function listDrafts(path: string): Promise<{ draft: string; host: string; pid: number }[]> {
  const names = await readdir(dirname(path)).catch(() => []); // the draft's own open says what is wrong
  const start = startOf(path);
  return names
    .filter((name) => name.startsWith(start) && name.endsWith(DRAFT_SUFFIX))
    .map((name) => {
      const [host = '', pid] = name.slice(start.length).split('.');
      return { draft: join(dirname(path), name), host, pid: Number(pid) };
    });
}

async function isAbandoned(path: string): Promise<boolean> {
  const stats = await stat(path).catch(() => null); // published meanwhile
  return stats !== null && Date.now() - stats.mtimeMs > ABANDONED_MS;
}

async function isSpecial(path: string): Promise<boolean> {
  const stats = await stat(path).catch(() => null); // not there yet, or the open below says why
  return stats !== null && !stats.isFile();
}

/** Whoever could read and write the old file can do so with the new one, as far as this user may arrange it. */
async function keepOwner(path: string, handle: FileHandle): Promise<void> {
  const old = await stat(path).catch(() => null); // nothing to keep
  if (old === null) return;
  await handle.chown(old.uid, old.gid).catch(() => {}); // for root only
  await handle.chmod(old.mode & 0o7777).catch(() => {}); // a file system without modes
}

function writeFailure(path: string, cause: unknown, missingBytes: number | null): PrlError {
  if (isNoRoom(cause)) {
    const missing = missingBytes === null ? '' : `; about ${missingBytes} bytes more are needed`;
    return new PrlError(
      'PRL_ERR_LIMIT',
      `no room to write ${path} (${systemErrorCode(cause)})${missing}; what was there is untouched`,
      {
        hint: 'make room, or write elsewhere with --out',
        cause,
      },
    );
  }
  return new PrlError('PRL_ERR_USAGE', `cannot write ${path}: ${describeReadError(cause)}`, {
    hint: 'write elsewhere with --out, or to stdout with --rows',
    cause,
  });
}
