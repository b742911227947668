/**
 * The incremental encoder: a value in, byte parts out, stopping wherever it is told to: between members, inside a token
 * array, inside a long string (architecture.md decision 2, R-REC-2). The stack is explicit, so that a stop needs no
 * generator and a deep value no recursion. Long for one module: it is one state machine.
 *
 * Numbers are told apart as core/index/object-values says. Values are plain data: what has no JSON text is refused with
 * its path, and nothing of a refused value remains.
 */
import { EncodeError, type PathStep, pathText } from './encode-error.js';
import { EncodeKernel, FLOAT_FORM } from './kernel.js';
import { type KeyPlan, KeyPlanner } from './key-plan.js';
import { isTypedList, oddityOf, type TypedList } from './odd-values.js';
import { cutText, type FloatForm, MOST_TEXT_UNITS, type NumberRun, Printer } from './printer.js';
import { type MemberRule, type ModelRule, PLAIN_MEMBER } from './record-rules.js';
import { printTyped } from './typed-runs.js';
import type { EncodedPart } from './types.js';

export type RecordEncoderOptions = {
  /** Output buffers of 1 MiB each, 2 to 64. Default 4. */
  readonly slots?: number;
  /** Decimals of per-token streams, 0 to 9; null writes every digit. Default 4, as prime-rl's file monitor. */
  readonly floatDecimals?: number | null;
};

export const DEFAULT_SLOTS = 4;
export const DEFAULT_FLOAT_DECIMALS = 4;

/** `full`: no buffer is free; go on when parts have been released. */
export type EncodeStep = 'done' | 'more' | 'full';

/** Objects and arrays within one another; orjson, which reads the streams, refuses more. */
export const MAX_DEPTH = 1024;

/** Bytes, and stack steps, between two looks at whether to stop: 10 to 30 µs (30 Nov 2026, 2 cores). */
const LOOK_BYTES = 16_384;
const LOOK_STEPS = 128;

/** Members of an object between two turns of the loop, and bytes of one that ends a turn. */
const MEMBERS_AT_ONCE = 32;
const SMALL_BYTES = 256;

/** Longer names are printed like long strings. */
const MOST_NAME_BYTES = 1024;

/** What stands on the stack. */
const OBJECT = 0;
const ARRAY = 1;
const TYPED = 2;
/** A long string, printed piece by piece. */
const TEXT = 3;
/** The same, as the name of a member: its value comes next. */
const NAME = 4;

const QUOTE = 0x22;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

const BIGINT_LEAST = -(2n ** 63n);
const BIGINT_MOST = 2n ** 64n - 1n;

const NO_NAMES: readonly string[] = [];
const { FLOAT, PLAIN, ROUNDED } = FLOAT_FORM;

const TEXT_HINT = 'decode it with errors="replace", or cut text between characters';
const INT_HINT = 'write it as text';
const PLAIN_HINT = 'write its value: text, a number, a list or a plain object';
const MUTATION_HINT = 'leave an episode as it is until log() has settled, or ask for a snapshot';

/** Digits of a literal that is copied as it is. */
const MOST_DIGITS = 65_536;
const NUMBER_START = /^[-0-9]/;

/** Neither the library's types nor Node's know these yet. */
const rawJson = JSON as unknown as { readonly isRawJSON: (value: unknown) => value is { readonly rawJSON: string } };

type PlainObject = { readonly [key: string]: unknown };

export class RecordEncoder {
  readonly #printer: Printer;
  readonly #planner = new KeyPlanner();
  readonly #entryRules = new Map<MemberRule, MemberRule>();
  readonly #floatDecimals: number | null;
  /** One entry for each level of the stack. */
  readonly #kinds = new Uint8Array(MAX_DEPTH + 2);
  readonly #owners: unknown[] = [];
  /** Names of an object's members, in the order they are written. */
  readonly #names: (readonly string[])[] = [];
  readonly #plans: (KeyPlan | null)[] = [];
  /** The rule of what lies inside. */
  readonly #rules: MemberRule[] = [];
  /** The member, element or unit that comes next, and how many there are. */
  readonly #next = new Uint32Array(MAX_DEPTH + 2);
  readonly #lengths = new Uint32Array(MAX_DEPTH + 2);
  /** Whether a member has been written, so that a comma comes before the next. */
  readonly #isBegun = new Uint8Array(MAX_DEPTH + 2);
  readonly #run: NumberRun = { from: 0, to: 0, form: PLAIN, decimals: 0 };
  /** The level on top of the stack; -1: no value is under way. */
  #top = -1;

