/**
 * One run to one service for as long as it takes: what passes, a service that is away or a run that another prl uploads,
 * is waited for without end (U12), since the records lie on disk. Only what no patience helps against ends it early. Runs
 * in the process that uploads for a producer, and tells it by messages.
 */
import { PrlError, type PrlErrorCode } from '../core/errors.js';
import type { UploadOutcome } from '../core/upload/outcome.js';
import type { Clock, RejectedLine } from '../core/upload/types.js';
import { openRun } from './run.js';
import { nameRun } from './run-name.js';
import type { Run } from './run-types.js';
import { RunUpload } from './run-upload.js';
import type { FromUpload, RejectedRecord, StreamEnd, UploadEnd, UploadJob } from './upload-messages.js';
import { UploadReporter } from './upload-reporter.js';

/** Until a service that asked for more patience than an upload has, or failed in itself, is tried again. */
const SERVICE_PAUSE_MS = 30_000;
/** Until a run is looked for again that is not there, or belongs to another prl. */
const RUN_PAUSE_MS = 2_000;

/** Rejected records that are told one by one at the end. */
const MAX_LISTED = 100;

/** An attempt that is to be made again. */
type Pause = { readonly pauseMs: number; readonly reason: string; readonly code: PrlErrorCode };

export type SteadyUploadOptions = {
  readonly job: UploadJob;
  readonly clock: Clock;
  readonly tell: (message: FromUpload) => void;
};

export class SteadyUpload {
  readonly #job: UploadJob;
  readonly #clock: Clock;
  readonly #tell: (message: FromUpload) => void;
  readonly #reporter: UploadReporter;
  readonly #stopping = new AbortController();
  /** Ends pauses: there is no time to lose any more. */
  readonly #draining = new AbortController();
  readonly #told = new Set<string>();
  #upload: RunUpload | null = null;
  #hasCounted = false;
  #pausedBy: PrlErrorCode | null = null;
  #rejected: readonly RejectedLine[] = [];

  constructor({ job, clock, tell }: SteadyUploadOptions) {
    this.#job = job;
    this.#clock = clock;
    this.#tell = tell;
    this.#reporter = new UploadReporter({ path: job.path, tell });
  }

