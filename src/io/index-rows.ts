/** How many rows an index file has: what a run is said to hold before it is read. An estimate, since an index may lag. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';

/** Bytes that are read at most; the rest of a larger index is taken to be like them. */
export const MAX_COUNTED_BYTES = 64 * 1024 * 1024;

const LF = 0x0a;

/** Rows of the index; null when it cannot be read, or nothing is in it. */
export async function estimateRows(path: string, maxBytes = MAX_COUNTED_BYTES): Promise<number | null> {
  try {
    const { size } = await stat(path);
    let rows = 0;
    let readBytes = 0;
    for await (const part of createReadStream(path, { end: maxBytes - 1, highWaterMark: 1024 * 1024 })) {
      const bytes: Buffer = part;
      readBytes += bytes.length;
      for (let at = bytes.indexOf(LF); at !== -1; at = bytes.indexOf(LF, at + 1)) rows += 1;
    }
    if (rows === 0) return null;
    return size > readBytes ? Math.round((rows * size) / readBytes) : rows;
  } catch {
    return null; // no more than an estimate is lost
  }
}
