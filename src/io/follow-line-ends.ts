/**
 * Finds how far whole lines go in a file that grows, from its end backwards: of a long backlog one window is read, of
 * an unfinished line only what was added. NUL bytes at the end are room that nobody has written to yet (T8).
 */
import type { FileHandle } from 'node:fs/promises';
import { READ_BYTES } from './chunk-source.js';

const LF = 0x0a;

/** Searching the same bytes again and again costs a twentieth of a core at most, beyond the first megabytes. */
const FREE_BYTES = 4_194_304;
const REPEATED_BYTES_PER_MS = 50_000;

export class LineEnds {
  readonly #nowMs: () => number;
  /** Behind the last LF that was found. */
  lastEnd: number;
  /** Behind the last byte that is not NUL. */
  contentEnd: number;
  #nextRepeatAtMs = 0;

  /** `position`: where a line begins; nothing before it is looked at. */
  constructor(position: number, nowMs: () => number) {
    this.#nowMs = nowMs;
    this.lastEnd = position;
    this.contentEnd = position;
  }

  /** Whether bytes that were searched in vain before may be searched again. */
  get mayRepeat(): boolean {
    return this.#nowMs() >= this.#nextRepeatAtMs;
  }

  /**
   * Looks for the last LF in `[from, sizeBytes)`; without one `lastEnd` is `position`, where the open line begins.
   * Bytes that cannot be read count as content without LF.
   */
  async search(handle: FileHandle, range: { position: number; from: number; sizeBytes: number }): Promise<void> {
    const { position, from, sizeBytes } = range;
    const buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, Math.max(0, sizeBytes - from)));
    const known = Math.min(this.contentEnd, sizeBytes);
    let contentEnd: number | null = null;
    this.lastEnd = position;
    for (let end = sizeBytes; end > from && this.lastEnd === position; ) {
      const start = Math.max(from, end - READ_BYTES);
      const bytes = await readAt(handle, buffer.subarray(0, end - start), start);
      contentEnd ??= bytes === null ? end : endOfContent(bytes, start);
      const at = bytes?.lastIndexOf(LF) ?? -1;
      if (at >= 0) this.lastEnd = start + at + 1;
      end = start;
    }
    this.contentEnd = contentEnd ?? from;
    const repeatedBytes = this.lastEnd > position ? 0 : sizeBytes - from - Math.max(0, this.contentEnd - known);
    if (repeatedBytes > FREE_BYTES) this.#nextRepeatAtMs = this.#nowMs() + repeatedBytes / REPEATED_BYTES_PER_MS;
  }
}

/** Where the line ends that begins at `start`, LF included; null when there is no LF before `end`, or a byte is lost. */
export async function findLineEnd(
  handle: FileHandle,
  start: number,
  end: number,
  signal: AbortSignal,
): Promise<number | null> {
  const buffer = Buffer.allocUnsafe(READ_BYTES);
  for (let at = start; at < end; ) {
    signal.throwIfAborted();
    const bytes = await readAt(handle, buffer.subarray(0, Math.min(READ_BYTES, end - at)), at);
    if (bytes === null || bytes.length === 0) return null;
    const found = bytes.indexOf(LF);
    if (found >= 0) return at + found + 1;
    at += bytes.length;
  }
  return null;
}

/** What is there of the range, null when it cannot be read. */
async function readAt(handle: FileHandle, target: Buffer, position: number): Promise<Buffer | null> {
  try {
    const { bytesRead } = await handle.read(target, 0, target.length, position);
    return target.subarray(0, bytesRead);
  } catch {
    return null; // whoever reads the lines says why
  }
}

/** Behind the last byte that is not NUL; null when there is none. */
function endOfContent(bytes: Buffer, start: number): number | null {
  let length = bytes.length;
  while (length > 0 && bytes[length - 1] === 0) length -= 1;
  return length === 0 ? null : start + length;
}
