/** Lists the files of runs that keep one file a step and kind: R1 and R0 (spec 01 section 5). */
import { join } from 'node:path';
import type { FileCollector } from './run-files.js';
import { kindAt, listDirectory, ROLLOUT_FILE, type StepDirectory } from './run-layout.js';

/**
 * `all` holds every episode that arrived, `effective` a second copy of those that were trained on; `both` is all files
 * of `all`, then all of `effective`.
 */
export type Subset = 'all' | 'effective' | 'both';

const KINDS = ['train', 'eval'] as const;

/**
 * Adds the R1 files of one subset: step ascending, train before eval. A run that kept only the other subset is read
 * from that, with a notice. Steps differ between the two by design: `all` counts arrival, `effective` shipping.
 */
export async function collectRollouts(
  files: FileCollector,
  steps: readonly StepDirectory[],
  subset: Subset,
): Promise<void> {
  if (subset === 'both') {
    await addSubset(files, steps, 'all');
    await addSubset(files, steps, 'effective');
    return;
  }
  if (await addSubset(files, steps, subset)) return;
  const other = subset === 'all' ? 'effective' : 'all';
  if (await addSubset(files, steps, other)) {
    files.notices.push(`the run holds no ${subset} rollouts; the ${other} ones are read`);
  }
}

async function addSubset(
  files: FileCollector,
  steps: readonly StepDirectory[],
  subset: Exclude<Subset, 'both'>,
): Promise<boolean> {
  let hasAny = false;
  for (const { path } of steps) {
    for (const kind of KINDS) {
      const isFound = await files.add(join(path, kind, subset, 'traces.jsonl'));
      hasAny ||= isFound;
    }
  }
  return hasAny;
}

/** Adds the R0 files: step ascending, train before eval, then by name. */
export async function collectEarlyRollouts(files: FileCollector, steps: readonly StepDirectory[]): Promise<void> {
  for (const { path } of steps) {
    if ((await kindAt(path)) !== 'directory') continue;
    const names = (await listDirectory(path)).map((entry) => entry.name).filter((name) => ROLLOUT_FILE.test(name));
    for (const kind of KINDS) {
      for (const name of names.filter((one) => one.startsWith(kind)).sort()) await files.add(join(path, name));
    }
  }
}
