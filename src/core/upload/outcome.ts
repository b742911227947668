/** What one run's upload came to, as plain data: for the report, the JSON document and the library. No logic. */
import type { Damage } from '../scan/types.js';
import type { EpisodeTotals } from '../snapshot.js';
import type { RejectedLine } from './types.js';
import type { UploadStop, UploadTotals } from './uploader.js';
import type { VerifyResult } from './verify.js';

export type UploadOutcome = {
  /** The run the episodes belong to; null when the records name none and none was written into them. */
  readonly runId: string | null;
  /** Every record of the run, with a filter every selected one: stored now, stored earlier, or rejected. Of a partial upload: as far as it was read. */
  readonly plan: EpisodeTotals;
  readonly sent: UploadTotals;
  readonly already: EpisodeTotals;
  /** In the order of the run, those of earlier uploads included. */
  readonly rejected: readonly RejectedLine[];
  /** In the order of the run, that of earlier uploads included. */
  readonly damaged: readonly Damage[];
  readonly retries: number;
  /** Receipts that named another upload or status, one line each. */
  readonly mismatches: readonly string[];
  /** Null when nothing was read back. */
  readonly verified: VerifyResult | null;
  /** Why it ended early; null when everything was tried. */
  readonly stopped: UploadStop | null;
  readonly interrupted: boolean;
  /** What a filter made of the run, as far as it was read; null without one. */
  readonly filter: FilterTotals | null;
  /** Directory of the journal; null when none is kept. */
  readonly journal: string | null;
};

/** Records by the answer of a filter, in bytes as they stand in the run. */
export type FilterTotals = {
  readonly selected: EpisodeTotals;
  readonly leftOut: EpisodeTotals;
  /** Left out since no index row can be made of them to be judged by; counted in `leftOut`. */
  readonly unjudged: number;
};

/** What a dry run tells: the plan, and what is known without asking the service. */
export type UploadPlan = Pick<UploadOutcome, 'runId' | 'plan' | 'already' | 'rejected' | 'damaged' | 'filter'> & {
  /** Requests that would carry what is not stored yet. */
  readonly requests: number;
  /** Episodes and bytes of those requests. */
  readonly toSend: EpisodeTotals;
};
