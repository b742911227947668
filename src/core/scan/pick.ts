/**
 * Walks one JSON text structurally and keeps the byte ranges of the few values a selector names; nothing else is
 * turned into a string or an object. Recursion follows the selector, never the text, so depth of input costs no stack.
 */
import { type JsonKind, JsonText } from './json-text.js';
import { kindOf, scanBareScalar, scanString, skipSpace } from './lexical.js';
import { ContainerSkipper, skipString } from './skip.js';

/**
 * What to keep: `true` notes the value's range; an object goes into an object's members; `[s]` applies `s` to each
 * element of an array. A value of another kind than the selector expects is noted like `true`.
 */
export type Selector = true | { readonly [key: string]: Selector } | readonly [Selector];

/** One value that was found: its byte range inside the buffer, `end` exclusive. */
export type Picked = {
  readonly kind: JsonKind;
  readonly start: number;
  readonly end: number;
  /** The selected keys that were found, the last of equal keys; null unless an object met an object selector. */
  readonly members: ReadonlyMap<string, Picked> | null;
  /** Null unless an array met `[s]`. */
  readonly elements: readonly Picked[] | null;
};

export type PickResult =
  | {
      readonly ok: true;
      readonly root: Picked;
      /** First byte after the value; what follows it is the caller's to judge. */
      readonly end: number;
      /** True when a selected key occurs twice in one object. Keys that are not selected are not compared. */
      readonly hasDuplicateKeys: boolean;
    }
  | { readonly ok: false; readonly offset: number; readonly reason: string };

/**
 * Picks from the JSON value that starts at `start`, white space before it allowed.
 *
 * Strict on every object and array the selector enters, on the keys there and on selected scalars, so that `parsePicked`
 * of those cannot throw; values that are passed over are checked as `skip.ts` says. A text that must be JSON in all
 * its parts goes through `validateJson`. UTF-8 is not checked. `end` must be the end of the line when the buffer holds
 * more than one.
 *
 * @returns byte offsets counted from the start of the buffer, or the first fault
 */
export function pick(bytes: Buffer, selector: Selector | CompiledSelector, start = 0, end = bytes.length): PickResult {
  const plan = selector instanceof CompiledSelector ? selector : new CompiledSelector(selector);
  const walk = new Walk(new JsonText(bytes, end));
  const root = walk.value(start, plan);
  if (root === null) return { ok: false, ...walk.fault() };
  return { ok: true, root, end: root.end, hasDuplicateKeys: walk.hasDuplicateKeys };
}

/** JSON.parse of exactly the picked range. Throws SyntaxError when a container that was passed over is not JSON. */
export function parsePicked(bytes: Buffer, picked: Picked): unknown {
  return JSON.parse(bytes.toString('utf8', picked.start, picked.end));
}

/** Whether a range is empty or ASCII white space only (space, tab, LF, VT, FF, CR; spec 06 section 3). */
export function isBlank(bytes: Buffer, start: number, end: number): boolean {
  for (let position = start; position < end; position += 1) {
    const byte = bytes[position] as number;
    if (byte !== 0x20 && (byte < 0x09 || byte > 0x0d)) return false;
  }
  return true;
}

type WantedKey = { readonly name: string; readonly bytes: Buffer; readonly plan: CompiledSelector };

/** A selector with its keys as bytes. Compiling costs about as much as a walk over 1 KB: do it once for many lines. */
export class CompiledSelector {
  /** Null unless the selector goes into an object. */
  readonly keys: readonly WantedKey[] | null;
  readonly longestKeyBytes: number;
  /** Null unless the selector goes into an array. */
  readonly each: CompiledSelector | null;

  constructor(selector: Selector) {
    const each = isElementSelector(selector) ? selector[0] : null;
    this.each = each === null ? null : new CompiledSelector(each);
    this.keys = selector === true || isElementSelector(selector) ? null : Object.entries(selector).map(wantedKeyOf);
    this.longestKeyBytes = Math.max(0, ...(this.keys ?? []).map((key) => key.bytes.length));
  }
}

function wantedKeyOf([name, selector]: [string, Selector]): WantedKey {
  return { name, bytes: Buffer.from(name), plan: new CompiledSelector(selector) };
}

function isElementSelector(selector: Selector): selector is readonly [Selector] {
  return Array.isArray(selector);
}

class Walk {
  readonly #text: JsonText;
  readonly #skipper: ContainerSkipper;
  hasDuplicateKeys = false;

  constructor(text: JsonText) {
    this.#text = text;
    this.#skipper = new ContainerSkipper(text);
  }

