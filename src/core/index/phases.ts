/**
 * Seconds by top-level phase over all traces of a record (spec 04 section 4.6), from the texts of their `timing`, or
 * span by span.
 */
import { ExactSum } from './exact-sum.js';
import { ALL_ITEMS } from './item-steps.js';
import { type JsonObject, type JsonTree, readTree } from './json-tree.js';
import { NameTable } from './name-table.js';
import { NOTE } from './notes.js';
import { NumberFact } from './number-fact.js';
import { VALUE, type ValueReader } from './value-reader.js';

const { BOOLEAN, NULL, NUMBER, OBJECT, STRING } = VALUE;
const { DUPLICATE_KEY, ODD_VALUE } = NOTE;

const CLOSE_OBJECT = 0x7d;
const SLASH = 0x2f;

/** Which members of a span are read. */
const START = 1;
const END = 2;
const DURATION = 4;

/** The name of what stands at the root of a timing, outside any phase. */
const ROOT_NAME = new Uint8Array(0);

/** One span: what it says of its length. */
class Span {
  readonly start = new NumberFact();
  readonly end = new NumberFact();
  readonly duration = new NumberFact();

  clear(): void {
    this.start.clear();
    this.end.clear();
    this.duration.clear();
  }

  /** Whether its length is known. */
  get isTimed(): boolean {
    return this.duration.isPresent || (this.start.isPresent && this.end.isPresent);
  }

  /** Its length as a float, as Python's `0.0 + length` makes it; negative for a phase that was cut off. */
  get seconds(): number {
    if (this.duration.isPresent) return this.duration.value;
    const { start, end } = this;
    if (start.isInt && end.isInt && (start.big !== null || end.big !== null)) {
      return Number((end.big ?? BigInt(end.value)) - (start.big ?? BigInt(start.value)));
    }
    return end.value - start.value;
  }
}

export class Phases {
  /** NOTE bits since the owner cleared them, those of the reader aside. */
  notes = 0;
  /** The span at hand, which `addSpan` reads. */
  readonly span = new Span();

  readonly #names = new NameTable();
  /** By number of the name: seconds in this record, and whether it has any. */
  readonly #seconds: number[] = [];
  readonly #isTimed: boolean[] = [];
  /** By number of the name: the pass in which it was seen last. */
  readonly #seenIn: number[] = [];
  /** Names with seconds, in order of appearance; valid up to #orderCount. */
  readonly #order: number[] = [];
  #orderCount = 0;
  #pass = 0;
  readonly #root = new Span();
  readonly #sum = new ExactSum();
  /** Phases in `#sum`; what is added to any begins it anew. */
  #summed = 0;
  /** Phases of the text that is being read: numbers of names and their seconds, valid up to #pendingCount. */
  readonly #pendingNames: number[] = [];
  readonly #pendingSeconds: number[] = [];
  #pendingCount = 0;

  /** A new record begins, or a new list of traces. */
  reset(): void {
    for (let index = 0; index < this.#orderCount; index += 1) this.#isTimed[this.#order[index] as number] = false;
    this.#orderCount = 0;
    this.#summed = 0;
    if (this.#names.beginRecord()) {
      this.#seenIn.length = 0;
      this.#isTimed.length = 0;
    }
  }

  /** Σ over the phases, compensated; null when there are none. */
  total(): number | null {
    if (this.#orderCount === 0) return null;
    this.sumSome(ALL_ITEMS);
    return this.#sum.value;
  }

  /** Sums up as item-steps says, so that `total` has nothing left to do. */
  sumSome(items: number): number {
    const from = this.#summed;
    const to = Math.min(this.#orderCount, from + items);
    if (from === 0) this.#sum.reset();
    for (let index = from; index < to; index += 1) {
      this.#sum.addFloat(this.#seconds[this.#order[index] as number] as number);
    }
    this.#summed = to;
    return items - (to - from);
  }

  /** Reads the timing in `bytes[start, end)`, an object, and adds its phases; false after a fault of the reader. */
  addText(reader: ValueReader, bytes: Uint8Array, start: number, end: number): boolean {
    reader.open(bytes, start, end);
    const before = reader.notes;
    this.#pendingCount = 0;
    if (this.#readRoot(reader)) {
      this.#addPending();
      return true;
    }
    if (reader.fault !== null) return false;
    reader.notes = before;
    reader.open(bytes, start, end);
    const tree = readTree(reader);
    if (tree === undefined) return false;
    this.#addTree(tree);
    return true;
  }

  /** Adds the span at hand, if its length is known, under the name in `bytes[start, end)`, empty for the root. */
  addSpan(bytes: Uint8Array, start: number, end: number): void {
    if (this.span.isTimed) this.#add(this.#names.indexOf(bytes, start, end), this.span.seconds);
  }

  /** A timing that was built; anything but a Map has no phases. A key `""` names the root again (upstream's rule). */
  #addTree(tree: JsonTree): void {
    if (!(tree instanceof Map)) return;
    this.#addTreeSpan(tree, ROOT_NAME);
    const open = [tree.entries()];
    for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
      const next = top.next();
      if (next.done === true) {
        open.pop();
        continue;
      }
      const [key, value] = next.value;
      if (!(value instanceof Map) || key.includes('/')) continue;
      this.#addTreeSpan(value, Buffer.from(key));
      if (key === '') open.push(value.entries());
    }
  }

  #addTreeSpan(tree: JsonObject, name: Uint8Array): void {
    const { span } = this;
    this.#take(span.start, tree.get('start'));
    this.#take(span.end, tree.get('end'));
    this.#take(span.duration, tree.get('duration'));
    this.addSpan(name, 0, name.length);
  }

