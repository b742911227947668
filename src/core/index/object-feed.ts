/**
 * From an episode in memory to the facts of a record: the same formulas as from a tape, without encoding anything and
 * without touching what nodes carry (R-IDX-1). It stops after each trace, and inside long ones, so that a caller can do
 * other work in between. Used again for every record.
 */
import { PrlError } from '../errors.js';
import { ARENA_BYTES, UNIT_KEYS } from '../scan/record-tape.js';
import { unitOfKeys } from '../scan/sniff.js';
import { STEP_ITEMS } from './item-steps.js';
import { KeptText, MAX_KEPT_BYTES } from './kept-text.js';
import { NOTE } from './notes.js';
import { ObjectCalls } from './object-calls.js';
import { ObjectNodes } from './object-nodes.js';
import { ObjectRewards } from './object-rewards.js';
import { ObjectTiming } from './object-timing.js';
import { memberOf, NO_ELEMENTS, ObjectValues } from './object-values.js';
import { RecordFacts, type RowOptions, type TextFact } from './record-facts.js';
import { KIND, MAX_CALLS, MAX_NODES, STOP, TraceFacts } from './trace-facts.js';
import { ValueReader } from './value-reader.js';

/** The longest text that a walker captures: a line with a longer one has no row either. */
const MAX_TEXT_BYTES = ARENA_BYTES;

const TRACE_HINT = 'log the trace in several pieces';
const EPISODE_HINT = 'log its traces as several episodes';

export class ObjectFeed {
  readonly facts: RecordFacts;
  readonly kept: KeptText;

  readonly #reader = new ValueReader();
  readonly #trace = new TraceFacts();
  readonly #values: ObjectValues;
  readonly #nodes: ObjectNodes;
  readonly #calls: ObjectCalls;
  readonly #rewards: ObjectRewards;
  readonly #timing: ObjectTiming;
  /** The timing of the trace at hand, until its fold begins. */
  #timingValue: unknown;
  #isFolding = false;

  constructor(options: RowOptions) {
    this.kept = new KeptText(this.#reader);
    this.facts = new RecordFacts(this.kept, options);
    this.#values = new ObjectValues(this.facts, this.#reader, options.rules);
    this.#nodes = new ObjectNodes(this.#trace, this.#values);
    this.#calls = new ObjectCalls(this.#trace, this.#values);
    this.#rewards = new ObjectRewards(this.#trace.rewards, this.#values);
    this.#timing = new ObjectTiming(this.facts.phases, this.kept, this.#values);
  }

  /**
   * Takes an episode, or a bare trace, which is wrapped (spec 01 section 2). Yields after each trace, and after each
   * STEP_ITEMS of one.
   *
   * @throws PrlError PRL_ERR_REJECTED for a record that has no row: as a line, it would be too large to be scanned
   */
  *take(record: unknown): Generator<void, void, void> {
    this.kept.clear();
    this.facts.reset();
    this.#reader.notes = 0;
    const list = memberOf(record, 'traces');
    const isTrace = unitOfKeys(unitKeysOf(record), Array.isArray(list)) === 'trace';
    if (isTrace) this.#takeWrapping(record);
    else this.#takeEpisode(record);
    const traces = isTrace ? [record] : this.#values.elementsOf(list);
    for (let index = 0; index < traces.length; index += 1) {
      this.#beginTrace(traces[index]);
      while (!this.#goOn(STEP_ITEMS)) yield;
      yield;
    }
    while (this.facts.phases.sumSome(STEP_ITEMS) <= 0) yield;
    this.facts.gather(this.#reader.notes);
  }

  /** Holds on to nothing of a record, whether it was taken to its end or not. */
  letGo(): void {
    this.#nodes.begin(NO_ELEMENTS);
    this.#calls.begin(NO_ELEMENTS);
    this.#rewards.begin(undefined);
    this.#timing.begin(undefined);
    this.#timingValue = undefined;
  }

  #takeEpisode(record: unknown): void {
    const { facts } = this;
    const env = memberOf(record, 'env');
    this.#text(facts.id, memberOf(record, 'id'), 'id');
    this.#text(facts.envId, memberOf(env, 'id'), 'env.id');
    this.#text(facts.envName, memberOf(env, 'name'), 'env.name');
    this.#text(facts.groupId, memberOf(memberOf(record, 'group'), 'id'), 'group.id');
    this.#takeRun(record);
    facts.numErrors = this.#values.elementsOf(memberOf(record, 'errors')).length;
    this.#values.takeNumber(facts.storedInput, memberOf(record, 'num_input_tokens'));
    this.#values.takeNumber(facts.storedOutput, memberOf(record, 'num_output_tokens'));
  }

  #takeWrapping(trace: unknown): void {
    const { facts } = this;
    const info = memberOf(trace, 'info');
    this.#text(facts.envId, memberOf(info, 'env_name'), 'info.env_name');
    this.#text(facts.groupId, memberOf(info, 'group_id'), 'info.group_id');
    if (facts.envId.length >= 0 || facts.groupId.length >= 0) facts.notes |= NOTE.NAMED_BY_INFO;
    this.#takeRun(trace);
  }

  #takeRun(record: unknown): void {
    const { facts } = this;
    const run = memberOf(record, 'run');
    this.#text(facts.runType, memberOf(run, 'type'), 'run.type');
    this.#text(facts.workType, memberOf(memberOf(run, 'work'), 'type'), 'run.work.type');
    const ok = memberOf(record, 'ok');
    if (typeof ok === 'boolean') facts.ok = ok ? 1 : 0;
    else this.#values.noteOdd(ok);
  }

