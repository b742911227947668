/** What a prime monitor tells its producer. No logic. */
import type { RejectedRecord, UploadProgress } from '../io/upload-messages.js';

/**
 * Records, never batches, since the monitor was opened. At every moment
 * `submitted = admitted + dropped + afterClose` and
 * `admitted + adopted = stored + failed + rejected + skipped + unsent + unknown` (spec 07 section 5.4).
 */
export type PrimeCounts = {
  /** Handed to `log`. Of a stream that is followed: what came into it, and what `log` was handed after `finish`. */
  readonly submitted: number;
  readonly admitted: number;
  /** Neither the disk nor the budget had room for them. */
  readonly dropped: number;
  readonly afterClose: number;
  /** Left by an earlier process, in the spool or the stream; 0 until they are counted. */
  readonly adopted: number;
  /** Confirmed by the service. */
  readonly stored: number;
  /** Logged after the service was given up. They are nowhere. */
  readonly failed: number;
  /** Without a JSON form, too large, or refused by the service. */
  readonly rejected: number;
  /** Logged when the account was found not to have the service. They are nowhere. */
  readonly skipped: number;
  /** Not settled: in memory or on the disk. */
  readonly unsent: number;
  /** Handed to the service without an answer: they may be stored. They are on the disk. */
  readonly unknown: number;
};

/**
 * `open`: takes records, and sends them or keeps trying. `retired`: the service refuses this key or address for good;
 * `off`: the account does not have the service; both take no more records. `closed`: `finish` was called.
 */
export type PrimeState = 'open' | 'retired' | 'off' | 'closed';

/** One moment of a prime monitor. */
export type PrimeSnapshot = PrimeCounts &
  Pick<UploadProgress, 'requests' | 'wireBytes' | 'retries' | 'inFlightRequests' | 'waiting'> & {
    /** The run that records are filed under; null where they say it themselves. */
    readonly runId: string | null;
    readonly state: PrimeState;
    /** Records handed to `log`, whatever became of them. */
    readonly logged: number;
    /** In memory, and their bytes as far as they are known, else as estimated. */
    readonly queuedRecords: number;
    readonly queuedBytes: number;
    /** On the disk for want of a stream that keeps them; 0 where one is followed. */
    readonly spoolBytes: number;
    /** Times the process that uploads was started again. */
    readonly restarts: number;
  };

/** Something worth telling that no call returns. */
export type PrimeNotice = {
  /**
   * `dropped`: records found no room, told at most every 10 s. `refused`: a record has no JSON form. `spool`: the disk
   * takes no records, or does again. `upload`: what the upload notes on its way. `rejected`: the service refused
   * records, told at most every 10 s. `retired`: it gets no more. `left`: what `finish` did not get settled.
   */
  readonly kind: 'dropped' | 'refused' | 'spool' | 'upload' | 'rejected' | 'retired' | 'left';
  readonly message: string;
};

/** What became of everything that was logged. */
export type FinishReport = {
  readonly counts: PrimeCounts;
  /** Every record is stored, or was rejected; of a run directory that is followed, it was also read to its end. */
  readonly isComplete: boolean;
  /**
   * Records that stay on the disk: the next monitor of the run sends them, or `prl upload <directory>`. Null without.
   * Not all of them are counted where time was over before it was known what an earlier process, or whoever writes the
   * stream, had put there.
   */
  readonly left: { readonly directory: string; readonly records: number; readonly isCounted: boolean } | null;
  /** Records of `unsent` that are nowhere: the disk took none of them, or their process ended first. */
  readonly lost: number;
  /** Records that `log` was told of and that never came into the stream that is followed: its monitor did not get them. */
  readonly missing: number;
  /** The first of them that the service, or a check before it, refused. */
  readonly rejected: readonly RejectedRecord[];
  /** Why the service was given up; null when it was not. */
  readonly stopped: { readonly message: string; readonly hint: string | null; readonly code: string | null } | null;
};
