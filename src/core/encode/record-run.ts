/**
 * What is written into an episode before it is encoded: the run it belongs to (R-REC-3, R-REC-4), and when it arrived
 * (spec 02 section 2, stamps). Always into copies, which share all that does not change: the episode of a caller stays
 * as it is, frozen or not. Trace by trace, for episodes with thousands of them.
 */
import type { Environment } from '../environment.js';
import { isPlainObject, memberOf, type PlainObject } from '../index/object-values.js';
import { isTypedList, oddityOf } from './odd-values.js';

export type WorkInfo = {
  readonly type: 'train' | 'eval';
  /** The training step at which the episode was dispatched. */
  readonly step: number;
  /** The live policy's versions while the episode was generated, both ends included; absent for a frozen one. */
  readonly policy?: { readonly start: number; readonly end: number };
};

export type RunInfo = {
  readonly type: 'train' | 'eval';
  readonly id: string;
  readonly name?: string;
  /** Of a train run; verifiers does not load an episode of one without it. */
  readonly work?: WorkInfo;
};

export type Arrival = {
  readonly kind: 'train' | 'eval';
  /** The step that was being collected when the episode arrived. */
  readonly step: number;
  /** Epoch seconds. */
  readonly timeS: number;
};

const RUN_ID_BYTES = 16;

/**
 * A copy of an episode that carries `run` on itself and on every trace (R-REC-3).
 *
 * The episode keeps what else its own run says (a name, the work) unless `run` says it too. A trace that has a run of
 * its own keeps it but for `id` and `type`; any other gets the episode's. What is no plain object is left as it is.
 */
export function recordRun<E extends object>(episode: E, run: RunInfo): E {
  return finished(copyWith(episode, run, null));
}

/**
 * The same, with the arrival stamped on every trace. Yields after each trace, so that the caller can do other work;
 * the episode must not change meanwhile.
 */
export function stampSteps<E extends object>(episode: E, run: RunInfo, arrival: Arrival): Generator<void, E, void> {
  return copyWith(episode, run, arrival);
}

/**
 * A copy of a trace with its arrival in `info`: `kind`, then `dispatch` if there is `work`, then `arrival`. As prime-rl's
 * `stamp_arrival` assigns them: what was there is replaced, in its place.
 *
 * A whole number of seconds becomes `JSON.rawJSON`, a float as Python's clock gives it: the copy is for encoding.
 *
 * @param work the episode's `run.work`; the trace was dispatched at its step, when its timing starts
 */
export function stampArrival<T extends object>(trace: T, arrival: Arrival, work?: unknown): T {
  return isOpen(trace) ? { ...trace, info: stampedInfo(trace, arrival, work) } : trace;
}

/**
 * The run id of a producer (R-REC-4): `$PRL_RUN_ID`, else `$RUN_ID`, else 32 random hex digits. Empty is not set.
 *
 * @param randomBytes that many bytes that nobody can guess
 */
export function resolveRunId(environment: Environment, randomBytes: (count: number) => Uint8Array): string {
  return environment.PRL_RUN_ID || environment.RUN_ID || Buffer.from(randomBytes(RUN_ID_BYTES)).toString('hex');
}

function* copyWith<E extends object>(episode: E, given: RunInfo, arrival: Arrival | null): Generator<void, E, void> {
  if (!isOpen(episode)) return episode;
  const run = runOver(memberOf(episode, 'run'), given);
  const traces = memberOf(episode, 'traces');
  if (!Array.isArray(traces)) return { ...episode, run };
  const copies: unknown[] = [];
  for (const trace of traces) {
    copies.push(isOpen(trace) ? copyOfTrace(trace, run, arrival) : trace);
    yield;
  }
  return { ...episode, run, traces: copies };
}

function copyOfTrace(trace: PlainObject, run: PlainObject, arrival: Arrival | null): PlainObject {
  const own = memberOf(trace, 'run');
  const copy: Record<string, unknown> = { ...trace };
  copy.run = isOpen(own) ? { ...own, type: run.type, id: run.id } : { ...run };
  if (arrival !== null) copy.info = stampedInfo(trace, arrival, run.work);
  return copy;
}

/** The members of `own`, if it is a run, under those that `given` has; from nothing in the order of the model. */
function runOver(own: unknown, given: RunInfo): PlainObject {
  const { type, id, name, work } = given;
  const set = { type, id, ...(name === undefined ? {} : { name }), ...(work === undefined ? {} : { work }) };
  return isOpen(own) ? { ...own, ...set } : set;
}

function stampedInfo(trace: object, { kind, step, timeS }: Arrival, work: unknown): unknown {
  const own = memberOf(trace, 'info') ?? {};
  if (!isOpen(own)) return own;
  const info = { ...own, kind };
  const arrival = { step, time: asFloat(timeS) };
  if (!isPlainObject(work)) return { ...info, arrival };
  const startS = memberOf(memberOf(trace, 'timing'), 'start') ?? null;
  return { ...info, dispatch: { step: memberOf(work, 'step') ?? null, time: asFloat(startS) }, arrival };
}

/** Whether its members are all there is to it. What else there is stays, for the encoder to write or to refuse. */
function isOpen(value: unknown): value is PlainObject {
  return isPlainObject(value) && !isTypedList(value) && oddityOf(value) === null;
}

/** A number as the float that it is in Python. Whole ones this small have no exponent in their text. */
function asFloat(value: unknown): unknown {
  return Number.isSafeInteger(value) ? rawJson(`${Object.is(value, -0) ? '-0' : value}.0`) : value;
}

/** Neither the library's types nor Node's know this yet. */
function rawJson(text: string): unknown {
  return (JSON as unknown as { readonly rawJSON: (text: string) => unknown }).rawJSON(text);
}

function finished<R>(steps: Generator<void, R, void>): R {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
