/** The options of a file monitor, their defaults, and what is refused before anything is opened. */
import { randomBytes } from 'node:crypto';
import { type RunInfo, resolveRunId } from '../core/encode/record-run.js';
import type { Pace } from '../core/encode/types.js';
import type { Environment } from '../core/environment.js';
import { PrlError } from '../core/errors.js';
import { DEFAULT_SLICE_MS, eventLoopPace } from '../io/pace.js';
import { STREAM_DEFAULTS } from '../io/stream-types.js';
import type { MonitorNotice, MonitorRun } from './monitor-types.js';

export type FileMonitorOptions = {
  /**
   * The run that episodes are recorded with. `type` is `train` if it is left out, `id` is `$PRL_RUN_ID`, else `$RUN_ID`,
   * else random. `work` is for episodes of a training run that do not say themselves which work they were; without it
   * they get the kind and the step that they were logged with.
   */
  readonly run?: MonitorRun;
  /** Who writes, in metrics rows and as the name of an annotation stream: letters, digits, `_`, `-` and inner dots. */
  readonly producer?: string;
  /** Uncompressed bytes of a chunk; a longer record has one of its own. */
  readonly chunkBytes?: number;
  /** Seal chunks that are complete. */
  readonly compress?: boolean;
  /** Decimals of per-token streams, 0 to 9; null writes every digit. */
  readonly floatDecimals?: number | null;
  /** `flush`: `flush` and `finalize` wait for the disk. `never` outlives the process, not the machine, as upstream. */
  readonly fsync?: 'never' | 'flush';
  /**
   * Copy each episode when it is logged, so that its producer may change it at once. The copy is made at a stretch:
   * 1 to 2 ms for 1 MB of JSON, and its memory until it is written.
   */
  readonly snapshot?: boolean;
  /** Longest work between two turns of the event loop, ms. */
  readonly sliceMs?: number;
  /** Is told what no promise tells, and each refusal and failure for those who do not await. */
  readonly onNotice?: (notice: MonitorNotice) => void;
  /** Variables that name the run. */
  readonly environment?: Environment;
  /** The wall clock, epoch seconds. */
  readonly nowS?: () => number;
  /** In place of `sliceMs` and the real event loop, for tests. */
  readonly pace?: Pace;
  /** Makes a run id where none is given. */
  readonly randomBytes?: (count: number) => Uint8Array;
  /** The built worker that seals chunks; only tests that run from the sources give it. */
  readonly workerUrl?: URL;
};

/** As prime-rl's `monitors.file` has them, where it has them. */
export const FILE_MONITOR_DEFAULTS = {
  producer: 'orch',
  chunkBytes: STREAM_DEFAULTS.chunkBytes,
  compress: STREAM_DEFAULTS.compress,
  floatDecimals: 4,
  fsync: STREAM_DEFAULTS.fsync,
  snapshot: false,
  sliceMs: DEFAULT_SLICE_MS,
} as const satisfies FileMonitorOptions;

export type MonitorSettings = {
  readonly run: RunInfo;
  readonly producer: string;
  readonly chunkBytes: number;
  readonly compress: boolean;
  readonly floatDecimals: number | null;
  readonly fsync: 'never' | 'flush';
  readonly snapshot: boolean;
  readonly pace: Pace;
  readonly nowS: () => number;
  readonly onNotice: (notice: MonitorNotice) => void;
  readonly workerUrl: URL | undefined;
};

/** @throws PrlError `PRL_ERR_USAGE` for a run or producer that cannot be, RangeError for a `sliceMs` out of range */
export function settingsOf(options: FileMonitorOptions): MonitorSettings {
  const settings = { ...FILE_MONITOR_DEFAULTS, ...options };
  const wrong = wrongProducer(settings.producer);
  if (wrong !== null) throw wrong;
  return {
    ...settings,
    run: runOf(options),
    pace: options.pace ?? eventLoopPace(settings.sliceMs),
    nowS: options.nowS ?? (() => Date.now() / 1000),
    onNotice: options.onNotice ?? (() => {}),
    workerUrl: options.workerUrl,
  };
}

/** Names that cannot leave the directory of annotations, nor be taken for one of its other files. */
const PRODUCER = /^[\w-]+(?:\.[\w-]+)*$/;

/** Why a name is none for a producer; null when it is one. */
export function wrongProducer(producer: string): PrlError | null {
  if (PRODUCER.test(producer) && !/\.(?:jsonl|lock)$/.test(producer)) return null;
  return new PrlError('PRL_ERR_USAGE', `${JSON.stringify(producer)} is no name for a producer`, {
    hint: 'use letters, digits, "_", "-" and dots inside, such as "orch" or "trainer"',
  });
}

function runOf({
  run = {},
  environment = process.env,
  randomBytes: random = randomBytes,
}: FileMonitorOptions): RunInfo {
  const { type = 'train', id, name, work } = run;
  if (type !== 'train' && type !== 'eval') {
    throw new PrlError('PRL_ERR_USAGE', `a run of type ${JSON.stringify(type)}; it is "train" or "eval"`);
  }
  return {
    type,
    id: id || resolveRunId(environment, random),
    ...(name === undefined ? {} : { name }),
    ...(work === undefined ? {} : { work }),
  };
}
