/** The reward of one trace (spec 04 section 4.2), from the text of its `rewards` or from a tree. */
import { ExactSum } from './exact-sum.js';
import { type JsonTree, readTree } from './json-tree.js';
import { NameTable } from './name-table.js';
import { NOTE } from './notes.js';
import { NumberFact } from './number-fact.js';
import { VALUE, type ValueReader } from './value-reader.js';

const { BOOLEAN, NULL, NUMBER, OBJECT, STRING } = VALUE;
const { DUPLICATE_KEY, ODD_VALUE } = NOTE;

const CLOSE_OBJECT = 0x7d;

export class Rewards {
  /** Σ score × weight over the entries that are objects. */
  readonly sum = new ExactSum();
  /** Entries of the map, placeholders included: an empty map is no reward at all. */
  entries = 0;
  /** NOTE bits since the owner cleared them, those of the reader aside. */
  notes = 0;

  readonly #score = new NumberFact();
  readonly #weight = new NumberFact();
  readonly #names = new NameTable();
  /** The pass in which a name was seen last: two in one pass are a duplicate. */
  readonly #seenIn: number[] = [];
  #pass = 0;

  reset(): void {
    this.sum.reset();
    this.entries = 0;
  }

  /** Adds the map in `bytes[start, end)`, an object. False after a fault of the reader. */
  addText(reader: ValueReader, bytes: Uint8Array, start: number, end: number): boolean {
    this.reset();
    reader.open(bytes, start, end);
    const before = reader.notes;
    if (this.#addEntries(reader)) return true;
    if (reader.fault !== null) return false;
    this.reset();
    reader.notes = before;
    reader.open(bytes, start, end);
    const tree = readTree(reader);
    if (tree === undefined) return false;
    this.addTree(tree);
    return true;
  }

  /** Adds a map that was built, as Python sees it: a Map; anything else has no entries. */
  addTree(tree: JsonTree): void {
    this.reset();
    if (!(tree instanceof Map)) return;
    this.entries = tree.size;
    for (const entry of tree.values()) {
      if (entry instanceof Map) {
        this.#take(this.#score, entry.get('score'));
        this.#take(this.#weight, entry.get('weight'));
        this.#addProduct();
      } else if (entry !== null) {
        this.notes |= ODD_VALUE;
      }
    }
  }

  #take(fact: NumberFact, value: JsonTree | undefined): void {
    fact.clear();
    if (value instanceof NumberFact) fact.set(value);
    else if (value !== undefined && value !== null) this.notes |= ODD_VALUE;
  }

  /** False without a fault: a name that is escaped or comes twice, which the tree is for. */
  #addEntries(reader: ValueReader): boolean {
    if (this.#names.beginRecord()) this.#seenIn.length = 0;
    this.#pass += 1;
    if (!reader.enter(CLOSE_OBJECT)) return reader.fault === null;
    do {
      if (!reader.readKey() || reader.hasEscape) return false;
      const name = this.#names.indexOf(reader.bytes, reader.stringStart, reader.stringEnd);
      if (this.#seenIn[name] === this.#pass) return false;
      this.#seenIn[name] = this.#pass;
      this.entries += 1;
      const kind = reader.readScalar(false);
      if (kind === OBJECT) {
        if (!this.#addEntry(reader)) return false;
      } else if (kind !== NULL) {
        this.notes |= ODD_VALUE;
        if (kind === VALUE.BAD || (kind === VALUE.ARRAY && !reader.skipValue())) return false;
      }
    } while (reader.hasNext(CLOSE_OBJECT));
    return reader.fault === null;
  }

  #addEntry(reader: ValueReader): boolean {
    this.#score.clear();
    this.#weight.clear();
    let seen = 0;
    if (reader.enter(CLOSE_OBJECT)) {
      do {
        if (!reader.readKey() || reader.hasEscape) return false;
        const bit = memberBit(reader);
        if ((seen & bit) !== 0) reader.notes |= DUPLICATE_KEY;
        seen |= bit;
        if (bit === 0 ? !reader.skipValue() : !this.#readNumber(reader, bit === 1 ? this.#score : this.#weight)) {
          return false;
        }
      } while (reader.hasNext(CLOSE_OBJECT));
      if (reader.fault !== null) return false;
    }
    this.#addProduct();
    return true;
  }

  #readNumber(reader: ValueReader, fact: NumberFact): boolean {
    fact.clear();
    const kind = reader.readScalar(true);
    if (kind === NUMBER) fact.set(reader);
    else if (kind === STRING || kind === BOOLEAN) this.notes |= ODD_VALUE;
    else if (kind !== NULL) {
      this.notes |= ODD_VALUE;
      return kind !== VALUE.BAD && reader.skipValue();
    }
    return true;
  }

  /** `(score or 0) * (1 if weight is None else weight)`: a score of 0.0 is false to Python and becomes the integer 0. */
  #addProduct(): void {
    const score = this.#score;
    const weight = this.#weight;
    if (!score.isPresent || score.value === 0) score.setTo(0, true, null);
    if (!weight.isPresent) weight.setTo(1, true, null);
    const product = score.value * weight.value;
    if (!score.isInt || !weight.isInt) this.sum.addFloat(product);
    else if (Number.isSafeInteger(product)) this.sum.addInt(product, null);
    else {
      const exact = (score.big ?? BigInt(score.value)) * (weight.big ?? BigInt(weight.value));
      this.sum.addInt(Number(exact), exact);
    }
  }
}

/** 1 for the key `score`, 2 for `weight`, 0 for any other. */
function memberBit(reader: ValueReader): number {
  const { bytes, stringStart: at } = reader;
  const length = reader.stringEnd - at;
  if (length === 5 && bytes[at] === 0x73 && bytes[at + 1] === 0x63 && bytes[at + 2] === 0x6f) {
    return bytes[at + 3] === 0x72 && bytes[at + 4] === 0x65 ? 1 : 0;
  }
  if (length !== 6 || bytes[at] !== 0x77 || bytes[at + 1] !== 0x65 || bytes[at + 2] !== 0x69) return 0;
  return bytes[at + 3] === 0x67 && bytes[at + 4] === 0x68 && bytes[at + 5] === 0x74 ? 2 : 0;
}
