/** Where a run ends at the moment: behind its last whole line. */
import { open } from 'node:fs/promises';
import { PrlError } from '../core/errors.js';
import { findLastLineStart } from './growing-file.js';
import { openRun } from './run.js';
import { systemErrorCode } from './run-fault.js';
import type { ChunkFile } from './run-types.js';
import type { StreamEnd } from './upload-messages.js';

/** The last chunk may be sealed, and so renamed, between the listing and its opening: then the run is listed anew. */
const MAX_LOOKS = 5;

/** The beginning of the first chunk for a run that is not there yet; null when the run cannot be read. */
export async function endOfRun(path: string): Promise<StreamEnd | null> {
  for (let look = 0; look < MAX_LOOKS; look += 1) {
    try {
      const last = (await openRun(path)).files.at(-1);
      return last === undefined ? NOTHING : { chunk: last.chunk, offset: await endOf(last) };
    } catch (error) {
      if (error instanceof PrlError) return error.code === 'PRL_ERR_DAMAGED' ? null : NOTHING;
      if (systemErrorCode(error) !== 'ENOENT') return null;
    }
  }
  return null;
}

const NOTHING: StreamEnd = { chunk: 0, offset: 0 };

async function endOf({ form, path, uncompressedBytes, sizeBytes }: ChunkFile): Promise<number> {
  if (form !== 'plain') return uncompressedBytes ?? sizeBytes;
  const handle = await open(path, 'r');
  try {
    return await findLastLineStart(handle, sizeBytes);
  } finally {
    await handle.close();
  }
}
