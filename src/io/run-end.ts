/** Where a run ends at the moment: behind its last whole line. */
import { open } from 'node:fs/promises';
import { findLastLineStart } from './growing-file.js';
import { openRun } from './run.js';
import type { ChunkFile } from './run-types.js';
import type { StreamEnd } from './upload-messages.js';

/** The beginning of the first chunk for a run that is not there yet. @throws the system's error */
export async function endOfRun(path: string): Promise<StreamEnd> {
  const run = await openRun(path).catch(() => null); // see above
  const last = run?.files.at(-1);
  return last === undefined ? { chunk: 0, offset: 0 } : { chunk: last.chunk, offset: await endOf(last) };
}

async function endOf({ form, path, uncompressedBytes, sizeBytes }: ChunkFile): Promise<number> {
  if (form !== 'plain') return uncompressedBytes ?? sizeBytes;
  const handle = await open(path, 'r');
  try {
    return await findLastLineStart(handle, sizeBytes);
  } finally {
    await handle.close();
  }
}
