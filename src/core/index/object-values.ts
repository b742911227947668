/**
 * What a value in memory says once it is encoded, for rows that are made before the record is (spec 04 section 5).
 *
 * Numbers: JavaScript has one kind, JSON text has two. A whole number stands for the integer that `JSON.stringify`
 * prints for it, any other for a float; `NaN` and the infinities for null. A bigint is an integer. `JSON.rawJSON('1.0')`
 * stands for the literal in it: the way to have a float that is whole, or every digit of a record that was parsed with
 * its source. Where the model declares a float, a whole number may stand for one as well (RowOptions, `rules`).
 * Values are plain data: no `toJSON`; undefined, functions and symbols are not there.
 */
import type { NumberFact } from './number-fact.js';
import type { RecordFacts, RowOptions } from './record-facts.js';
import { VALUE, type ValueReader } from './value-reader.js';

/** A plain object; its members are still of any kind. */
export type PlainObject = { readonly [key: string]: unknown };

/** Stand for what is not there. */
export const NO_ELEMENTS: readonly unknown[] = [];
export const NO_MEMBERS: PlainObject = {};

/** Neither the library's types nor Node's know these yet. */
const rawJson = JSON as unknown as {
  readonly isRawJSON: (value: unknown) => value is { readonly rawJSON: string };
};

/** The value as what JSON has: undefined when it is left out, null also for what no number can say. */
export function jsonValueOf(value: unknown): unknown {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value === 'function' || typeof value === 'symbol') return undefined;
  if (typeof value !== 'object' || value === null || !rawJson.isRawJSON(value)) return value;
  return isNumberText(value.rawJSON) ? value : (JSON.parse(value.rawJSON) as unknown);
}

/** A member as what JSON has; undefined when the owner is no object or has none. */
export function memberOf(owner: unknown, key: string): unknown {
  // A literal of rawJSON is an object without the members that are asked for.
  if (typeof owner !== 'object' || owner === null || Array.isArray(owner)) return undefined;
  return jsonValueOf((owner as PlainObject)[key]);
}

export function isPlainObject(value: unknown): value is PlainObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !rawJson.isRawJSON(value);
}

function isNumberText(text: string): boolean {
  return /^[-0-9]/.test(text);
}

/** Takes values, as `jsonValueOf` gives them, into the facts of a record. */
export class ObjectValues {
  readonly #facts: RecordFacts;
  readonly #reader: ValueReader;
  readonly #isRuled: boolean;

  /** @param reader reads the text of numbers */
  constructor(facts: RecordFacts, reader: ValueReader, rules: RowOptions['rules']) {
    this.#facts = facts;
    this.#reader = reader;
    this.#isRuled = rules === 'record';
  }

  /** A member of a model, as `memberOf`; the rules of a record leave out one that is null, but not a NaN. */
  modelMember(owner: unknown, key: string): unknown {
    const value = memberOf(owner, key);
    if (value !== null || !this.#isRuled) return value;
    return (owner as PlainObject)[key] === null ? undefined : null;
  }

  /** Puts a number into `fact` and says whether it is one; anything else is noted. */
  takeNumber(fact: NumberFact, value: unknown): boolean {
    const isNumber = this.isNumber(fact, value);
    if (!isNumber) this.noteOdd(value);
    return isNumber;
  }

  /** The same for a member that the model declares as a float. */
  takeFloat(fact: NumberFact, value: unknown): boolean {
    if (!this.#isRuled || typeof value !== 'number') return this.takeNumber(fact, value);
    fact.setTo(value, false, null);
    return true;
  }

  /** Puts a number into `fact` and says whether it is one. */
  isNumber(fact: NumberFact, value: unknown): boolean {
    fact.clear();
    if (typeof value === 'number') {
      // An integer has no negative zero.
      if (Number.isSafeInteger(value)) fact.setTo(value + 0, true, null);
      else if (!Number.isInteger(value) || Math.abs(value) >= 1e21) fact.setTo(value, false, null);
      else this.#takeText(fact, String(value));
    } else if (typeof value === 'bigint') {
      this.#takeText(fact, String(value));
    } else if (typeof value === 'object' && value !== null && rawJson.isRawJSON(value)) {
      this.#takeText(fact, value.rawJSON);
    }
    return fact.isPresent;
  }

  #takeText(fact: NumberFact, text: string): void {
    const bytes = Buffer.from(text);
    this.#reader.open(bytes, 0, bytes.length);
    if (this.#reader.readScalar(true) === VALUE.NUMBER) fact.set(this.#reader);
  }

  /** The elements of a list; none, which is noted, when it is no list. */
  elementsOf(value: unknown): readonly unknown[] {
    if (Array.isArray(value)) return value;
    this.noteOdd(value);
    return NO_ELEMENTS;
  }

  /** Notes a value of a type that does not belong where it stands; nothing may stand anywhere. */
  noteOdd(value: unknown): void {
    if (value !== undefined && value !== null) this.#facts.noteOdd();
  }
}
