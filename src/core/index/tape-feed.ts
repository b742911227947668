/**
 * From the tape of a walker to the facts of a record. What comes twice is settled here as in a Python dict: a container
 * that begins anew voids what stood in the one before. One state machine over the fields, which makes it longer than
 * the rule for files and functions.
 */
import { isUtf8 } from 'node:buffer';
import { FIELD, type RecordTape, TAPE_ENTRY_WORDS, type TapeSink, TYPE } from '../scan/record-tape.js';
import { unitOfKeys } from '../scan/sniff.js';
import type { RecordUnit } from '../scan/types.js';
import { KeptText } from './kept-text.js';
import { NOTE, type RowFault } from './notes.js';
import type { NumberFact } from './number-fact.js';
import { isText, RecordFacts, type RowOptions, TextFact } from './record-facts.js';
import { stepOf } from './step-order.js';
import { COUNT, KIND, MAX_INDEX, NO_PARENT, STOP, TraceFacts } from './trace-facts.js';
import { ValueReader } from './value-reader.js';

// Local constants: the compiler turns comparisons with them into a jump, and under a test runner an import is a call.
const {
  ADVANTAGE,
  ARRIVAL,
  ARRIVAL_STEP,
  ARRIVAL_TIME,
  CACHED_INPUT_TOKENS,
  CALL,
  CALLS,
  CALL_ERROR,
  CALL_NODE,
  COMPLETION_TOKENS,
  COST,
  DISPATCH,
  DISPATCH_TIME,
  ENV,
  ENV_ID,
  ENV_NAME,
  ERRORS,
  FINISH_REASON,
  GROUP,
  GROUP_ID,
  ID,
  INFO,
  INFO_ENV_NAME,
  INFO_GROUP_ID,
  INFO_KIND,
  INPUT_TOKENS,
  MESSAGE,
  NODE,
  NODES,
  OK,
  OUTPUT_TOKENS,
  PARENT,
  PROMPT_TOKENS,
  REWARDS,
  ROLE,
  RUN,
  RUN_TYPE,
  STOP_CONDITION,
  TIMING,
  TRACE,
  TRACES,
  TRACES_END,
  TRACE_ID,
  UNIT_KEYS,
  USAGE,
  WORK,
  WORK_TYPE,
} = FIELD;
const { ARRAY, ESCAPED, FALSE, INT, NON_FINITE, NULL, NUMBER, OBJECT, RAW, STRING, TOO_LARGE, TRUE } = TYPE;
const ENTRY_WORDS = TAPE_ENTRY_WORDS;
const { DUPLICATE_KEY } = NOTE;
const isUtf8Bytes = isUtf8;

const TRAIN = Buffer.from('train');
const EVAL = Buffer.from('eval');
const LENGTH = Buffer.from('length');
const ASSISTANT = Buffer.from('assistant');

/** Where the text of a timing lies until its trace is folded. */
const NOWHERE = 0;
const IN_ARENA = 1;
const KEPT = 2;

class TimingText {
  place = NOWHERE;
  start = 0;
  length = 0;
}

/** Sets of fields, one bit each: fields below 32 in the low word, the others in the high one. */
const low = (...fields: number[]): number => fields.reduce((bits, field) => bits | (1 << field), 0);
const high = (...fields: number[]): number => fields.reduce((bits, field) => bits | (1 << (field - 32)), 0);

const IN_ENV = low(FIELD.ENV_ID, FIELD.ENV_NAME);
const IN_GROUP = low(FIELD.GROUP_ID);
const IN_RUN = low(FIELD.RUN_TYPE, FIELD.WORK, FIELD.WORK_TYPE);
const IN_WORK = low(FIELD.WORK_TYPE);
const IN_NODE = low(FIELD.NODE, FIELD.PARENT, FIELD.MESSAGE, FIELD.ROLE);
const IN_MESSAGE = low(FIELD.ROLE);
const IN_CALL = low(FIELD.CALL, FIELD.CALL_NODE, FIELD.FINISH_REASON, FIELD.CALL_ERROR);
const IN_CALL_HIGH = high(
  FIELD.USAGE,
  FIELD.PROMPT_TOKENS,
  FIELD.COMPLETION_TOKENS,
  FIELD.CACHED_INPUT_TOKENS,
  FIELD.COST,
);
const IN_USAGE_HIGH = IN_CALL_HIGH & ~high(FIELD.USAGE);
const IN_DISPATCH_HIGH = high(FIELD.DISPATCH_TIME);
const IN_ARRIVAL_HIGH = high(FIELD.ARRIVAL_STEP, FIELD.ARRIVAL_TIME);
const IN_INFO_HIGH =
  IN_DISPATCH_HIGH |
  IN_ARRIVAL_HIGH |
  high(FIELD.INFO_KIND, FIELD.DISPATCH, FIELD.ARRIVAL, FIELD.ADVANTAGE, FIELD.INFO_ENV_NAME, FIELD.INFO_GROUP_ID);
