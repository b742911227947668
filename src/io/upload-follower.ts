/**
 * The records of a run for as long as it grows, for its upload: told as they come, with marks where open batches are to
 * be cut. A trickle is cut once it has waited for the linger time, and a flood, which is never caught up with, by its
 * size alone. Before the end, and before lines that were told lose their place, everything told is settled first.
 */
import type { StreamRecord } from '../core/scan/types.js';
import type { Backlog } from '../core/upload/backlog.js';
import type { Clock } from '../core/upload/types.js';
import { followRecords } from './follow-run.js';
import type { FollowEvent, FollowOptions } from './follow-types.js';
import { RunGrowth } from './run-growth.js';
import type { ReadRecordsOptions, RunEvent } from './run-records.js';
import type { Run } from './run-types.js';

export type UploadEvent =
  | RunEvent
  /** Batches that are open are to be cut here. */
  | { readonly type: 'cut' }
  /** What was told of a chunk, or of all with null, no longer stands where it stood. All of it is settled by now. */
  | { readonly type: 'rewritten'; readonly chunk: number | null; readonly reason: string };

export type UploadReading = Omit<ReadRecordsOptions, 'signal'> & {
  readonly signal: AbortSignal;
  /** False where cuts cannot be remembered: then a batch waits until it is full or its chunk is closed (R-UP-2). */
  readonly canCutEarly: () => boolean;
};

export type UploadFollowerOptions = {
  readonly run: Run;
  readonly clock: Clock;
  /** Told of what goes into batches and of what becomes of them by whoever cuts and sends them. */
  readonly backlog: Backlog;
  /** How long a line waits for others to share its request, in milliseconds; default 2,000. */
  readonly lingerMs?: number;
  readonly onNotice: (message: string) => void;
};

const LINGER_MS = 2_000;

const IDLE = 'nobody seems to write the run at the moment; it is followed until it is finished, or prl is stopped';

/** Whether a run can grow. Standard input is read as it comes by everybody; a sealed file by itself is whole. */
export function canGrow({ layout, files: [file] }: Run): boolean {
  return layout !== 'B' || (file?.form !== 'stdin' && file?.form !== 'sealed');
}

export class UploadFollower {
  readonly #options: UploadFollowerOptions;
  readonly #told: Set<string>;
  /** Nothing more comes, somebody says. */
  readonly #draining = new AbortController();
  /** The follower is told so, once what came before is settled. */
  readonly #ends = new AbortController();
  /** What is seen of the run on the way. */
  readonly growth: RunGrowth;
  #isCaughtUp = false;
  #hasCaughtUp = false;
  #closed: Promise<void> = Promise.resolve();

  constructor(options: UploadFollowerOptions) {
    this.#options = options;
    this.#told = new Set(options.run.notices);
    this.growth = new RunGrowth(options.run);
  }

  /** Whether all that there was has been read once: from then on it waits for what is new. */
  get hasCaughtUp(): boolean {
    return this.#hasCaughtUp;
  }

  /** Nothing more comes: what is there by now, and what comes until that is settled, is told, and then it ends. */
  drain(): void {
    this.#draining.abort();
  }

  /** Waits for a first record that `accepts` takes; null when the run ends without one. */
  async firstRecord(signal: AbortSignal, accepts: (record: StreamRecord) => boolean): Promise<StreamRecord | null> {
    for await (const event of this.#follow({ signal, ends: this.#draining.signal })) {
      this.#note(event);
      if (event.type === 'caught-up') this.#hasCaughtUp = true;
      if (event.type === 'record' && accepts(event.record)) return event.record;
    }
    return null;
  }

  /** Resolves when a reading that was ended has let go of all files. */
  whenClosed(): Promise<void> {
    return this.#closed;
  }

