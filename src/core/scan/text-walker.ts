/**
 * The walker of walker.ts in TypeScript: what runs where WebAssembly SIMD does not, and the second opinion the fast one
 * is tested against. It follows the plan of wanted paths by recursion, seven deep at most; everything outside the plan
 * is passed over without recursion (text-walker-window).
 */
import { FIELD, TYPE } from './record-tape.js';
import { type KeyTable, type Place, RECORD_MEMBERS, UNWANTED, type WantedKey } from './text-walker-plan.js';
import { ScalarReader } from './text-walker-scalars.js';
import { TapeWriter } from './text-walker-tape.js';
import { ByteWindow } from './text-walker-window.js';
import {
  type ByteSource,
  FAULT,
  type Fault,
  LINE,
  type LineKind,
  type RecordWalker,
  type WalkerOptions,
} from './walker.js';

const LF = 0x0a;
const VT = 0x0b;
const FF = 0x0c;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

const T = TYPE;
const UNIT_KEYS_FIELD = FIELD.UNIT_KEYS;
const NO_KEY = UNWANTED;
const ROOT = RECORD_MEMBERS;

const DEFAULT_WINDOW_BYTES = 1_048_576;
const MIN_WINDOW_BYTES = 4096;

/** Largest count that fits an entry. */
const MAX_COUNT = 0x7fff_ffff;

export class TextWalker implements RecordWalker {
  readonly digest = null;
  readonly #tape: TapeWriter;
  readonly #window: ByteWindow;
  readonly #scalars: ScalarReader;
  #lineStart = 0;
  #lineEnd = 0;
  #isTerminated = false;
  /** Brackets that are open on the walked path. */
  #depth = 0;
  #unitKeys = 0;

  /** @throws RangeError when the window is too small */
  constructor(options: WalkerOptions) {
    const windowBytes = options.windowBytes ?? DEFAULT_WINDOW_BYTES;
    if (!Number.isSafeInteger(windowBytes) || windowBytes < MIN_WINDOW_BYTES) {
      throw new RangeError(`a window of ${windowBytes} bytes, at least ${MIN_WINDOW_BYTES} are needed`);
    }
    this.#tape = new TapeWriter(options.sink);
    this.#window = new ByteWindow(windowBytes, this.#tape);
    this.#scalars = new ScalarReader(this.#window, this.#tape);
  }

  get lineStart(): number {
    return this.#lineStart;
  }

  get lineEnd(): number {
    return this.#lineEnd;
  }

  get isTerminated(): boolean {
    return this.#isTerminated;
  }

  get fault(): Fault {
    return this.#window.fault;
  }

  get faultOffset(): number {
    return this.#window.faultOffset;
  }

  reset(source: ByteSource, offset: number): void {
    this.#window.reset(source, offset);
    this.#lineStart = offset;
    this.#lineEnd = offset;
  }

  skipLine(): number {
    const window = this.#window;
    window.skipLine();
    return window.base + window.at;
  }

  next(): LineKind {
    const window = this.#window;
    this.#lineStart = window.base + window.at;
    window.fault = FAULT.NONE;
    const kind = this.#line();
    this.#isTerminated = window.skipLine();
    this.#lineEnd = window.base + window.at;
    return kind === LINE.BLANK && this.#lineEnd === this.#lineStart ? LINE.END : kind;
  }

