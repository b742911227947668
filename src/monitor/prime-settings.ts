/** The options of a prime monitor, their defaults, and what is refused before anything is opened. */
import { createHash } from 'node:crypto';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { RunInfo } from '../core/encode/record-run.js';
import type { Pace } from '../core/encode/types.js';
import { type Environment, stateDirectory } from '../core/environment.js';
import { normalizeBaseUrl } from '../core/upload/base-url.js';
import { DEFAULT_BUDGET_BYTES, DEFAULT_TARGET_BATCH_BYTES, MAX_BATCH_BYTES } from '../core/upload/limits.js';
import { RECORD_QUEUE_DEFAULTS } from '../core/upload/record-queue.js';
import { resolveConfig } from '../io/config.js';
import type { Compression } from '../io/pack.js';
import { packageVersion } from '../io/package-version.js';
import { checkAccess, type ServiceAccess } from '../io/sender.js';
import { SPOOL_CHUNK_BYTES } from '../io/spool.js';
import type { FileMonitor } from './file-monitor.js';
import { guarded } from './guarded.js';
import { FILE_MONITOR_DEFAULTS, settingsOf } from './monitor-settings.js';
import type { MonitorRun } from './monitor-types.js';
import type { PrimeNotice } from './prime-types.js';

export type PrimeMonitorOptions = {
  /**
   * The service. Left out it is found as every command does: `PRIME_TRACES_URL`, `PRIME_API_KEY`, `PRIME_TEAM_ID`, a saved
   * context, `~/.prime/config.json`. `insecure` allows the key over plain HTTP to another machine.
   */
  readonly access?: {
    readonly url: string;
    readonly apiKey: string;
    readonly teamId?: string | null;
    readonly insecure?: boolean;
  };
  /** The run that episodes are recorded with, as `FileMonitorOptions.run`. Of a stream that is followed, what records are filed under that name no run. */
  readonly run?: MonitorRun;
  /** The monitor of the same run that writes its stream, or the run directory of anybody who does: it is followed, and nothing is encoded here. */
  readonly file?: FileMonitor | string;
  /** Where records wait on the disk when no stream keeps them: a directory of this run alone. Default `<state>/spool/<run id>`. */
  readonly spoolDirectory?: string;
  /** Most bytes on that disk; default none but the disk's own. */
  readonly spoolBytes?: number;
  /** Bytes of episodes that wait for the disk, as they will be encoded. They are the producer's objects until then. */
  readonly budgetBytes?: number;
  /** Bytes that the process which uploads holds in memory: lines and bodies that are read, wait, or are in flight. */
  readonly uploadBudgetBytes?: number;
  /** Episodes in memory. A call with more of them is dropped whole: it is its producer's to cut. */
  readonly maxQueuedRecords?: number;
  /** Uncompressed bytes of a request. */
  readonly batchBytes?: number;
  /** Requests in flight. */
  readonly concurrency?: number | 'adaptive';
  readonly compress?: Compression;
  /** How long an episode waits for others to share its request, in milliseconds. */
  readonly lingerMs?: number;
  /** Decimals of per-token streams, 0 to 9; null writes every digit. */
  readonly floatDecimals?: number | null;
  /** Longest time that `flush` and `finish` take, in milliseconds. */
  readonly finishTimeoutMs?: number;
  /** Longest work between two turns of the event loop, ms. */
  readonly sliceMs?: number;
  /** Copy each episode when it is logged, so that its producer may change it at once: 1 to 2 ms for 1 MB of JSON. */
  readonly snapshot?: boolean;
  readonly onNotice?: (notice: PrimeNotice) => void;
  /** Variables that name the run, the service and the user's directories. */
  readonly environment?: Environment;
  /** The wall clock, epoch seconds. */
  readonly nowS?: () => number;
  /** Monotonic. */
  readonly nowMs?: () => number;
  /** In place of `sliceMs` and the real event loop, for tests. */
  readonly pace?: Pace;
  /** Uncompressed bytes of a chunk of the spool. */
  readonly chunkBytes?: number;
  /** Makes a run id where none is given. */
  readonly randomBytes?: (count: number) => Uint8Array;
  /** The built process that uploads; only tests that run from the sources give it. */
  readonly childUrl?: URL;
};

export const PRIME_MONITOR_DEFAULTS = {
  spoolBytes: Number.POSITIVE_INFINITY,
  budgetBytes: RECORD_QUEUE_DEFAULTS.budgetBytes,
  uploadBudgetBytes: DEFAULT_BUDGET_BYTES,
  maxQueuedRecords: RECORD_QUEUE_DEFAULTS.maxRecords,
  batchBytes: DEFAULT_TARGET_BATCH_BYTES,
  concurrency: 'adaptive',
  compress: 'gzip',
  lingerMs: 2_000,
  floatDecimals: FILE_MONITOR_DEFAULTS.floatDecimals,
  finishTimeoutMs: 300_000,
  sliceMs: FILE_MONITOR_DEFAULTS.sliceMs,
  snapshot: FILE_MONITOR_DEFAULTS.snapshot,
  chunkBytes: SPOOL_CHUNK_BYTES,
} as const satisfies PrimeMonitorOptions;

