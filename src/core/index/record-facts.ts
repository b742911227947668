/**
 * The formulas of spec 04 section 4 over the traces of one record: traces are folded in one by one, in their order,
 * each in one go or in steps.
 */
import { BranchCount } from './branch-count.js';
import { BranchTokens } from './branch-tokens.js';
import { ExactSum } from './exact-sum.js';
import { ALL_ITEMS } from './item-steps.js';
import type { KeptText } from './kept-text.js';
import { NOTE } from './notes.js';
import { NumberFact } from './number-fact.js';
import { Phases } from './phases.js';
import { KIND, STOP, type TraceFacts } from './trace-facts.js';

/** How rows are computed. */
export type RowOptions = {
  /** Where token counts come from; `auto`: the record's own if both are integers, else derived (spec 04 section 4.3). */
  readonly tokens: 'auto' | 'stored' | 'derived';
  /**
   * `compat` does as upstream does with explicit nulls and stop names (spec 04 section 6.4, spec 08 B08, B09, B12);
   * `exact` does not count null parents, passes over null stops and knows the older name `context_length`.
   */
  readonly mode: 'compat' | 'exact';
  /** Derive token counts also where the stored ones are written, for `--check`. */
  readonly bothCounts?: boolean;
  /**
   * For records in memory, how they will be written. `plain`, the default: as `JSON.stringify` does, so that a whole
   * number is an integer and a null is there. `record`: by the rules of core/encode/record-rules, so that a whole number
   * is a float where the model declares one (`score` and `weight` of a reward, `cost` of a usage, `start`, `end` and
   * `duration` in a timing) and a null `parent` or `stop_condition` is not there. A bigint is an integer with both, a
   * literal what it says.
   */
  readonly rules?: 'plain' | 'record';
};

export const DEFAULT_ROW_OPTIONS: RowOptions = { tokens: 'auto', mode: 'compat' };

/** A string of the row: its place in the kept text; a length of -1 when there is none. */
export class TextFact {
  start = 0;
  length = -1;
}

/** Stop conditions that mean a trace was cut short. */
const LIMITS = ['max_turns', 'max_input_tokens', 'max_output_tokens', 'max_total_tokens', 'compaction_failed'].map(
  (name) => Buffer.from(name),
);
/** The name that `compaction_failed` had until August 2026. */
const OLDER_LIMIT = Buffer.from('context_length');

const { NO_STORED_TOKENS, ODD_VALUE, ODD_PARENT } = NOTE;

export class RecordFacts {
  readonly id = new TextFact();
  readonly envId = new TextFact();
  readonly envName = new TextFact();
  readonly groupId = new TextFact();
  readonly runType = new TextFact();
  readonly workType = new TextFact();
  readonly storedInput = new NumberFact();
  readonly storedOutput = new NumberFact();
  /** -1 when the record has no boolean `ok`, else 0 or 1. */
  ok = -1;
  numErrors = 0;
  /** NOTE bits of the record. */
  notes = 0;

  readonly cost = new ExactSum();
  readonly reward = new ExactSum();
  readonly advantage = new ExactSum();
  readonly phases = new Phases();
  readonly derivedInput = new ExactSum();
  readonly derivedOutput = new ExactSum();
  /** Stamps of the first trace. */
  readonly dispatch = new NumberFact();
  readonly arrival = new NumberFact();
  /** NaN when it says none. */
  arrivalStep = Number.NaN;
  kind: number = KIND.NONE;
  turns = 0;
  branches = 0;
  isTruncated = false;
  readonly stop = new TextFact();
  traceCount = 0;
  /** Places of the trace ids that are not empty: start and length, pair by pair. */
  idSpans = new Int32Array(32);
  idCount = 0;

  readonly #options: RowOptions;
  readonly #kept: KeptText;
  readonly #isExact: boolean;
  /** Whether token counts are derived. */
  readonly isDerived: boolean;
  readonly #branchCount: BranchCount;
  readonly #tokens = new BranchTokens();
  /** Calls of the trace at hand whose costs are added. */
  #costsFolded = 0;
  #isFolded = false;

  constructor(kept: KeptText, options: RowOptions) {
    this.#options = options;
    this.#kept = kept;
    this.#isExact = options.mode === 'exact';
    this.#branchCount = new BranchCount(this.#isExact);
    this.isDerived = options.tokens !== 'stored' || options.bothCounts === true;
  }

  reset(): void {
    this.id.length = -1;
    this.envId.length = -1;
    this.envName.length = -1;
    this.groupId.length = -1;
    this.runType.length = -1;
    this.workType.length = -1;
    this.storedInput.clear();
    this.storedOutput.clear();
    this.ok = -1;
    this.numErrors = 0;
    this.notes = 0;
    this.resetTraces();
  }

  /** The traces begin anew, as for a second key `traces`. */
  resetTraces(): void {
    // All that follows changes when a trace is folded, and then only.
    if (this.traceCount === 0) return;
    this.cost.reset();
    this.reward.reset();
    this.advantage.reset();
    this.phases.reset();
    this.derivedInput.reset();
    this.derivedOutput.reset();
    this.dispatch.clear();
    this.arrival.clear();
    this.arrivalStep = Number.NaN;
    this.kind = KIND.NONE;
    this.turns = 0;
    this.branches = 0;
    this.isTruncated = false;
    this.stop.length = -1;
    this.traceCount = 0;
    this.idCount = 0;
  }

