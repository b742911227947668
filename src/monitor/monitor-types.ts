/** What a producer hands to a file monitor and what it gets back. No logic. */
import type { RunInfo } from '../core/encode/record-run.js';
import type { StreamNotice, StreamSnapshot } from '../io/stream-types.js';

/** Which work an episode belongs to. */
export type EpisodeKind = 'train' | 'eval';

/** The run that the monitor writes; what is left out is filled in (`FileMonitorOptions`). */
export type MonitorRun = Partial<RunInfo>;

/** Where the episodes of one call arrived. */
export type LogOptions = {
  /** The training step that was being collected; of an evaluation the step that was evaluated. */
  readonly step: number;
  readonly kind: EpisodeKind;
};

/** Where one record lies, an episode or an update. */
export type LoggedRecord = {
  /** Position in the call. */
  readonly index: number;
  /** The id of the episode, or of the trace of an update; null when it has none. */
  readonly id: string | null;
  /** Line in the whole stream, from 1; it is the number of its index row. */
  readonly line: number;
  readonly chunk: number;
  /** Of its first byte in the uncompressed chunk. */
  readonly offset: number;
  /** LF included. */
  readonly bytes: number;
};

/** What a call has written, in its order: each record is in its file, and so is its index row. */
export type LogReceipt = { readonly records: readonly LoggedRecord[] };

/** An episode or update that has no JSON form. Nothing of it is in the stream. */
export type RefusedRecord = {
  readonly index: number;
  readonly id: string | null;
  /** What cannot be written: `traces[0].info.n`; empty for the record itself. */
  readonly path: string;
  readonly message: string;
};

/** Values over the tokens of a branch, null where the producer has none. */
export type BranchStream = readonly (number | boolean | null)[] | Float32Array | Float64Array;

/** What became known of a trace after its episode was logged (spec 05 section 4). */
export type AnnotationUpdate = {
  readonly trace_id: string;
  /** Merged into the trace's `info`. */
  readonly info?: object;
  /** `index` counts the branches by their leaves; every other member is a stream. */
  readonly branches?: readonly { readonly index: number; readonly [stream: string]: BranchStream | number }[];
};

/** Something worth telling that no promise tells, or not only. */
export type MonitorNotice = {
  /** `refused` and `failed` tell of a call that rejected, `metrics` of a row or a value that is not in the file. */
  readonly kind: StreamNotice['kind'] | 'metrics' | 'refused' | 'failed';
  readonly message: string;
};

/** One moment of a monitor. All counts start at 0 when it is opened; only the queued ones fall. */
export type MonitorSnapshot = {
  readonly runId: string;
  /** Calls that are not settled, and what they hold. */
  readonly queuedCalls: number;
  readonly queuedEpisodes: number;
  readonly queuedUpdates: number;
  /** In the stream before it was opened; the one count that does not start at 0. */
  readonly earlierEpisodes: number;
  readonly writtenEpisodes: number;
  readonly writtenUpdates: number;
  /** Of episodes and updates, LF included. */
  readonly writtenBytes: number;
  /** Episodes and updates without a JSON form. */
  readonly refused: number;
  /** Episodes and updates that could not be written. */
  readonly failed: number;
  readonly metricsRows: number;
  readonly metricsFailed: number;
  readonly stream: StreamSnapshot;
};