/** Fields of a trace; all high ones are. */
const IN_TRACE = low(FIELD.TRACE, FIELD.TRACE_ID, FIELD.NODES, FIELD.CALLS) | IN_NODE | IN_CALL;

export class TapeFeed implements TapeSink {
  readonly facts: RecordFacts;
  readonly kept: KeptText;
  unit: RecordUnit = 'unknown';
  /** Why the record is none; null when it has a row. */
  fault: RowFault | null = null;

  readonly #reader = new ValueReader();
  /** The trace that a bare trace is: fields of a trace at the root of the record. */
  readonly #root = new TraceFacts();
  readonly #rootTiming = new TimingText();
  readonly #infoEnvName = new TextFact();
  readonly #infoGroupId = new TextFact();
  /** The element of `traces` that is being read. */
  readonly #listed = new TraceFacts();
  readonly #listedTiming = new TimingText();
  /** Whether an element of `traces` waits to be folded. */
  #isListedOpen = false;
  /** One of the two: where fields of a trace go. */
  #trace: TraceFacts;
  #timing: TimingText;
  #hasTraceList = false;
  /** Whether the call or the node at hand is no object, so that nothing belongs to it. */
  #isAssistant = false;
  /** Fields seen in the objects that are open. */
  #seen = 0;
  #seenHigh = 0;
  /** The same of the root, while elements of `traces` are read. */
  #rootSeen = 0;
  #rootSeenHigh = 0;
  #arena: Uint8Array = new Uint8Array(0);

