/** The formulas of spec 04 section 4 over the traces of one record: traces are folded in one by one, in their order. */
import { BranchTokens } from './branch-tokens.js';
import { ExactSum } from './exact-sum.js';
import type { KeptText } from './kept-text.js';
import { NOTE } from './notes.js';
import { NumberFact } from './number-fact.js';
import { Phases } from './phases.js';
import { KIND, NO_PARENT, STOP, type TraceFacts } from './trace-facts.js';

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
  readonly #tokens = new BranchTokens();
  /** For each node the pass in which it was seen as a parent. */
  #parentSeen = new Int32Array(64);
  #pass = 0;

  constructor(kept: KeptText, options: RowOptions) {
    this.#options = options;
    this.#kept = kept;
    this.#isExact = options.mode === 'exact';
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
    this.#foldCosts(trace);
    this.turns += trace.turns;
    this.branches += this.#branchesOf(trace);
    this.#foldStop(trace);
    if (this.isDerived) this.#foldTokens(trace);
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

  #foldCosts(trace: TraceFacts): void {
    for (let call = 0; call < trace.callCount; call += 1) {
      if (!trace.hasCost(call)) continue;
      if (trace.isIntCost(call)) this.cost.addInt(trace.costs[call] as number, trace.bigCost(call));
      else this.cost.addFloat(trace.costs[call] as number);
    }
  }

  /** Nodes less distinct parents, by counts alone (spec 04 section 4.4): a null is one more value unless exact. */
  #branchesOf(trace: TraceFacts): number {
    const { nodeCount, parents } = trace;
    if (nodeCount > this.#parentSeen.length) {
      this.#parentSeen = new Int32Array(nodeCount * 2);
      this.#pass = 0;
    }
    this.#pass += 1;
    const seen = this.#parentSeen;
    const pass = this.#pass;
    let distinct = 0;
    let isNullSeen = false;
    let isFar = false;
    for (let node = 0; node < nodeCount; node += 1) {
      const parent = parents[node] as number;
      if (parent >= nodeCount) isFar = true;
      else if (parent >= 0) {
        if (seen[parent] === pass) continue;
        seen[parent] = pass;
        distinct += 1;
      } else if (parent === NO_PARENT.NULL) isNullSeen = true;
    }
    if (isNullSeen && !this.#isExact) distinct += 1;
    if (isFar || trace.oddParents.length > 0) distinct += this.#oddParentsOf(trace, seen, pass);
    return Math.max(0, nodeCount - distinct);
  }

  /** Distinct parents that are no index of a node. A float or boolean that equals an index is the same value to Python. */
  #oddParentsOf(trace: TraceFacts, seen: Int32Array, pass: number): number {
    this.notes |= ODD_PARENT;
    const keys = new Set<string>();
    for (let node = 0; node < trace.nodeCount; node += 1) {
      const parent = trace.parents[node] as number;
      if (parent >= trace.nodeCount) keys.add(String(parent));
    }
    for (const key of trace.oddParents) {
      const isIndex = /^\d{1,9}$/.test(key) && Number(key) < trace.nodeCount && seen[Number(key)] === pass;
      if (!isIndex) keys.add(key);
    }
    return keys.size;
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

  #foldTokens(trace: TraceFacts): void {
    const tokens = this.#tokens;
    tokens.derive(trace);
    if (tokens.isOdd) this.notes |= ODD_PARENT;
    this.derivedInput.addInt(tokens.input, tokens.bigInput);
    this.derivedOutput.addInt(tokens.output, tokens.bigOutput);
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
