/**
 * Makes a directory and those above it. Not Node's recursive mkdir: where a directory that is there answers "not found" to
 * whoever makes one in it, as /proc does, that tries for ever (seen on 24.21).
 */
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { systemErrorCode } from './run-fault.js';

/** Resolves when `path` is there, whoever made it. @throws the system's error, ENOENT included */
export async function makeDirectory(path: string): Promise<void> {
  if ((await tryMake(path)) !== 'ENOENT') return;
  const above = dirname(path);
  if (above === path) return;
  await makeDirectory(above);
  if ((await tryMake(path)) === 'ENOENT') await mkdir(path); // once more, for its error
}

/** `ENOENT` when something above is missing. Other errors throw, except that it is there already. */
async function tryMake(path: string): Promise<'made' | 'ENOENT'> {
  try {
    await mkdir(path);
    return 'made';
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === 'EEXIST') return 'made';
    if (code === 'ENOENT') return 'ENOENT';
    throw error;
  }
}
