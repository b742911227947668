/**
 * Writes run identity into the text of a record, in place (spec 06 section 4). Values are replaced or members
 * appended by splicing bytes; nothing is re-encoded, so float text, key order and white space elsewhere stay as they
 * are, and the result is the same for the same input.
 */
import { isBlank } from '../scan/pick.js';
import type { CarrierFacts, LineFacts, RunFacts } from './facts.js';

/**
 * Which run to write.
 *
 * | value | rule |
 * |---|---|
 * | id | `runId` when given (`--run-id`); else the id in the record's envelope; else the first trace that has one; else `fallbackRunId` |
 * | type of the envelope | its own `run.type`; else the first `info.kind` among its traces that is `train` or `eval`; else `eval` |
 * | type of a trace | its own `run.type`; else the envelope's `run.type`; else its own `info.kind` if `train` or `eval`; else `eval` |
 *
 * The id is one for the whole record: a trace that names another run is set to it. A `run` that is not an object
 * (null included) is replaced; a missing one is appended as the last member; other members of a run stay untouched.
 */
export type RunStamp = { readonly runId: string | null; readonly fallbackRunId: string | null };

type Edit = { readonly start: number; readonly end: number; readonly text: string };

/** The run id the rules give a record; null when neither the record nor the stamp names one. */
export function runIdOf(facts: LineFacts, stamp: RunStamp): string | null {
  if (stamp.runId !== null) return stamp.runId;
  for (const { run } of [facts.envelope, ...facts.traces]) {
    const own = run?.id?.value;
    if (own !== undefined && own !== null && own !== '') return own;
  }
  return stamp.fallbackRunId;
}

/**
 * Stamps one record.
 *
 * @param bytes the record, as `facts` was read from it
 * @returns the text in slices, payload shared with `bytes`; exactly `[bytes]` when every carrier names the run already
 *   or when no id is known
 */
export function stampRun(bytes: Buffer, facts: LineFacts, stamp: RunStamp): readonly Buffer[] {
  const runId = runIdOf(facts, stamp);
  if (runId === null) return [bytes];
  const edits: Edit[] = [];
  const carriers = facts.format === 'trace' ? [facts.envelope] : [facts.envelope, ...facts.traces];
  for (const carrier of carriers) edits.push(...editsFor(bytes, carrier, runId, runTypeOf(carrier, facts)));
  return splice(bytes, edits);
}

function runTypeOf(carrier: CarrierFacts, facts: LineFacts): string {
  const own = carrier.run?.type?.value ?? facts.envelope.run?.type?.value;
  if (own !== undefined && own !== null) return own;
  if (carrier !== facts.envelope) return kindOf(carrier) ?? 'eval';
  for (const candidate of [carrier, ...facts.traces]) {
    const kind = kindOf(candidate);
    if (kind !== null) return kind;
  }
  return 'eval';
}

function kindOf({ infoKind }: CarrierFacts): string | null {
  return infoKind === 'train' || infoKind === 'eval' ? infoKind : null;
}

function editsFor(bytes: Buffer, carrier: CarrierFacts, runId: string, runType: string): Edit[] {
  const { run } = carrier;
  const whole = `{"type":${JSON.stringify(runType)},"id":${JSON.stringify(runId)}}`;
  if (run === null) return [append(bytes, carrier.start, carrier.end, `"run":${whole}`)];
  if (!run.isObject) return [{ start: run.start, end: run.end, text: whole }];
  return memberEdits(bytes, run, [
    ['type', runType],
    ['id', runId],
  ]);
}

/** Replaces the members that are there and differ; appends the missing ones together, as one edit. */
function memberEdits(bytes: Buffer, run: RunFacts, wanted: readonly (readonly ['type' | 'id', string])[]): Edit[] {
  const edits: Edit[] = [];
  const missing: string[] = [];
  for (const [key, value] of wanted) {
    const present = run[key];
    const text = JSON.stringify(value);
    if (present === null) missing.push(`${JSON.stringify(key)}:${text}`);
    else if (present.value !== value) edits.push({ start: present.start, end: present.end, text });
  }
  if (missing.length > 0) edits.push(append(bytes, run.start, run.end, missing.join(',')));
  return edits;
}

/** Appends members after the last byte of an object's content; `end - 1` is its closing brace. */
function append(bytes: Buffer, start: number, end: number, members: string): Edit {
  const isEmpty = isBlank(bytes, start + 1, end - 1);
  let at = end - 1;
  while (!isEmpty && isBlank(bytes, at - 1, at)) at -= 1;
  return { start: at, end: at, text: isEmpty ? members : `,${members}` };
}

function splice(bytes: Buffer, edits: Edit[]): readonly Buffer[] {
  if (edits.length === 0) return [bytes];
  // Traces lie inside their envelope, so edits come out of order; they never overlap.
  edits.sort((first, second) => first.start - second.start);
  const parts: Buffer[] = [];
  let position = 0;
  for (const { start, end, text } of edits) {
    if (start > position) parts.push(bytes.subarray(position, start));
    parts.push(Buffer.from(text));
    position = end;
  }
  if (position < bytes.length) parts.push(bytes.subarray(position));
  return parts;
}
