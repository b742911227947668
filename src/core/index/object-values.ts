/**
 * What a value in memory says once it is encoded, for rows that are made before the record is (spec 04 section 5).
 *
 * Numbers: JavaScript has one kind, JSON text has two. A whole number stands for the integer that `JSON.stringify`
 * prints for it, any other for a float; `NaN` and the infinities for null. A bigint is an integer. `JSON.rawJSON('1.0')`
 * stands for the literal in it: the way to have a float that is whole, or every digit of a record that was parsed with
 * its source. Values are plain data: no `toJSON`; undefined, functions and symbols are not there.
 */
import type { JsonObject, JsonTree } from './json-tree.js';
import { NumberFact } from './number-fact.js';
import { VALUE, type ValueReader } from './value-reader.js';

/** A plain object; its members are still of any kind. */
export type PlainObject = { readonly [key: string]: unknown };

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
  return isPlainObject(owner) ? jsonValueOf(owner[key]) : undefined;
}

export function isPlainObject(value: unknown): value is PlainObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !rawJson.isRawJSON(value);
}

function isNumberText(text: string): boolean {
  return /^[-0-9]/.test(text);
}

/** Puts a value into `fact` and says whether it is a number. @param value as `jsonValueOf` gives it */
export function takeNumber(fact: NumberFact, value: unknown, reader: ValueReader): boolean {
  fact.clear();
  if (typeof value === 'number' && (!Number.isInteger(value) || Math.abs(value) >= 1e21)) {
    fact.setTo(value, false, null);
  } else if (Number.isSafeInteger(value)) {
    // An integer has no negative zero.
    fact.setTo((value as number) + 0, true, null);
  } else if (typeof value === 'number' || typeof value === 'bigint') {
    takeText(fact, String(value), reader);
  } else if (rawJson.isRawJSON(value)) {
    takeText(fact, value.rawJSON, reader);
  }
  return fact.isPresent;
}

function takeText(fact: NumberFact, text: string, reader: ValueReader): void {
  const bytes = Buffer.from(text);
  reader.open(bytes, 0, bytes.length);
  if (reader.readScalar(true) === VALUE.NUMBER) fact.set(reader);
}

/** A reward map as a tree with what the formula reads; other values as they are. */
export function rewardsTree(value: unknown, reader: ValueReader): JsonTree {
  return treeOf(value, reader, (entry) => spanTree(entry, ['score', 'weight'], reader));
}

const SPAN_MEMBERS = ['start', 'end', 'duration'] as const;

/** A timing as a tree with what the formula reads: spans of the root and of its phases. */
export function timingTree(value: unknown, reader: ValueReader): JsonTree {
  if (!isPlainObject(value)) return scalarTree(value, reader);
  const root: JsonObject = new Map();
  const open: { readonly from: PlainObject; readonly to: JsonObject }[] = [{ from: value, to: root }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const key of Object.keys(next.from)) {
      const member = memberOf(next.from, key);
      if (!isPlainObject(member)) {
        if (SPAN_MEMBERS.some((name) => name === key) && member !== undefined) {
          next.to.set(key, scalarTree(member, reader));
        }
      } else if (key === '') {
        // The empty name means the root again, at any depth.
        const inner: JsonObject = new Map();
        next.to.set(key, inner);
        open.push({ from: member, to: inner });
      } else {
        next.to.set(key, spanTree(member, SPAN_MEMBERS, reader));
      }
    }
  }
  return root;
}

function treeOf(value: unknown, reader: ValueReader, entryOf: (entry: PlainObject) => JsonTree): JsonTree {
  if (!isPlainObject(value)) return scalarTree(value, reader);
  const tree: JsonObject = new Map();
  for (const key of Object.keys(value)) {
    const entry = memberOf(value, key);
    if (entry !== undefined) tree.set(key, isPlainObject(entry) ? entryOf(entry) : scalarTree(entry, reader));
  }
  return tree;
}

function spanTree(span: PlainObject, keys: readonly string[], reader: ValueReader): JsonObject {
  const tree: JsonObject = new Map();
  for (const key of keys) {
    const member = memberOf(span, key);
    if (member !== undefined) tree.set(key, scalarTree(member, reader));
  }
  return tree;
}

/** Containers come empty: no formula looks into those. */
function scalarTree(value: unknown, reader: ValueReader): JsonTree {
  if (value === null || value === undefined) return null;
  if (typeof value === 'boolean' || typeof value === 'string') return value;
  const number = new NumberFact();
  if (takeNumber(number, value, reader)) return number;
  return Array.isArray(value) ? [] : new Map();
}
