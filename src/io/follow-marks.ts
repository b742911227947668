/**
 * A few bytes of what was read of a file, to be compared with what stands there now: the first ones, where the last
 * line began, and the last ones. Whoever writes a file anew from its start, or cuts it, changes one of them (T5); only
 * a change that leaves the first and the last line as they were is not seen.
 */
import type { FileHandle } from 'node:fs/promises';
import type { FramedLine } from '../core/scan/types.js';

/** Bytes of one mark: the id of an episode stands in the first 128 of its line. */
const MARK_BYTES = 128;

type Mark = { readonly offset: number; readonly bytes: Buffer };

export class FileMarks {
  #first: Mark | null = null;
  #last: readonly Mark[] = [];

  /** Marks what lies before `position`, as the file is now. */
  async read(handle: FileHandle, position: number): Promise<void> {
    this.#first = await markAt(handle, 0, position);
    const last = await markAt(handle, Math.max(0, position - MARK_BYTES), position);
    this.#last = last === null ? [] : [last];
  }

  /** Marks a line that was read. One too long to be held leaves the marks before it. */
  take({ offset, bytes }: FramedLine): void {
    if (bytes === null) return;
    const start = { offset, bytes: Buffer.from(bytes.subarray(0, MARK_BYTES)) };
    if (offset === 0) this.#first = start;
    const end = Math.max(0, bytes.length - MARK_BYTES);
    this.#last = [start, { offset: offset + end, bytes: Buffer.from(bytes.subarray(end)) }];
  }

  /** Whether all marks stand where they stood. A mark that cannot be read tells nothing. */
  async stand(handle: FileHandle): Promise<boolean> {
    const marks = this.#first === null ? this.#last : [this.#first, ...this.#last];
    for (const { offset, bytes } of marks) {
      const now = await markAt(handle, offset, offset + bytes.length);
      if (now !== null && !now.bytes.equals(bytes)) return false;
    }
    return true;
  }
}

async function markAt(handle: FileHandle, offset: number, end: number): Promise<Mark | null> {
  const bytes = Buffer.alloc(Math.min(MARK_BYTES, end - offset));
  if (bytes.length === 0) return null;
  try {
    const { bytesRead } = await handle.read(bytes, 0, bytes.length, offset);
    return { offset, bytes: bytes.subarray(0, bytesRead) };
  } catch {
    return null; // whoever reads the lines says why
  }
}
