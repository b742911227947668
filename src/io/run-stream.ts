/** Lists the chunks of a prime-rl stream directory in numeric order, by the crash table of spec 03 section 4. */
import { realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { PrlError } from '../core/errors.js';
import type { Damage } from '../core/scan/types.js';
import { type ChunkHole, type ChunkNames, listChunks } from '../core/stream/chunk-names.js';
import type { FileCollector } from './run-files.js';
import { listDirectory } from './run-layout.js';

/** Most names that one notice spells out. */
const MAX_NAMES = 5;

/**
 * Adds the chunks of a stream directory and returns the numbers that are missing. A missing number is damage too.
 * @throws PrlError `PRL_ERR_DAMAGED` when the directory cannot be listed or a link takes it out of the run
 */
export async function collectStream(
  files: FileCollector,
  directory: string,
  root: string,
): Promise<readonly ChunkHole[]> {
  await refuseOutside(directory, root);
  const names = (await listDirectory(directory)).map((entry) => entry.name);
  const listing = listChunks(names);
  noteNames(files, directory, 'is no chunk and is ignored', 'are no chunks and are ignored', listing.foreign);
  noteNames(files, directory, 'is left of an interrupted seal', 'are left of interrupted seals', listing.leftovers);
  const holes = [...listing.holes];
  let nextHole = 0;
  for (const chunk of listing.chunks) {
    for (; nextHole < holes.length && (holes[nextHole] as ChunkHole).first < chunk.chunk; nextHole += 1) {
      noteHole(files, directory, holes[nextHole] as ChunkHole);
    }
    if (!(await addChunk(files, directory, chunk))) {
      noteHole(files, directory, { first: chunk.chunk, last: chunk.chunk });
    }
  }
  for (const hole of holes.slice(nextHole)) noteHole(files, directory, hole);
  return holes;
}

/**
 * Adds one chunk by the names it was listed under; false when it is gone. Plain first, then sealed, then plain again:
 * the chunk may be sealed while the directory is listed (R-CHK-5).
 */
export async function addChunk(
  files: FileCollector,
  directory: string,
  { chunk, plain, sealed }: ChunkNames,
): Promise<boolean> {
  const sealedName = sealed ?? `${plain}.zst`;
  if (plain === null) return files.add(join(directory, sealedName), chunk);
  if (sealed !== null) {
    files.notices.push(`chunk ${chunk} is there plain and sealed; the plain file is read, as a seal was interrupted`);
  }
  return (
    (await files.add(join(directory, plain), chunk)) ||
    (await files.add(join(directory, sealedName), chunk)) ||
    (await files.add(join(directory, plain), chunk))
  );
}

function noteHole(files: FileCollector, directory: string, hole: ChunkHole): void {
  files.damage.push(damageOfHole(files.relativePath(directory), hole));
}

/** What a report says of numbers without a chunk. `stream`: path of the directory, relative to the run. */
export function damageOfHole(stream: string, { first, last }: ChunkHole): Damage {
  const message = first === last ? `chunk ${first} is missing` : `chunks ${first} to ${last} are missing`;
  return { file: stream, chunk: first, offset: 0, bytes: 0, kind: 'hole', recovered: false, message };
}

function noteNames(files: FileCollector, directory: string, one: string, many: string, names: readonly string[]): void {
  if (names.length === 0) return;
  const shown = names.slice(0, MAX_NAMES).join(', ');
  const rest = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : '';
  files.notices.push(`${files.relativePath(directory)}: ${shown}${rest} ${names.length === 1 ? one : many}`);
}

async function refuseOutside(directory: string, root: string): Promise<void> {
  const target = await realpath(directory);
  if (target === root || target.startsWith(root + sep)) return;
  throw new PrlError('PRL_ERR_DAMAGED', `${directory} is a symbolic link that leads out of the run to ${target}`, {
    hint: 'links are not followed out of a run; give the directory it leads to as RUN',
  });
}
