/** What an upload of one run is told. No logic. */
import type { Environment } from '../core/environment.js';
import type { RowSelector } from '../core/index/episode-row.js';
import type { Clock } from '../core/upload/types.js';
import type { Compression } from './pack.js';
import type { Run } from './run-types.js';
import type { ServiceAccess } from './sender.js';
import type { UploadSettlement } from './settlement.js';

export type RunUploadOptions = {
  readonly run: Run;
  /** Path of the run directory or file; names the state kept for it. Null for standard input, which has none. */
  readonly path: string | null;
  /** The run as a person calls it. */
  readonly name: string;
  readonly access: ServiceAccess;
  /** What the journal calls the service: its base URL, or a lasting name where the URL changes with every start. */
  readonly serviceName: string;
  /** `--run-id`; null: the records' own. */
  readonly runId: string | null;
  /** For records that name no run: `$PRL_RUN_ID`, else `$RUN_ID`; null when neither is set. */
  readonly environmentRunId: string | null;
  /** False sends every record byte for byte (`--no-stamp`). */
  readonly stamps: boolean;
  readonly context: Readonly<Record<string, string>>;
  /** Requests in flight, 1 or more; `adaptive` finds between 1 and 8 what the service takes. */
  readonly concurrency: number | 'adaptive';
  /** Uncompressed bytes of a request, 1 to 256 MiB; less where the budget has no room for it. */
  readonly targetBytes: number;
  /** Bytes held in memory: lines and bodies that are read, wait, or are in flight; default 256 MiB. */
  readonly budgetBytes?: number;
  readonly compress: Compression;
  /** For one batch, the first included, 1 or more; default 5, and no limit once the service has settled a batch. */
  readonly maxAttempts?: number | undefined;
  /** Longest Retry-After that is waited for, in milliseconds; default 15 min. */
  readonly maxWaitMs?: number;
  /** Send only what an earlier upload recorded as rejected. */
  readonly retriesRejected: boolean;
  /** Read the run's episodes back afterwards and compare; with a filter those that it selects. */
  readonly verifies: boolean;
  /** Chooses the episodes that are sent; the others are neither sent nor remembered. Null or left out: all of them. */
  readonly selects?: RowSelector | null;
  /** Go on while the run grows, until its writer is finished or `drain` is called; default false. */
  readonly follows?: boolean;
  /** With `follows`, how long an episode waits for others to share its request, in milliseconds; default 2,000. */
  readonly lingerMs?: number;
  readonly environment: Environment;
  readonly onNotice: (message: string) => void;
  /** Measures back-offs, waits and lingering; default the system's. */
  readonly clock?: Clock;
  /** Told by `run`, before the first request, what earlier uploads have settled. */
  readonly onPrepared?: (known: UploadSettlement['known']) => void;
};
