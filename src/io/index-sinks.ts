/** Where rebuilt rows go: into a file that is published whole, into a comparison, or to whoever reads them. */
import { closeSync, createReadStream, openSync, readSync } from 'node:fs';
import type { Growth, IndexComparison } from '../core/index/compare.js';
import { IndexCheck } from './index-check.js';
import type { IndexMark } from './index-state.js';
import { FileDraft } from './publish-file.js';

/** What became of the rows. */
export type SinkResult = {
  readonly rowsWritten: number;
  readonly changed: boolean;
  readonly check: IndexComparison | null;
};

export type RowSink = {
  /** `count` rows as they stand in a file, or 0 for a header. `expectedBytes`: of all rows, as far as it can be told. */
  add(rows: Uint8Array, count: number, expectedBytes: number | null): Promise<void>;
  end(): Promise<SinkResult>;
  /** Ends it without a result; nothing that was there is touched. With `keepsDraft` a later command can go on. */
  discard(keepsDraft: boolean): Promise<void>;
};

const COMPARE_BYTES = 1_048_576;

/** Writes a file; one that would be the same as before is left as it is. */
export class FileSink implements RowSink {
  readonly path: string;
  /** For whoever notes how far it came. */
  readonly draft: FileDraft;
  readonly #old: SameSoFar;
  #rows = 0;

  private constructor(draft: FileDraft, path: string) {
    this.path = path;
    this.draft = draft;
    this.#old = new SameSoFar(path);
  }

  /** @throws PrlError as FileDraft.create */
  static async create(path: string): Promise<FileSink> {
    return new FileSink(await FileDraft.create(path), path);
  }

  /**
   * Goes on behind the first `bytes`, `rows` of them, that lie in a draft left behind or in the file itself.
   * @throws PrlError as FileDraft.create
   */
  static async resume(path: string, from: IndexMark, bytes: number, rows: number): Promise<FileSink> {
    const draft = from.isDraft ? await FileDraft.adopt(path, from.path, bytes) : await FileDraft.create(path);
    const sink = new FileSink(draft, path);
    for await (const part of firstBytes(from.isDraft ? draft.draftPath : from.path, bytes)) {
      if (from.isDraft) sink.#old.compare(part);
      else await sink.add(part, 0, null);
    }
    sink.#rows = rows;
    return sink;
  }

  async add(rows: Uint8Array, count: number, expectedBytes: number | null): Promise<void> {
    this.#old.compare(rows);
    this.draft.write(rows, expectedBytes);
    this.#rows += count;
  }

  async end(): Promise<SinkResult> {
    const isSame = this.#old.end();
    if (isSame) await this.draft.discard();
    else await this.draft.publish();
    return { rowsWritten: this.#rows, changed: !isSame, check: null };
  }

  async discard(keepsDraft: boolean): Promise<void> {
    this.#old.end();
    await (keepsDraft ? this.draft.leave() : this.draft.discard());
  }
}

async function* firstBytes(path: string, bytes: number): AsyncGenerator<Uint8Array, void> {
  if (bytes === 0) return;
  for await (const part of createReadStream(path, { end: bytes - 1, highWaterMark: COMPARE_BYTES })) yield part;
}

/** Tells whether what is written is what a file already holds. */
class SameSoFar {
  readonly #scratch = Buffer.allocUnsafe(COMPARE_BYTES);
  /** Null once it is another, or when there is none. */
  #descriptor: number | null;
  #position = 0;

  constructor(path: string) {
    try {
      this.#descriptor = openSync(path, 'r');
    } catch {
      this.#descriptor = null; // absent or unreadable: it is replaced
    }
  }

  compare(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length && this.#descriptor !== null; ) {
      const wanted = Math.min(COMPARE_BYTES, bytes.length - at);
      const read = this.#read(wanted);
      if (read > 0 && this.#scratch.subarray(0, read).equals(bytes.subarray(at, at + read))) {
        at += read;
        this.#position += read;
      } else this.#differ();
    }
  }

  /** Whether the file holds what was compared and no more. */
  end(): boolean {
    if (this.#descriptor === null) return false;
    const isSame = this.#read(1) === 0;
    this.#differ();
    return isSame;
  }

  #read(bytes: number): number {
    if (this.#descriptor === null) return -1;
    try {
      return readSync(this.#descriptor, this.#scratch, 0, bytes, this.#position);
    } catch {
      return -1; // a pipe, a directory, a bad disk: it is replaced
    }
  }

  #differ(): void {
    if (this.#descriptor !== null) closeSync(this.#descriptor);
    this.#descriptor = null;
  }
}

/** Compares with the index on disk. */
export class CheckSink implements RowSink {
  readonly #check: IndexCheck;

  /** @throws the system's error when there is an index that cannot be opened */
  constructor(path: string, extentOf: (chunk: number) => number | null, growth: Growth) {
    this.#check = new IndexCheck(path, extentOf, growth);
  }

  async add(rows: Uint8Array, count: number): Promise<void> {
    this.#check.add(rows, count);
  }

  /** The block of a chunk at `offset` is not what it was when it was indexed. */
  addChangedData(chunk: number, offset: number): void {
    this.#check.addChangedData(chunk, offset);
  }

  async end(): Promise<SinkResult> {
    const check = this.#check.end();
    this.#check.close();
    return { rowsWritten: 0, changed: false, check };
  }

  async discard(): Promise<void> {
    this.#check.close();
  }
}

/** Hands rows on. */
export class HandOnSink implements RowSink {
  readonly #write: (bytes: Uint8Array) => Promise<void>;
  #rows = 0;

  constructor(write: (bytes: Uint8Array) => Promise<void>) {
    this.#write = write;
  }

  async add(rows: Uint8Array, count: number): Promise<void> {
    if (rows.length > 0) await this.#write(rows);
    this.#rows += count;
  }

  async end(): Promise<SinkResult> {
    return { rowsWritten: this.#rows, changed: false, check: null };
  }

  async discard(): Promise<void> {}
}
