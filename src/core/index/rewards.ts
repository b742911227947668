/** The reward of one trace (spec 04 section 4.2), from the text of its `rewards`, or entry by entry. */
import { ExactSum } from './exact-sum.js';
import { type JsonTree, readTree } from './json-tree.js';
import { NameTable } from './name-table.js';
import { NOTE } from './notes.js';
import { NumberFact } from './number-fact.js';
import { VALUE, type ValueReader } from './value-reader.js';

const { BOOLEAN, NULL, NUMBER, OBJECT, STRING } = VALUE;
const { DUPLICATE_KEY, ODD_VALUE } = NOTE;

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const CLOSE_OBJECT = 0x7d;

/** `null`, `:{"score":` and `,"weight":` as words are read from memory. */
const NULL_WORD = 0x6c6c756e;
const SCORE_1 = 0x73227b3a;
const SCORE_2 = 0x65726f63;
const SCORE_3 = 0x3a22;
const WEIGHT_1 = 0x6577222c;
const WEIGHT_2 = 0x74686769;
const WEIGHT_3 = 0x3a22;

export class Rewards {
  /** Σ score × weight over the entries that are objects. */
  readonly sum = new ExactSum();
  /** Entries of the map, placeholders included: an empty map is no reward at all. */
  entries = 0;
  /** NOTE bits since the owner cleared them, those of the reader aside. */
  notes = 0;

  /** The entry at hand, which `addProduct` reads and changes. */
  readonly score = new NumberFact();
  readonly weight = new NumberFact();

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
    if (reader.hasWords && this.#addPlainEntries(reader)) return true;
    this.reset();
    reader.open(bytes, start, end);
    if (this.#addEntries(reader)) return true;
    if (reader.fault !== null) return false;
    this.reset();
    reader.notes = before;
    reader.open(bytes, start, end);
    const tree = readTree(reader);
    if (tree === undefined) return false;
    this.#addTree(tree);
    return true;
  }

  /** A map that was built, as Python sees it: a Map; anything else has no entries. */
  #addTree(tree: JsonTree): void {
    if (!(tree instanceof Map)) return;
    this.entries = tree.size;
    for (const entry of tree.values()) {
      if (entry instanceof Map) {
        this.#take(this.score, entry.get('score'));
        this.#take(this.weight, entry.get('weight'));
        this.addProduct();
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

  /**
   * The fast way: entries as producers write them, each null or `{"score":…,"weight":…}`, no white space. False for
   * anything else, and for what is at fault, which the other ways name.
   */
  #addPlainEntries(reader: ValueReader): boolean {
    const { bytes, words } = reader;
    this.#beginNames();
    let at = reader.at + 1;
    while (bytes[at] === QUOTE) {
      const start = at + 1;
      at = plainStringEnd(reader, start);
      if (at < 0 || !this.#isNewName(reader, start, at)) return false;
      this.entries += 1;
      if (words.getInt32(at + 2, true) === NULL_WORD) {
        at += 6;
      } else {
        at = this.#addPlainEntry(reader, at + 1);
        if (at < 0) return false;
      }
      if (bytes[at] === CLOSE_OBJECT) return at + 1 === reader.end;
      if (bytes[at] !== COMMA) return false;
      at += 1;
    }
    return false;
  }

  /** Reads `:{"score":…,"weight":…}`; returns the offset behind it, -1 when it is anything else. */
  #addPlainEntry(reader: ValueReader, at: number): number {
    const { words, bytes } = reader;
    const isScore = words.getInt32(at, true) === SCORE_1 && words.getInt32(at + 4, true) === SCORE_2;
    if (!isScore || words.getInt16(at + 8, true) !== SCORE_3) return -1;
    reader.at = at + 10;
    if (!reader.readNumber(true)) return -1;
    this.score.set(reader);
    const next = reader.at;
    const isWeight = words.getInt32(next, true) === WEIGHT_1 && words.getInt32(next + 4, true) === WEIGHT_2;
    if (!isWeight || words.getInt16(next + 8, true) !== WEIGHT_3) return -1;
    reader.at = next + 10;
    if (!reader.readNumber(true) || bytes[reader.at] !== CLOSE_OBJECT) return -1;
    this.weight.set(reader);
    this.addProduct();
    return reader.at + 1;
  }

  #beginNames(): void {
    if (this.#names.beginRecord()) this.#seenIn.length = 0;
    this.#pass += 1;
  }

  /** False for a name that the map has had before. */
  #isNewName(reader: ValueReader, start: number, end: number): boolean {
    const name = this.#names.indexOf(reader.bytes, start, end);
    if (this.#seenIn[name] === this.#pass) return false;
    this.#seenIn[name] = this.#pass;
    return true;
  }

  /** False without a fault: a name that is escaped or comes twice, which the tree is for. */
  #addEntries(reader: ValueReader): boolean {
    this.#beginNames();
    if (!reader.enter(CLOSE_OBJECT)) return reader.fault === null;
    do {
      if (!reader.readKey() || reader.hasEscape) return false;
      if (!this.#isNewName(reader, reader.stringStart, reader.stringEnd)) return false;
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
    this.score.clear();
    this.weight.clear();
    let seen = 0;
    if (reader.enter(CLOSE_OBJECT)) {
      do {
        if (!reader.readKey() || reader.hasEscape) return false;
        const bit = memberBit(reader);
        if ((seen & bit) !== 0) reader.notes |= DUPLICATE_KEY;
        seen |= bit;
        if (bit === 0 ? !reader.skipValue() : !this.#readNumber(reader, bit === 1 ? this.score : this.weight)) {
          return false;
        }
      } while (reader.hasNext(CLOSE_OBJECT));
      if (reader.fault !== null) return false;
    }
    this.addProduct();
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

  /** Adds `(score or 0) * (1 if weight is None else weight)`: a score of 0.0 is false to Python, so the integer 0. */
  addProduct(): void {
    const score = this.score;
    const weight = this.weight;
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

/** The closing quote of a string that begins behind its opening one; -1 when it has a backslash or no end. */
function plainStringEnd(reader: ValueReader, start: number): number {
  const { bytes } = reader;
  let at = start;
  let union = 0;
  let byte = bytes[at] as number;
  while (byte >= 0x20 && byte !== QUOTE && byte !== BACKSLASH) {
    union |= byte;
    at += 1;
    byte = bytes[at] as number;
  }
  reader.union |= union;
  return byte === QUOTE && at < reader.end ? at : -1;
}
