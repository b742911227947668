/** Refuses an `--out` that would cost something: a source of the run, or the index that only writing in place may replace. */
import { realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import { PrlError } from '../core/errors.js';
import { listStreams } from './run-streams.js';
import type { Run } from './run-types.js';

/** Belong to the writer of a run alone (spec 01 section 7). */
const WRITERS_DIRECTORIES = ['stream', 'annotations', 'live'];

/** The name that upstream takes for an index with the rows of its own (spec 04 section 8). */
const INDEX_NAME = 'stream.index.jsonl';

/** @throws PrlError `PRL_ERR_USAGE` when nothing of `prl` may be written to the path */
export async function refuseOut(run: Run, path: string): Promise<void> {
  const real = await realpath(path).catch(() => null); // not there yet
  const target = real ?? join(await realpath(dirname(path)).catch(() => dirname(path)), basename(path));
  for (const source of await sourcesOf(run)) {
    if (source === target || (real !== null && (await isSameFile(source, real)))) {
      throw refusal(path, 'a file of the run', 'give another file; what a run holds is never changed');
    }
  }
  const traces = run.tracesDirectory;
  if (traces === null && basename(target) === INDEX_NAME) {
    throw refusal(path, 'named like an index of prime-rl, which this is none of', 'give it another name');
  }
  if (traces === null) return;
  const [first = '', ...rest] = relative(traces, target).split(sep);
  if (first === INDEX_NAME && rest.length === 0) {
    throw refusal(path, "the run's own index", 'leave --out out: then it is replaced, once no writer is alive');
  }
  if (WRITERS_DIRECTORIES.includes(first)) {
    throw refusal(path, 'in a directory that belongs to the writer of the run', 'give a file outside of it');
  }
}

function refusal(path: string, what: string, hint: string): PrlError {
  return new PrlError('PRL_ERR_USAGE', `--out ${path} is ${what}`, { hint });
}

async function sourcesOf(run: Run): Promise<string[]> {
  const streams = await listStreams(run);
  return streams.flatMap(({ files }) => files.filter(({ form }) => form !== 'stdin').map(({ path }) => path));
}

/** One file under two names. */
async function isSameFile(a: string, b: string): Promise<boolean> {
  const [one, other] = await Promise.all([a, b].map((path) => stat(path).catch(() => null))); // gone meanwhile
  return one != null && other != null && one.ino === other.ino && one.dev === other.dev;
}
