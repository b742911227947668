/**
 * What a TypeScript producer embeds to log its episodes as prime-rl's file monitor does (layout R5, spec 01 section 3),
 * so that the dashboard, the Python library and prl read them as their own. Calls only queue; one pump works on them in
 * slices of the event loop, which belongs to whoever logs.
 */
import { join, resolve } from 'node:path';
import { RecordEncoder } from '../core/encode/record-encoder.js';
import { EPISODE_RULES } from '../core/encode/record-rules.js';
import { Slices } from '../core/encode/slices.js';
import { messageOf, PrlError } from '../core/errors.js';
import { RecordIndexer } from '../core/index/index-record.js';
import { wasmModule } from '../io/wasm-modules.js';
import { UPDATE_RULES, updateRows, updateSteps } from './annotation-update.js';
import { copyEpisode } from './episode-copy.js';
import { episodeSteps } from './episode-steps.js';
import { guarded } from './guarded.js';
import { LogCall, type LogCallOptions, type RecordCounts } from './log-call.js';
import { wrongOptions } from './log-options.js';
import { MetricsFile } from './metrics-file.js';
import { type Metrics, metricsRow } from './metrics-row.js';
import { type FileMonitorOptions, type MonitorSettings, settingsOf, wrongProducer } from './monitor-settings.js';
import type { AnnotationUpdate, LogOptions, LogReceipt, MonitorSnapshot } from './monitor-types.js';
import { RecordLane } from './record-lane.js';
import { type RecordJob, RecordPump } from './record-pump.js';

/** Buffers of the encoder that makes rows of annotations; they are small and copied at once. */
const ROW_SLOTS = 2;

/** Where the files lie in a run (spec 01 section 3). */
const TRACES = 'monitors/file/traces';
const METRICS = 'monitors/file/metrics.jsonl';

/** Names that a notice spells out. */
const MAX_NAMED = 5;

type Opened = {
  readonly encoder: RecordEncoder;
  readonly episodes: RecordLane;
  readonly metrics: MetricsFile;
};

/** What sets the records of one kind apart. */
type RecordWork = Omit<RecordJob, 'call'> & Pick<LogCallOptions, 'counts' | 'idKey'>;

export class FileMonitor {
  /** Absolute. */
  readonly runDirectory: string;
  readonly #settings: MonitorSettings;
  readonly #episodes: RecordLane;
  readonly #metrics: MetricsFile;
  readonly #annotations = new Map<string, Promise<RecordLane>>();
  readonly #pump: RecordPump;
  readonly #episodeCounts = noRecords();
  readonly #updateCounts = noRecords();
  /** Receipts that are not settled. */
  readonly #unsettled = new Set<Promise<unknown>>();
  /** Makes rows of annotations. */
  #rowEncoder: RecordEncoder | null = null;
  #ending: Promise<void> | null = null;

  private constructor(runDirectory: string, settings: MonitorSettings, { encoder, episodes, metrics }: Opened) {
    this.runDirectory = resolve(runDirectory);
    this.#settings = settings;
    this.#episodes = episodes;
    this.#metrics = metrics;
    this.#pump = new RecordPump(encoder, new Slices(settings.pace));
  }

  /**
   * Opens the files of a run for writing, `<run>/monitors/file/...`, made if they are not there. What an earlier process
   * left is gone on with: a torn end is shut off, chunks left plain are sealed, rows that are missing are written.
   *
   * @throws PrlError `PRL_ERR_LOCKED` when another prl writes the run, `PRL_ERR_LIMIT` without room, `PRL_ERR_USAGE` for
   *   options that cannot be and where nothing may be written, RangeError for numbers out of range
   */
  static async open(runDirectory: string, options: FileMonitorOptions = {}): Promise<FileMonitor> {
    const given = settingsOf(options);
    const settings = { ...given, onNotice: guarded(given.onNotice) };
    const encoder = new RecordEncoder(wasmModule('encoder'), { floatDecimals: settings.floatDecimals });
    // The encoder writes floats as the models declare them, so rows must read them so.
    const indexer = new RecordIndexer({ rules: 'record' });
    const episodes = await RecordLane.open(join(runDirectory, TRACES, 'stream'), settings, {
      holds: 'episodes',
      model: EPISODE_RULES,
      rowSteps: (episode, place) => indexer.steps(episode, place),
    });
    try {
      const metrics = await MetricsFile.open(join(runDirectory, METRICS));
      return new FileMonitor(runDirectory, settings, { encoder, episodes, metrics });
    } catch (error) {
      await episodes.leave().catch(() => {}); // the first failure is the one to tell
      throw error;
    }
  }

