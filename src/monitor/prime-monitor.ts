/**
 * What a TypeScript producer embeds to send its episodes to a Prime Traces service while it trains. Calls only queue; the
 * disk is the backlog, and a process of low priority uploads from it, so that hashing, compression and requests cost the
 * event loop of whoever logs nothing. Nothing is dropped as long as there is room on the disk or in the budget.
 */
import type { Environment } from '../core/environment.js';
import { DropWarnings } from '../core/upload/drop-warnings.js';
import { RECORD_QUEUE_DEFAULTS } from '../core/upload/record-queue.js';
import { Strikes } from '../core/upload/strikes.js';
import { within } from '../io/patience.js';
import type { RejectedRecord, StreamEnd, UploadEnd, UploadProgress } from '../io/upload-messages.js';
import { UploadProcess } from '../io/upload-process.js';
import { FollowedSource } from './followed-source.js';
import { wrongOptions } from './log-options.js';
import type { LogOptions } from './monitor-types.js';
import { PrimeLedger } from './prime-ledger.js';
import { countsOf, episodesAre, leftOvers, reportOf, WERE } from './prime-report.js';
import { type PrimeMonitorOptions, type PrimeSettings, primeSettingsOf } from './prime-settings.js';
import type { PrimeSource } from './prime-source.js';
import type { FinishReport, PrimeCounts, PrimeSnapshot, PrimeState } from './prime-types.js';
import { rehearse } from './rehearsal.js';
import { SpoolSource } from './spool-source.js';

/** How long memory may take to the disk when time is over: while its uploads end, and after that at least. */
const SAVE_MS = 3_000;
const LAST_SAVE_MS = 1_000;

export class PrimeMonitor {
  readonly #settings: PrimeSettings;
  readonly #source: PrimeSource;
  readonly #ledger = new PrimeLedger();
  /** Whether the service is given up; passing failures are no strikes here, since the records lie on the disk (U12). */
  readonly #strikes: Strikes;
  readonly #rejections: DropWarnings;
  /** Null until there is a stream to upload. */
  #process: UploadProcess | null = null;
  #isAllRead = false;
  /** Resolves with the end that `finish` waits for. */
  readonly #drained = Promise.withResolvers<void>();
  #stopped: FinishReport['stopped'] = null;
  #rejected: readonly RejectedRecord[] = [];
  #logged = 0;
  #isDraining = false;
  /** Whether nothing is uploaded any more. */
  #isOver = false;
  #finishing: Promise<FinishReport> | null = null;

