/**
 * Recognises the layout of a run directory by the rules of spec 01 section 2, in their order. Looks at names and kinds
 * only, never at content: a stream without an index is a run (A02).
 */
import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { PrlError } from '../core/errors.js';
import { describeReadError, systemErrorCode } from './run-fault.js';

/** Which rule matched and where the episodes are. Paths are absolute. */
export type Detection =
  | { readonly kind: 'R3'; readonly root: string; readonly rule: string; readonly tracesDirectory: string }
  | { readonly kind: 'R2'; readonly root: string; readonly rule: string; readonly tracesDirectory: string }
  | { readonly kind: 'FLOW' | 'V0'; readonly root: string; readonly rule: string }
  | { readonly kind: 'V1' | 'V1a'; readonly root: string; readonly rule: string; readonly path: string }
  | {
      readonly kind: 'R1' | 'R0';
      readonly root: string;
      readonly rule: string;
      readonly steps: readonly StepDirectory[];
    };

export type StepDirectory = { readonly step: number; readonly path: string };

/** The rules as a report lists them when none matched. */
export const LAYOUT_RULES: readonly string[] = [
  'monitors/file/traces/stream/ (prime-rl stream)',
  'monitors/file/traces/stream.jsonl (prime-rl single stream)',
  'flow.json (flow run)',
  'traces.jsonl (verifiers evaluation)',
  'rollouts/step_N/{train,eval}/{all,effective}/traces.jsonl (prime-rl rollouts)',
  'rollouts/step_N/{train,eval}_rollouts*.jsonl (early prime-rl)',
  'results.jsonl with metadata.json or config.toml (early verifiers)',
];

const FILE_MONITOR_DIRECTORY = /^file(\.attempt_\d+)?$/;
const STEP_DIRECTORY = /^step_(\d+)$/;
/** How far above the given directory a run is looked for. The deepest directory of a run lies five below its root. */
const MAX_LEVELS_UP = 8;

/** Applies rules 2 to 8 to one directory; null when none matches. */
export async function detectLayout(root: string): Promise<Detection | null> {
  return (
    (await detectFileMonitor(root, 'file')) ??
    (await detectFlow(root)) ??
    (await detectTraces(root)) ??
    (await detectRollouts(root)) ??
    (await detectResults(root))
  );
}

/**
 * The run that a directory inside it belongs to, told by the names on its path, before the directory itself is looked
 * at: `rollouts/step_3/train/all` holds a `traces.jsonl` and is no evaluation of its own.
 */
export async function detectFromWithin(directory: string): Promise<Detection | null> {
  const names = directory.split(sep);
  for (let index = names.length - 1; index > 0; index -= 1) {
    const next = names[index + 1];
    const root = names.slice(0, index).join(sep) || sep;
    if (names[index] === 'monitors' && next !== undefined && FILE_MONITOR_DIRECTORY.test(next)) {
      const found = await detectFileMonitor(root, next);
      if (found !== null) return found;
    }
    if (names[index] === 'rollouts' && (next === undefined || STEP_DIRECTORY.test(next))) {
      const found = await detectLayout(root);
      if (found !== null) return found;
    }
  }
  return null;
}

/** The nearest directory above that is a run. */
export async function detectAbove(directory: string): Promise<Detection | null> {
  const names = directory.split(sep);
  for (let up = 1; up <= MAX_LEVELS_UP && up < names.length; up += 1) {
    const found = await detectQuietly(names.slice(0, -up).join(sep) || sep);
    if (found !== null) return found;
  }
  return null;
}

/** The children of a directory that are runs, sorted: a directory of runs is no run (rule 9). */
export async function findChildRuns(directory: string): Promise<readonly string[]> {
  const runs: string[] = [];
  for (const entry of await listDirectory(directory)) {
    if (!entry.isDirectory() && !entry.isSymbolicLink()) continue;
    const child = join(directory, entry.name);
    if ((await kindAt(child)) === 'directory' && (await detectQuietly(child)) !== null) runs.push(child);
  }
  return runs.sort();
}

/** A directory that was not asked for and may not be looked into is no candidate, and no reason to stop. */
async function detectQuietly(directory: string): Promise<Detection | null> {
  try {
    return await detectLayout(directory);
  } catch (error) {
    if (error instanceof PrlError) return null;
    throw error;
  }
}