  /**
   * @param module assembly/encoder.wasm
   * @throws RangeError when an option is out of its range
   */
  constructor(module: WebAssembly.Module, options: RecordEncoderOptions = {}) {
    const { slots = DEFAULT_SLOTS, floatDecimals = DEFAULT_FLOAT_DECIMALS } = options;
    if (!(Number.isInteger(slots) && slots >= 2 && slots <= 64)) throw new RangeError(`${slots} slots; 2 to 64 can be`);
    if (floatDecimals !== null && !(Number.isInteger(floatDecimals) && floatDecimals >= 0 && floatDecimals <= 9)) {
      throw new RangeError(`floatDecimals ${floatDecimals}; it must be 0 to 9, or null for every digit`);
    }
    this.#printer = new Printer(new EncodeKernel(module, slots), slots);
    this.#floatDecimals = floatDecimals;
  }

  /**
   * Begins a value; `step` encodes it. Its objects and arrays are read while that goes on.
   *
   * @param model the rules of its root; null: plain JSON, nothing is left out or rounded
   * @throws EncodeError when it is nothing that the rules are for; Error when another value is under way
   */
  begin(value: unknown, model: ModelRule | null): void {
    if (this.#top >= 0) throw new Error('another value is being encoded');
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    if (model !== null && !isObject) {
      throw new EncodeError('', `${model.name} is an object`, 'hand over the object that the model describes');
    }
    // A list of one without brackets: the root is written like any element.
    this.#top = 0;
    this.#kinds[0] = ARRAY;
    this.#owners[0] = [value];
    this.#rules[0] = model === null ? PLAIN_MEMBER : { ...PLAIN_MEMBER, inside: model };
    this.#next[0] = 0;
    this.#lengths[0] = 1;
  }

  /**
   * Encodes until the value is done, no buffer is free, or `shouldStop`, which is asked every 10 to 30 µs, says so.
   *
   * @throws EncodeError for what has no JSON text; the value is then forgotten, parts not yet taken included
   */
  step(shouldStop: () => boolean): EncodeStep {
    const printer = this.#printer;
    try {
      let steps = 0;
      let bytes = 0;
      while (this.#top >= 0) {
        if (!printer.makeRoom()) return 'full';
        const before = printer.at;
        this.#advance();
        bytes += printer.at - before;
        steps += 1;
        if (bytes < LOOK_BYTES && steps < LOOK_STEPS) continue;
        if (this.#top >= 0 && shouldStop()) return 'more';
        bytes = 0;
        steps = 0;
      }
    } catch (error) {
      this.abandon();
      throw error;
    }
    printer.pool.close(printer.at);
    return 'done';
  }

  /** The parts that are complete, in order; the last one of a value when it is done. The caller releases them. */
  takeParts(): EncodedPart[] {
    return this.#printer.pool.take();
  }

  /** Whether encoding could go on; `step` says `full` otherwise. */
  get hasRoom(): boolean {
    return this.#printer.hasRoom;
  }

  /** Resolves when a part has been released. */
  released(): Promise<void> {
    return this.#printer.pool.released();
  }

  /** Forgets the value under way and its parts that were not taken. */
  abandon(): void {
    for (const part of this.takeParts()) part.release();
    this.#printer.rewind();
    while (this.#top >= 0) this.#pop();
  }

  #advance(): void {
    switch (this.#kinds[this.#top]) {
      case OBJECT:
        this.#advanceObject();
        break;
      case ARRAY:
        this.#advanceArray();
        break;
      case TYPED:
        this.#advanceTyped();
        break;
      default:
        this.#advanceText();
    }
  }

  /** Several members at a time, as long as they are small: a turn of `step` for each would cost as much again. */
  #advanceObject(): void {
    const top = this.#top;
    const printer = this.#printer;
    const length = this.#lengths[top] as number;
    const names = this.#names[top] as readonly string[];
    const plan = this.#plans[top] as KeyPlan | null;
    const owner = this.#owners[top] as PlainObject;
    let index = this.#next[top] as number;
    const end = Math.min(length, index + MEMBERS_AT_ONCE);
    while (index < end) {
      const rule = (plan === null ? this.#rules[top] : plan.rules[index]) as MemberRule;
      const name = names[index] as string;
      const text = plan === null ? undefined : plan.texts[index];
      const value = owner[name];
      index += 1;
      this.#next[top] = index;
      if (value === undefined || (value === null && rule.onNull === 'drop')) continue;
      if (rule.onEmpty === 'drop' && isEmptyList(value)) continue;
      const before = printer.at;
      if (this.#isBegun[top] === 1) printer.byte(COMMA);
      else this.#isBegun[top] = 1;
      if (text !== undefined && text.length <= MOST_NAME_BYTES) printer.copy(text);
      else if (!this.#printName(name)) return;
      this.#value(value, rule);
      if (this.#top !== top || printer.at - before > SMALL_BYTES || !printer.makeRoom()) return;
    }
    if (index < length) return;
    printer.byte(CLOSE_OBJECT);
    this.#pop();
  }

  /** False when the name is so long that it comes in pieces, and its value after it. */
  #printName(name: string): boolean {
    if (name.length <= MOST_TEXT_UNITS) {
      if (this.#printer.string(name) >= 0) this.#refuse('the name of a member has half of a surrogate pair', TEXT_HINT);
      this.#printer.byte(COLON);
      return true;
    }
    this.#printer.byte(QUOTE);
    this.#push(NAME, name, name.length, PLAIN_MEMBER);
    return false;
  }

  #value(value: unknown, rule: MemberRule): void {
    const printer = this.#printer;
    switch (typeof value) {
      case 'string':
        this.#string(value);
        return;
      case 'number':
        printer.number(value, this.#formOf(rule), this.#floatDecimals ?? 0);
        return;
      case 'boolean':
        printer.boolean(value);
        return;
      case 'bigint':
        if (value < BIGINT_LEAST || value > BIGINT_MOST) this.#refuse('an integer beyond 64 bits', INT_HINT);
        printer.ascii(String(value));
        return;
      case 'object':
        if (value === null) printer.null();
        else this.#container(value, rule);
        return;
      case 'undefined':
        // Of an array: members that are not there are not written at all.
        printer.null();
        return;
      default:
        this.#refuse(`a ${typeof value}`, PLAIN_HINT);
    }
  }

  #formOf(rule: MemberRule): FloatForm {
    if (rule.stream === 'rounded' && this.#floatDecimals !== null) return ROUNDED;
    return rule.isFloat || rule.stream === 'rounded' || rule.stream === 'floats' ? FLOAT : PLAIN;
  }

  #string(text: string): void {
    if (text.length <= MOST_TEXT_UNITS) {
      const fault = this.#printer.string(text);
      if (fault >= 0) this.#refuseText(fault);
      return;
    }
    this.#printer.byte(QUOTE);
    this.#push(TEXT, text, text.length, PLAIN_MEMBER);
  }

  #advanceText(): void {
    const top = this.#top;
    const text = this.#owners[top] as string;
    const from = this.#next[top] as number;
    const to = cutText(text, from);
    const fault = this.#printer.text(text.slice(from, to));
    if (fault >= 0) {
      this.#pop();
      this.#refuseText(from + fault);
    }
    this.#next[top] = to;
    if (to < text.length) return;
    const isName = this.#kinds[top] === NAME;
    this.#printer.byte(QUOTE);
    this.#pop();
    if (!isName) return;
    this.#printer.byte(COLON);
    const plan = this.#plans[this.#top] as KeyPlan | null;
    const rule = (plan?.rules[(this.#next[this.#top] as number) - 1] ?? this.#rules[this.#top]) as MemberRule;
    this.#value((this.#owners[this.#top] as PlainObject)[text], rule);
  }

  #container(value: object, rule: MemberRule): void {
    for (let level = 1; level <= this.#top; level += 1) {
      if (this.#owners[level] === value) this.#refuse('it holds itself', 'write what is shared by its id');
    }
    if (this.#top > MAX_DEPTH) this.#refuse(`nested deeper than ${MAX_DEPTH}`, 'make it flatter, or text');
    if (Array.isArray(value)) {
      this.#printer.byte(OPEN_LIST);
      this.#push(ARRAY, value, value.length, rule);
    } else {
      const prototype: unknown = Object.getPrototypeOf(value);
      if (prototype === Object.prototype) this.#object(value, rule);
      else this.#oddObject(value, rule);
    }
  }

  /** What is no plain object at first sight. */
  #oddObject(value: object, rule: MemberRule): void {
    if (rawJson.isRawJSON(value)) {
      this.#raw(value.rawJSON);
    } else if (isTypedList(value)) {
      this.#printer.byte(OPEN_LIST);
      this.#push(TYPED, value, value.length, rule);
    } else {
      const oddity = oddityOf(value);
      if (oddity !== null) this.#refuse(oddity, PLAIN_HINT);
      this.#object(value, rule);
    }
  }

  #object(value: object, rule: MemberRule): void {
    const keys = Object.keys(value);
    this.#printer.byte(OPEN_OBJECT);
    if (rule.inside !== null && !rule.isMap) {
      const plan = this.#planner.planFor(rule.inside, keys);
      this.#push(OBJECT, value, plan.names.length, PLAIN_MEMBER);
      this.#names[this.#top] = plan.names;
      this.#plans[this.#top] = plan;
    } else {
      this.#push(OBJECT, value, keys.length, rule.isMap ? this.#entryRule(rule) : PLAIN_MEMBER);
      this.#names[this.#top] = keys;
    }
  }

  /** The rule of a map's entries. */
  #entryRule(rule: MemberRule): MemberRule {
    let entry = this.#entryRules.get(rule);
    if (entry === undefined) {
      entry = { ...rule, onNull: 'keep', isMap: false };
      this.#entryRules.set(rule, entry);
    }
    return entry;
  }

  /** A literal as it was spelled; text is written like any other. */
  #raw(text: string): void {
    if (!NUMBER_START.test(text)) this.#value(JSON.parse(text), PLAIN_MEMBER);
    else if (text.length <= MOST_DIGITS) this.#printer.ascii(text);
    else this.#refuse(`a number of ${text.length} characters`, 'shorten it');
  }

  #advanceArray(): void {
    const top = this.#top;
    const values = this.#owners[top] as readonly unknown[];
    const index = this.#next[top] as number;
    const length = this.#lengths[top] as number;
    if (index === length) {
      this.#endList(values.length);
      return;
    }
    if (index > 0) this.#printer.byte(COMMA);
    const value = values[index];
    if (typeof value === 'number') this.#next[top] = index + this.#printer.numbers(values, this.#runFrom(index));
    else if (typeof value === 'boolean') this.#next[top] = index + this.#printer.flags(values, index, length);
    else {
      this.#next[top] = index + 1;
      this.#value(value, this.#rules[top] as MemberRule);
    }
  }

  #advanceTyped(): void {
    const top = this.#top;
    const values = this.#owners[top] as TypedList;
    const index = this.#next[top] as number;
    const length = this.#lengths[top] as number;
    // Before the end as well: what a buffer has lost must not be read from the scratch memory.
    if (index === length || values.length !== length) {
      this.#endList(values.length);
      return;
    }
    if (index > 0) this.#printer.byte(COMMA);
    const isFlags = this.#rules[top]?.stream === 'flags';
    const count = printTyped(this.#printer, values, this.#runFrom(index), isFlags);
    this.#next[top] = index + count;
    if (count > 0) return;
    this.#next[top] = index + 1;
    this.#refuse(`a flag of ${values[index]}`, 'a flag is 0 or 1');
  }

  #runFrom(index: number): NumberRun {
    const top = this.#top;
    const run = this.#run;
    run.from = index;
    run.to = this.#lengths[top] as number;
    run.form = this.#formOf(this.#rules[top] as MemberRule);
    run.decimals = this.#floatDecimals ?? 0;
    return run;
  }

  #endList(length: number): void {
    const top = this.#top;
    if (length !== this.#lengths[top]) {
      this.#pop();
      this.#refuse(`a list of ${this.#lengths[top]} elements had ${length} before it was written`, MUTATION_HINT);
    }
    if (top > 0) this.#printer.byte(CLOSE_LIST);
    this.#pop();
  }

