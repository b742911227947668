/**
 * Follows a run as it grows: what `readRecords` tells of a run at rest, told as it comes (spec 03 section 8). The
 * consumer pulls: nothing is read ahead of it but one window of a file, so a slow one costs no memory (T12).
 */
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { PrlError } from '../core/errors.js';
import type { Clock } from '../core/upload/types.js';
import { monotonicClock } from './clock.js';
import { FollowedFiles } from './follow-files.js';
import { ToldIds } from './follow-ids.js';
import { FollowedStream } from './follow-stream.js';
import type { FollowEvent, FollowOptions, FollowSource, ToldRecords } from './follow-types.js';
import { Wake } from './follow-wake.js';
import { WriterWatch } from './follow-writer.js';
import { openRun } from './run.js';
import { readRecords } from './run-records.js';
import type { ChunkFile, Run } from './run-types.js';

const POLL_MS = 500;

const EVERY_RECORD: ToldRecords = { admit: () => true, rewritten: () => {} };

/**
 * Tells every whole line of a run once and in order, from `from` on, for as long as the run grows: over new chunks,
 * sealing, failed appends that were taken back, and files that others took the place of. What is no whole line yet is
 * never told as data. Standard input is read to its end.
 *
 * A run given by its path is followed by that path: when it leads to another run, that one is told from its start.
 * Holes, damage and the sums of each file come as `readRecords` tells them. Ends by itself for standard input, with
 * `untilFinished`, and after `ends`; the consumer ends it else, by the signal or by leaving the loop, and every handle is
 * closed then. It looks at the run for a last time only once the consumer asks for more than all it was told (U27).
 *
 * @throws the signal's reason; PrlError as `openRun` for a path, and `PRL_ERR_USAGE` for a JSON document, which has no
 *   lines, or a poll time that is no positive number
 */
export async function* followRecords(
  target: Run | string,
  options: FollowOptions = {},
): AsyncGenerator<FollowEvent, void> {
  const { pollMs = POLL_MS, lenient = false, subset, signal } = options;
  if (!(pollMs > 0)) throw new PrlError('PRL_ERR_USAGE', `a poll time of ${pollMs} ms; it has to be above 0`);
  signal?.throwIfAborted();
  const open = (path: string): Promise<Run> => openRun(path, subset === undefined ? { lenient } : { lenient, subset });
  const run = typeof target === 'string' ? await open(target) : target;
  const [file] = run.files;
  if (file?.form === 'document') {
    throw new PrlError('PRL_ERR_USAGE', `${file.path} is a JSON document, which cannot be followed`, {
      hint: 'follow a run directory or a .jsonl file',
    });
  }
  if (file?.form === 'stdin') {
    yield* readRecords(run, options);
    return;
  }
  const follower = new RunFollower(run, typeof target === 'string' ? target : null, { ...options, pollMs, open });
  try {
    yield* follower.events();
  } finally {
    await follower.close();
  }
}

type FollowerOptions = FollowOptions & { readonly pollMs: number; readonly open: (path: string) => Promise<Run> };

class RunFollower {
  readonly #path: string | null;
  readonly #options: FollowerOptions;
  readonly #signal: AbortSignal;
  readonly #clock: Clock;
  readonly #told: ToldRecords;
  readonly #wake: Wake;
  #run: Run;
  #source: FollowSource;
  #writer: WriterWatch;
  /** Where the path led when the run was opened. */
  #target: string | null = null;