async function detectFileMonitor(root: string, monitor: string): Promise<Detection | null> {
  const tracesDirectory = join(root, 'monitors', monitor, 'traces');
  const where = `monitors/${monitor}/traces`;
  if ((await kindAt(join(tracesDirectory, 'stream'))) === 'directory') {
    return { kind: 'R3', root, rule: `rule 2: ${where}/stream/ is a directory`, tracesDirectory };
  }
  if ((await kindAt(join(tracesDirectory, 'stream.jsonl'))) === 'file') {
    return { kind: 'R2', root, rule: `rule 3: ${where}/stream.jsonl is a file`, tracesDirectory };
  }
  return null;
}

async function detectFlow(root: string): Promise<Detection | null> {
  if ((await kindAt(join(root, 'flow.json'))) !== 'file') return null;
  return { kind: 'FLOW', root, rule: 'rule 4: flow.json is a file' };
}

async function detectTraces(root: string): Promise<Detection | null> {
  const path = join(root, 'traces.jsonl');
  if ((await kindAt(path)) !== 'file') return null;
  return { kind: 'V1', root, rule: 'rule 5: traces.jsonl is a file', path };
}

async function detectRollouts(root: string): Promise<Detection | null> {
  const rollouts = join(root, 'rollouts');
  if ((await kindAt(rollouts)) !== 'directory') return null;
  const steps = (await listDirectory(rollouts))
    .map((entry) => ({ match: STEP_DIRECTORY.exec(entry.name), path: join(rollouts, entry.name) }))
    .flatMap(({ match, path }) => (match === null ? [] : [{ step: Number(match[1]), path }]))
    .sort((a, b) => a.step - b.step);
  for (const { path } of steps) {
    for (const inner of ['train/all', 'train/effective', 'eval/all', 'eval/effective']) {
      if ((await kindAt(join(path, inner, 'traces.jsonl'))) === 'file') {
        return { kind: 'R1', root, rule: `rule 6: rollouts/step_N/${inner}/traces.jsonl is a file`, steps };
      }
    }
  }
  for (const { path } of steps) {
    if ((await kindAt(path)) !== 'directory') continue;
    const found = (await listDirectory(path)).find((entry) => ROLLOUT_FILE.test(entry.name));
    if (found !== undefined)
      return { kind: 'R0', root, rule: `rule 7: rollouts/step_N/${found.name} is a file`, steps };
  }
  return null;
}

/** Files of R0: `train_rollouts.jsonl`, `eval_rollouts.jsonl`, `eval_rollouts_<env>.jsonl`. */
export const ROLLOUT_FILE = /^(train|eval)_rollouts.*\.jsonl$/;

async function detectResults(root: string): Promise<Detection | null> {
  const path = join(root, 'results.jsonl');
  if ((await kindAt(path)) !== 'file') return null;
  if ((await kindAt(join(root, 'metadata.json'))) === 'file') {
    return { kind: 'V0', root, rule: 'rule 8: results.jsonl with metadata.json' };
  }
  if ((await kindAt(join(root, 'config.toml'))) === 'file') {
    return { kind: 'V1a', root, rule: 'rule 8: results.jsonl with config.toml', path };
  }
  return null;
}

/**
 * What a path leads to, links followed.
 * @throws PrlError `PRL_ERR_DAMAGED` when it may not be looked at
 */
export async function kindAt(path: string): Promise<'file' | 'directory' | 'other' | 'missing'> {
  try {
    const found = await stat(path);
    if (found.isFile()) return 'file';
    return found.isDirectory() ? 'directory' : 'other';
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP') return 'missing';
    throw unreadable(path, error);
  }
}

/**
 * The entries of a directory, in no order.
 * @throws PrlError `PRL_ERR_DAMAGED` when it may not be listed
 */
export async function listDirectory(path: string): Promise<readonly Dirent[]> {
  try {
    return await readdir(path, { withFileTypes: true });
  } catch (error) {
    throw unreadable(path, error);
  }
}

function unreadable(path: string, cause: unknown): PrlError {
  return new PrlError('PRL_ERR_DAMAGED', `cannot read ${path}: ${describeReadError(cause)}`, {
    hint: 'check the owner and mode of the directory and of those above it',
    cause,
  });
}