  #push(kind: number, owner: unknown, length: number, rule: MemberRule): void {
    this.#top += 1;
    const top = this.#top;
    this.#kinds[top] = kind;
    this.#owners[top] = owner;
    this.#lengths[top] = length;
    this.#rules[top] = rule;
    this.#names[top] = NO_NAMES;
    this.#plans[top] = null;
    this.#next[top] = 0;
    this.#isBegun[top] = 0;
  }

  #pop(): void {
    // Nothing of a caller's episode is held longer than it is written.
    this.#owners[this.#top] = null;
    this.#top -= 1;
  }

  #refuseText(at: number): never {
    return this.#refuse(`half of a surrogate pair at UTF-16 unit ${at}`, TEXT_HINT);
  }

  /** @throws EncodeError with the path to the member or element that is under way */
  #refuse(reason: string, hint: string): never {
    const steps: PathStep[] = [];
    for (let level = 1; level <= this.#top; level += 1) {
      const index = Math.max(0, (this.#next[level] as number) - 1);
      const name = this.#names[level]?.[index];
      if (this.#kinds[level] === OBJECT) steps.push(name ?? '');
      else if (this.#kinds[level] === ARRAY || this.#kinds[level] === TYPED) steps.push(index);
    }
    throw new EncodeError(pathText(steps), reason, hint);
  }
}

function isEmptyList(value: unknown): boolean {
  return typeof value === 'object' && value !== null && (value as { readonly length?: unknown }).length === 0;
}
