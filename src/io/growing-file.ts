/**
 * A file that grows at its end by whole lines. Bytes go to its known end at explicit positions, never by O_APPEND, so
 * what a failed or short write left behind is cut off or written over, and no line is ever glued to it (R-CHK-2).
 */
import { type FileHandle, open } from 'node:fs/promises';

const LF = 0x0a;

/** Bytes that are copied or looked back at in one piece. */
const BLOCK_BYTES = 1_048_576;

export class GrowingFile {
  readonly path: string;
  readonly #handle: FileHandle;
  #wholeBytes: number;
  #endBytes: number;
  #isTorn = false;

  /** @param bytes what is in the file, taken as whole lines */
  constructor(path: string, handle: FileHandle, bytes: number) {
    this.path = path;
    this.#handle = handle;
    this.#wholeBytes = bytes;
    this.#endBytes = bytes;
  }

  /** @param flags of a file that is read as well: `r+`, `wx+` @throws the system's error */
  static async open(path: string, flags: 'r+' | 'wx+' | 'w+'): Promise<GrowingFile> {
    const handle = await open(path, flags);
    try {
      return new GrowingFile(path, handle, (await handle.stat()).size);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Where the last whole line ends. */
  get wholeBytes(): number {
    return this.#wholeBytes;
  }

  /** Where the next byte goes. */
  get endBytes(): number {
    return this.#endBytes;
  }

  /** Whether behind the last whole line may lie what could not be cut off. */
  get isTorn(): boolean {
    return this.#isTorn;
  }

  /** Writes all of it at the end. Never rejects: says how much came there, and why no more. */
  async write(parts: readonly Uint8Array[]): Promise<{ readonly bytes: number; readonly failure: unknown }> {
    const start = this.#endBytes;
    try {
      for (let rest = parts; rest.length > 0; ) {
        const { bytesWritten } = await this.#handle.writev(rest as Uint8Array[], this.#endBytes);
        if (bytesWritten === 0) throw new Error('the file takes no bytes');
        this.#endBytes += bytesWritten;
        rest = behind(rest, bytesWritten);
      }
      return { bytes: this.#endBytes - start, failure: null };
    } catch (failure) {
      return { bytes: this.#endBytes - start, failure };
    }
  }

  /** Says that a line ends at `bytes`, nowhere behind the end; what stands behind it is the beginning of one. */
  settle(bytes: number): void {
    this.#wholeBytes = bytes;
  }

  /** Cuts off what stands behind the last whole line. Says why it could not; then the file is torn. */
  async cutBack(): Promise<unknown> {
    try {
      await this.#handle.truncate(this.#wholeBytes);
      this.#endBytes = this.#wholeBytes;
      this.#isTorn = false;
      return null;
    } catch (failure) {
      this.#isTorn = true;
      return failure;
    }
  }

  /**
   * Ends a last line that has no LF, whatever made it, with one (R-CHK-3). Looks at the file, not at what is known of it.
   * @returns where that line begins; null when the last line has its LF @throws the system's error
   */
  async endOpenLine(): Promise<number | null> {
    const { size } = await this.#handle.stat();
    const lineStart = await findLastLineStart(this.#handle, size);
    this.#endBytes = size;
    if (lineStart < size) {
      const { failure } = await this.write([Uint8Array.of(LF)]);
      if (failure !== null) throw failure;
    }
    this.#wholeBytes = this.#endBytes;
    this.#isTorn = false;
    return lineStart < size ? lineStart : null;
  }

  /** Copies what stands behind the last whole line to the end of another file. @throws the system's error of either */
  async copyTail(target: GrowingFile): Promise<void> {
    for await (const block of this.blocks(this.#wholeBytes, this.#endBytes)) {
      const { failure } = await target.write([block]);
      if (failure !== null) throw failure;
    }
  }

  /** The bytes from `start` to `end`, each block valid until the next is asked for. @throws the system's error */
  async *blocks(start: number, end: number): AsyncGenerator<Buffer, void> {
    const block = Buffer.allocUnsafe(Math.min(BLOCK_BYTES, Math.max(0, end - start)));
    for (let at = start; at < end; ) {
      const { bytesRead } = await this.#handle.read(block, 0, Math.min(block.length, end - at), at);
      if (bytesRead === 0) throw new Error(`${this.path} is shorter than what was written to it`);
      yield block.subarray(0, bytesRead);
      at += bytesRead;
    }
  }

  /** Everything written is on the disk, whatever happens to the machine. @throws the system's error */
  async sync(): Promise<void> {
    await this.#handle.datasync();
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }
}

/** Where the last line begins; the size of the file when that ends in an LF, or is empty. */
export async function findLastLineStart(handle: FileHandle, size: number): Promise<number> {
  const block = Buffer.allocUnsafe(Math.min(BLOCK_BYTES, size));
  // The first look is at one byte: usually it is an LF.
  for (let end = size, length = 1; end > 0; length = BLOCK_BYTES) {
    const start = Math.max(0, end - length);
    const { bytesRead } = await handle.read(block, 0, end - start, start);
    if (bytesRead < end - start) throw new Error('the file was cut while it was read');
    const at = block.lastIndexOf(LF, end - start - 1);
    if (at >= 0) return start + at + 1;
    end = start;
  }
  return 0;
}

/** What is left of parts behind their first `bytes`. */
function behind(parts: readonly Uint8Array[], bytes: number): readonly Uint8Array[] {
  let left = bytes;
  for (const [index, part] of parts.entries()) {
    if (left < part.length) return [part.subarray(left), ...parts.slice(index + 1)];
    left -= part.length;
  }
  return [];
}
