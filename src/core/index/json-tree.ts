/**
 * A small JSON value built as Python builds it: an object keeps the place of a key's first appearance and the value of
 * its last, numbers keep their kind. For annotations, and for the rewards and timings too odd for the readers that build
 * nothing. No recursion: an info of 60 MB of brackets is legal input.
 */
import { NOTE } from './notes.js';
import { NumberFact } from './number-fact.js';
import { writeFloat, writeInt } from './print-number.js';
import type { RowBuffer } from './row-buffer.js';
import { VALUE, type ValueReader } from './value-reader.js';

const CLOSE_ARRAY = 0x5d;
const CLOSE_OBJECT = 0x7d;

const { DUPLICATE_KEY } = NOTE;

export type JsonTree = null | boolean | string | NumberFact | JsonTree[] | JsonObject;
export type JsonObject = Map<string, JsonTree>;

/** An open container; `key` is where the next value goes in an object. */
type Open = { readonly container: JsonTree[] | JsonObject; key: string };

/** Reads the value at the cursor; undefined after a fault. Half characters stay halves. */
export function readTree(reader: ValueReader): JsonTree | undefined {
  const stack: Open[] = [];
  for (;;) {
    let value = readValue(reader);
    if (value === undefined) return undefined;
    if (value instanceof Map || Array.isArray(value)) {
      if (reader.enter(closeOf(value))) {
        stack.push({ container: value, key: '' });
        if (!readKeyOf(reader, stack)) return undefined;
        continue;
      }
    }
    for (;;) {
      const open = stack.at(-1);
      if (open === undefined) return value;
      place(open, value, reader);
      if (reader.hasNext(closeOf(open.container))) {
        if (!readKeyOf(reader, stack)) return undefined;
        break;
      }
      if (reader.fault !== null) return undefined;
      value = open.container;
      stack.pop();
    }
  }
}

/** A scalar, or a container that is still to be filled. */
function readValue(reader: ValueReader): JsonTree | undefined {
  switch (reader.readScalar(true)) {
    case VALUE.OBJECT:
      return new Map();
    case VALUE.ARRAY:
      return [];
    case VALUE.STRING:
      return stringOf(reader);
    case VALUE.NULL:
      return null;
    case VALUE.BOOLEAN:
      return reader.isTrue;
    case VALUE.NUMBER: {
      const number = new NumberFact();
      number.set(reader);
      return number;
    }
    default:
      return undefined;
  }
}

function closeOf(container: JsonTree[] | JsonObject): number {
  return Array.isArray(container) ? CLOSE_ARRAY : CLOSE_OBJECT;
}

function readKeyOf(reader: ValueReader, stack: readonly Open[]): boolean {
  const open = stack.at(-1) as Open;
  if (Array.isArray(open.container)) return true;
  if (!reader.readKey()) return false;
  open.key = stringOf(reader);
  return true;
}

function place(open: Open, value: JsonTree, reader: ValueReader): void {
  const { container, key } = open;
  if (Array.isArray(container)) container.push(value);
  else {
    if (container.has(key)) reader.notes |= DUPLICATE_KEY;
    container.set(key, value);
  }
}

/** The string read last. Its escapes are checked, so it parses. */
function stringOf(reader: ValueReader): string {
  const { bytes, stringStart, stringEnd } = reader;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + stringStart, stringEnd - stringStart).toString();
  return reader.hasEscape ? String(JSON.parse(`"${text}"`)) : text;
}

/** Prints a tree as orjson does: no white space, numbers and strings in their one form. */
export function writeTree(target: RowBuffer, root: JsonTree): void {
  const stack: { readonly container: JsonTree[] | JsonObject; readonly rest: Iterator<[string | number, JsonTree]> }[] =
    [];
  const open = (value: JsonTree): void => {
    if (value instanceof Map || Array.isArray(value)) {
      target.writeAscii(Array.isArray(value) ? '[' : '{');
      stack.push({ container: value, rest: value.entries() });
    } else {
      writeScalar(target, value);
    }
  };
  open(root);
  let isFirst = true;
  for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
    const next = top.rest.next();
    if (next.done === true) {
      target.writeAscii(Array.isArray(top.container) ? ']' : '}');
      stack.pop();
      isFirst = false;
      continue;
    }
    if (!isFirst) target.writeAscii(',');
    const [key, value] = next.value;
    if (typeof key === 'string') target.writeText(`${JSON.stringify(key)}:`);
    const depth = stack.length;
    open(value);
    isFirst = stack.length > depth;
  }
}

function writeScalar(target: RowBuffer, value: null | boolean | string | NumberFact): void {
  if (value instanceof NumberFact) {
    if (value.isInt) writeInt(target, value.value, value.big);
    else writeFloat(target, value.value);
  } else {
    target.writeText(JSON.stringify(value));
  }
}