  /** The run that episodes are recorded with. */
  get runId(): string {
    return this.#settings.run.id;
  }

  /**
   * Logs episodes, in this order and behind all that was logged before. Returns at once; what is recorded is when the
   * call was made, and whose run it is (spec 02 section 2, stamps; R-REC-3), on a copy: an episode is never changed.
   *
   * Resolves when the episodes are in the stream and their rows in the index. Until then nobody may change them, unless
   * the monitor takes snapshots: it would write a mixture of old and new values, always legal JSON, or refuse the
   * episode when a list was made longer or shorter. What is not settled when the process exits is not written. Nobody
   * needs to await it: failures are counted and told by notices too.
   *
   * @throws LogError `PRL_ERR_REJECTED` when episodes have no JSON form (half of a surrogate pair, an integer beyond 64
   *   bits, a function, a value inside itself): nothing of those is written, all others are; with another code when
   *   writing failed. It says which are written.
   */
  log(episodes: readonly object[] | object, options: LogOptions): Promise<LogReceipt> {
    const wrong = this.#refusal() ?? wrongOptions(options);
    if (wrong !== null) return this.#refuse(wrong);
    const { snapshot, run, nowS } = this.#settings;
    const given: readonly unknown[] = Array.isArray(episodes) ? episodes : [episodes];
    const arrival = { kind: options.kind, step: options.step, timeS: nowS() };
    return this.#add(given.map(snapshot ? copyEpisode : same), {
      counts: this.#episodeCounts,
      idKey: 'id',
      lane: () => Promise.resolve(this.#episodes),
      prepare: (episode) => episodeSteps(episode, run, arrival),
    });
  }

  /**
   * Logs what became known of traces after their episodes were logged, into the stream of a producer. Ordered, settled
   * and refused as by `log`; its streams are rounded like those of episodes, `mismatch_kl` to 6 decimals.
   *
   * @param producer whose stream it is; default the monitor's. Each has one writer: another process must not log for it.
   * @throws LogError as `log`, with `PRL_ERR_LOCKED` when another prl writes the stream of this producer
   */
  logAnnotations(
    updates: readonly AnnotationUpdate[],
    { producer = this.#settings.producer }: { readonly producer?: string } = {},
  ): Promise<LogReceipt> {
    const wrong = this.#refusal() ?? wrongProducer(producer);
    if (wrong !== null) return this.#refuse(wrong);
    if (updates.length === 0) return Promise.resolve({ records: [] });
    const { snapshot, floatDecimals } = this.#settings;
    return this.#add(updates.map(snapshot ? copyEpisode : same), {
      counts: this.#updateCounts,
      idKey: 'trace_id',
      lane: () => this.#annotationLane(producer),
      prepare: (update) => updateSteps(update, floatDecimals !== null),
    });
  }

  /**
   * Appends a row of metrics. Taken as they are at the call; values that are no finite numbers are left out and named in
   * a notice. `step` null is for what is sampled by time.
   *
   * @throws PrlError `PRL_ERR_REJECTED` for a value that JSON has no form for, `PRL_ERR_LIMIT` without room, else
   *   `PRL_ERR_USAGE` or `PRL_ERR_TEMPORARY`
   */
  logMetrics(metrics: Metrics, { step }: { readonly step: number | null }): Promise<void> {
    const wrong = this.#refusal();
    if (wrong !== null) return this.#refuse(wrong);
    const appended = this.#appendMetrics(metrics, step);
    appended.catch((error: unknown) => this.#settings.onNotice({ kind: 'metrics', message: messageOf(error) }));
    return appended;
  }

  /**
   * Resolves when everything logged so far is in its files or has failed, with `fsync: 'flush'` on the disk.
   * @throws PrlError when the disk could not be waited for, or index rows are not in their file
   */
  async flush(): Promise<void> {
    await this.#settle();
    for (const lane of await this.#lanes()) await lane.flush();
    if (this.#settings.fsync === 'flush') await this.#metrics.sync();
  }

  /**
   * The clean end: flushes, seals the last chunks, waits for all seals and gives the locks back. Once; later calls get
   * the same answer, and nothing can be logged any more.
   * @throws PrlError when something of that failed; all the rest was done
   */
  finalize(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  snapshot(): MonitorSnapshot {
    const episodes = this.#episodeCounts;
    const updates = this.#updateCounts;
    const metrics = this.#metrics.counts;
    return {
      runId: this.runId,
      queuedCalls: episodes.calls + updates.calls,
      queuedEpisodes: episodes.queued,
      queuedUpdates: updates.queued,
      earlierEpisodes: this.#episodes.earlierLines,
      writtenEpisodes: episodes.written,
      writtenUpdates: updates.written,
      writtenBytes: episodes.writtenBytes + updates.writtenBytes,
      refused: episodes.refused + updates.refused,
      failed: episodes.failed + updates.failed,
      metricsRows: metrics.rows,
      metricsFailed: metrics.failed,
      stream: this.#episodes.snapshot(),
    };
  }

  #add(records: readonly unknown[], { counts, idKey, ...job }: RecordWork): Promise<LogReceipt> {
    const call = new LogCall(records, { counts, idKey, onError: (error) => this.#tell(error) });
    const { receipt } = call;
    this.#unsettled.add(receipt);
    const settle = (): void => {
      this.#unsettled.delete(receipt);
    };
    receipt.then(settle, settle);
    this.#pump.add({ call, ...job });
    return receipt;
  }

  /** A promise that rejects; as for any call, nobody needs to await it. */
  #refuse(error: PrlError): Promise<never> {
    this.#tell(error);
    const refused = Promise.reject(error);
    refused.catch(() => {}); // told by the notice
    return refused;
  }

  #tell({ code, message }: PrlError): void {
    this.#settings.onNotice({ kind: code === 'PRL_ERR_REJECTED' ? 'refused' : 'failed', message });
  }

  /** What is in the row is settled before this first waits. */
  async #appendMetrics(metrics: Metrics, step: number | null): Promise<void> {
    const { nowS, producer, onNotice } = this.#settings;
    const { text, dropped } = metricsRow(metrics, { step, timeS: nowS(), producer });
    if (dropped.length > 0) {
      const more = dropped.length > MAX_NAMED ? ` and ${dropped.length - MAX_NAMED} more` : '';
      const names = `${dropped.slice(0, MAX_NAMED).join(', ')}${more}`;
      onNotice({ kind: 'metrics', message: `left out of the metrics as no finite numbers: ${names}` });
    }
    await this.#metrics.append(text);
  }

  /** A producer's stream, opened when it is first written; again when that failed. */
  #annotationLane(producer: string): Promise<RecordLane> {
    let lane = this.#annotations.get(producer);
    if (lane === undefined) {
      this.#rowEncoder ??= new RecordEncoder(wasmModule('encoder'), { slots: ROW_SLOTS });
      lane = RecordLane.open(join(this.runDirectory, TRACES, 'annotations', producer), this.#settings, {
        holds: 'annotations',
        model: UPDATE_RULES,
        rowSteps: updateRows(this.#rowEncoder),
      });
      this.#annotations.set(producer, lane);
      lane.catch(() => this.#annotations.delete(producer)); // the call that needs it is told
    }
    return lane;
  }

  /** The streams that could be opened. */
  async #lanes(): Promise<readonly RecordLane[]> {
    const opened = await Promise.allSettled(this.#annotations.values());
    const annotations = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    return [this.#episodes, ...annotations];
  }

  async #settle(): Promise<void> {
    await Promise.allSettled(this.#unsettled);
    await this.#metrics.settled();
  }

  async #end(): Promise<void> {
    await this.#settle();
    const ends = [...(await this.#lanes()).map((lane) => lane.close()), this.#endMetrics()];
    const failed = (await Promise.allSettled(ends)).filter((end) => end.status === 'rejected');
    for (const { reason } of failed.slice(1)) this.#tell(reason);
    if (failed[0] !== undefined) throw failed[0].reason;
  }

  async #endMetrics(): Promise<void> {
    try {
      if (this.#settings.fsync === 'flush') await this.#metrics.sync();
    } finally {
      await this.#metrics.close();
    }
  }

  #refusal(): PrlError | null {
    if (this.#ending === null) return null;
    return new PrlError('PRL_ERR_USAGE', `the monitor of run ${this.runId} is finalized; nothing can be logged to it`);
  }
}

function same<T>(value: T): T {
  return value;
}

function noRecords(): RecordCounts {
  return { calls: 0, queued: 0, written: 0, writtenBytes: 0, refused: 0, failed: 0 };
}