  private constructor(settings: PrimeSettings) {
    this.#settings = settings;
    const { onNotice } = settings;
    this.#strikes = new Strikes({ onNotice: (message) => onNotice({ kind: 'retired', message }) });
    this.#rejections = new DropWarnings(({ records, total }) => {
      const { lastRejectedCode: code } = this.#ledger;
      const reason = code === null ? '' : `; the service called the last one ${code}`;
      onNotice({ kind: 'rejected', message: `${episodesAre(records, WERE)} rejected, ${total} in all${reason}` });
    });
    this.#source = this.#openSource(settings);
  }

  /**
   * Begins to upload what there is: of a stream that is followed all of it, of a spool what an earlier process left.
   *
   * @throws PrlError `PRL_ERR_USAGE` without a usable service, key or run, `PRL_ERR_LOCKED` when another process writes
   *   the spool of this run; RangeError for numbers out of range
   */
  static async open(options: PrimeMonitorOptions = {}): Promise<PrimeMonitor> {
    const settings = await primeSettingsOf(options);
    await PrimeMonitor.#rehearse(settings);
    const monitor = new PrimeMonitor(settings);
    await monitor.#source.open((leftUpTo) => monitor.#startProcess(leftUpTo));
    return monitor;
  }

  /** On a monitor whose service is switched off, so that nothing goes to the disk. */
  static async #rehearse(settings: PrimeSettings): Promise<void> {
    await rehearse(() => {
      const monitor = new PrimeMonitor({ ...settings, ...RECORD_QUEUE_DEFAULTS, onNotice: () => {} });
      monitor.#strikes.failed('not_enabled', '', settings.nowMs());
      return monitor;
    });
  }

  /** The run that episodes are recorded with; null where a stream is followed that says it itself. */
  get runId(): string | null {
    return this.#source.runId;
  }

  /** Records that found room neither on the disk nor in memory. */
  get droppedRecords(): number {
    return this.#source.counts().dropped;
  }

  /** Records logged after the service was given up. */
  get failedRecords(): number {
    return this.#source.counts().failed;
  }

  /**
   * Logs episodes behind all that was logged before. Returns at once, without I/O and without encoding anything: with
   * false when they were dropped, all of them, or came after `finish` (spec 07 section 5). Where a stream is followed
   * it only counts, and whoever writes the stream writes them.
   *
   * Nobody may change an episode until it is on the disk, which takes moments as a rule and is certain after `flush`,
   * unless the monitor takes snapshots: a mixture of old and new values would be stored. One that has no JSON form is
   * left out alone, and told by a notice.
   *
   * @throws PrlError `PRL_ERR_USAGE` for a step or kind that cannot be
   */
  log(episodes: readonly object[] | object, options: LogOptions): boolean {
    const wrong = wrongOptions(options);
    if (wrong !== null) throw wrong;
    const given: readonly unknown[] = Array.isArray(episodes) ? episodes : [episodes];
    this.#logged += given.length;
    return this.#source.log(given, options);
  }

  /**
   * Resolves with true once everything logged before is settled: stored, or rejected; with false when time is over, or it
   * will not be, and after the end. Everything an earlier process left is settled then too.
   */
  async flush(timeoutMs: number = this.#settings.finishTimeoutMs): Promise<boolean> {
    return (await within(timeoutMs, this.#settle())) === true;
  }

  /**
   * The end: takes nothing more, and waits until everything is settled, within one time for all of it; to let go of what
   * is left takes 5 s at most, in which what is only in memory goes to the disk. There it stays for the next process, and is
   * reported with its place. Once; later calls get the same answer.
   */
  finish(timeoutMs: number = this.#settings.finishTimeoutMs): Promise<FinishReport> {
    this.#finishing ??= this.#finish(timeoutMs);
    return this.#finishing;
  }

  snapshot(): PrimeSnapshot {
    const { waiting, waitingBytes, spoolBytes } = this.#source.counts();
    return {
      ...this.#counts(),
      ...this.#ledger.activity,
      runId: this.runId,
      state: this.#state,
      logged: this.#logged,
      queuedRecords: waiting,
      queuedBytes: waitingBytes,
      spoolBytes,
      restarts: this.#process?.restarts ?? 0,
    };
  }

  #openSource(settings: PrimeSettings): PrimeSource {
    const { file, namedRunId, nowMs } = settings;
    if (file === null) return new SpoolSource(settings, () => this.#strikes.passesBy(nowMs()));
    if (typeof file !== 'string') return FollowedSource.ofMonitor(file);
    const ledger = this.#ledger;
    return FollowedSource.ofDirectory(file, namedRunId, () => ledger.stored + ledger.rejected + ledger.open);
  }

  get #state(): PrimeState {
    if (this.#finishing !== null) return 'closed';
    const passed = this.#strikes.passesBy(this.#settings.nowMs());
    if (passed === null) return 'open';
    return passed === 'skipped' ? 'off' : 'retired';
  }

  #startProcess(leftUpTo: StreamEnd | null): void {
    const { access, serviceName, concurrency, batchBytes, uploadBudgetBytes, compress, lingerMs } = this.#settings;
    const { environment, namedRunId, file, childUrl, nowMs, onNotice } = this.#settings;
    this.#process = new UploadProcess({
      job: {
        path: this.#source.directory,
        ...{ access, serviceName, concurrency, compress, lingerMs, leftUpTo },
        budgetBytes: uploadBudgetBytes,
        fallbackRunId: typeof file === 'string' ? namedRunId : null,
        targetBytes: batchBytes,
        environment: placesOf(environment),
      },
      listener: {
        begun: (beginning) => this.#ledger.begun(beginning, this.#source.adopted(beginning)),
        progress: (progress) => this.#note(progress),
        notice: (message) => onNotice({ kind: 'upload', message }),
        ended: (end, rejected) => this.#end(end, rejected),
      },
      childUrl,
      nowMs,
    });
    this.#process.start();
    if (this.#isDraining) this.#process.drain();
  }

  #note(progress: UploadProgress): void {
    const before = this.#ledger.rejected;
    this.#ledger.progress(progress);
    const rejected = this.#ledger.rejected - before;
    if (rejected > 0) this.#rejections.drop(rejected, this.#settings.nowMs());
    if (progress.chunks.length > 0) this.#source.settled(this.#ledger.chunks);
  }

  #end({ kind, message, hint, code }: UploadEnd, rejected: readonly RejectedRecord[]): void {
    this.#rejected = rejected;
    if (kind === 'refused' || kind === 'failed') {
      this.#stopped = { message, hint, code };
      const failure = code === 'service_not_enabled' ? 'not_enabled' : 'permanent';
      const reason = hint === null ? message : `${message}; ${hint}`;
      this.#strikes.failed(failure, reason, this.#settings.nowMs());
    }
    this.#isAllRead = kind === 'drained' || kind === 'finished';
    if (this.#isDraining) this.#drained.resolve();
  }

  async #settle(): Promise<boolean> {
    const end = await this.#source.saved();
    if (end === null || this.#isOver) return false;
    if (this.#process === null) return true;
    return this.#process.whenSettled(end);
  }

  async #finish(timeoutMs: number): Promise<FinishReport> {
    const { nowMs, onNotice } = this.#settings;
    const endMs = nowMs() + timeoutMs;
    this.#source.close();
    const end = await within(endMs - nowMs(), this.#source.saved());
    this.#isDraining = true;
    this.#isAllRead = false;
    if (this.#process !== null && this.#stopped === null) {
      this.#process.drain(end === 'late' ? null : end);
      await within(endMs - nowMs(), this.#drained.promise);
    }
    this.#isOver = true;
    const savedByMs = nowMs() + SAVE_MS;
    // No turn between it and the end of the source, in which a process could begin that nobody stops.
    if (this.#process !== null) await this.#process.stop();
    await this.#source.end(this.#ledger.chunks, Math.max(LAST_SAVE_MS, savedByMs - nowMs()));
    this.#rejections.close();
    const report = this.#report();
    for (const message of leftOvers(report)) onNotice({ kind: 'left', message });
    return report;
  }

  #counts(): PrimeCounts {
    return countsOf(this.#source.counts(), this.#ledger);
  }

  #report(): FinishReport {
    const { waiting, admitted, afterClose } = this.#source.counts();
    const { file } = this.#settings;
    // Of a stream that was not read to its end nobody knows what is missing.
    const isRead = file !== null && this.#isAllRead;
    // Of a stream that is followed, what was logged may still be on its way there; of a run directory what is not read is
    // in no counter; elsewhere only what was there before.
    const isAhead = file !== null && this.#logged - afterClose > admitted;
    const isKnown = !this.#source.hasEarlier() || (typeof file !== 'string' && this.#ledger.hasBegun);
    const isCounted = this.#isAllRead || (isKnown && !isAhead);
    return reportOf({
      counts: this.#counts(),
      waiting,
      missing: isRead ? Math.max(0, this.#logged - afterClose - admitted) : 0,
      isCounted,
      directory: this.#source.directory,
      rejected: this.#rejected,
      stopped: this.#stopped,
    });
  }
}

/** What the other process needs to find the user's directories, and nothing else of an environment. */
function placesOf({ HOME, XDG_STATE_HOME, PRL_STATE_DIR }: Environment): Environment {
  return { HOME, XDG_STATE_HOME, PRL_STATE_DIR };
}
