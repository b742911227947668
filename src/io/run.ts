/** From the path a user gives to a run that can be read: finds the layout, then lists its files in reading order. */
import { realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { PrlError } from '../core/errors.js';
import { type ChunkHole, listChunks } from '../core/stream/chunk-names.js';
import { describeReadError, systemErrorCode } from './run-fault.js';
import { FileCollector } from './run-files.js';
import {
  type Detection,
  detectAbove,
  detectFromWithin,
  detectLayout,
  findChildRuns,
  kindAt,
  LAYOUT_RULES,
  listDirectory,
} from './run-layout.js';
import { collectEarlyRollouts, collectRollouts, type Subset } from './run-rollouts.js';
import { isDocument, refuseUnit, sniffFile } from './run-sniff.js';
import { collectStream } from './run-stream.js';
import type { Run, RunLayout } from './run-types.js';

export type OpenRunOptions = {
  /** Which copy of R1 rollouts to read; default `all` (spec 01 section 5). */
  readonly subset?: Subset;
  /** Accept files of v0 rollouts. */
  readonly lenient?: boolean;
};

const STDIN = '-';

/** Most candidates that a refusal of a run collection lists. */
const MAX_CANDIDATES = 20;

/**
 * Opens a run: a run directory, a directory inside one, a file, or `-` for standard input. Reads a few bytes a file
 * and writes nothing.
 *
 * @throws PrlError `PRL_ERR_NOT_FOUND` when the path does not exist; `PRL_ERR_USAGE` when it is a directory of runs,
 *   has no known layout, or holds something else than episodes; `PRL_ERR_DAMAGED` when it may not be read
 */
export async function openRun(path: string, options: OpenRunOptions = {}): Promise<Run> {
  if (path === STDIN) return openStandardInput();
  const real = await resolve(path);
  const kind = await kindAt(real);
  if (kind === 'file') return openFile(real, options);
  if (kind === 'directory') return openDirectory(real, options);
  throw new PrlError('PRL_ERR_USAGE', `${path} is neither a file nor a directory`, {
    hint: 'pipe it into standard input and give - as RUN',
  });
}

async function resolve(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (cause) {
    const code = systemErrorCode(cause);
    if (code === 'ENOENT' || code === 'ENOTDIR') {
      throw new PrlError('PRL_ERR_NOT_FOUND', `no such run or file: ${path}`, {
        hint: 'check the spelling; RUN is a run directory, a file of episodes, or - for standard input',
      });
    }
    throw new PrlError('PRL_ERR_DAMAGED', `cannot read ${path}: ${describeReadError(cause)}`, {
      hint: 'check the owner and mode of the path and of the directories above it',
      cause,
    });
  }
}

function openStandardInput(): Run {
  const root = process.cwd();
  const file = {
    chunk: 0,
    path: STDIN,
    relativePath: STDIN,
    form: 'stdin',
    sizeBytes: 0,
    uncompressedBytes: null,
  } as const;
  return { ...NOTHING_FOUND, root, layout: 'B', rule: 'rule 1: standard input', files: [file] };
}

async function openFile(path: string, options: OpenRunOptions): Promise<Run> {
  const root = dirname(path);
  const files = new FileCollector(root);
  await files.add(path);
  const [file] = files.files;
  if (file !== undefined && (await isDocument(file))) files.files[0] = { ...file, form: 'document' };
  else if (file !== undefined) refuseUnit(path, await sniffFile(file), options.lenient ?? false);
  return finish(files, { root, layout: 'B', rule: `rule 1: ${basename(path)} is a file` });
}

/** What a directory is to `openRun`; null when nothing of a run is in it, above it, or in the directories it holds. */
type Whereabouts =
  | Detection
  | { readonly kind: 'collection'; readonly runs: readonly string[] }
  | { readonly kind: 'chunks' };

async function lookAround(directory: string): Promise<Whereabouts | null> {
  const here = (await detectFromWithin(directory)) ?? (await detectLayout(directory));
  if (here !== null) return here;
  const runs = await findChildRuns(directory);
  if (runs.length > 0) return { kind: 'collection', runs };
  const above = await detectAbove(directory);
  if (above !== null) return above;
  const names = (await listDirectory(directory)).map((entry) => entry.name);
  return listChunks(names).chunks.length > 0 ? { kind: 'chunks' } : null;
}

/** Whether a path leads to a directory in which no run has begun yet. @throws PrlError `PRL_ERR_DAMAGED` as `openRun` */
export async function isBlankDirectory(path: string): Promise<boolean> {
  const real = await realpath(path).catch(() => null); // not there, or not to be seen
  return real !== null && (await kindAt(real)) === 'directory' && (await lookAround(real)) === null;
}

async function openDirectory(directory: string, options: OpenRunOptions): Promise<Run> {
  const found = await lookAround(directory);
  if (found?.kind === 'collection') throw runCollection(directory, found.runs);
  if (found?.kind === 'chunks') return openBareStream(directory);
  if (found !== null) return openDetected(found, options);
  throw new PrlError(
    'PRL_ERR_USAGE',
    `${directory} is no run: none of these was found in it or above it: ${LAYOUT_RULES.join('; ')}`,
    {
      hint: 'give a run directory, a directory inside one, or a .jsonl, .jsonl.zst or .json file',
    },
  );
}

function runCollection(directory: string, candidates: readonly string[]): PrlError {
  const shown = candidates.slice(0, MAX_CANDIDATES).join(', ');
  const rest = candidates.length > MAX_CANDIDATES ? ` and ${candidates.length - MAX_CANDIDATES} more` : '';
  return new PrlError('PRL_ERR_USAGE', `${directory} holds ${candidates.length} runs: ${shown}${rest}`, {
    hint: 'give one of them as RUN',
  });
}

async function openDetected(found: Detection, options: OpenRunOptions): Promise<Run> {
  const { root, rule } = found;
  const files = new FileCollector(root);
  switch (found.kind) {
    case 'R3': {
      const holes = await collectStream(files, join(found.tracesDirectory, 'stream'), root);
      return finish(files, { root, layout: 'R3', rule, holes, ...(await indexBeside(found.tracesDirectory)) });
    }
    case 'R2':
      await files.add(join(found.tracesDirectory, 'stream.jsonl'));
      return finish(files, { root, layout: 'R2', rule, ...(await indexBeside(found.tracesDirectory)) });
    case 'R1':
      await collectRollouts(files, found.steps, options.subset ?? 'all');
      return finish(files, { root, layout: await refine('R1', files), rule });
    case 'R0':
      await collectEarlyRollouts(files, found.steps);
      return openFlat(files, found.root, 'R0', rule, options);
    case 'V1':
    case 'V1a':
      await files.add(found.path);
      return openFlat(files, found.root, found.kind, rule, options);
    case 'FLOW':
      files.notices.push('a flow run keeps episodes in flight only; it has no stream of finished ones');
      return finish(files, { root, layout: 'FLOW', rule });
    case 'V0':
      throw new PrlError(
        'PRL_ERR_USAGE',
        `${root} holds v0 results of an early verifiers (results.jsonl with metadata.json)`,
        {
          hint: 'they carry no episodes: run the evaluation again with a newer verifiers, one that writes traces.jsonl',
        },
      );
  }
}

/** A layout of one kind of file, whose first record is looked at: it settles the generation, or refuses the run. */
async function openFlat(
  files: FileCollector,
  root: string,
  layout: 'R0' | 'V1' | 'V1a',
  rule: string,
  options: OpenRunOptions,
): Promise<Run> {
  const [first] = files.files;
  if (first !== undefined) refuseUnit(first.path, await sniffFile(first), options.lenient ?? false);
  return finish(files, { root, layout: layout === 'V1' ? await refine('V1', files) : layout, rule });
}

/** Episodes or bare traces in the first file that has a record tell the later generation from the earlier. */
async function refine(layout: 'R1' | 'V1', files: FileCollector): Promise<RunLayout> {
  for (const file of files.files) {
    const unit = await sniffFile(file);
    if (unit === 'episode') return layout === 'R1' ? 'R1b' : 'V1c';
    if (unit === 'trace') return layout === 'R1' ? 'R1a' : 'V1b';
  }
  return layout;
}

/** A stream directory that was copied out of its run. */
async function openBareStream(directory: string): Promise<Run> {
  const files = new FileCollector(directory);
  const holes = await collectStream(files, directory, directory);
  return finish(files, { root: directory, layout: 'R3', rule: 'rule 2: the directory holds numbered chunks', holes });
}

async function indexBeside(tracesDirectory: string): Promise<Pick<Run, 'indexPath' | 'tracesDirectory'>> {
  const path = join(tracesDirectory, 'stream.index.jsonl');
  return { indexPath: (await kindAt(path)) === 'file' ? path : null, tracesDirectory };
}

type Found = {
  readonly root: string;
  readonly layout: RunLayout;
  readonly rule: string;
  readonly holes?: readonly ChunkHole[];
  readonly indexPath?: string | null;
  readonly tracesDirectory?: string | null;
};

const NOTHING_FOUND = { holes: [], damage: [], notices: [], indexPath: null, tracesDirectory: null } as const;

function finish({ files, damage, notices }: FileCollector, found: Found): Run {
  const { root, layout, rule, holes = [], indexPath = null, tracesDirectory = null } = found;
  return { root, layout, rule, files, holes, damage, notices, indexPath, tracesDirectory };
}
