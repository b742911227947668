/**
 * One run to one service: finds what an earlier upload left, sends the rest, and has it read back if asked. Joins
 * core/upload with files, journal and sender; holds no rule of its own.
 */
import { availableParallelism } from 'node:os';
import type { UploadPhase, UploadSnapshot } from '../core/snapshot.js';
import type { RunStamp } from '../core/stream/stamp.js';
import { Backlog } from '../core/upload/backlog.js';
import { DEFAULT_BUDGET_BYTES, DEFAULT_CONCURRENCY, MAX_ADAPTIVE_CONCURRENCY } from '../core/upload/limits.js';
import type { UploadOutcome, UploadPlan } from '../core/upload/outcome.js';
import { UploadTally } from '../core/upload/tally.js';
import type { Clock, UploadJournal } from '../core/upload/types.js';
import { packingThreads, UploadMemory } from '../core/upload/upload-memory.js';
import { Uploader, type UploadResult } from '../core/upload/uploader.js';
import type { VerifyResult } from '../core/upload/verify.js';
import { monotonicClock } from './clock.js';
import { spareDescriptors } from './descriptors.js';
import { estimateRows } from './index-rows.js';
import type { Journal } from './journal.js';
import { findExistingPlace, findPlaces, type JournalPlaces } from './journal-place.js';
import { Packer } from './packer.js';
import { reconcile } from './reconcile.js';
import { RecordFilter } from './record-filter.js';
import { RunEvents } from './run-events.js';
import { chunkNameOf, openRunJournal } from './run-journal.js';
import { lockRun } from './run-lock.js';
import type { RunUploadOptions } from './run-upload-options.js';
import { RunVerification } from './run-verification.js';
import { createSender } from './sender.js';
import { settledChunks, type UploadSettlement } from './settlement.js';
import { checkSources } from './source-check.js';
import { canGrow, UploadFollower } from './upload-follower.js';
import { findRunId } from './upload-run-id.js';
import { snapshotOf } from './upload-snapshot.js';
import { UploadSource, type UploadSourceOptions } from './upload-source.js';

const NO_JOURNAL: UploadJournal = {
  planned: async () => {},
  stored: async () => {},
  rejected: async () => {},
};

/** Where the state of this upload is, and whether it may change. */
type State = { readonly places: JournalPlaces; readonly readsOnly: boolean };

type Preparation = {
  /** Null for standard input, of which nothing is kept. */
  readonly state: State | null;
  readonly signal: AbortSignal;
  readonly onKept: UploadSourceOptions['onKept'];
};

/** What a pass over the run needs, found before the first request. */
type Prepared = {
  readonly runId: string | null;
  readonly stamp: RunStamp | null;
  readonly journal: Journal | null;
  readonly tally: UploadTally;
  readonly filter: RecordFilter | null;
  readonly source: UploadSource;
  readonly known: UploadSettlement['known'];
};

export class RunUpload {
  readonly #options: RunUploadOptions & { readonly clock: Clock };
  #phase: UploadPhase = 'plan';
  #prepared: Prepared | null = null;
  /** Held apart, since it is open before everything is prepared. */
  #journal: Journal | null = null;
  #uploader: Uploader | null = null;
  readonly #verification: RunVerification | null;
  #indexRows: number | null = null;
  /** What is to be told once something is stored; null when it was, and when there is nothing. */
  #warning: string | null = null;
  readonly #packer: Packer;
  readonly #backlog = new Backlog();
  readonly #memory: UploadMemory;
  /** Null where the run is read as it is. */
  readonly #follower: UploadFollower | null;

  constructor(options: RunUploadOptions) {
    this.#options = { clock: monotonicClock, ...options };
    this.#verification = options.verifies ? new RunVerification() : null;
    const { budgetBytes = DEFAULT_BUDGET_BYTES, compress } = options;
    const threads = packingThreads(budgetBytes, availableParallelism());
    this.#packer = new Packer({ threads });
    this.#memory = new UploadMemory({ budgetBytes, sharesLines: compress === 'none', packingThreads: threads });
    const isFollowed = options.follows === true && canGrow(options.run);
    this.#follower = isFollowed ? new UploadFollower({ ...this.#options, backlog: this.#backlog }) : null;
  }