  constructor(options: RowOptions) {
    this.kept = new KeptText(this.#reader);
    this.facts = new RecordFacts(this.kept, options);
    this.#trace = this.#root;
    this.#timing = this.#rootTiming;
  }

  beginRecord(): void {
    this.kept.clear();
    this.facts.reset();
    this.unit = 'unknown';
    this.fault = null;
    this.#reader.notes = 0;
    this.#root.reset();
    this.#rootTiming.place = NOWHERE;
    this.#infoEnvName.length = -1;
    this.#infoGroupId.length = -1;
    this.#isListedOpen = false;
    this.#enterRoot();
    this.#hasTraceList = false;
    this.#seen = 0;
    this.#seenHigh = 0;
  }

  take(tape: RecordTape, entries: number): void {
    const { words, arena } = tape;
    this.#arena = arena;
    const facts = this.facts;
    // Locals for what each entry needs; written back before the tape ends.
    let trace = this.#trace;
    let seen = this.#seen;
    let seenHigh = this.#seenHigh;
    const wordCount = entries * ENTRY_WORDS;
    let isEnd = false;
    for (let at = 0; at < wordCount; at += ENTRY_WORDS) {
      const head = words[at] as number;
      const field = head & 0xff;
      const type = head >>> 8;
      const a = words[at + 1] as number;
      const b = words[at + 2] as number;
      if (field < 32) {
        const bit = 1 << field;
        if ((seen & bit) !== 0) facts.notes |= DUPLICATE_KEY;
        seen |= bit;
      } else {
        const bit = 1 << (field - 32);
        if ((seenHigh & bit) !== 0) facts.notes |= DUPLICATE_KEY;
        seenHigh |= bit;
      }
      switch (field) {
        case NODE:
          seen &= ~IN_NODE;
          this.#isAssistant = false;
          trace.addNode();
          if (type !== OBJECT) this.#odd(type);
          break;
        case PARENT:
          if (type === INT) trace.setParent(a);
          else this.#rareParent(type, a, b);
          break;
        case MESSAGE:
          seen &= ~IN_MESSAGE;
          this.#setAssistant(false);
          if (type !== OBJECT) this.#odd(type);
          break;
        case ROLE:
          this.#setAssistant(this.#isString(type, a, b, ASSISTANT));
          break;
        case CALL:
          seen &= ~IN_CALL;
          seenHigh &= ~IN_CALL_HIGH;
          if (type === OBJECT) trace.addCall();
          else this.#odd(type);
          break;
        case CALL_NODE:
          trace.callNodes[trace.callCount - 1] = type === INT ? a : this.#rareIndex(type, a, b);
          break;
        case FINISH_REASON:
          trace.isCutByLength[trace.callCount - 1] = this.#isString(type, a, b, LENGTH) ? 1 : 0;
          break;
        case CALL_ERROR:
          trace.hasError[trace.callCount - 1] = type === NULL || type === NON_FINITE ? 0 : 1;
          if (type === NON_FINITE) this.#odd(type);
          break;
        case USAGE:
          seenHigh &= ~IN_USAGE_HIGH;
          trace.clearUsage();
          if (type === OBJECT) trace.hasUsage[trace.callCount - 1] = 1;
          else this.#odd(type);
          break;
        case PROMPT_TOKENS:
          this.#count(COUNT.PROMPT, type, a, b);
          break;
        case COMPLETION_TOKENS:
          this.#count(COUNT.COMPLETION, type, a, b);
          break;
        case CACHED_INPUT_TOKENS:
          this.#count(COUNT.CACHED, type, a, b);
          break;
        case COST:
          this.#cost(type, a, b);
          break;
        case TRACE:
          this.#foldListed();
          seen &= ~IN_TRACE;
          seenHigh = 0;
          this.#listed.reset();
          this.#listedTiming.place = NOWHERE;
          this.#isListedOpen = true;
          if (type !== OBJECT) this.#odd(type);
          break;
        case TRACE_ID:
          this.#traceId(type, a, b);
          break;
        case NODES:
          trace.clearNodes();
          if (type !== ARRAY) this.#odd(type);
          break;
        case CALLS:
          trace.clearCalls();
          if (type !== ARRAY) this.#odd(type);
          break;
        case REWARDS:
          this.#rewards(type, a, b);
          break;
        case INFO:
          seenHigh &= ~IN_INFO_HIGH;
          trace.clearInfo();
          if (trace === this.#root) {
            this.#infoEnvName.length = -1;
            this.#infoGroupId.length = -1;
          }
          if (type !== OBJECT) this.#odd(type);
          break;
        case INFO_KIND:
          trace.kind = this.#kind(type, a, b);
          break;
        case DISPATCH:
          seenHigh &= ~IN_DISPATCH_HIGH;
          trace.dispatch.clear();
          if (type !== OBJECT) this.#odd(type);
          break;
        case DISPATCH_TIME:
          this.#number(trace.dispatch, type, a, b);
          break;
        case ARRIVAL:
          seenHigh &= ~IN_ARRIVAL_HIGH;
          trace.clearArrival();
          if (type !== OBJECT) this.#odd(type);
          break;
        case ARRIVAL_TIME:
          this.#number(trace.arrival, type, a, b);
          break;
        case ARRIVAL_STEP:
          if (type === INT) trace.arrivalStep = a;
          else this.#rareStep(type, a, b);
          break;
        case ADVANTAGE:
          this.#number(trace.advantage, type, a, b);
          break;
        case INFO_ENV_NAME:
          if (trace === this.#root) this.#text(this.#infoEnvName, type, a, b);
          break;
        case INFO_GROUP_ID:
          if (trace === this.#root) this.#text(this.#infoGroupId, type, a, b);
          break;
        case STOP_CONDITION:
          this.#stop(type, a, b);
          break;
        case TIMING:
          this.#timing.place = type === RAW ? IN_ARENA : NOWHERE;
          this.#timing.start = a;
          this.#timing.length = b;
          if (type !== RAW) this.#oddOrTooLarge(type);
          break;
        case ID:
          this.#text(facts.id, type, a, b);
          break;
        case ENV:
          seen &= ~IN_ENV;
          facts.envId.length = -1;
          facts.envName.length = -1;
          if (type !== OBJECT) this.#odd(type);
          break;
        case ENV_ID:
          this.#text(facts.envId, type, a, b);
          break;
        case ENV_NAME:
          this.#text(facts.envName, type, a, b);
          break;
        case GROUP:
          seen &= ~IN_GROUP;
          facts.groupId.length = -1;
          if (type !== OBJECT) this.#odd(type);
          break;
        case GROUP_ID:
          this.#text(facts.groupId, type, a, b);
          break;
        case RUN:
          seen &= ~IN_RUN;
          facts.runType.length = -1;
          facts.workType.length = -1;
          if (type !== OBJECT) this.#odd(type);
          break;
        case RUN_TYPE:
          this.#text(facts.runType, type, a, b);
          break;
        case WORK:
          seen &= ~IN_WORK;
          facts.workType.length = -1;
          if (type !== OBJECT) this.#odd(type);
          break;
        case WORK_TYPE:
          this.#text(facts.workType, type, a, b);
          break;
        case OK:
          facts.ok = type === TRUE ? 1 : type === FALSE ? 0 : -1;
          if (facts.ok < 0) this.#odd(type);
          break;
        case ERRORS:
          facts.numErrors = type === ARRAY ? a : 0;
          if (type !== ARRAY) this.#odd(type);
          break;
        case TRACES:
          this.#rootSeen = seen;
          this.#rootSeenHigh = seenHigh;
          this.#enterTraces(type);
          trace = this.#trace;
          break;
        case TRACES_END:
          this.#foldListed();
          this.#enterRoot();
          trace = this.#trace;
          seen = (seen & ~IN_TRACE) | (this.#rootSeen & IN_TRACE);
          seenHigh = this.#rootSeenHigh;
          break;
        case INPUT_TOKENS:
          this.#number(facts.storedInput, type, a, b);
          break;
        case OUTPUT_TOKENS:
          this.#number(facts.storedOutput, type, a, b);
          break;
        case UNIT_KEYS:
          this.#endRecord(a);
          isEnd = true;
          break;
      }
    }
    this.#seen = seen;
    this.#seenHigh = seenHigh;
    if (!isEnd) this.#keepTimings();
  }

  #enterRoot(): void {
    this.#trace = this.#root;
    this.#timing = this.#rootTiming;
  }

  #enterTraces(type: number): void {
    this.facts.resetTraces();
    this.#hasTraceList = type === ARRAY;
    if (!this.#hasTraceList) {
      this.#odd(type);
      return;
    }
    this.#trace = this.#listed;
    this.#timing = this.#listedTiming;
  }

  #foldListed(): void {
    if (!this.#isListedOpen) return;
    this.#isListedOpen = false;
    this.#fold(this.#listed, this.#listedTiming);
  }

  #fold(trace: TraceFacts, timing: TimingText): void {
    if (trace.isOverfull) this.#fail('line_too_large', 'a trace with more nodes or calls than are kept');
    this.facts.fold(trace);
    // With both stamps no phase is needed; a timing is then passed over like any payload, its content unchecked.
    if (timing.place === NOWHERE || this.facts.hasStamps) return;
    const bytes = timing.place === IN_ARENA ? this.#arena : this.kept.bytes;
    const { start } = timing;
    const end = start + timing.length;
    if (!this.facts.phases.addText(this.#reader, bytes, start, end)) this.#failReader();
    else this.#checkUtf8(bytes, start, end);
  }

  /** The arena is used again when the next part of the tape comes. */
  #keepTimings(): void {
    for (const timing of [this.#rootTiming, this.#listedTiming]) {
      if (timing.place !== IN_ARENA) continue;
      if (!this.kept.keepRaw(this.#arena, timing.start, timing.length)) this.#failText();
      timing.start = this.kept.start;
      timing.place = KEPT;
    }
  }

  #endRecord(keys: number): void {
    const { facts } = this;
    this.unit = unitOfKeys(keys, this.#hasTraceList);
    if (this.unit === 'trace') this.#wrapTrace();
    facts.gather(this.#reader.notes | this.#listed.rewards.notes | this.#root.rewards.notes);
    this.#listed.rewards.notes = 0;
    this.#root.rewards.notes = 0;
  }

  /** A bare trace as the episode that spec 01 section 2 makes of it. */
  #wrapTrace(): void {
    const { facts } = this;
    facts.resetTraces();
    this.#root.idStart = facts.id.start;
    this.#root.idLength = facts.id.length;
    facts.id.length = -1;
    facts.envId.start = this.#infoEnvName.start;
    facts.envId.length = this.#infoEnvName.length;
    facts.envName.length = -1;
    facts.groupId.start = this.#infoGroupId.start;
    facts.groupId.length = this.#infoGroupId.length;
    if (facts.envId.length >= 0 || facts.groupId.length >= 0) facts.notes |= NOTE.NAMED_BY_INFO;
    facts.numErrors = 0;
    facts.storedInput.clear();
    facts.storedOutput.clear();
    this.#fold(this.#root, this.#rootTiming);
  }

  #setAssistant(isAssistant: boolean): void {
    if (isAssistant === this.#isAssistant) return;
    this.#isAssistant = isAssistant;
    this.#trace.turns += isAssistant ? 1 : -1;
  }

  /** Notes what stands where something else belongs; null may stand anywhere. */
  #odd(type: number): void {
    if (type === NON_FINITE) this.facts.notes |= NOTE.NON_FINITE;
    else if (type !== NULL) this.facts.notes |= NOTE.ODD_VALUE;
  }

  #oddOrTooLarge(type: number): void {
    if (type === TOO_LARGE) this.#fail('line_too_large', 'a value that rows need is longer than 1 MiB');
    else this.#odd(type);
  }

  #fail(kind: RowFault['kind'], reason: string): void {
    this.fault ??= { kind, reason };
  }

  #failReader(): void {
    this.#fail('invalid_json', this.#reader.fault ?? 'no value where one belongs');
  }

  #checkUtf8(bytes: Uint8Array, start: number, end: number): void {
    if (this.#reader.union < 0x80 || isUtf8Bytes(bytes.subarray(start, end))) return;
    this.#fail('invalid_utf8', 'bytes that are not UTF-8');
  }

  #text(fact: TextFact, type: number, a: number, b: number): void {
    fact.length = -1;
    if (type !== STRING && type !== ESCAPED) {
      this.#oddOrTooLarge(type);
      return;
    }
    const { kept } = this;
    fact.length = type === STRING ? kept.keepPlain(this.#arena, a, b) : kept.keepEscaped(this.#arena, a, b);
    if (fact.length < 0) this.#failText();
    else fact.start = kept.start;
  }

  #failText(): void {
    if (this.kept.isFull) this.#fail('line_too_large', 'more text that rows need than the 64 MiB that are kept');
    else if (this.kept.isBadUtf8) this.#fail('invalid_utf8', 'bytes that are not UTF-8');
    else this.#failReader();
  }