  /** Takes what a trace says once, and begins with what it has many of. */
  #beginTrace(value: unknown): void {
    const trace = this.#trace;
    trace.reset();
    const id = memberOf(value, 'id');
    if (typeof id === 'string') {
      trace.idLength = this.#keep(id, 'id of a trace');
      trace.idStart = this.kept.start;
    } else {
      this.#values.noteOdd(id);
    }
    this.#takeInfo(memberOf(value, 'info'));
    this.#takeStop(this.#values.modelMember(value, 'stop_condition'));
    const nodes = this.#values.elementsOf(memberOf(value, 'nodes'));
    const calls = this.#values.elementsOf(memberOf(value, 'calls'));
    trace.reserve(nodes.length, calls.length);
    this.#nodes.begin(nodes);
    this.#calls.begin(calls);
    this.#rewards.begin(memberOf(value, 'rewards'));
    this.#timing.begin(undefined);
    this.#timingValue = memberOf(value, 'timing');
    this.#isFolding = false;
  }

  /** Goes on with the trace for at most `items`; true when it is done. */
  #goOn(items: number): boolean {
    const trace = this.#trace;
    let left = this.#nodes.step(items);
    if (left > 0) left = this.#calls.step(left);
    if (trace.isOverfull) {
      throw noRow(`a trace has more than ${MAX_NODES} nodes or ${MAX_CALLS} calls`, TRACE_HINT);
    }
    if (left > 0) left = this.#rewards.step(left);
    if (left > 0 && !this.#isFolding) this.#beginFold();
    if (left > 0) left = this.facts.foldSome(trace, left);
    if (left > 0) left = this.#timing.step(left);
    this.#refuseFull();
    return left > 0;
  }

  #beginFold(): void {
    this.#isFolding = true;
    this.facts.beginFold(this.#trace);
    // With both stamps no phase is needed.
    if (!this.facts.hasStamps) this.#timing.begin(this.#timingValue);
  }

  #takeInfo(info: unknown): void {
    const trace = this.#trace;
    const kind = memberOf(info, 'kind');
    if (kind === 'train') trace.kind = KIND.TRAIN;
    else if (kind === 'eval') trace.kind = KIND.EVAL;
    this.#values.takeNumber(trace.dispatch, memberOf(memberOf(info, 'dispatch'), 'time'));
    this.#values.takeNumber(trace.arrival, memberOf(memberOf(info, 'arrival'), 'time'));
    this.#values.takeNumber(trace.advantage, memberOf(info, 'advantage'));
  }

  #takeStop(stop: unknown): void {
    const trace = this.#trace;
    if (stop === undefined) return;
    if (typeof stop !== 'string') {
      this.#values.noteOdd(stop);
      trace.stop = STOP.NULL;
      return;
    }
    trace.stop = STOP.TEXT;
    trace.stopLength = this.#keep(stop, 'stop_condition of a trace');
    trace.stopStart = this.kept.start;
  }

  #text(fact: TextFact, value: unknown, name: string): void {
    if (typeof value !== 'string') {
      this.#values.noteOdd(value);
      return;
    }
    fact.length = this.#keep(value, name);
    fact.start = this.kept.start;
  }

  /** Keeps a text that the row repeats, as long as one that a walker captures. Returns its length. */
  #keep(text: string, name: string): number {
    // Text has at least one byte for each of its units.
    const length = text.length > MAX_TEXT_BYTES ? text.length : this.kept.keepString(text);
    if (length > MAX_TEXT_BYTES) throw noRow(`the ${name} has more than ${MAX_TEXT_BYTES} bytes`, 'shorten it');
    this.#refuseFull();
    return length;
  }

  #refuseFull(): void {
    if (this.kept.isFull) throw noRow(`its ids and names have more than ${MAX_KEPT_BYTES} bytes in all`, EPISODE_HINT);
  }
}

function noRow(reason: string, hint: string): PrlError {
  return new PrlError('PRL_ERR_REJECTED', `an episode that is too large for an index row: ${reason}`, { hint });
}

/** The set of UNIT_KEYS that the encoded object would have. */
function unitKeysOf(record: unknown): number {
  let keys = 0;
  for (let index = 0; index < UNIT_KEYS.length; index += 1) {
    if (memberOf(record, UNIT_KEYS[index] as string) !== undefined) keys |= 1 << index;
  }
  return keys;
}