  /**
   * Nothing more comes, says whoever writes a run that is followed: what is there by now is settled, and what comes until
   * then too, and then `run` ends. Does nothing without `follows`.
   */
  drain(): void {
    this.#follower?.drain();
  }

  /**
   * Sends what is missing. To be called once.
   *
   * @throws PrlError `PRL_ERR_USAGE` when a run id is needed and none is known, `PRL_ERR_LOCKED` when another prl
   *   uploads this run, and what reading back throws; whatever the service refuses is in the result
   */
  async run(signal: AbortSignal): Promise<UploadOutcome> {
    const { path, environment, access, concurrency } = this.#options;
    const places = path === null ? null : await findPlaces(path, environment);
    const lock = await lockRun(places?.writable ?? null);
    /** Ends the reading of a run that is followed, whatever ended the upload. */
    const leaving = new AbortController();
    const most = Math.min(concurrency === 'adaptive' ? MAX_ADAPTIVE_CONCURRENCY : concurrency, spareDescriptors());
    const sender = createSender(access, most);
    void this.estimate();
    try {
      const verification = this.#verification;
      const state = places === null ? null : { places, readsOnly: false };
      const events = new RunEvents(this.#options.run, this.#follower);
      const prepared = await this.#prepare(events, {
        state,
        signal,
        onKept: ({ format, line }) => verification?.expectLine(format, line),
      });
      this.#options.onPrepared?.(prepared.known);
      const { journal, stamp, tally, filter } = prepared;
      // A filter reads what is settled again, and tells which of it to expect.
      if (filter !== null) verification?.addUploads(journal?.lines.uploadIds() ?? []);
      else if (journal !== null && tally.already.episodes > 0) {
        await verification?.expectSettled(this.#options.run, journal, stamp, signal);
      }
      this.#phase = 'send';
      const { maxAttempts, maxWaitMs, compress, context } = this.#options;
      this.#uploader = new Uploader({
        sender,
        clock: this.#options.clock,
        random: Math.random,
        concurrency,
        mostRequests: most,
        memory: this.#memory,
        maxAttempts,
        ...(maxWaitMs === undefined ? {} : { maxWaitMs }),
        journal: journal ?? NO_JOURNAL,
        pack: (batch, halt) => this.#packer.pack(batch, { compress, context, signal: halt }),
        onStored: (batch, receipt) => {
          this.#warn();
          verification?.expectBatch(batch, receipt.uploadId);
        },
        onSettled: () => this.#backlog.settle(),
        onNotice: this.#options.onNotice,
      });
      const batches = prepared.source.batches(AbortSignal.any([signal, leaving.signal]));
      const result = await this.#uploader.run(batches, signal);
      this.#memory.endReading();
      for (const line of result.rejected) tally.reject(line);
      // Only when every batch was settled does a comparison with the service say something of the run.
      const isWhole = result.stopped === null && !result.interrupted;
      const verified = isWhole ? await this.#readBack(signal) : null;
      this.#phase = 'done';
      const directory = journal?.isKept === true ? (places?.writable ?? null) : null;
      return this.#result(prepared, result, verified, directory);
    } finally {
      leaving.abort();
      await this.#follower?.whenClosed();
      await this.#packer.close();
      await sender.close();
      await this.#journal?.close();
      await lock.release();
    }
  }

  /** Reads the run and cuts its batches without a request and without a write. */
  async plan(signal: AbortSignal): Promise<UploadPlan> {
    const { path, environment } = this.#options;
    const places = path === null ? null : await findExistingPlace(path, environment);
    const { runId, tally, filter, source } = await this.#prepare(new RunEvents(this.#options.run), {
      state: places === null ? null : { places, readsOnly: true },
      signal,
      onKept: () => {},
    });
    let requests = 0;
    for await (const _batch of source.batches(signal)) requests += 1;
    return {
      runId,
      plan: tally.planned,
      already: tally.already,
      rejected: tally.rejected(),
      damaged: tally.damages(),
      filter: filter?.totals ?? null,
      requests,
      toSend: tally.read,
    };
  }

  snapshot(): UploadSnapshot {
    return snapshotOf({
      options: this.#options,
      phase: this.#phase,
      prepared: this.#prepared,
      uploader: this.#uploader?.snapshot() ?? null,
      follower: this.#follower,
      backlog: this.#backlog,
      memory: this.#memory,
      verify: this.#verification?.progress ?? null,
      indexRows: this.#indexRows,
    });
  }

  /** What is settled by now; null until the run was prepared, and of standard input. */
  settlement(): UploadSettlement | null {
    if (this.#prepared === null || this.#prepared.journal === null) return null;
    const { known, journal, tally } = this.#prepared;
    const chunks = settledChunks(journal, tally.damages());
    const settled = chunks.reduce((sum, { stored, rejected }) => sum + stored + rejected, 0);
    const unanswered = this.#uploader?.snapshot().unanswered ?? 0;
    return { known, chunks, open: Math.max(0, tally.planned.episodes - settled), unanswered };
  }

  /** Everything that a pass needs, from the run and from what an earlier upload left. */
  async #prepare(events: RunEvents, { state, signal, onKept }: Preparation): Promise<Prepared> {
    const { run, retriesRejected, targetBytes, onNotice } = this.#options;
    const { runId, stamp } = await findRunId(events, { ...this.#options, signal });
    const journal = state === null ? null : await openRunJournal({ ...this.#options, ...state, stamp });
    if (journal !== null) {
      this.#journal = journal;
      await checkSources({ run, journal, stamp, signal });
      if (state?.readsOnly === false && !retriesRejected) {
        this.#warning = await reconcile({ ...this.#options, journal, stamp, signal });
      }
    }
    const filter = this.#options.selects == null ? null : new RecordFilter(run, this.#options.selects);
    // What a filter selects is counted as it is read; what is sent once more is not rejected until the service says so.
    const rejected = retriesRejected || filter !== null ? [] : (journal?.resume.rejected() ?? []);
    const stored = filter === null ? (journal?.committedByChunk ?? new Map()) : new Map();
    const tally = new UploadTally({ stored, rejected, damages: journal?.damages ?? [] });
    const source = new UploadSource({
      events,
      stamp,
      journal,
      backlog: this.#follower === null ? null : this.#backlog,
      clock: this.#options.clock,
      nameOf: (file) => chunkNameOf(run, file),
      isRetry: retriesRejected,
      filter,
      tally,
      memory: this.#memory,
      bodiesAreLines: this.#options.compress === 'none',
      targetBytes: this.#memory.fitBatch(targetBytes, onNotice),
      onNotice,
      onKept,
    });
    const known = { stored: journal?.committed.episodes ?? 0, rejected: journal?.resume.rejected().length ?? 0 };
    this.#prepared = { runId, stamp, journal, tally, filter, source, known };
    return this.#prepared;
  }

  /** About how many episodes there are, where an index tells: for the eyes of a person, before anything is sent (P7). */
  async estimate(): Promise<void> {
    const { indexPath } = this.#options.run;
    if (indexPath !== null) this.#indexRows ??= await estimateRows(indexPath);
  }

  #warn(): void {
    if (this.#warning !== null) this.#options.onNotice(this.#warning);
    this.#warning = null;
  }

  async #readBack(signal: AbortSignal): Promise<VerifyResult | null> {
    if (this.#verification === null) return null;
    this.#phase = 'verify';
    const { access, concurrency, onNotice } = this.#options;
    const atOnce = concurrency === 'adaptive' ? DEFAULT_CONCURRENCY : concurrency;
    const verified = await this.#verification.readBack(access, atOnce, signal);
    if (verified.superseded > 0) {
      onNotice(
        `another upload has stored ${verified.superseded} of the episodes anew; this run's were found, their bytes cannot be read any more`,
      );
    }
    return verified;
  }

  #result(
    prepared: Prepared,
    result: UploadResult,
    verified: VerifyResult | null,
    journal: string | null,
  ): UploadOutcome {
    const { runId, tally, filter } = prepared;
    return {
      runId,
      plan: tally.planned,
      sent: result.sent,
      already: tally.already,
      rejected: tally.rejected(),
      damaged: tally.damages(),
      retries: result.retries,
      mismatches: result.mismatches,
      verified,
      stopped: result.stopped,
      interrupted: result.interrupted,
      filter: filter?.totals ?? null,
      journal,
    };
  }
}
