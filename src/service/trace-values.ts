/**
 * The derived columns of one trace, as pure functions over the few small values that were picked from its text.
 * Lenient where the record is: a missing or odd value counts as not recorded, it never fails the upload.
 */

/** A JSON object as it was parsed, or nothing. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The member when it is a non-empty string. */
export function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

/** A count: a whole number of at least 0 that a column can hold exactly. */
export function countOf(value: unknown): number | null {
  const count = intOf(value);
  return count !== null && count >= 0 ? count : null;
}

/** A whole number that a column can hold exactly. */
export function intOf(value: unknown): number | null {
  return Number.isSafeInteger(value) ? (value as number) : null;
}

/**
 * Sum of score times weight over the rewards that are objects (spec 04 section 4.2): a missing score counts as 0, a
 * missing weight as 1, null placeholders are passed over. Null, "unscored", for `{}` and for anything but an object.
 */
export function rewardOf(rewards: unknown): number | null {
  if (!isObject(rewards)) return null;
  const entries = Object.values(rewards);
  if (entries.length === 0) return null;
  let sum = 0;
  for (const entry of entries) {
    if (isObject(entry)) sum += (numberOf(entry.score) ?? 0) * (numberOf(entry.weight) ?? 1);
  }
  return Number.isFinite(sum) ? sum : null;
}

/** `stop_condition` values that mean the trace was cut off (spec 02 section 5, both versions of the fifth). */
const TRUNCATING = new Set([
  'max_turns',
  'max_input_tokens',
  'max_output_tokens',
  'max_total_tokens',
  'compaction_failed',
  'context_length',
]);

/** What truncation and tokens need of one call, in the order of `calls`. */
export type CallValues = {
  readonly node: number | null;
  readonly hasError: boolean;
  readonly finishReason: string | null;
  readonly usage: JsonObject | null;
};

/** Spec 02 section 5: by the stop condition, or because the last call without an error ran into its length. */
export function isTruncated(stopCondition: unknown, calls: readonly CallValues[]): boolean {
  if (typeof stopCondition === 'string' && TRUNCATING.has(stopCondition)) return true;
  return calls.findLast((call) => !call.hasError)?.finishReason === 'length';
}

/**
 * Milliseconds of wall time from the start of the trace to the latest end of any of its spans, rounded; 0 when nothing
 * has ended. An end of 0.0 means "not happened" (spec 02 section 2).
 */
export function durationMsOf(timing: unknown): number {
  if (!isObject(timing)) return 0;
  const ends = Object.values(timing).map((span) => (isObject(span) ? (numberOf(span.end) ?? 0) : 0));
  const startSeconds = numberOf(timing.start) ?? 0;
  const spanMs = Math.round((Math.max(0, ...ends) - startSeconds) * 1000);
  return startSeconds > 0 && spanMs > 0 && Number.isSafeInteger(spanMs) ? spanMs : 0;
}

/** Microseconds since the epoch of `timing.start`; null when it is 0 or missing, NaN when it is no possible time. */
export function createdAtUsOf(timing: unknown): number | null {
  const start = isObject(timing) ? numberOf(timing.start) : null;
  if (start === null || start === 0) return null;
  const atUs = Math.round(start * 1e6);
  return atUs > 0 && Number.isSafeInteger(atUs) ? atUs : Number.NaN;
}

/** `has_error` of a record: not `ok`; a record without `ok` has failed when it lists an error. */
export function hasErrorOf(ok: unknown, errorCount: number): boolean {
  return typeof ok === 'boolean' ? !ok : errorCount > 0;
}

type Usage = { readonly input: number; readonly output: number };

/** Spec 02 section 4: `prompt_tokens` leaves cache reads out; input is both together. */
function usageOf(usage: JsonObject): Usage {
  const count = (value: unknown): number => countOf(value) ?? 0;
  return {
    input: count(usage.prompt_tokens) + count(usage.cached_input_tokens),
    output: count(usage.completion_tokens),
  };
}

/**
 * Total tokens with re-sent context counted once: the input each call added to what its branch had sent and received
 * before, plus every completion, each call once (spec 02 section 5, the definition since verifiers #2630).
 *
 * @param parents `parent` of each node by position; anything that is no earlier node counts as a root
 */
export function totalTokens(parents: readonly (number | null)[], calls: readonly CallValues[]): number {
  const callOfNode = new Map<number, CallValues>();
  for (const call of calls) if (call.node !== null) callOfNode.set(call.node, call);
  let tokens = 0;
  for (const call of calls) tokens += call.usage === null ? 0 : usageOf(call.usage).output;
  // Total of the last call on the path to each node. A node follows its parent, so one pass does for all branches, and
  // a call that branches share is met once.
  const sentBefore = new Array<number>(parents.length).fill(0);
  for (const [index, parent] of parents.entries()) {
    const before = parent !== null && parent >= 0 && parent < index ? (sentBefore[parent] as number) : 0;
    const usage = callOfNode.get(index)?.usage ?? null;
    if (usage === null) {
      sentBefore[index] = before;
      continue;
    }
    const { input, output } = usageOf(usage);
    tokens += Math.max(0, input - before);
    sentBefore[index] = input + output;
  }
  return Math.min(tokens, Number.MAX_SAFE_INTEGER);
}
