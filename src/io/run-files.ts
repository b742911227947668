/**
 * Turns paths that a layout names into the files to read. Each file once by device and inode (T10), links never
 * followed out of the run, and nothing but regular files ever opened: a pipe would block for ever.
 */
import { lstat, realpath, stat } from 'node:fs/promises';
import { relative, sep } from 'node:path';
import type { Damage } from '../core/scan/types.js';
import { inspectChunk } from './chunk-open.js';
import { describeReadError, systemErrorCode } from './run-fault.js';
import type { ChunkFile } from './run-types.js';

/** Collects the files of one run, with what was found wrong on the way. */
export class FileCollector {
  readonly #root: string;
  readonly #seen = new Map<string, string>();
  readonly files: ChunkFile[] = [];
  readonly damage: Damage[] = [];
  readonly notices: string[] = [];

  /** `root` has its links resolved. */
  constructor(root: string) {
    this.#root = root;
  }

  relativePath(path: string): string {
    return relative(this.#root, path).split(sep).join('/');
  }

  /**
   * Adds one file under a chunk number (default: its position). Returns false when the path does not exist, so that
   * the caller can look for the other form of the chunk; every other fault is noted here.
   */
  async add(path: string, chunk = this.files.length): Promise<boolean> {
    const file = this.relativePath(path);
    try {
      const problem = await this.#problemWith(path);
      if (problem !== null) {
        this.reject(file, chunk, problem);
        return true;
      }
      const { dev, ino, size } = await stat(path);
      const identity = `${dev}:${ino}`;
      const first = this.#seen.get(identity);
      if (first !== undefined) {
        this.notices.push(`${file} is the same file as ${first} and is read once`);
        return true;
      }
      this.#seen.set(identity, file);
      this.files.push(await this.#inspect(path, file, chunk, size));
      return true;
    } catch (error) {
      if (systemErrorCode(error) === 'ENOENT') return false;
      this.reject(file, chunk, describeReadError(error));
      return true;
    }
  }

  /** Notes a file of the run that will not be read, and why. */
  reject(file: string, chunk: number, reason: string): void {
    this.damage.push({ file, chunk, offset: 0, bytes: 0, kind: 'unreadable', recovered: false, message: reason });
  }

  async #problemWith(path: string): Promise<string | null> {
    const isLink = (await lstat(path)).isSymbolicLink();
    if (isLink && !(await exists(path))) return 'a symbolic link that leads nowhere';
    const target = await realpath(path);
    if (target !== path && !target.startsWith(this.#root + sep)) {
      return 'a symbolic link leads out of the run and is not followed';
    }
    const found = await stat(path);
    if (found.isFile()) return null;
    return found.isDirectory() ? 'a directory where a file belongs' : 'not a regular file';
  }

  /** A file that cannot be opened stays in the list: reading it reports why, at its place. */
  async #inspect(path: string, relativePath: string, chunk: number, sizeBytes: number): Promise<ChunkFile> {
    try {
      const shape = await inspectChunk(path);
      if (shape.tableFault !== null) {
        this.notices.push(`${relativePath} is read frame by frame from its start: ${shape.tableFault}`);
      }
      const { form, uncompressedBytes } = shape;
      return { chunk, path, relativePath, form, sizeBytes: shape.sizeBytes, uncompressedBytes };
    } catch {
      // Why it cannot be opened is said when it is read; until then its name has to tell the form.
      const form = path.endsWith('.zst') ? 'sealed' : 'plain';
      return { chunk, path, relativePath, form, sizeBytes, uncompressedBytes: form === 'plain' ? sizeBytes : null };
    }
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return false;
    throw error;
  }
}
