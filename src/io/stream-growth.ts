/** Did a stream go on behind what was read of it? What a live writer adds meanwhile belongs to the next indexing (I10). */
import { readdirSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { parseChunkName } from '../core/stream/chunk-names.js';
import type { RunStream } from './run-streams.js';

/** Whether the last chunk is longer than it was when the run was opened, or another one follows it. Never throws. */
export function hasGrown({ files }: Pick<RunStream, 'files'>): boolean {
  const last = files.at(-1);
  if (last === undefined || last.form === 'document' || last.form === 'stdin') return false;
  const { path, form, sizeBytes, chunk } = last;
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (form === 'plain' && stats !== undefined && stats.size > sizeBytes) return true;
    // Files of layouts without chunks are numbered by us alone.
    if (parseChunkName(basename(path)) === null) return false;
    return readdirSync(dirname(path)).some((name) => (parseChunkName(name)?.chunk ?? chunk) > chunk);
  } catch {
    return false; // what cannot be looked at was not seen to grow
  }
}