  /** Whether a value is this string. Any other string is checked, since a bad one makes the line no JSON. */
  #isString(type: number, a: number, b: number, text: Uint8Array): boolean {
    if (type === STRING) {
      const arena = this.#arena;
      if (isText(arena, a, b, text)) return true;
      let union = 0;
      for (let at = a; at < a + b; at += 1) union |= arena[at] as number;
      if (union >= 0x80 && !isUtf8Bytes(arena.subarray(a, a + b)))
        this.#fail('invalid_utf8', 'bytes that are not UTF-8');
      return false;
    }
    if (type === ESCAPED) return this.#isEscaped(a, b, text);
    // Of the texts that are looked for, none is longer than the arena.
    if (type !== NULL) this.#odd(type);
    return false;
  }

  #isEscaped(a: number, b: number, text: Uint8Array): boolean {
    const { kept } = this;
    const mark = kept.length;
    const length = kept.keepEscaped(this.#arena, a, b);
    if (length < 0) this.#failText();
    const isSame = length >= 0 && isText(kept.bytes, kept.start, length, text);
    kept.length = mark;
    return isSame;
  }

  #kind(type: number, a: number, b: number): number {
    if (this.#isString(type, a, b, TRAIN)) return KIND.TRAIN;
    return type === NULL || !this.#isString(type, a, b, EVAL) ? KIND.NONE : KIND.EVAL;
  }

  #traceId(type: number, a: number, b: number): void {
    const trace = this.#trace;
    trace.idLength = -1;
    if (type !== STRING && type !== ESCAPED) {
      this.#oddOrTooLarge(type);
      return;
    }
    const { kept } = this;
    trace.idLength = type === STRING ? kept.keepPlain(this.#arena, a, b) : kept.keepEscaped(this.#arena, a, b);
    if (trace.idLength < 0) this.#failText();
    trace.idStart = kept.start;
  }

  #stop(type: number, a: number, b: number): void {
    const trace = this.#trace;
    trace.stop = STOP.NULL;
    if (type !== STRING && type !== ESCAPED) {
      this.#oddOrTooLarge(type);
      return;
    }
    const { kept } = this;
    const length = type === STRING ? kept.keepPlain(this.#arena, a, b) : kept.keepEscaped(this.#arena, a, b);
    if (length < 0) {
      this.#failText();
      return;
    }
    trace.stop = STOP.TEXT;
    trace.stopStart = kept.start;
    trace.stopLength = length;
  }

  #number(fact: NumberFact, type: number, a: number, b: number): void {
    fact.clear();
    if (type === INT) fact.setTo(a, true, null);
    else if (type !== NUMBER) this.#oddOrTooLarge(type);
    else if (this.#readNumber(a, b)) fact.set(this.#reader);
  }

  #readNumber(a: number, b: number): boolean {
    this.#reader.open(this.#arena, a, a + b);
    if (this.#reader.readNumber(true)) return true;
    this.#failReader();
    return false;
  }

  #count(column: number, type: number, a: number, b: number): void {
    const trace = this.#trace;
    if (type === INT) {
      trace.setCount(column, a, null);
      return;
    }
    trace.setCount(column, 0, null);
    if (type !== NUMBER) this.#oddOrTooLarge(type);
    else if (this.#readNumber(a, b)) {
      const { value, isInt, big } = this.#reader;
      if (isInt) trace.setCount(column, value, big);
      else this.facts.noteOdd();
    }
  }

  #cost(type: number, a: number, b: number): void {
    const trace = this.#trace;
    if (type === INT) trace.setCost(a, true, null);
    else if (type !== NUMBER) {
      trace.clearCost();
      this.#oddOrTooLarge(type);
    } else if (this.#readNumber(a, b)) {
      const { value, isInt, big } = this.#reader;
      trace.setCost(value, isInt, big);
    }
  }

  /** An index that is no plain literal of nine digits; -1 when it can be none. */
  #rareIndex(type: number, a: number, b: number): number {
    if (type !== NUMBER) {
      this.#oddOrTooLarge(type);
      return -1;
    }
    if (!this.#readNumber(a, b)) return -1;
    const { value, isInt } = this.#reader;
    const isIndex = isInt && value >= 0 && value <= MAX_INDEX;
    if (!isIndex) this.facts.noteOdd();
    return isIndex ? value : -1;
  }

  /** A step that is no plain literal of nine digits. No row says it, so that whatever it is costs none. */
  #rareStep(type: number, a: number, b: number): void {
    const step = type === NUMBER ? stepOf(this.#arena, a, b) : Number.NaN;
    this.#trace.arrivalStep = step;
    if (type !== NUMBER) this.#odd(type);
    else if (Number.isNaN(step)) this.facts.noteOdd();
  }

  #rareParent(type: number, a: number, b: number): void {
    const trace = this.#trace;
    if (type === NULL || type === NON_FINITE) {
      trace.setParent(NO_PARENT.NULL);
      this.#odd(type);
      return;
    }
    if (type === NUMBER && this.#readNumber(a, b)) {
      const { value, isInt, big } = this.#reader;
      if (isInt && value >= 0 && value <= MAX_INDEX) trace.setParent(value);
      else trace.setOddParent(big === null ? numberKey(value) : String(big));
      return;
    }
    this.#oddOrTooLarge(type);
    if (type === TRUE || type === FALSE) trace.setOddParent(type === TRUE ? '1' : '0');
    else if (type === STRING) trace.setOddParent(`"${this.#reader.latin1Of(this.#arena, a, a + b)}`);
    else if (type === ESCAPED) trace.setOddParent(this.#escapedKey(a, b));
    else trace.setOddParent(type === ARRAY ? '[' : '{');
  }

  #escapedKey(a: number, b: number): string {
    const { kept } = this;
    const mark = kept.length;
    const length = kept.keepEscaped(this.#arena, a, b);
    if (length < 0) this.#failText();
    const key = `"${this.#reader.latin1Of(kept.bytes, kept.start, kept.start + Math.max(0, length))}`;
    kept.length = mark;
    return key;
  }

  #rewards(type: number, a: number, b: number): void {
    const { rewards } = this.#trace;
    rewards.reset();
    if (type !== RAW) this.#oddOrTooLarge(type);
    else if (!rewards.addText(this.#reader, this.#arena, a, a + b)) this.#failReader();
    else this.#checkUtf8(this.#arena, a, a + b);
  }
}

/** Equal for numbers that are equal: 2.0 and 2 have one key. */
function numberKey(value: number): string {
  return Number.isInteger(value) ? String(BigInt(value)) : String(value);
}
