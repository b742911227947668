/** Refuses to replace an index that somebody may be writing: their handle would go on into the replaced file. */
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PrlError } from '../core/errors.js';
import type { RunStream } from './run-streams.js';
import type { Run } from './run-types.js';
import { findWriter } from './writer-alive.js';

/** @throws PrlError `PRL_ERR_TEMPORARY` unless the stream is finished or idle (spec 05 section 6) */
export async function refuseWriter(run: Run, stream: RunStream): Promise<void> {
  const { indexPath, files } = stream;
  if (indexPath === null) return;
  const plain = files.filter(({ form }) => form === 'plain').map(({ path }) => path);
  const evidence = await findWriter({
    growing: [...plain, ...(await findSeals(files)), ...(plain.length > 0 ? [indexPath] : [])],
    hasSealedChunks: files.some(({ form }) => form === 'sealed'),
    hasLiveTraces: await hasEntries(join(run.tracesDirectory ?? run.root, 'live')),
    nowMs: Date.now(),
  });
  if (evidence.state === 'finished' || evidence.state === 'idle') return;
  const isEmpty = files.length === 0;
  if (isEmpty && evidence.state === 'unknown') return;
  const how = evidence.state === 'live' ? 'is being written' : 'may still be written';
  throw new PrlError('PRL_ERR_TEMPORARY', `${stream.name} ${how}: ${evidence.reasons.join('; ')}`, {
    hint: 'wait for the run to end, write elsewhere with --out or --rows, or replace it all the same with --force',
  });
}

/** What a seal writes at the moment, or left behind. */
async function findSeals(files: RunStream['files']): Promise<string[]> {
  const [first] = files;
  if (first === undefined) return [];
  const directory = dirname(first.path);
  const names = await readdir(directory).catch(() => []); // gone meanwhile
  return names.filter((name) => name.endsWith('.zst.tmp')).map((name) => join(directory, name));
}

async function hasEntries(directory: string): Promise<boolean> {
  const names = await readdir(directory).catch(() => []); // no such directory
  return names.length > 0;
}