  /** Reads a line up to its LF or its first fault; the end of the bytes is a blank line of no bytes. */
  #line(): LineKind {
    const window = this.#window;
    const first = window.space();
    if (first === OPEN_OBJECT) return this.#record() ? LINE.RECORD : LINE.BAD;
    if (first === VT || first === FF) return this.#blankWithVerticalSpace();
    if (first === LF) return LINE.BLANK;
    window.refuse(FAULT.NOT_OBJECT);
    return LINE.BAD;
  }

  /** VT and FF are white space on a blank line only, and where the first stands is known to be wrong later. */
  #blankWithVerticalSpace(): LineKind {
    const window = this.#window;
    window.fail(FAULT.NOT_OBJECT);
    let byte = window.peek();
    while (byte === VT || byte === FF) {
      window.advance();
      byte = window.space();
    }
    if (byte !== LF) return LINE.BAD;
    window.fault = FAULT.NONE;
    return LINE.BLANK;
  }

  #record(): boolean {
    const window = this.#window;
    const tape = this.#tape;
    tape.beginRecord();
    this.#depth = 0;
    this.#unitKeys = 0;
    if (!this.#members(ROOT)) return false;
    if (window.space() !== LF) return window.refuse(FAULT.TRAILING);
    tape.entry(UNIT_KEYS_FIELD, T.NULL, this.#unitKeys, 0);
    tape.handOver();
    return true;
  }

  /** Walks an object from its opening brace. */
  #members(keys: KeyTable): boolean {
    const window = this.#window;
    this.#depth += 1;
    window.at += 1;
    if (window.space() !== CLOSE_OBJECT) {
      for (;;) {
        if (!this.#member(keys)) return false;
        const byte = window.space();
        if (byte === CLOSE_OBJECT) break;
        if (byte !== COMMA) return window.refuse(byte === CLOSE_ARRAY ? FAULT.BRACKETS : FAULT.GRAMMAR);
        window.at += 1;
      }
    }
    window.at += 1;
    this.#depth -= 1;
    return true;
  }

  #member(keys: KeyTable): boolean {
    const window = this.#window;
    if (window.space() !== QUOTE) return window.refuse(FAULT.GRAMMAR);
    const key = this.#key(keys);
    if (key === null) return false;
    if (window.space() !== COLON) return window.refuse(FAULT.GRAMMAR);
    window.at += 1;
    if (key === undefined) return this.#value(NO_KEY);
    this.#unitKeys |= key.unitBit;
    return this.#value(key.place);
  }

  /** Reads a key from its opening quote; undefined when it is not wanted, null after a fault. */
  #key(keys: KeyTable): WantedKey | undefined | null {
    const window = this.#window;
    const { bytes } = window;
    const start = window.at + 1;
    let at = start;
    while (isPlainInKey(bytes[at] as number)) at += 1;
    if (bytes[at] === QUOTE) {
      window.at = at + 1;
      return keys.find(bytes, start, at - start);
    }
    return this.#longKey(keys);
  }

  /** A key that holds an escape or a fault, or does not end in the window. */
  #longKey(keys: KeyTable): WantedKey | undefined | null {
    const window = this.#window;
    const tape = this.#tape;
    window.at += 1;
    window.beginCapture();
    if (!window.skipString()) return null;
    window.endCapture(window.at - 1);
    tape.dropText();
    return keys.findEscaped(tape.arena, tape.textStart, tape.textBytes);
  }

  /** Walks or passes over the value that begins at or behind the byte looked at. */
  #value(place: Place): boolean {
    const window = this.#window;
    const byte = window.space();
    if (byte === QUOTE) return this.#scalars.string(place.field);
    if (byte === OPEN_OBJECT) return this.#object(place);
    if (byte === OPEN_ARRAY) return this.#array(place);
    return this.#scalars.bare(byte, place.field);
  }

  #object(place: Place): boolean {
    if (place.isRaw) return this.#raw(place.field);
    if (place.field !== 0) this.#tape.entry(place.field, T.OBJECT, 0, 0);
    return place.members === null ? this.#window.skipContainer(this.#depth) : this.#members(place.members);
  }

  #raw(field: number): boolean {
    const window = this.#window;
    window.beginCapture();
    if (!window.skipContainer(this.#depth)) return false;
    window.endCapture(window.at);
    this.#tape.textEntry(field, T.RAW);
    return true;
  }

  #array(place: Place): boolean {
    const tape = this.#tape;
    if (place.isCounted) {
      const count = this.#elements(UNWANTED);
      if (count >= 0) tape.entry(place.field, T.ARRAY, Math.min(count, MAX_COUNT), 0);
      return count >= 0;
    }
    if (place.field !== 0) tape.entry(place.field, T.ARRAY, 0, 0);
    if (place.element === null) return this.#window.skipContainer(this.#depth);
    if (this.#elements(place.element) < 0) return false;
    if (place.endField !== 0) tape.entry(place.endField, T.NULL, 0, 0);
    return true;
  }

  /** Walks an array from its opening bracket; returns the number of its elements, -1 after a fault. */
  #elements(element: Place): number {
    const window = this.#window;
    let count = 0;
    this.#depth += 1;
    window.at += 1;
    if (window.space() !== CLOSE_ARRAY) {
      for (;;) {
        if (!this.#value(element)) return -1;
        count += 1;
        const byte = window.space();
        if (byte === CLOSE_ARRAY) break;
        if (byte !== COMMA) {
          window.refuse(byte === CLOSE_OBJECT ? FAULT.BRACKETS : FAULT.GRAMMAR);
          return -1;
        }
        window.at += 1;
      }
    }
    window.at += 1;
    this.#depth -= 1;
    return count;
  }
}

/** Keys are short, so that comparing costs no more than a table. */
function isPlainInKey(byte: number): boolean {
  return byte >= 0x20 && byte !== QUOTE && byte !== BACKSLASH;
}
