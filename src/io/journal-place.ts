/** Where the state of an upload lives: beside the run, or keyed by the run's path in the user's state directory. */
import { createHash } from 'node:crypto';
import { access, constants, realpath, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Environment, stateDirectory } from '../core/environment.js';
import { makeDirectory } from './make-directory.js';

export type JournalPlaces = {
  /** Directory that takes writes; null when there is none, and nothing can be remembered. */
  readonly writable: string | null;
  /** A directory with another journal of the run, from when another place was the one to write; its facts count. */
  readonly readOnly: string | null;
};

/**
 * @param runPath a run directory, or the one file of a bare-file upload
 * @returns `<run>/monitors/prl` when it can be written, else `<state>/runs/<hash of the real path>` with the user's
 *   state directory. Directories are created.
 */
export async function findPlaces(runPath: string, environment: Environment): Promise<JournalPlaces> {
  const { inRun, inState } = await candidates(runPath, environment);
  if (inRun !== null && (await isWritable(inRun))) {
    return { writable: inRun, readOnly: (await isDirectory(inState)) ? inState : null };
  }
  const readOnly = inRun !== null && (await isDirectory(inRun)) ? inRun : null;
  return { writable: (await isWritable(inState)) ? inState : null, readOnly };
}

/** Where an earlier upload left a journal, without creating or testing anything: for a dry run, which writes nothing. */
export async function findExistingPlace(runPath: string, environment: Environment): Promise<JournalPlaces> {
  const { inRun, inState } = await candidates(runPath, environment);
  for (const place of [inRun, inState]) {
    if (place !== null && (await isDirectory(place))) return { writable: null, readOnly: place };
  }
  return { writable: null, readOnly: null };
}

async function candidates(
  runPath: string,
  environment: Environment,
): Promise<{ inRun: string | null; inState: string }> {
  const inRun = (await isDirectory(runPath)) ? join(runPath, 'monitors', 'prl') : null;
  const identity = await realpath(runPath).catch(() => resolve(runPath)); // a vanished path still names its state
  const key = createHash('sha256').update(identity).digest('hex').slice(0, 32);
  return { inRun, inState: join(stateDirectory(environment, homedir()), 'runs', key) };
}

async function isDirectory(path: string): Promise<boolean> {
  const stats = await stat(path).catch(() => null); // absent or forbidden: not usable as a directory
  return stats?.isDirectory() === true;
}

async function isWritable(directory: string): Promise<boolean> {
  try {
    await makeDirectory(directory);
    await access(directory, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false; // read-only, forbidden or full: the next place is tried
  }
}
