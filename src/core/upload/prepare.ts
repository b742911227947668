/** Turns one record of a run into a line that can travel: its format, its ids, its run stamp if one is asked for. */
import { PrlError } from '../errors.js';
import type { StreamRecord } from '../scan/types.js';
import { factsOf } from '../stream/facts.js';
import { type RunStamp, runIdOf, stampRun } from '../stream/stamp.js';
import { type Candidate, rejectLine } from './batcher.js';
import type { BatchLine, RejectedLine } from './types.js';

/** Bytes of a source kept as evidence in the journal. */
export const TAIL_BYTES = 64;

const UNSTAMPED: RunStamp = { runId: null, fallbackRunId: null };

export type Prepared =
  /** `runId`: the run that the line names as it travels; null for none. */
  | { readonly ok: true; readonly candidate: Candidate; readonly runId: string | null }
  | { readonly ok: false; readonly rejected: RejectedLine };

/**
 * Prepares one record.
 *
 * @param stamp null sends the bytes as they are (`--no-stamp`)
 * @returns rejected with `wrong_unit` for anything but an episode or a trace, and with `invalid_trace` for a record
 *   that is not a JSON object as far as its ids can be looked for
 * @throws PrlError `PRL_ERR_USAGE` when a stamp is asked for and neither the record nor the caller names a run
 */
export function prepareRecord(record: StreamRecord, stamp: RunStamp | null): Prepared {
  const unstamped = lineOf(record, null, [record.bytes]);
  if (record.unit !== 'episode' && record.unit !== 'trace') {
    return reject(
      unstamped,
      'wrong_unit',
      `the record is of kind ${record.unit}; only episodes and traces are uploaded`,
    );
  }
  const facts = factsOf(record, record.unit);
  if (facts === null) return reject(unstamped, 'invalid_trace', 'the record is not a readable JSON object');
  const runId = runIdOf(facts, stamp ?? UNSTAMPED);
  if (stamp !== null && runId === null) throw missingRunId(record);
  const parts = stamp === null ? [record.bytes] : stampRun(record.bytes, facts, stamp);
  const candidate: Candidate = {
    format: facts.format,
    line: lineOf(record, facts.envelope.id, parts),
    episodeId: facts.format === 'episode' ? facts.envelope.id : null,
    traceIds: facts.traces.flatMap((trace) => (trace.id === null ? [] : [trace.id])),
    rows: facts.format === 'episode' ? 1 + facts.traces.length : 1,
  };
  return { ok: true, candidate, runId };
}

function lineOf(record: StreamRecord, id: string | null, parts: readonly Buffer[]): BatchLine {
  const { chunk, offset, length, lineNumber, bytes } = record;
  const byteLength = parts.reduce((sum, part) => sum + part.length, 0);
  // A copy: a view would keep the whole line in memory for as long as its range is remembered.
  const sourceTail = Buffer.from(bytes.subarray(Math.max(0, bytes.length - TAIL_BYTES)));
  const lease = record.lease == null ? {} : { lease: record.lease };
  return { chunk, offset, length, lineNumber, id, parts, byteLength, sourceTail, ...lease };
}

function missingRunId({ chunk, offset, lineNumber }: StreamRecord): PrlError {
  return new PrlError(
    'PRL_ERR_USAGE',
    `the record on line ${lineNumber} of chunk ${chunk} (byte ${offset}) names no run, and none was given`,
    { hint: 'give one with --run-id or PRL_RUN_ID, or send the records as they are with --no-stamp' },
  );
}

function reject(line: BatchLine, code: string, message: string): Prepared {
  return { ok: false, rejected: rejectLine(line, code, message) };
}