  /**
   * Tells the run from its start until its writer is finished, or `drain` was called, and everything is settled.
   * @throws the signal's reason; PrlError `PRL_ERR_USAGE` for a document, which cannot be followed
   */
  async *read({ signal, canCutEarly, ...reading }: UploadReading): AsyncGenerator<UploadEvent, void> {
    const leaving = new AbortController();
    const events = this.#follow({
      ...reading,
      signal: AbortSignal.any([signal, leaving.signal]),
      ends: this.#ends.signal,
    });
    let close = (): void => {};
    this.#closed = new Promise((resolve) => {
      close = resolve;
    });
    let next: Promise<IteratorResult<FollowEvent, void>> | null = null;
    void this.growth.measure(this.#options.clock, leaving.signal);
    try {
      for (;;) {
        next ??= events.next();
        if (!(await this.#isFirst(next, canCutEarly))) {
          yield* this.#whatIsDue(signal);
          continue;
        }
        const { done, value } = await next;
        next = null;
        if (done === true) return;
        yield* this.#tell(value, signal);
      }
    } finally {
      leaving.abort();
      await next?.catch(() => {}); // it is left, and its error with it
      await events.return().finally(close);
    }
  }

  #follow(options: FollowOptions): AsyncGenerator<FollowEvent, void> {
    const { run, clock } = this.#options;
    // Its records are known by their bytes, which tell more than an id that comes again.
    return followRecords(run, { ...options, untilFinished: true, retells: true, clock });
  }

  /** Whether the next event comes before something else is due. While there is something to read it always does. */
  async #isFirst(next: Promise<unknown>, canCutEarly: () => boolean): Promise<boolean> {
    if (!this.#isCaughtUp || this.#ends.signal.aborted) return true;
    const { clock, backlog, lingerMs = LINGER_MS } = this.#options;
    const { openSinceMs } = backlog;
    const lingers = openSinceMs !== null && canCutEarly();
    const waitMs = lingers ? Math.max(0, openSinceMs + lingerMs - clock.nowMs()) : Number.POSITIVE_INFINITY;
    const over = new AbortController();
    const halt = AbortSignal.any([over.signal, this.#draining.signal]);
    const due = clock.sleep(waitMs, halt).catch(() => {}); // ended early: the event came, or it is to drain
    try {
      return await Promise.race([next.then(() => true), due.then(() => false)]);
    } finally {
      over.abort();
    }
  }

  async *#whatIsDue(signal: AbortSignal): AsyncGenerator<UploadEvent, void> {
    if (!this.#draining.signal.aborted) {
      yield { type: 'cut' };
      return;
    }
    yield* this.#settle(signal);
    this.#ends.abort();
  }

  async *#tell(event: FollowEvent, signal: AbortSignal): AsyncGenerator<UploadEvent, void> {
    this.#note(event);
    switch (event.type) {
      case 'record':
        this.#isCaughtUp = false;
        yield event;
        return;
      case 'damage':
        yield event;
        return;
      case 'file':
        yield event;
        if (event.summary !== null) yield { type: 'cut' };
        return;
      case 'caught-up':
        this.#isCaughtUp = true;
        this.#hasCaughtUp = true;
        if (this.#isEnding) yield* this.#settle(signal);
        return;
      case 'writer':
        // The run is looked at once more for what came until all that was told is settled (U27).
        if (this.#isEnding) yield* this.#settle(signal);
        return;
      case 'rewritten':
        yield* this.#settle(signal);
        yield { type: 'rewritten', chunk: this.growth.rewrittenChunk(event), reason: event.reason };
        return;
      case 'growing':
      case 'notice':
        return;
    }
  }

  get #isEnding(): boolean {
    return this.#ends.signal.aborted || this.growth.writer === 'finished';
  }

  /** Has everything cut that was told, and waits until it is settled. */
  async *#settle(signal: AbortSignal): AsyncGenerator<UploadEvent, void> {
    yield { type: 'cut' };
    await this.#options.backlog.whenSettled(signal);
  }

  #note(event: FollowEvent): void {
    this.growth.note(event);
    if (event.type === 'notice') this.#notice(event.message);
    // Of a run that has not begun it is no news.
    if (event.type === 'writer' && event.state === 'idle' && this.growth.chunks > 0) this.#notice(IDLE);
  }

  /** Once each. */
  #notice(message: string): void {
    if (this.#told.has(message)) return;
    this.#told.add(message);
    this.#options.onNotice(message);
  }
}
