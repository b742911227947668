/**
 * Annotation updates as lines of a producer's stream (spec 05 section 4), and their index rows (spec 04 section 7).
 * Nulls stay wherever they are: in a stream they mean that the producer has no value for a token. Pure.
 */
import { EncodeError } from '../core/encode/encode-error.js';
import { isTypedList } from '../core/encode/odd-values.js';
import type { RecordEncoder } from '../core/encode/record-encoder.js';
import { type MemberRule, type ModelRule, PLAIN_MEMBER } from '../core/encode/record-rules.js';
import { roundDecimals } from '../core/encode/slow-number.js';
import { isPlainObject } from '../core/index/object-values.js';
import type { RowSteps } from './record-lane.js';

/** The one version there is. */
const VERSION = 1;

/** A divergence is small: at the decimals of the other streams most of it would be zero (spec 05 section 5). */
const FINER_STREAM = 'mismatch_kl';
const FINER_DECIMALS = 6;

/** Values rounded between two looks at the clock: about 0.1 ms (30 Nov 2026, 2 cores). */
const ROUNDED_AT_ONCE = 512;

function modelOf(name: string, members: Readonly<Record<string, Partial<MemberRule>>>): ModelRule {
  const entries = Object.entries(members).map(
    ([key, rule], rank) => [key, { ...PLAIN_MEMBER, rank, ...rule }] as const,
  );
  return { name, members: new Map(entries), other: { ...PLAIN_MEMBER, rank: entries.length } };
}

const ROUNDED = { rank: 1, stream: 'rounded' } as const;

/** The finer stream is rounded before it is encoded, by `updateSteps`. */
export const UPDATE_RULES: ModelRule = modelOf('AnnotationUpdate', {
  version: {},
  trace_id: {},
  info: {},
  branches: {
    inside: modelOf('Branch', {
      index: {},
      advantages: ROUNDED,
      trainer_logprobs: ROUNDED,
      entropies: ROUNDED,
      is_masked: { rank: 1 },
      [FINER_STREAM]: { rank: 1, stream: 'floats' },
    }),
  },
});

/**
 * The line of an update: a copy with its version first, which shares its streams. Yields now and then.
 *
 * @param isRounded false writes every digit of every stream
 * @throws EncodeError for an update that names no trace
 */
export function* updateSteps(update: unknown, isRounded: boolean): Generator<void, object, void> {
  if (!isPlainObject(update)) throw new EncodeError('', 'an update is an object', 'hand over the update of a trace');
  const { trace_id, info, branches, ...more } = update;
  if (typeof trace_id !== 'string') {
    throw new EncodeError('trace_id', 'an update names its trace', 'give the id of the trace as text');
  }
  const lines: unknown[] = [];
  const isList = Array.isArray(branches);
  for (const branch of isList ? branches : []) lines.push(isRounded ? yield* roundedBranch(branch) : branch);
  return { ...more, version: VERSION, trace_id, info: info ?? {}, branches: isList ? lines : (branches ?? []) };
}

function* roundedBranch(branch: unknown): Generator<void, unknown, void> {
  if (!isPlainObject(branch)) return branch;
  const stream = branch[FINER_STREAM];
  const isList = Array.isArray(stream) || (isPlainObject(stream) && isTypedList(stream));
  if (!isList) return branch;
  const rounded: unknown[] = [];
  for (const value of stream as readonly unknown[]) {
    rounded.push(typeof value === 'number' ? roundDecimals(value, FINER_DECIMALS) : value);
    if (rounded.length % ROUNDED_AT_ONCE === 0) yield;
  }
  return { ...branch, [FINER_STREAM]: rounded };
}

/** @param encoder one that nothing else uses meanwhile */
export function updateRows(encoder: RecordEncoder): RowSteps {
  return (update, { chunk, offset }) => {
    const { trace_id, info } = update as Readonly<Record<string, unknown>>;
    return lineSteps(encoder, { trace_id, chunk, offset, info: isPlainObject(info) ? info : {} });
  };
}

const LF = Uint8Array.of(0x0a);
const AT_ONCE = (): boolean => true;

/** Encodes a value into a line of its own memory, yielding every few bytes. */
function* lineSteps(encoder: RecordEncoder, value: object): Generator<void, Uint8Array, void> {
  const line: Uint8Array[] = [];
  encoder.begin(value, null);
  try {
    for (let step = encoder.step(AT_ONCE); ; step = encoder.step(AT_ONCE)) {
      for (const part of encoder.takeParts()) {
        line.push(Buffer.from(part.bytes));
        part.release();
      }
      if (step === 'done') return Buffer.concat([...line, LF]);
      yield;
    }
  } finally {
    encoder.abandon();
  }
}