  fault(): { offset: number; reason: string } {
    return this.#text.fault ?? { offset: this.#text.end, reason: 'the text ends where a value belongs' };
  }

  /** Reads the value at or after `at` as `plan` says; null after a fault. `plan` null: pass over it. */
  value(at: number, plan: CompiledSelector | null): Picked | null {
    const text = this.#text;
    const start = skipSpace(text, at);
    const kind = kindOf(text.bytes[start]);
    if (kind === 'object') return this.#object(start, plan);
    if (kind === 'array') return this.#array(start, plan);
    if (kind === 'string')
      return picked(kind, start, plan === null ? skipString(text, start) : scanString(text, start));
    const end = scanBareScalar(text, start);
    return kind === null ? null : picked(kind, start, end);
  }

  #object(start: number, plan: CompiledSelector | null): Picked | null {
    if (plan === null || plan.keys === null) return picked('object', start, this.#skipper.skip(start));
    const { bytes } = this.#text;
    const members = new Map<string, Picked>();
    let at = skipSpace(this.#text, start + 1);
    if (bytes[at] === 0x7d) return { kind: 'object', start, end: at + 1, members, elements: null };
    for (;;) {
      const valueEnd = this.#member(at, plan, members);
      if (valueEnd < 0) return null;
      at = skipSpace(this.#text, valueEnd);
      if (bytes[at] === 0x7d) return { kind: 'object', start, end: at + 1, members, elements: null };
      if (bytes[at] !== 0x2c) return this.#fail(at, 'no comma or closing brace after a member');
      at = skipSpace(this.#text, at + 1);
    }
  }

  /** One `"key": value`; returns the end of the value, or -1. */
  #member(at: number, plan: CompiledSelector, members: Map<string, Picked>): number {
    const text = this.#text;
    if (text.bytes[at] !== 0x22) return text.fail(Math.min(at, text.end), 'no key where one belongs');
    const keyEnd = scanString(text, at);
    if (keyEnd < 0) return -1;
    const colon = skipSpace(text, keyEnd);
    if (text.bytes[colon] !== 0x3a) return text.fail(colon, 'no colon after a key');
    const wanted = wantedKey(text.bytes, at + 1, keyEnd - 1, plan);
    const value = this.value(colon + 1, wanted === undefined ? null : wanted.plan);
    if (value === null) return -1;
    if (wanted !== undefined) {
      if (members.has(wanted.name)) this.hasDuplicateKeys = true;
      members.set(wanted.name, value);
    }
    return value.end;
  }

  #array(start: number, plan: CompiledSelector | null): Picked | null {
    if (plan === null || plan.each === null) return picked('array', start, this.#skipper.skip(start));
    const { bytes } = this.#text;
    const elements: Picked[] = [];
    let at = skipSpace(this.#text, start + 1);
    if (bytes[at] === 0x5d) return { kind: 'array', start, end: at + 1, members: null, elements };
    for (;;) {
      const element = this.value(at, plan.each);
      if (element === null) return null;
      elements.push(element);
      at = skipSpace(this.#text, element.end);
      if (bytes[at] === 0x5d) return { kind: 'array', start, end: at + 1, members: null, elements };
      if (bytes[at] !== 0x2c) return this.#fail(at, 'no comma or closing bracket after an element');
      at += 1;
    }
  }

  #fail(offset: number, reason: string): null {
    this.#text.fail(offset, reason);
    return null;
  }
}

function picked(kind: JsonKind, start: number, end: number): Picked | null {
  return end < 0 ? null : { kind, start, end, members: null, elements: null };
}

/** The selected key written between the quotes, escaped or not. An escape makes a character at most six bytes. */
function wantedKey(bytes: Buffer, start: number, end: number, plan: CompiledSelector): WantedKey | undefined {
  if (end - start > plan.longestKeyBytes * 6) return undefined;
  const keys = plan.keys as readonly WantedKey[];
  for (let position = start; position < end; position += 1) {
    if (bytes[position] !== 0x5c) continue;
    const name: unknown = JSON.parse(bytes.toString('utf8', start - 1, end + 1));
    return keys.find((key) => key.name === name);
  }
  return keys.find((key) => key.bytes.length === end - start && isSameBytes(key.bytes, bytes, start));
}

function isSameBytes(expected: Buffer, bytes: Buffer, start: number): boolean {
  for (let index = 0; index < expected.length; index += 1) {
    if (expected[index] !== bytes[start + index]) return false;
  }
  return true;
}