  /** Whether both stamps are numbers, so that no phase is needed. Settled once the first trace is folded. */
  get hasStamps(): boolean {
    return this.dispatch.isPresent && this.arrival.isPresent;
  }

  /** Adds all of a trace but its timing, which the feed adds next. */
  fold(trace: TraceFacts): void {
    this.beginFold(trace);
    this.foldSome(trace, ALL_ITEMS);
  }

  /** Adds what a trace says once; `foldSome` adds the rest. Both stamps are settled then. */
  beginFold(trace: TraceFacts): void {
    if (this.traceCount === 0) {
      if (trace.dispatch.isPresent) this.dispatch.set(trace.dispatch);
      if (trace.arrival.isPresent) this.arrival.set(trace.arrival);
      this.arrivalStep = trace.arrivalStep;
    }
    this.traceCount += 1;
    if (trace.idLength > 0) this.#addId(trace.idStart, trace.idLength);
    if (this.kind === KIND.NONE) this.kind = trace.kind;
    if (trace.rewards.entries > 0) this.reward.add(trace.rewards.sum);
    if (trace.advantage.isPresent) this.advantage.add(trace.advantage);
    this.turns += trace.turns;
    this.#foldStop(trace);
    this.#isFolded = false;
    this.#costsFolded = 0;
    this.#branchCount.begin(trace);
    if (this.isDerived) this.#tokens.begin(trace);
  }

  /** As item-steps says. */
  foldSome(trace: TraceFacts, items: number): number {
    let left = this.#foldCosts(trace, items);
    if (left > 0) left = this.#branchCount.step(trace, left);
    if (left > 0 && this.isDerived) left = this.#tokens.step(trace, left);
    if (left > 0 && !this.#isFolded) this.#endFold();
    return left;
  }

  #addId(start: number, length: number): void {
    const at = this.idCount * 2;
    if (at === this.idSpans.length) {
      const grown = new Int32Array(at * 2);
      grown.set(this.idSpans);
      this.idSpans = grown;
    }
    this.idSpans[at] = start;
    this.idSpans[at + 1] = length;
    this.idCount += 1;
  }

  #foldCosts(trace: TraceFacts, items: number): number {
    const from = this.#costsFolded;
    const to = Math.min(trace.callCount, from + items);
    for (let call = from; call < to; call += 1) {
      if (!trace.hasCost(call)) continue;
      if (trace.isIntCost(call)) this.cost.addInt(trace.costs[call] as number, trace.bigCost(call));
      else this.cost.addFloat(trace.costs[call] as number);
    }
    this.#costsFolded = to;
    return items - (to - from);
  }

  #endFold(): void {
    this.#isFolded = true;
    this.branches += this.#branchCount.branches;
    if (this.#branchCount.isOdd) this.notes |= ODD_PARENT;
    if (!this.isDerived) return;
    const tokens = this.#tokens;
    if (tokens.isOdd) this.notes |= ODD_PARENT;
    this.derivedInput.addInt(tokens.input, tokens.bigInput);
    this.derivedOutput.addInt(tokens.output, tokens.bigOutput);
  }

  #foldStop(trace: TraceFacts): void {
    if (trace.stop === STOP.TEXT) {
      this.stop.start = trace.stopStart;
      this.stop.length = trace.stopLength;
    } else if (trace.stop === STOP.NULL && !this.#isExact) {
      this.stop.length = -1;
    }
    if (this.isTruncated) return;
    this.isTruncated = (trace.stop === STOP.TEXT && this.#isLimit(trace)) || trace.endedByLength();
  }

  #isLimit({ stopStart, stopLength }: TraceFacts): boolean {
    if (stopLength < 9 || stopLength > 17 || stopLength === 15) return false;
    const { bytes } = this.#kept;
    for (let index = 0; index < LIMITS.length; index += 1) {
      if (isText(bytes, stopStart, stopLength, LIMITS[index] as Buffer)) return true;
    }
    return this.#isExact && isText(bytes, stopStart, stopLength, OLDER_LIMIT);
  }

  /** The record is complete: gathers the notes of the parts that have their own. */
  gather(notes: number): void {
    this.notes |= notes | this.phases.notes;
    this.phases.notes = 0;
    if (this.#options.tokens === 'stored' && !this.hasStoredTokens) this.notes |= NO_STORED_TOKENS;
  }

  /** Whether the record has both token counts as integers. */
  get hasStoredTokens(): boolean {
    const { storedInput, storedOutput } = this;
    return storedInput.isPresent && storedInput.isInt && storedOutput.isPresent && storedOutput.isInt;
  }

  /** Notes a value of a type that does not belong where it stands. */
  noteOdd(): void {
    this.notes |= ODD_VALUE;
  }
}

/** Whether a range of bytes is exactly this text. */
export function isText(bytes: Uint8Array, start: number, length: number, text: Uint8Array): boolean {
  if (length !== text.length) return false;
  for (let index = 0; index < length; index += 1) if (bytes[start + index] !== text[index]) return false;
  return true;
}