  constructor(run: Run, path: string | null, options: FollowerOptions) {
    this.#path = path;
    this.#options = options;
    this.#signal = options.signal ?? new AbortController().signal;
    this.#clock = options.clock ?? monotonicClock;
    this.#told = options.retells === true ? EVERY_RECORD : new ToldIds();
    this.#wake = new Wake(this.#clock, options.pollMs);
    this.#run = run;
    this.#source = this.#sourceOf(run, options.from ?? 'start');
    this.#writer = new WriterWatch(run, this.#clock, options.idleMs);
    options.ends?.addEventListener('abort', this.#hurry);
  }

  async *events(): AsyncGenerator<FollowEvent, void> {
    const { untilFinished = false } = this.#options;
    yield* this.#tellFound();
    for (let isFirst = true; ; isFirst = false) {
      const wasEnding = this.#isEnding;
      yield* this.#followPath();
      yield* this.#watch();
      const hasTold = yield* this.#sweep();
      if (hasTold || isFirst) yield { type: 'caught-up' };
      if (await this.#writer.look(untilFinished)) yield { type: 'writer', ...this.#evidence };
      if (this.#isEnding) {
        // What came before the end was seen is told by one more sweep (U27).
        if (!wasEnding || hasTold) continue;
        yield* this.#source.finish();
        return;
      }
      await this.#wake.wait(this.#signal);
    }
  }

  async close(): Promise<void> {
    this.#options.ends?.removeEventListener('abort', this.#hurry);
    this.#wake.close();
    await this.#source.close();
  }

  readonly #hurry = (): void => this.#wake.hurry();

  /** Whether nothing is awaited any more. */
  get #isEnding(): boolean {
    const { untilFinished = false, ends } = this.#options;
    return ends?.aborted === true || (untilFinished && this.#evidence.state === 'finished');
  }

  get #evidence(): NonNullable<WriterWatch['evidence']> {
    return this.#writer.evidence ?? { state: 'unknown', reasons: [] };
  }

  /** What was found wrong when the run was opened. */
  *#tellFound(): Generator<FollowEvent, void> {
    const { notices, damage, layout } = this.#run;
    for (const message of notices) yield { type: 'notice', message };
    // Of numbered chunks holes come at their place, and what cannot be read is tried again.
    for (const one of layout === 'R3' ? [] : damage) yield { type: 'damage', damage: one };
  }

  /** Whether the sweep told anything but how long an open line is. */
  async *#sweep(): AsyncGenerator<FollowEvent, boolean> {
    let hasTold = false;
    for await (const event of this.#source.sweep()) {
      hasTold ||= event.type !== 'growing' && event.type !== 'notice';
      if (event.type === 'rewritten') this.#wake.forget();
      // What was found when the run was opened was told then.
      if (event.type !== 'notice' || !this.#run.notices.includes(event.message)) yield event;
    }
    this.#signal.throwIfAborted();
    return hasTold;
  }

  *#watch(): Generator<FollowEvent, void> {
    const { watches = true, pollMs } = this.#options;
    const fault = watches ? this.#wake.watch(this.#source.watched) : null;
    if (fault === null) return;
    const message = `changes are not reported by the system (${fault}); the run is looked at every ${pollMs} ms`;
    yield { type: 'notice', message };
  }

  /** Goes on with another run when the path leads to it. */
  async *#followPath(): AsyncGenerator<FollowEvent, void> {
    if (this.#path === null) return;
    const target = await realpath(this.#path).catch(() => null); // away for the moment
    const before = this.#target;
    this.#target = target ?? before;
    if (target === null || before === null || target === before) return;
    const run = await this.#options.open(this.#path).catch(() => null); // no run yet
    if (run === null) this.#target = before;
    if (run === null || placeOf(run) === placeOf(this.#run)) return;
    yield* this.#source.sweep();
    yield* this.#source.finish();
    this.#told.rewritten();
    this.#run = run;
    this.#source = this.#sourceOf(run, 'start');
    this.#writer = new WriterWatch(run, this.#clock, this.#options.idleMs);
    yield { type: 'rewritten', file: '.', chunk: 0, reason: 'the path leads to another run' };
    yield* this.#tellFound();
  }

  #sourceOf(run: Run, from: NonNullable<FollowOptions['from']>): FollowSource {
    const { signal: _signal, clock: _clock, ...reading } = this.#options;
    const context = { root: run.root, reading, signal: this.#signal, clock: this.#clock, told: this.#told };
    const { layout, tracesDirectory: traces, root, files } = run;
    if (layout === 'R3') {
      return new FollowedStream({ context, directory: traces === null ? root : join(traces, 'stream'), from });
    }
    const hasSteps = layout === 'R0' || layout.startsWith('R1');
    const relist = async (): Promise<readonly ChunkFile[]> => {
      const now = await this.#options.open(root).catch(() => null); // away for the moment
      return now?.files ?? [];
    };
    return new FollowedFiles({ context, files, from, relist: hasSteps ? relist : null });
  }
}

function placeOf({ layout, files, root }: Run): string {
  return layout === 'B' ? (files[0]?.path ?? root) : root;
}
