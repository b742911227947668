/** The bytes of a row (spec 04 section 2) from the facts of its record. */
import type { ExactSum } from './exact-sum.js';
import type { KeptText } from './kept-text.js';
import type { NumberFact } from './number-fact.js';
import { writeFloat, writeInt, writeNull } from './print-number.js';
import type { RecordFacts, RowOptions, TextFact } from './record-facts.js';
import { type RowBuffer, RowKey } from './row-buffer.js';
import { KIND } from './trace-facts.js';

/** Where the record of a row lies. */
export type RowPlace = {
  /** Position in the whole stream, from 1; null leaves the digits out, for who counts later. */
  readonly line: number | null;
  /** Of the first byte of the record inside its uncompressed chunk. */
  readonly offset: number;
  /** Number of the chunk; null leaves the key out, as in the layout before chunks. */
  readonly chunk: number | null;
};

/** Bytes of a row apart from its strings and from the numbers that may be long. */
const ROW_BYTES = 1024;

const COMMA = 0x2c;
const COLON = 0x3a;
const QUOTE = 0x22;

const COST = new RowKey('{"cost":');
const LINE = new RowKey(',"line":');
const OFFSET = new RowKey(',"offset":');
const ID = new RowKey(',"id":');
const IN_KIND = new RowKey(',"kind":');
const TRACE_IDS = new RowKey(',"trace_ids":[');
const ENV = new RowKey('],"env":');
const GROUP = new RowKey(',"group":');
const OK = new RowKey(',"ok":');
const NUM_ERRORS = new RowKey(',"num_errors":');
const REWARD = new RowKey(',"reward":');
const ADVANTAGE = new RowKey(',"advantage":');
const INPUT_TOKENS = new RowKey(',"input_tokens":');
const OUTPUT_TOKENS = new RowKey(',"output_tokens"');
const TURNS = new RowKey(',"turns":');
const BRANCHES = new RowKey(',"branches":');
const STOP = new RowKey(',"stop_condition');
const KEY_END = new RowKey('":');
const TRUNCATED = new RowKey(',"truncated":');
const DISPATCH = new RowKey(',"dispatch":');
const ARRIVAL = new RowKey(',"arrival":');
const DURATION = new RowKey(',"duration":');
const CHUNK = new RowKey(',"chunk":');
const END = new RowKey('}\n');
const TRUE = new RowKey('true');
const FALSE = new RowKey('false');
const TRAIN = new RowKey('"train"');
const EVAL = new RowKey('"eval"');

export class RowWriter {
  readonly #facts: RecordFacts;
  readonly #kept: KeptText;
  readonly #tokens: RowOptions['tokens'];

  constructor(facts: RecordFacts, kept: KeptText, tokens: RowOptions['tokens']) {
    this.#facts = facts;
    this.#kept = kept;
    this.#tokens = tokens;
  }

