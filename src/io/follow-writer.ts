/**
 * Whether somebody still writes the run that is followed: growth between two looks first, then what the machine shows
 * (spec 05 section 6). A look goes through the open files of all processes, so there is one every two seconds at most.
 */
import { readdir, stat } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { listChunks } from '../core/stream/chunk-names.js';
import type { Clock } from '../core/upload/types.js';
import type { Run } from './run-types.js';
import { findWriter, type WriterEvidence } from './writer-alive.js';

/** Shortest time between two looks. */
const LOOK_MS = 2_000;

/** Files of episodes in flight that are looked at; one that grows is enough. */
const MAX_LIVE_FILES = 1_000;

/** What a writer may be adding to at the moment. Absolute paths. */
type WrittenFiles = {
  /** Plain chunks, or flat files. */
  readonly plain: readonly string[];
  readonly hasSealedChunks: boolean;
  readonly seals: readonly string[];
  /** Traces of episodes in flight. */
  readonly live: readonly string[];
  /** What else is written along with the stream. */
  readonly beside: readonly string[];
};

export class WriterWatch {
  readonly #run: Run;
  readonly #clock: Clock;
  readonly #idleMs: number | undefined;
  #sizes: ReadonlyMap<string, number> | null = null;
  #hasPlain: boolean | null = null;
  #nextLookAtMs: number;
  #evidence: WriterEvidence | null = null;

  constructor(run: Run, clock: Clock, idleMs?: number) {
    this.#run = run;
    this.#clock = clock;
    this.#idleMs = idleMs;
    this.#nextLookAtMs = clock.nowMs();
  }

  /** What the last look told; null before the first. */
  get evidence(): WriterEvidence | null {
    return this.#evidence;
  }

  /**
   * Looks again when it is time to. True when the state is another one.
   * @param isAwaited also look before that when the last plain chunk is gone
   */
  async look(isAwaited: boolean): Promise<boolean> {
    const isDue = this.#clock.nowMs() >= this.#nextLookAtMs;
    if (!isDue && !isAwaited) return false;
    const files = await this.#list();
    const hasPlain = files.plain.length > 0;
    if (!isDue && hasPlain === this.#hasPlain) return false;
    this.#hasPlain = hasPlain;
    const before = this.#evidence?.state;
    this.#evidence = await this.#weigh(files);
    this.#nextLookAtMs = this.#clock.nowMs() + LOOK_MS;
    return this.#evidence.state !== before;
  }

  async #weigh(files: WrittenFiles): Promise<WriterEvidence> {
    const sizes = await sizesOf([...files.plain, ...files.seals, ...files.live, ...files.beside]);
    const grown = this.#sizes === null ? null : findGrown(this.#sizes, sizes);
    this.#sizes = sizes;
    const isEnded = files.plain.length === 0 && files.hasSealedChunks && files.live.length === 0;
    if (grown !== null && !isEnded) {
      return { state: 'live', reasons: [`${relative(this.#run.root, grown).split(sep).join('/')} grew`] };
    }
    return findWriter({
      // A seal that was interrupted stays for ever, and an index is held open by whoever writes the stream.
      growing: isEnded ? [] : [...files.plain, ...files.seals, ...files.beside],
      hasSealedChunks: files.hasSealedChunks,
      hasLiveTraces: files.live.length > 0,
      nowMs: Date.now(),
      ...(this.#idleMs === undefined ? {} : { idleMs: this.#idleMs }),
    });
  }

  async #list(): Promise<WrittenFiles> {
    const { tracesDirectory: traces, layout, root, files } = this.#run;
    const live = await pathsIn(join(traces ?? root, 'live'));
    const some = live.slice(0, MAX_LIVE_FILES);
    if (layout !== 'R3') {
      const plain = files.filter(({ form }) => form === 'plain').map(({ path }) => path);
      return { plain, hasSealedChunks: false, seals: [], live: some, beside: besideStream(traces) };
    }
    const directory = traces === null ? root : join(traces, 'stream');
    const names = await readdir(directory).catch(() => []); // away for the moment
    const { chunks, leftovers } = listChunks(names);
    return {
      plain: chunks.flatMap(({ plain }) => (plain === null ? [] : [join(directory, plain)])),
      hasSealedChunks: chunks.some(({ sealed }) => sealed !== null),
      seals: leftovers.map((name) => join(directory, name)),
      live: some,
      beside: besideStream(traces),
    };
  }
}

function besideStream(traces: string | null): string[] {
  return traces === null ? [] : [join(traces, 'stream.index.jsonl'), join(dirname(traces), 'metrics.jsonl')];
}

async function pathsIn(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch(() => []); // no such directory
  return names.map((name) => join(directory, name));
}

async function sizesOf(paths: readonly string[]): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  for (const path of paths) {
    const there = await stat(path).catch(() => null); // not there, or gone meanwhile
    if (there !== null) sizes.set(path, there.size);
  }
  return sizes;
}

/** A file that is longer than before, or new. */
function findGrown(before: ReadonlyMap<string, number>, now: ReadonlyMap<string, number>): string | null {
  for (const [path, bytes] of now) if (bytes > (before.get(path) ?? -1)) return path;
  return null;
}
