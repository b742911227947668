/**
 * From an episode in memory to the facts of a record: the same formulas as from a tape, without encoding anything and
 * without touching what nodes carry (R-IDX-1). One trace at a time, so that a caller can do other work in between.
 */
import { UNIT_KEYS } from '../scan/record-tape.js';
import { unitOfKeys } from '../scan/sniff.js';
import { KeptText } from './kept-text.js';
import { NOTE } from './notes.js';
import { NumberFact } from './number-fact.js';
import { isPlainObject, jsonValueOf, memberOf, rewardsTree, takeNumber, timingTree } from './object-values.js';
import { RecordFacts, type RowOptions, type TextFact } from './record-facts.js';
import { COUNT, KIND, NO_PARENT, STOP, TraceFacts } from './trace-facts.js';
import { ValueReader } from './value-reader.js';

/** Nodes that can be addressed, as from a tape. */
const MAX_INDEX = 999_999_999;

export class ObjectFeed {
  readonly facts: RecordFacts;
  readonly kept: KeptText;

  readonly #reader = new ValueReader();
  readonly #trace = new TraceFacts();
  readonly #number = new NumberFact();

  constructor(options: RowOptions) {
    this.kept = new KeptText(this.#reader);
    this.facts = new RecordFacts(this.kept, options);
  }

  /** Takes an episode, or a bare trace, which is wrapped (spec 01 section 2). Yields after each trace. */
  *take(record: unknown): Generator<void, void, void> {
    const { facts } = this;
    this.kept.clear();
    facts.reset();
    this.#reader.notes = 0;
    const traces = memberOf(record, 'traces');
    const isTrace = unitOfKeys(unitKeysOf(record), Array.isArray(traces)) === 'trace';
    if (isTrace) this.#takeWrapping(record);
    else this.#takeEpisode(record);
    for (const trace of isTrace ? [record] : this.#elements(traces)) {
      this.#takeTrace(trace);
      yield;
    }
    facts.gather(this.#reader.notes | this.#trace.rewards.notes);
    this.#trace.rewards.notes = 0;
  }

  #takeEpisode(record: unknown): void {
    const { facts } = this;
    const env = memberOf(record, 'env');
    this.#text(facts.id, memberOf(record, 'id'));
    this.#text(facts.envId, memberOf(env, 'id'));
    this.#text(facts.envName, memberOf(env, 'name'));
    this.#text(facts.groupId, memberOf(memberOf(record, 'group'), 'id'));
    this.#takeRun(record);
    facts.numErrors = this.#elements(memberOf(record, 'errors')).length;
    this.#takeNumber(facts.storedInput, memberOf(record, 'num_input_tokens'));
    this.#takeNumber(facts.storedOutput, memberOf(record, 'num_output_tokens'));
  }

  #takeWrapping(trace: unknown): void {
    const { facts } = this;
    const info = memberOf(trace, 'info');
    this.#text(facts.envId, memberOf(info, 'env_name'));
    this.#text(facts.groupId, memberOf(info, 'group_id'));
    if (facts.envId.length >= 0 || facts.groupId.length >= 0) facts.notes |= NOTE.NAMED_BY_INFO;
    this.#takeRun(trace);
  }