  /** Appends the row and its LF; returns where in `target.bytes` the digits of the line are, or belong. */
  write(target: RowBuffer, place: RowPlace): number {
    const lineAt = this.writeHead(target, place);
    this.writeTraceIds(target, 0, this.#facts.idCount);
    this.writeTail(target, place);
    return lineAt;
  }

  /** The same in steps: first all before the trace ids, which come next, some at a time, then what is behind them. */
  writeHead(target: RowBuffer, place: RowPlace): number {
    const facts = this.#facts;
    // Room for everything that is not a number of unknown length, so that the writes in between need no check.
    target.reserve(ROW_BYTES + this.#kept.length + facts.idCount * 3);
    target.writeKey(COST);
    this.#writeSum(target, facts.cost);
    target.writeKey(LINE);
    const lineAt = target.length;
    if (place.line !== null) target.writeDigits(place.line);
    target.writeKey(OFFSET);
    target.writeDigits(place.offset);
    target.writeKey(ID);
    this.#writeText(target, facts.id);
    this.#writeKind(target);
    target.writeKey(TRACE_IDS);
    return lineAt;
  }

  writeTail(target: RowBuffer, place: RowPlace): void {
    const facts = this.#facts;
    target.writeKey(ENV);
    this.#writeText(target, facts.envName.length > 0 ? facts.envName : facts.envId);
    target.writeKey(GROUP);
    this.#writeText(target, facts.groupId);
    target.writeKey(OK);
    if (facts.ok < 0) writeNull(target);
    else target.writeKey(facts.ok === 1 ? TRUE : FALSE);
    target.writeKey(NUM_ERRORS);
    target.writeDigits(facts.numErrors);
    target.writeKey(REWARD);
    this.#writeMean(target, facts.reward);
    target.writeKey(ADVANTAGE);
    this.#writeMean(target, facts.advantage);
    this.#writeTokens(target);
    this.#writeShape(target);
    this.#writeTimes(target);
    if (place.chunk !== null) {
      target.writeKey(CHUNK);
      target.writeDigits(place.chunk);
    }
    target.writeKey(END);
  }

  /** 4.1 */
  #writeKind(target: RowBuffer): void {
    const { kind, workType, runType } = this.#facts;
    target.writeKey(IN_KIND);
    if (kind !== KIND.NONE) target.writeKey(kind === KIND.TRAIN ? TRAIN : EVAL);
    else if (workType.length > 0) this.#writeText(target, workType);
    else if (runType.length > 0) this.#writeText(target, runType);
    else target.writeKey(EVAL);
  }

  /** Ids `from` to before `to`. */
  writeTraceIds(target: RowBuffer, from: number, to: number): void {
    const { idSpans } = this.#facts;
    for (let index = from; index < to; index += 1) {
      if (index > 0) target.writeByte(COMMA);
      target.writeByte(QUOTE);
      target.writeWords(this.#kept.view, idSpans[index * 2] as number, idSpans[index * 2 + 1] as number);
      target.writeByte(QUOTE);
    }
  }

  /** 4.3 */
  #writeTokens(target: RowBuffer): void {
    const { storedInput, storedOutput, derivedInput, derivedOutput } = this.#facts;
    const isStored = this.#facts.hasStoredTokens;
    target.writeKey(INPUT_TOKENS);
    if (this.#tokens === 'derived' || (this.#tokens === 'auto' && !isStored)) {
      this.#writeInt(target, derivedInput.value, derivedInput.big);
      target.writeKey(OUTPUT_TOKENS);
      target.writeByte(COLON);
      this.#writeInt(target, derivedOutput.value, derivedOutput.big);
      return;
    }
    this.#writeInt(target, isStored ? storedInput.value : 0, isStored ? storedInput.big : null);
    target.writeKey(OUTPUT_TOKENS);
    target.writeByte(COLON);
    this.#writeInt(target, isStored ? storedOutput.value : 0, isStored ? storedOutput.big : null);
  }

  /** Turns, branches and how the episode ended. */
  #writeShape(target: RowBuffer): void {
    const facts = this.#facts;
    target.writeKey(TURNS);
    target.writeDigits(facts.turns);
    target.writeKey(BRANCHES);
    target.writeDigits(facts.branches);
    target.writeKey(STOP);
    target.writeKey(KEY_END);
    this.#writeText(target, facts.stop);
    target.writeKey(TRUNCATED);
    target.writeKey(facts.isTruncated ? TRUE : FALSE);
  }

  /** 4.6 */
  #writeTimes(target: RowBuffer): void {
    const facts = this.#facts;
    target.writeKey(DISPATCH);
    this.#writeNumber(target, facts.dispatch);
    target.writeKey(ARRIVAL);
    this.#writeNumber(target, facts.arrival);
    target.writeKey(DURATION);
    if (facts.hasStamps) {
      this.#writeSpan(target, facts.dispatch, facts.arrival);
      return;
    }
    const seconds = facts.phases.total();
    if (seconds === null) writeNull(target);
    else this.#writeFloat(target, seconds);
  }

  /** `max(0.0, arrival - dispatch)`: what is not above zero becomes the float. */
  #writeSpan(target: RowBuffer, dispatch: NumberFact, arrival: NumberFact): void {
    if (!dispatch.isInt || !arrival.isInt) {
      const span = arrival.value - dispatch.value;
      this.#writeFloat(target, Math.max(span, 0));
      return;
    }
    const span = arrival.value - dispatch.value;
    if (dispatch.big === null && arrival.big === null && Number.isSafeInteger(span)) {
      if (span > 0) this.#writeInt(target, span, null);
      else this.#writeFloat(target, 0);
      return;
    }
    const exact = (arrival.big ?? BigInt(arrival.value)) - (dispatch.big ?? BigInt(dispatch.value));
    if (exact > 0n) this.#writeInt(target, 0, exact);
    else this.#writeFloat(target, 0);
  }

  #writeText(target: RowBuffer, text: TextFact): void {
    if (text.length < 0) {
      writeNull(target);
      return;
    }
    target.writeByte(QUOTE);
    target.writeWords(this.#kept.view, text.start, text.length);
    target.writeByte(QUOTE);
  }

  #writeSum(target: RowBuffer, sum: ExactSum): void {
    if (sum.count === 0) writeNull(target);
    else if (sum.isInt) this.#writeInt(target, sum.value, sum.big);
    else this.#writeFloat(target, sum.value);
  }

  #writeMean(target: RowBuffer, sum: ExactSum): void {
    if (sum.count === 0) writeNull(target);
    else this.#writeFloat(target, sum.mean());
  }

  #writeNumber(target: RowBuffer, number: NumberFact): void {
    if (!number.isPresent) writeNull(target);
    else if (number.isInt) this.#writeInt(target, number.value, number.big);
    else this.#writeFloat(target, number.value);
  }

  #writeInt(target: RowBuffer, value: number, big: bigint | null): void {
    writeInt(target, value, big);
  }

  #writeFloat(target: RowBuffer, value: number): void {
    writeFloat(target, value);
  }
}
