/** Runs and fixtures for the built `prl index`. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import type { IndexDocument } from '../../src/cli/index-document.js';
import type { Damage } from '../../src/core/scan/types.js';
import { openRun } from '../../src/io/run.js';
import { readRecords } from '../../src/io/run-records.js';
import type { Ended } from './child.js';

/** A copy of a fixture whose files nobody has touched for long, as a run that ended is found. */
export function agedCopy(source: string, target: string): string {
  cpSync(source, target, { recursive: true, verbatimSymlinks: true });
  age(target);
  return target;
}

/** Makes every file below a folder a day old. */
export function age(folder: string): void {
  const before = new Date(Date.now() - 86_400_000);
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    utimesSync(join(folder, name), before, before);
  }
}

/** The one document on stdout; throws when there is anything else. */
export function indexDocumentOf({ stdout, stderr }: Ended): IndexDocument {
  try {
    return JSON.parse(stdout) as IndexDocument;
  } catch {
    throw new Error(`no single JSON document on stdout: ${stdout.slice(0, 500)}\n${stderr.slice(0, 2000)}`);
  }
}

/** Where and what, without the words. */
export type Place = Pick<Damage, 'chunk' | 'offset' | 'bytes' | 'kind' | 'recovered'>;

export function placesOf(damaged: readonly Damage[]): Place[] {
  return damaged
    .map(({ chunk, offset, bytes, kind, recovered }) => ({ chunk, offset, bytes, kind, recovered }))
    .sort((a, b) => a.chunk - b.chunk || a.offset - b.offset);
}

/** What the slow reader of `prl upload` finds in a run. */
export async function slowlyRead(path: string): Promise<{ readonly places: Place[]; readonly records: number }> {
  const run = await openRun(path);
  const damaged: Damage[] = [];
  let records = 0;
  for await (const event of readRecords(run)) {
    if (event.type === 'damage') damaged.push(event.damage);
    if (event.type === 'record') records += 1;
  }
  return { places: placesOf(damaged), records };
}

/** A process that has a file open for appending, as a writer has, until `end`. */
export async function holdOpen(path: string): Promise<{ end(): Promise<void> }> {
  const script = "require('node:fs').openSync(process.argv[1], 'a'); console.log('open'); setInterval(() => {}, 1000)";
  const child = spawn(process.execPath, ['-e', script, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  await once(child.stdout, 'data');
  return {
    end: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** A small whole record with an id of its own. */
export function smallEpisode(id: string): string {
  return `{"id":"${id}","env":{"id":"e"},"task":{"type":"T","data":{}},"ok":true,"errors":[],"traces":[{"id":"t-${id}","nodes":[]}]}\n`;
}