  #takeRun(record: unknown): void {
    const { facts } = this;
    const run = memberOf(record, 'run');
    this.#text(facts.runType, memberOf(run, 'type'));
    this.#text(facts.workType, memberOf(memberOf(run, 'work'), 'type'));
    const ok = memberOf(record, 'ok');
    if (typeof ok === 'boolean') facts.ok = ok ? 1 : 0;
    else this.#odd(ok);
  }

  #takeTrace(value: unknown): void {
    const trace = this.#trace;
    trace.reset();
    const id = memberOf(value, 'id');
    if (typeof id === 'string') {
      trace.idLength = this.kept.keepString(id);
      trace.idStart = this.kept.start;
    } else {
      this.#odd(id);
    }
    this.#takeNodes(memberOf(value, 'nodes'));
    this.#takeCalls(memberOf(value, 'calls'));
    trace.rewards.addTree(rewardsTree(memberOf(value, 'rewards'), this.#reader));
    this.#takeInfo(memberOf(value, 'info'));
    this.#takeStop(memberOf(value, 'stop_condition'));
    if (trace.isOverfull || this.kept.isFull) throw new RangeError('a trace with more than is kept of one');
    this.facts.fold(trace);
    if (this.facts.hasStamps) return;
    this.facts.phases.addTree(timingTree(memberOf(value, 'timing'), this.#reader));
  }

  #takeNodes(nodes: unknown): void {
    const trace = this.#trace;
    for (const node of this.#elements(nodes)) {
      trace.addNode();
      this.#takeParent(memberOf(node, 'parent'));
      if (memberOf(memberOf(node, 'message'), 'role') === 'assistant') trace.turns += 1;
    }
  }

  #takeParent(parent: unknown): void {
    const trace = this.#trace;
    if (parent === undefined) return;
    if (parent === null) trace.setParent(NO_PARENT.NULL);
    else if (takeNumber(this.#number, parent, this.#reader)) {
      const { value, isInt, big } = this.#number;
      if (isInt && value >= 0 && value <= MAX_INDEX) trace.setParent(value);
      else if (big !== null || Number.isInteger(value)) trace.setOddParent(String(big ?? BigInt(value)));
      else trace.setOddParent(String(value));
    } else {
      this.#odd(parent);
      if (typeof parent === 'boolean') trace.setOddParent(parent ? '1' : '0');
      else if (typeof parent === 'string') trace.setOddParent(`"${parent}`);
      else trace.setOddParent(Array.isArray(parent) ? '[' : '{');
    }
  }

  #takeCalls(calls: unknown): void {
    const trace = this.#trace;
    for (const element of this.#elements(calls)) {
      const call = jsonValueOf(element);
      if (!isPlainObject(call)) {
        this.#odd(call);
        continue;
      }
      trace.addCall();
      const index = trace.callCount - 1;
      if (takeNumber(this.#number, memberOf(call, 'node'), this.#reader)) {
        const { value, isInt } = this.#number;
        if (isInt && value >= 0 && value <= MAX_INDEX) trace.callNodes[index] = value;
      }
      trace.isCutByLength[index] = memberOf(call, 'finish_reason') === 'length' ? 1 : 0;
      trace.hasError[index] = (memberOf(call, 'error') ?? null) === null ? 0 : 1;
      this.#takeUsage(memberOf(call, 'usage'));
    }
  }

  #takeUsage(usage: unknown): void {
    const trace = this.#trace;
    if (!isPlainObject(usage)) {
      this.#odd(usage);
      return;
    }
    trace.hasUsage[trace.callCount - 1] = 1;
    this.#takeCount(COUNT.PROMPT, memberOf(usage, 'prompt_tokens'));
    this.#takeCount(COUNT.COMPLETION, memberOf(usage, 'completion_tokens'));
    this.#takeCount(COUNT.CACHED, memberOf(usage, 'cached_input_tokens'));
    if (this.#takeNumber(this.#number, memberOf(usage, 'cost'))) {
      const { value, isInt, big } = this.#number;
      trace.setCost(value, isInt, big);
    }
  }

  #takeCount(column: number, count: unknown): void {
    if (!this.#takeNumber(this.#number, count)) return;
    const { value, isInt, big } = this.#number;
    if (isInt) this.#trace.setCount(column, value, big);
    else this.facts.noteOdd();
  }

  #takeInfo(info: unknown): void {
    const trace = this.#trace;
    const kind = memberOf(info, 'kind');
    if (kind === 'train') trace.kind = KIND.TRAIN;
    else if (kind === 'eval') trace.kind = KIND.EVAL;
    this.#takeNumber(trace.dispatch, memberOf(memberOf(info, 'dispatch'), 'time'));
    this.#takeNumber(trace.arrival, memberOf(memberOf(info, 'arrival'), 'time'));
    this.#takeNumber(trace.advantage, memberOf(info, 'advantage'));
  }

  #takeStop(stop: unknown): void {
    const trace = this.#trace;
    if (stop === undefined) return;
    if (typeof stop !== 'string') {
      this.#odd(stop);
      trace.stop = STOP.NULL;
      return;
    }
    trace.stop = STOP.TEXT;
    trace.stopLength = this.kept.keepString(stop);
    trace.stopStart = this.kept.start;
  }

  #takeNumber(fact: NumberFact, value: unknown): boolean {
    const isNumber = takeNumber(fact, value, this.#reader);
    if (!isNumber) this.#odd(value);
    return isNumber;
  }

  #text(fact: TextFact, value: unknown): void {
    if (typeof value !== 'string') {
      this.#odd(value);
      return;
    }
    fact.length = this.kept.keepString(value);
    fact.start = this.kept.start;
  }

  #elements(value: unknown): readonly unknown[] {
    if (Array.isArray(value)) return value;
    this.#odd(value);
    return [];
  }

  /** Notes a value of a type that does not belong where it stands. */
  #odd(value: unknown): void {
    if (value !== undefined && value !== null) this.facts.noteOdd();
  }
}

/** The set of UNIT_KEYS that the encoded object would have. */
function unitKeysOf(record: unknown): number {
  let keys = 0;
  for (let index = 0; index < UNIT_KEYS.length; index += 1) {
    if (memberOf(record, UNIT_KEYS[index] as string) !== undefined) keys |= 1 << index;
  }
  return keys;
}