  /** To be called once. @throws what is nobody's fault but prl's */
  async run(): Promise<void> {
    const end = await this.#run().catch((error: unknown) => {
      if (this.#stopping.signal.aborted) return endOf('stopped');
      throw error;
    });
    await this.#reporter.close();
    this.#tell({ type: 'ended', end, rejected: this.#rejected.slice(0, MAX_LISTED).map(shown) });
  }

  drain(): void {
    this.#draining.abort();
    this.#upload?.drain();
  }

  stop(): void {
    this.#stopping.abort();
  }

  /** Tells `passed` with this id once everything before the place is settled. */
  tellWhenSettled(id: number, place: StreamEnd): void {
    this.#reporter.tellWhenSettled(id, place);
  }

  async #run(): Promise<UploadEnd> {
    for (;;) {
      const attempt = await this.#attempt();
      this.#stopping.signal.throwIfAborted();
      if ('kind' in attempt) return attempt;
      this.#tellPause(attempt);
      await this.#pause(attempt.pauseMs);
    }
  }

  async #attempt(): Promise<UploadEnd | Pause> {
    let run: Run;
    try {
      run = await openRun(this.#job.path);
    } catch (error) {
      const failure = expected(error);
      // Nobody has written it, so nothing is left out.
      if (this.#draining.signal.aborted && failure.code !== 'PRL_ERR_DAMAGED') return endOf('drained');
      return pauseOf(failure);
    }
    try {
      await this.#countLeft(run);
      const upload = this.#open(run);
      this.#upload = upload;
      if (this.#draining.signal.aborted) upload.drain();
      this.#reporter.watch(upload);
      const outcome = await upload.run(this.#stopping.signal);
      this.#rejected = outcome.rejected;
      this.#pausedBy = null;
      return this.#endOf(outcome);
    } catch (error) {
      this.#stopping.signal.throwIfAborted();
      return failureOf(expected(error));
    }
  }

  #endOf({ stopped }: UploadOutcome): UploadEnd | Pause {
    if (stopped === null) return endOf(this.#draining.signal.aborted ? 'drained' : 'finished');
    const { errorCode, message, hint, code = null } = stopped;
    if (errorCode === 'PRL_ERR_TEMPORARY') return { pauseMs: SERVICE_PAUSE_MS, reason: message, code: errorCode };
    return { kind: 'refused', message, hint, code };
  }

  /** Tells what an earlier process left, before anything of it is sent, where it is asked for; once. */
  async #countLeft(run: Run): Promise<void> {
    const { leftUpTo } = this.#job;
    if (leftUpTo === null || this.#hasCounted) return;
    const upload = this.#open(cutBehind(run, leftUpTo));
    const plan = await upload.plan(this.#stopping.signal);
    const { stored, rejected } = upload.settlement()?.known ?? { stored: 0, rejected: 0 };
    this.#hasCounted = true;
    // What a check of ours will refuse is not settled yet.
    this.#reporter.begin({ stored, rejected, left: plan.toSend.episodes + plan.rejected.length - rejected });
  }

  #open(run: Run): RunUpload {
    const { leftUpTo: _leftUpTo, fallbackRunId, ...job } = this.#job;
    return new RunUpload({
      ...job,
      run,
      name: nameRun(run),
      runId: null,
      environmentRunId: fallbackRunId,
      stamps: true,
      context: {},
      maxAttempts: Number.POSITIVE_INFINITY,
      maxWaitMs: Number.POSITIVE_INFINITY,
      retriesRejected: false,
      verifies: false,
      follows: true,
      onNotice: (message) => this.#notice(message),
      onPrepared: (known) => this.#reporter.begin({ ...known, left: null }),
    });
  }

  /** Once, however often it is tried in a row, and whatever the reason says of times. */
  #tellPause({ reason, code }: Pause): void {
    if (code === this.#pausedBy) return;
    this.#pausedBy = code;
    this.#notice(`${reason}; it is tried again`);
  }

  /** Once each: an upload that is tried again says the same again. */
  #notice(message: string): void {
    if (this.#told.has(message)) return;
    this.#told.add(message);
    this.#tell({ type: 'notice', message });
  }

  async #pause(ms: number): Promise<void> {
    const isShort = this.#draining.signal.aborted;
    const signal = isShort ? this.#stopping.signal : AbortSignal.any([this.#stopping.signal, this.#draining.signal]);
    await this.#clock.sleep(isShort ? Math.min(ms, RUN_PAUSE_MS) : ms, signal).catch(() => {}); // ended early
  }
}

/** The run as it was up to a place: what lies behind is not read. */
function cutBehind(run: Run, { chunk, offset }: StreamEnd): Run {
  const files = run.files.flatMap((file) => {
    if (file.chunk > chunk) return [];
    return file.chunk === chunk && file.form === 'plain'
      ? [{ ...file, sizeBytes: Math.min(file.sizeBytes, offset) }]
      : [file];
  });
  return { ...run, files };
}

function shown({ chunk, offset, id, code, message }: RejectedLine): RejectedRecord {
  return { chunk, offset, id, code, message };
}

function endOf(kind: 'drained' | 'finished' | 'stopped'): UploadEnd {
  return { kind, message: '', hint: null, code: null };
}

/** @throws what was not foreseen */
function expected(error: unknown): PrlError {
  if (error instanceof PrlError && error.code !== 'PRL_ERR_BUG') return error;
  throw error;
}

/** What concerns files may pass; the rest is how prl was told to upload. */
function failureOf(error: PrlError): UploadEnd | Pause {
  const { code, message, hint = null } = error;
  const mayPass = code !== 'PRL_ERR_USAGE' && code !== 'PRL_ERR_AUTH';
  return mayPass ? pauseOf(error) : { kind: 'failed', message, hint, code: null };
}

function pauseOf({ code, message }: PrlError): Pause {
  return { pauseMs: RUN_PAUSE_MS, reason: message, code };
}
