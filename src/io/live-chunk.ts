/** The plain chunk that grows: how it comes to its number, whether it is started, found, or takes over a long line. */
import { lstat, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { chunkName } from '../core/stream/chunk-names.js';
import type { PlainChunkName } from '../core/stream/resume-plan.js';
import { GrowingFile } from './growing-file.js';
import { systemErrorCode } from './run-fault.js';

export type LiveChunk = { readonly chunk: number; readonly path: string; readonly file: GrowingFile };

/** The beginning of a line without LF, at the end of a chunk. */
export type TornTail = { readonly offset: number; readonly bytes: number };

/**
 * Where a line is put together that outgrew its chunk. Not `.jsonl` in its name: upstream takes each such name for a
 * chunk (B04, B05).
 */
const MOVING_NAME = /^[0-9]+\.moving$/;

/** Starts the chunk `first`, or the next one that nobody has. @throws the system's error */
export async function createChunk(directory: string, first: number): Promise<LiveChunk> {
  for (let chunk = first; ; chunk += 1) {
    const path = join(directory, chunkName(chunk));
    try {
      return { chunk, path, file: await GrowingFile.open(path, 'wx+') };
    } catch (error) {
      if (systemErrorCode(error) !== 'EEXIST') throw error;
    }
  }
}

/** Goes on with a chunk; a last line without LF is ended by one (R-CHK-3), and told. @throws the system's error */
export async function reopenChunk(
  directory: string,
  { chunk, name }: PlainChunkName,
): Promise<LiveChunk & { readonly torn: TornTail | null }> {
  const path = join(directory, name);
  const file = await GrowingFile.open(path, 'r+');
  try {
    const { endBytes } = file;
    const offset = await file.endOpenLine();
    return { chunk, path, file, torn: offset === null ? null : { offset, bytes: endBytes - offset } };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/**
 * Takes the beginning of a line out of `old` and starts the chunk behind it with that. Whenever this is killed, one
 * chunk at most ends in it: it is copied aside, cut off, and only then given a name.
 * @throws the system's error; the beginning may then still be where it was
 */
export async function moveTail(old: LiveChunk, directory: string): Promise<LiveChunk> {
  const chunk = await findFree(directory, old.chunk + 1);
  const path = join(directory, chunkName(chunk));
  const draft = join(directory, `${chunk}.moving`);
  const file = await GrowingFile.open(draft, 'w+');
  try {
    await old.file.copyTail(file);
    const failure = await old.file.cutBack();
    if (failure !== null) throw failure;
    await rename(draft, path);
    return { chunk, path, file };
  } catch (error) {
    await file.close();
    await unlink(draft).catch(() => {}); // a disk that takes nothing: the next opening removes it
    throw error;
  }
}

/**
 * Removes what a killed process left of a move, among the names of a directory. Readers pass over it, so that it matters
 * to nobody when this fails.
 */
export async function removeMoving(directory: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    if (MOVING_NAME.test(name)) await unlink(join(directory, name)).catch(() => {}); // see above
  }
}

/** A chunk that is moved gets its name by a rename, which would replace a file of somebody else. */
async function findFree(directory: string, first: number): Promise<number> {
  for (let chunk = first; ; chunk += 1) {
    try {
      await lstat(join(directory, chunkName(chunk)));
    } catch (error) {
      if (systemErrorCode(error) === 'ENOENT') return chunk;
      throw error;
    }
  }
}