  #take(fact: NumberFact, value: JsonTree | undefined): void {
    fact.clear();
    if (value instanceof NumberFact) fact.set(value);
    else if (typeof value === 'boolean' || typeof value === 'string') this.notes |= ODD_VALUE;
  }

  #add(name: number, seconds: number): void {
    this.#summed = 0;
    if (this.#isTimed[name] === true) {
      this.#seconds[name] = (this.#seconds[name] as number) + seconds;
      return;
    }
    this.#isTimed[name] = true;
    // Python adds to 0.0, which makes a zero of either sign positive.
    this.#seconds[name] = 0 + seconds;
    this.#order[this.#orderCount] = name;
    this.#orderCount += 1;
  }

  /** What stands at the root comes first, though its end is read last. */
  #addPending(): void {
    if (this.#root.isTimed) this.#add(this.#names.indexOf(ROOT_NAME, 0, 0), this.#root.seconds);
    for (let index = 0; index < this.#pendingCount; index += 1) {
      this.#add(this.#pendingNames[index] as number, this.#pendingSeconds[index] as number);
    }
  }

  /** False without a fault: something unusual (an escaped, empty or repeated name), which the tree is for. */
  #readRoot(reader: ValueReader): boolean {
    const root = this.#root;
    root.clear();
    this.#pass += 1;
    let seen = 0;
    if (!reader.enter(CLOSE_OBJECT)) return reader.fault === null;
    do {
      if (!reader.readKey() || reader.hasEscape) return false;
      const { bytes, stringStart: start, stringEnd: end } = reader;
      const bit = memberBit(bytes, start, end);
      const kind = reader.readScalar(true);
      if (kind === OBJECT) {
        if (end === start || bit !== 0 || !this.#readPhase(reader, start, end)) return false;
      } else if (bit === 0 || (seen & bit) !== 0) {
        return false;
      } else if (!this.#takeNumber(reader, memberOf(root, bit), kind)) {
        return false;
      }
      seen |= bit;
    } while (reader.hasNext(CLOSE_OBJECT));
    return reader.fault === null;
  }

  #readPhase(reader: ValueReader, nameStart: number, nameEnd: number): boolean {
    const name = this.#names.indexOf(reader.bytes, nameStart, nameEnd);
    if (this.#seenIn[name] === this.#pass) return false;
    this.#seenIn[name] = this.#pass;
    const { span } = this;
    span.clear();
    let seen = 0;
    if (reader.enter(CLOSE_OBJECT)) {
      do {
        if (!reader.readKey() || reader.hasEscape) return false;
        const bit = memberBit(reader.bytes, reader.stringStart, reader.stringEnd);
        if ((seen & bit) !== 0) reader.notes |= DUPLICATE_KEY;
        seen |= bit;
        if (bit === 0 ? !reader.skipValue() : !this.#takeNumber(reader, memberOf(span, bit), reader.readScalar(true))) {
          return false;
        }
      } while (reader.hasNext(CLOSE_OBJECT));
      if (reader.fault !== null) return false;
    }
    if (span.isTimed && !hasSlash(reader.bytes, nameStart, nameEnd)) {
      this.#pendingNames[this.#pendingCount] = name;
      this.#pendingSeconds[this.#pendingCount] = span.seconds;
      this.#pendingCount += 1;
    }
    return true;
  }

  /** Puts the scalar that was read, of a kind, into a member of a span. False after a fault. */
  #takeNumber(reader: ValueReader, fact: NumberFact, kind: number): boolean {
    fact.clear();
    if (kind === NUMBER) fact.set(reader);
    else if (kind === STRING || kind === BOOLEAN) this.notes |= ODD_VALUE;
    else if (kind !== NULL) return kind !== VALUE.BAD && reader.skipValue();
    return true;
  }
}

function memberOf(span: Span, bit: number): NumberFact {
  if (bit === START) return span.start;
  return bit === END ? span.end : span.duration;
}

/** START, END or DURATION for the key in a range, 0 for any other. */
function memberBit(bytes: Uint8Array, start: number, end: number): number {
  const length = end - start;
  const first = bytes[start];
  if (length === 5 && first === 0x73 && bytes[start + 1] === 0x74 && bytes[start + 2] === 0x61) {
    return bytes[start + 3] === 0x72 && bytes[start + 4] === 0x74 ? START : 0;
  }
  if (length === 3) return first === 0x65 && bytes[start + 1] === 0x6e && bytes[start + 2] === 0x64 ? END : 0;
  if (length !== 8 || first !== 0x64 || bytes[start + 1] !== 0x75 || bytes[start + 2] !== 0x72) return 0;
  const isRest = bytes[start + 3] === 0x61 && bytes[start + 4] === 0x74 && bytes[start + 5] === 0x69;
  return isRest && bytes[start + 6] === 0x6f && bytes[start + 7] === 0x6e ? DURATION : 0;
}

function hasSlash(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if (bytes[at] === SLASH) return true;
  return false;
}
