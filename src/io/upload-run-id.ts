/** Which run the episodes of an upload are filed under, settled before the first request from the first record that is one. */
import { PrlError } from '../core/errors.js';
import type { StreamRecord } from '../core/scan/types.js';
import { factsOf, type LineFacts } from '../core/stream/facts.js';
import { type RunStamp, runIdOf } from '../core/stream/stamp.js';
import type { RunEvents } from './run-events.js';
import type { Run } from './run-types.js';

export type FindRunIdOptions = {
  readonly run: Run;
  /** `--run-id`; null: the records' own. */
  readonly runId: string | null;
  /** For records that name no run; null when the environment names none either. */
  readonly environmentRunId: string | null;
  /** False sends every record byte for byte. */
  readonly stamps: boolean;
  readonly signal: AbortSignal;
};

const OWN_RUN: RunStamp = { runId: null, fallbackRunId: null };

/**
 * @returns the run, null when nothing names one; and what is written into records, null for nothing
 * @throws PrlError `PRL_ERR_USAGE` when a record has to be stamped and no run is known
 */
export async function findRunId(
  events: RunEvents,
  { run, runId: given, environmentRunId, stamps, signal }: FindRunIdOptions,
): Promise<{ readonly runId: string | null; readonly stamp: RunStamp | null }> {
  // A record whose facts cannot be read names nothing; it is rejected when its turn comes.
  const first = await events.firstRecord(signal, (record) => ownFacts(record) !== null);
  const facts = first === null ? null : ownFacts(first);
  const own = facts === null ? null : runIdOf(facts, OWN_RUN);
  const runId = given ?? own ?? (stamps ? environmentRunId : null);
  if (stamps && first !== null && runId === null) throw noRunId(run, first);
  return { runId, stamp: stamps ? { runId: given, fallbackRunId: runId } : null };
}

function ownFacts(record: StreamRecord): LineFacts | null {
  return factsOf(record, record.unit === 'trace' ? 'trace' : 'episode');
}

function noRunId(run: Run, first: StreamRecord): PrlError {
  const file = run.files.find((candidate) => candidate.chunk === first.chunk)?.relativePath ?? run.root;
  return new PrlError(
    'PRL_ERR_USAGE',
    `no run to file the episodes under: the record at byte ${first.offset} of ${file} names none`,
    {
      hint: 'name it with --run-id ID or PRL_RUN_ID, or send the records as they are with --no-stamp',
    },
  );
}