export type PrimeSettings = Required<
  Omit<PrimeMonitorOptions, 'access' | 'run' | 'file' | 'randomBytes' | 'childUrl' | 'sliceMs'>
> & {
  readonly access: ServiceAccess;
  /** What a journal calls the service. */
  readonly serviceName: string;
  readonly run: RunInfo;
  /** The run that was named, by option or environment; null for a random one. */
  readonly namedRunId: string | null;
  readonly file: FileMonitor | string | null;
  readonly childUrl: URL | undefined;
};

/**
 * @throws PrlError `PRL_ERR_USAGE` for a service that cannot be reached safely or without a key, and for a run that cannot
 *   be; RangeError for numbers out of range
 */
export async function primeSettingsOf(options: PrimeMonitorOptions): Promise<PrimeSettings> {
  const settings = { ...PRIME_MONITOR_DEFAULTS, ...options };
  refuseOutOfRange(settings);
  const environment = options.environment ?? process.env;
  const onNotice = guarded(options.onNotice ?? (() => {}));
  const access = await accessOf(options, environment, onNotice);
  const { run, pace, nowS } = settingsOf({
    ...(options.run === undefined ? {} : { run: options.run }),
    ...(options.pace === undefined ? {} : { pace: options.pace }),
    ...(options.nowS === undefined ? {} : { nowS: options.nowS }),
    ...(options.randomBytes === undefined ? {} : { randomBytes: options.randomBytes }),
    sliceMs: settings.sliceMs,
    environment,
  });
  return {
    ...settings,
    ...{ access, run, pace, nowS, environment, onNotice },
    serviceName: normalizeBaseUrl(access.baseUrl),
    namedRunId: options.run?.id || environment.PRL_RUN_ID || environment.RUN_ID || null,
    file: typeof options.file === 'string' ? resolve(options.file) : (options.file ?? null),
    spoolDirectory: resolve(options.spoolDirectory ?? usualSpool(run.id, environment)),
    nowMs: options.nowMs ?? (() => performance.now()),
    childUrl: options.childUrl,
  };
}

/** A name that is a file name as it stands is one; any other gets one that says what it can and is still its own. */
function usualSpool(runId: string, environment: Environment): string {
  const isName = /^[\w-][\w.-]{0,99}$/.test(runId);
  const digest = createHash('sha256').update(runId).digest('hex').slice(0, 16);
  const name = isName ? runId : `${runId.replace(/[^\w-]+/g, '-').slice(0, 80)}.${digest}`;
  return join(stateDirectory(environment, homedir()), 'spool', name);
}

async function accessOf(
  { access: given }: PrimeMonitorOptions,
  environment: Environment,
  onNotice: (notice: PrimeNotice) => void,
): Promise<ServiceAccess> {
  const version = packageVersion();
  let access: ServiceAccess;
  if (given !== undefined) {
    const { url: baseUrl, apiKey, teamId = null, insecure = false } = given;
    access = { baseUrl, apiKey, teamId, insecure, version };
  } else {
    const { url, apiKey, teamId, notices } = await resolveConfig({ environment });
    for (const message of notices) onNotice({ kind: 'upload', message });
    access = { baseUrl: url.value, apiKey: apiKey.value, teamId: teamId.value, version };
  }
  checkAccess(access);
  return access;
}

function refuseOutOfRange(settings: Required<Pick<PrimeMonitorOptions, keyof typeof PRIME_MONITOR_DEFAULTS>>): void {
  const { budgetBytes, uploadBudgetBytes, maxQueuedRecords, batchBytes, spoolBytes } = settings;
  const { lingerMs, finishTimeoutMs, concurrency } = settings;
  refuseOutside('budgetBytes', budgetBytes, 1, Number.MAX_SAFE_INTEGER);
  refuseOutside('uploadBudgetBytes', uploadBudgetBytes, 1, Number.MAX_SAFE_INTEGER);
  refuseOutside('maxQueuedRecords', maxQueuedRecords, 1, Number.MAX_SAFE_INTEGER);
  refuseOutside('batchBytes', batchBytes, 1, MAX_BATCH_BYTES);
  if (spoolBytes !== Number.POSITIVE_INFINITY) refuseOutside('spoolBytes', spoolBytes, 1, Number.MAX_SAFE_INTEGER);
  refuseOutside('lingerMs', lingerMs, 0, Number.MAX_SAFE_INTEGER);
  refuseOutside('finishTimeoutMs', finishTimeoutMs, 0, Number.MAX_SAFE_INTEGER);
  if (concurrency !== 'adaptive') refuseOutside('concurrency', concurrency, 1, 64);
}

function refuseOutside(name: string, value: number, least: number, most: number): void {
  if (Number.isSafeInteger(value) && value >= least && value <= most) return;
  throw new RangeError(`${name} ${value}; it must be a whole number from ${least} to ${most}`);
}
