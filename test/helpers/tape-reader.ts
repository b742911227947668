/** A sink that keeps what walkers hand over, as text that tests can compare: `FIELD TYPE`, then the value if it has one. */
import {
  FIELD,
  type RecordTape,
  TAPE_CAPACITY_ENTRIES,
  TAPE_ENTRY_WORDS,
  type TapeSink,
  TYPE,
  UNIT_KEYS,
} from '../../src/core/scan/record-tape.js';

const FIELD_NAMES = new Map<number, string>(Object.entries(FIELD).map(([name, code]) => [code, name]));
const TYPE_NAMES = new Map<number, string>(Object.entries(TYPE).map(([name, code]) => [code, name]));
const WITH_TEXT = new Set<number>([TYPE.NUMBER, TYPE.STRING, TYPE.ESCAPED, TYPE.RAW]);

/** Types that need not be told apart where only the type is of use. */
const SAME_KIND: Readonly<Record<string, string>> = { ESCAPED: 'STRING', TOO_LARGE: 'STRING', INT: 'NUMBER' };

/** Keeps the entries of the last record. Throws when a walker breaks the contract of the tape. */
export class TapeReader implements TapeSink {
  #items: string[] = [];
  #isComplete = false;
  #hasBegun = false;
  /** How many times a tape was handed over since the record began. */
  takes = 0;

  /** One line for each entry. Bytes of texts appear as Latin-1 characters, so that no byte is lost. */
  get items(): readonly string[] {
    return this.#items;
  }

  /** Whether the last entry of a record, UNIT_KEYS, was seen. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Forgets the last record, so that what follows must begin one. */
  clear(): void {
    this.#items = [];
    this.#isComplete = false;
    this.#hasBegun = false;
    this.takes = 0;
  }

  beginRecord(): void {
    this.clear();
    this.#hasBegun = true;
  }

  take(tape: RecordTape, entries: number): void {
    if (entries < 1 || entries > TAPE_CAPACITY_ENTRIES) throw new Error(`a tape of ${entries} entries`);
    if (!this.#hasBegun) throw new Error('a tape without a record');
    this.takes += 1;
    for (let entry = 0; entry < entries; entry += 1) this.#add(tape, entry * TAPE_ENTRY_WORDS);
  }

  #add({ words, arena }: RecordTape, at: number): void {
    const [head = 0, a = 0, b = 0] = words.subarray(at, at + TAPE_ENTRY_WORDS);
    const field = FIELD_NAMES.get(head & 0xff);
    const type = TYPE_NAMES.get(head >> 8);
    if (field === undefined || type === undefined) throw new Error(`an entry with the head ${head}`);
    if (this.#isComplete) throw new Error(`${field} ${type} behind the end of the record`);
    this.#isComplete = field === 'UNIT_KEYS';
    const shown = shownValue(field, type, head >> 8, a, b, arena);
    this.#items.push(shown === '' ? field : `${field} ${shown}`);
  }
}

function shownValue(field: string, name: string, type: number, a: number, b: number, arena: Uint8Array): string {
  if (field === 'UNIT_KEYS') return UNIT_KEYS.filter((_, bit) => (a & (1 << bit)) !== 0).join(',');
  if (field === 'CALL_ERROR') return SAME_KIND[name] ?? name;
  if (field === 'TRACES_END') return '';
  if (WITH_TEXT.has(type)) return `${name} ${textOf(arena, a, b)}`;
  if (type === TYPE.TOO_LARGE) return `${name} ${b}`;
  const hasNumber = type === TYPE.INT || (field === 'ERRORS' && type === TYPE.ARRAY);
  return hasNumber ? `${name} ${a}` : name;
}

function textOf(arena: Uint8Array, start: number, length: number): string {
  if (start < 0 || length < 0 || start + length > arena.length) throw new Error(`a text outside the arena at ${start}`);
  return Buffer.from(arena.buffer, arena.byteOffset + start, length).toString('latin1');
}
