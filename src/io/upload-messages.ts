/** What a producer and the process that uploads for it say to each other. No logic. */
import type { Environment } from '../core/environment.js';
import type { RejectedLine } from '../core/upload/types.js';
import type { FollowPlace } from './follow-types.js';
import type { Compression } from './pack.js';
import type { ServiceAccess } from './sender.js';
import type { ChunkSettlement } from './settlement.js';

/** The end of a line in a stream: everything before it is meant. */
export type StreamEnd = Pick<FollowPlace, 'chunk' | 'offset'>;

export type UploadJob = {
  /** The run directory, which may be there only later. */
  readonly path: string;
  /** Travels through the channel alone; the key is in no argument, file or message that anybody prints. */
  readonly access: ServiceAccess;
  readonly serviceName: string;
  /** What records are filed under that name no run; null where all of them do. */
  readonly fallbackRunId: string | null;
  readonly concurrency: number | 'adaptive';
  readonly targetBytes: number;
  /** Bytes that the process may hold. */
  readonly budgetBytes: number;
  readonly compress: Compression;
  /** How long a record waits for others to share its request, in milliseconds. */
  readonly lingerMs: number;
  /** Records before it that are not settled are counted first, and none is sent meanwhile; null counts none. */
  readonly leftUpTo: StreamEnd | null;
  /** Where the user's directories are. */
  readonly environment: Environment;
};

export type ToUpload =
  | { readonly type: 'start'; readonly job: UploadJob }
  /** Nothing more comes: settle what is there, then end. */
  | { readonly type: 'drain' }
  /** End at once; what is settled is remembered. */
  | { readonly type: 'stop' }
  /** Say when everything before the place is settled. */
  | { readonly type: 'await'; readonly id: number; readonly place: StreamEnd };

/** What was settled before the first request of a process, and what was left to do. Told once by each process. */
export type UploadBeginning = {
  readonly stored: number;
  readonly rejected: number;
  /** Records before `leftUpTo` that were not settled; null where they were not counted. */
  readonly left: number | null;
};

export type UploadProgress = {
  /** Those that changed since the last message, with what every upload of the run settled. */
  readonly chunks: readonly ChunkSettlement[];
  /** As `UploadSettlement` has them. */
  readonly open: number;
  readonly unanswered: number;
  /** Since the last message, as the next two. */
  readonly requests: number;
  readonly wireBytes: number;
  readonly retries: number;
  readonly inFlightRequests: number;
  readonly waiting: { readonly untilAtMs: number; readonly asked: boolean; readonly code: string | null } | null;
  readonly lastRejectedCode: string | null;
};

/** How an upload came to its end. */
export type UploadEnd = {
  /**
   * `drained`: as it was told to, everything is settled. `finished`: so has the writer of the run, by what is seen of
   * it. `stopped`: as it was told to. `refused`: the service takes nothing from this key or at this address.
   * `failed`: the run or the configuration lets nothing be sent.
   */
  readonly kind: 'drained' | 'finished' | 'stopped' | 'refused' | 'failed';
  /** Why, for `refused` and `failed`. */
  readonly message: string;
  readonly hint: string | null;
  /** What the service called it. */
  readonly code: string | null;
};

/** A record that will not be stored, as a message may show it. */
export type RejectedRecord = Pick<RejectedLine, 'chunk' | 'offset' | 'id' | 'code' | 'message'>;

export type FromUpload =
  | { readonly type: 'begun'; readonly beginning: UploadBeginning }
  | { readonly type: 'progress'; readonly progress: UploadProgress }
  | { readonly type: 'passed'; readonly id: number }
  | { readonly type: 'notice'; readonly message: string }
  /** `rejected`: the first of them. */
  | { readonly type: 'ended'; readonly end: UploadEnd; readonly rejected: readonly RejectedRecord[] };
