/** Runs the built `prl upload` as a user's shell would, with all of its state in one folder. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { UploadDocument } from '../../src/cli/upload-document.js';
import { type Ended, type Running, watchChild } from './child.js';

export type CommandOptions = {
  /** Holds home, data, state and whatever else the command keeps. */
  readonly home: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly input?: Buffer;
};

const LAUNCHER = 'bin/run.js';

/** Starts `prl` with the given arguments and an environment that holds nothing of whoever runs the tests. */
export function startPrl(args: readonly string[], { home, environment, input }: CommandOptions): Running {
  const child = spawn(process.execPath, [LAUNCHER, ...args], {
    env: {
      PATH: process.env.PATH ?? '',
      HOME: home,
      LANG: 'C.UTF-8',
      PRL_DATA_DIR: join(home, 'data'),
      PRL_STATE_DIR: join(home, 'state'),
      ...environment,
    },
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  child.stdin?.end(input);
  return watchChild(child);
}

export function runPrl(args: readonly string[], options: CommandOptions): Promise<Ended> {
  return startPrl(args, options).ended;
}

/** The one document on stdout; throws when there is anything else. */
export function documentOf({ stdout, stderr }: Ended): UploadDocument {
  try {
    return JSON.parse(stdout) as UploadDocument;
  } catch {
    throw new Error(`no single JSON document on stdout: ${stdout.slice(0, 500)}\n${stderr.slice(0, 2000)}`);
  }
}

/** A copy of a real run that may be written into. */
export function copyOfRun(name: string, folder: string): string {
  const target = join(folder, name);
  cpSync(join('fixtures/runs', name), target, { recursive: true, verbatimSymlinks: true });
  return target;
}

/**
 * Every file below a folder, one a line: name, time of its last change, digest. `monitors/prl`, prl's own place in a run, is
 * left out. Two of them are compared, and a difference tells which file it is.
 */
export function treeDigest(root: string): string {
  const listing: string[] = [];
  for (const name of readdirSync(root, { recursive: true, encoding: 'utf8' }).sort()) {
    if (name.startsWith('monitors/prl') || isOnlyPrls(root, name)) continue;
    const path = join(root, name);
    const stats = lstatSync(path);
    const digest = stats.isFile() ? createHash('sha256').update(readFileSync(path)).digest('hex') : '';
    listing.push(stats.isFile() ? `${name} ${stats.mtimeMs} ${digest}` : name);
  }
  return listing.join('\n');
}

/** A `monitors` folder that is there for the journal alone. */
function isOnlyPrls(root: string, name: string): boolean {
  return name === 'monitors' && readdirSync(join(root, name)).every((inside) => inside === 'prl');
}

/**
 * Ids of every copy of an episode of the run that a service's database holds, sorted. Not its listings: they show the
 * newest copy alone, and a second one is what tests of "exactly once" look for.
 */
export function storedEpisodes({ directory }: { readonly directory: string }, runId: string): string[] {
  const database = new DatabaseSync(join(directory, 'traces.sqlite'), { readOnly: true });
  try {
    const rows = database.prepare('SELECT episode_id FROM episodes WHERE run_id = ?').all(runId);
    return rows.map((row) => String(row.episode_id)).sort();
  } finally {
    database.close();
  }
}
