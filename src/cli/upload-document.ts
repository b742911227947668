/** The document of `prl upload --json` (cli.md, "prl upload"); schemas/prl.upload-1.json says the same as JSON Schema. */
import type { Damage } from '../core/scan/types.js';
import type { UploadOutcome, UploadPlan } from '../core/upload/outcome.js';
import type { RejectedLine } from '../core/upload/types.js';

/** A line the service or a pre-check refused. `offset` is the uncompressed byte inside the chunk, `line` is 1-based. */
export type RejectedEntry = {
  readonly chunk: number;
  readonly offset: number;
  readonly line: number;
  readonly id: string | null;
  readonly code: string;
  readonly message: string;
};

type Totals = { readonly episodes: number; readonly bytes: number };

/** The result of one run's upload; fields are only ever added. Bytes are uncompressed unless the key says `wire`. */
export type UploadDocument = {
  readonly schema: 'prl.upload/1';
  readonly run: string;
  readonly url: string;
  /** Null when the records name none and none was given (`--no-stamp`). */
  readonly run_id: string | null;
  /** What the run holds; with filters, what they select of it. */
  readonly plan: Totals;
  /** Present with filters only: what they made of the records that were read, in bytes as they stand in the run. */
  readonly filter?: {
    /** The flags, as they can be typed again. */
    readonly text: string;
    readonly selected: Totals;
    readonly left_out: Totals;
  };
  readonly sent: {
    readonly episodes: number;
    readonly bytes: number;
    readonly wire_bytes: number;
    readonly requests: number;
  };
  readonly already: Totals;
  readonly rejected: readonly RejectedEntry[];
  readonly damaged: readonly Damage[];
  readonly retries: number;
  readonly seconds: number;
  readonly peak_rss_bytes: number;
  /** Null without `--verify`. */
  readonly verified: { readonly episodes: number; readonly ok: boolean } | null;
  /** True when every episode of the run is stored or rejected; never with filters, which do not look at the others (P5). */
  readonly complete: boolean;
  /** True when the command ended before its work did: a signal, a limit, an unreachable service. */
  readonly partial: boolean;
  /** Present with `--dry-run` only: nothing was sent, and this is what would be. */
  readonly dry_run?: { readonly episodes: number; readonly bytes: number; readonly requests: number };
};

/** What the command knows beside the outcome. */
export type Surroundings = {
  /** The run as typed. */
  readonly run: string;
  readonly url: string;
  /** The filters as typed; null without any. */
  readonly filter: string | null;
  readonly seconds: number;
  readonly peakRssBytes: number;
};

/** The document of an upload, finished or not. */
export function uploadDocument(outcome: UploadOutcome, surroundings: Surroundings): UploadDocument {
  const { sent, verified } = outcome;
  const partial = outcome.stopped !== null || outcome.interrupted;
  // Without a usable receipt nobody knows whether the lines are stored: running it again asks for them once more.
  const isUnconfirmed = outcome.rejected.some(({ code }) => code === 'bad_receipt');
  return {
    ...common(outcome, surroundings),
    sent: { episodes: sent.episodes, bytes: sent.bytes, wire_bytes: sent.wireBytes, requests: sent.requests },
    retries: outcome.retries,
    verified: verified === null ? null : { episodes: verified.episodes, ok: verified.ok },
    complete: !partial && !isUnconfirmed && outcome.filter === null,
    partial,
  };
}

/** The document of `--dry-run`: complete only when an earlier upload left nothing of the run to send. */
export function planDocument(plan: UploadPlan, surroundings: Surroundings): UploadDocument {
  return {
    ...common(plan, surroundings),
    sent: { episodes: 0, bytes: 0, wire_bytes: 0, requests: 0 },
    retries: 0,
    verified: null,
    complete: plan.toSend.episodes === 0 && plan.filter === null,
    partial: false,
    dry_run: { ...plan.toSend, requests: plan.requests },
  };
}

type Common = Omit<UploadDocument, 'sent' | 'retries' | 'verified' | 'complete' | 'partial' | 'dry_run'>;

function common(outcome: UploadOutcome | UploadPlan, surroundings: Surroundings): Common {
  const { run, url, filter: text, seconds, peakRssBytes } = surroundings;
  const { filter } = outcome;
  return {
    schema: 'prl.upload/1',
    run,
    url,
    run_id: outcome.runId,
    plan: { ...outcome.plan },
    ...(filter === null ? {} : { filter: { text: text ?? '', selected: filter.selected, left_out: filter.leftOut } }),
    already: { ...outcome.already },
    rejected: outcome.rejected.map(rejectedEntry),
    damaged: outcome.damaged,
    seconds: Math.round(seconds * 1000) / 1000,
    peak_rss_bytes: peakRssBytes,
  };
}

function rejectedEntry({ chunk, offset, lineNumber, id, code, message }: RejectedLine): RejectedEntry {
  return { chunk, offset, line: lineNumber, id, code, message };
}
