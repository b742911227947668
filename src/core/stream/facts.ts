/**
 * What a stamp and an upload must know of one line, read from its bytes by a structural walk: ids and run identity of
 * the envelope and of every trace, each with its byte range so that a stamp can edit it in place. Payloads are passed
 * over, never parsed.
 */
import { type Picked, parsePicked, pick } from '../scan/pick.js';
import { EPISODE_SELECTOR, TRACE_SELECTOR } from '../scan/record-selector.js';
import type { LineFormat, StreamRecord } from '../scan/types.js';

/** A member of a run object: where its value stands, and the value when it is a string. */
export type FieldFacts = { readonly start: number; readonly end: number; readonly value: string | null };

/** The value of a `run` key. `id` and `type` are null when the run has no such member or is not an object. */
export type RunFacts = {
  readonly isObject: boolean;
  readonly start: number;
  readonly end: number;
  readonly id: FieldFacts | null;
  readonly type: FieldFacts | null;
};

/** One object that can carry a run: an episode envelope or a trace. `end` is exclusive, so `end - 1` is its brace. */
export type CarrierFacts = {
  readonly start: number;
  readonly end: number;
  readonly id: string | null;
  readonly run: RunFacts | null;
  /** `info.kind` where it is a string; prime-rl stamps `train` or `eval` there (spec 02 section 2). */
  readonly infoKind: string | null;
};

export type LineFacts = {
  readonly format: LineFormat;
  /** The episode or, of a trace line, the trace. */
  readonly envelope: CarrierFacts;
  /** Member traces in order; of a trace line the line itself. */
  readonly traces: readonly CarrierFacts[];
};

/**
 * Reads the facts of one record.
 *
 * @param bytes one JSON text, trailing LF allowed; offsets of the result count from its first byte
 * @returns null when the text is not a JSON object as far as the walk looks
 */
export function readFacts(bytes: Buffer, format: LineFormat): LineFacts | null {
  const result = pick(bytes, format === 'episode' ? EPISODE_SELECTOR : TRACE_SELECTOR);
  return result.ok ? factsIn(bytes, result.root, format) : null;
}

/** The facts of a record that was read, walked once more only where its reader has not kept them. */
export function factsOf({ bytes, root }: StreamRecord, format: LineFormat): LineFacts | null {
  return root === undefined ? readFacts(bytes, format) : factsIn(bytes, root, format);
}

function factsIn(bytes: Buffer, root: Picked, format: LineFormat): LineFacts | null {
  if (root.members === null) return null;
  const envelope = carrier(bytes, root);
  if (format === 'trace') return { format, envelope, traces: [envelope] };
  const elements = root.members?.get('traces')?.elements ?? [];
  const traces = elements.filter((element) => element.members !== null).map((element) => carrier(bytes, element));
  return { format, envelope, traces };
}

function carrier(bytes: Buffer, object: Picked): CarrierFacts {
  const members = object.members;
  const run = members?.get('run');
  return {
    start: object.start,
    end: object.end,
    id: stringOf(bytes, members?.get('id')),
    run: run === undefined ? null : runFacts(bytes, run),
    infoKind: stringOf(bytes, members?.get('info')?.members?.get('kind')),
  };
}

function runFacts(bytes: Buffer, run: Picked): RunFacts {
  return {
    isObject: run.kind === 'object',
    start: run.start,
    end: run.end,
    id: field(bytes, run.members?.get('id')),
    type: field(bytes, run.members?.get('type')),
  };
}

function field(bytes: Buffer, picked: Picked | undefined): FieldFacts | null {
  return picked === undefined ? null : { start: picked.start, end: picked.end, value: stringOf(bytes, picked) };
}

function stringOf(bytes: Buffer, picked: Picked | undefined): string | null {
  if (picked === undefined || picked.kind !== 'string') return null;
  return parsePicked(bytes, picked) as string; // a picked string parses to a string
}
