/**
 * The record walker in WebAssembly SIMD (assembly/walker). Its memory holds tape, arena and window, is sized once and
 * never grows, so that the views of it stay whole. Bytes are read straight into the window.
 */
import { ARENA_BYTES, type RecordTape, TAPE_CAPACITY_ENTRIES, TAPE_ENTRY_WORDS, type TapeSink } from './record-tape.js';
import {
  type ByteDigest,
  type ByteSource,
  FAULT,
  type Fault,
  LINE,
  type LineKind,
  type RecordWalker,
  type WalkerOptions,
} from './walker.js';
import { WALKED_KEYS } from './wasm-walker-keys.js';

const DEFAULT_WINDOW_BYTES = 1_048_576;
const MIN_WINDOW_BYTES = 4096;
const MAX_WINDOW_BYTES = 1_073_741_824;

/** Places in the status block: three f64, then an i32 (assembly/walker/layout.ts). */
const LINE_START = 0;
const LINE_END = 1;
const FAULT_OFFSET = 2;
const FAULT_CODE = 6;
const STATUS_WORDS = 8;

const { END, RECORD } = LINE;

type Exports = {
  readonly memory: WebAssembly.Memory;
  open(windowBytes: number): void;
  statusAddress(): number;
  keyAddress(): number;
  tapeAddress(): number;
  arenaAddress(): number;
  addKey(
    context: number,
    bytes: number,
    field: number,
    action: number,
    child: number,
    element: number,
    last: number,
    unit: number,
  ): void;
  reset(offset: number): void;
  skipLine(): number;
  next(): number;
  startDigest(): void;
  addToDigest(address: number, length: number): void;
  finishDigest(): number;
};

const NO_BYTES: ByteSource = { read: () => 0 };

export class WasmWalker implements RecordWalker {
  readonly #sink: TapeSink;
  readonly #next: () => number;
  readonly #exports: Exports;
  readonly #bytes: Uint8Array;
  readonly #offsets: Float64Array;
  readonly #words: Int32Array;
  readonly #tape: RecordTape;
  readonly digest: ByteDigest;
  #source: ByteSource = NO_BYTES;
  #isTerminated = false;
  /** Whether the sink knows of the line being read. */
  #hasBegun = false;

  /**
   * @param module assembly/walker.wasm
   * @throws RangeError when the window is smaller than 4,096 bytes or larger than 1 GiB
   */
  constructor(module: WebAssembly.Module, options: WalkerOptions) {
    const { sink, windowBytes = DEFAULT_WINDOW_BYTES } = options;
    if (!(windowBytes >= MIN_WINDOW_BYTES && windowBytes <= MAX_WINDOW_BYTES)) {
      throw new RangeError(`a window of ${windowBytes} bytes; it must be ${MIN_WINDOW_BYTES} to ${MAX_WINDOW_BYTES}`);
    }
    this.#sink = sink;
    const host = {
      pull: (address: number, length: number) => this.#pull(address, length),
      take: (entries: number) => this.#take(entries),
    };
    const exports = new WebAssembly.Instance(module, { host }).exports as Exports; // What assembly/walker exports.
    exports.open(windowBytes);
    const { buffer } = exports.memory;
    this.#exports = exports;
    this.#next = exports.next;
    this.#bytes = new Uint8Array(buffer);
    this.#offsets = new Float64Array(buffer, exports.statusAddress(), FAULT_OFFSET + 1);
    this.#words = new Int32Array(buffer, exports.statusAddress(), STATUS_WORDS);
    this.#tape = {
      words: new Int32Array(buffer, exports.tapeAddress(), TAPE_CAPACITY_ENTRIES * TAPE_ENTRY_WORDS),
      arena: new Uint8Array(buffer, exports.arenaAddress(), ARENA_BYTES),
    };
    this.digest = {
      start: exports.startDigest,
      // What a source is given lies in this memory.
      add: ({ byteOffset, length }) => exports.addToDigest(byteOffset, length),
      finish: () => exports.finishDigest() >>> 0 || 1,
    };
    this.#addKeys();
  }

  #addKeys(): void {
    const address = this.#exports.keyAddress();
    for (const key of WALKED_KEYS) {
      const { name, context, field, action, child, element, last, unit } = key;
      for (let index = 0; index < name.length; index += 1) this.#bytes[address + index] = name.charCodeAt(index);
      this.#exports.addKey(context, name.length, field, action, child, element, last, unit);
    }
  }

  reset(source: ByteSource, offset: number): void {
    this.#source = source;
    this.#exports.reset(offset);
  }

  skipLine(): number {
    return this.#exports.skipLine();
  }

  next(): LineKind {
    this.#hasBegun = false;
    const answer = this.#next();
    const kind = (answer & 3) as LineKind;
    this.#isTerminated = (answer & 4) !== 0;
    if (kind === RECORD) this.#take(answer >> 3);
    else if (kind !== END) this.#begin();
    return kind;
  }

  get lineStart(): number {
    return this.#offsets[LINE_START] as number;
  }

  get lineEnd(): number {
    return this.#offsets[LINE_END] as number;
  }

  get isTerminated(): boolean {
    return this.#isTerminated;
  }

  get fault(): Fault {
    return (this.#words[FAULT_CODE] ?? FAULT.NONE) as Fault;
  }

  get faultOffset(): number {
    return this.#offsets[FAULT_OFFSET] as number;
  }

  #pull(address: number, length: number): number {
    const count = this.#source.read(this.#bytes.subarray(address, address + length));
    if (!(count >= 0 && count <= length)) throw new RangeError(`a source read ${count} of ${length} bytes`);
    return count;
  }

  #begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    this.#sink.beginRecord();
  }

  #take(entries: number): void {
    this.#begin();
    this.#sink.take(this.#tape, entries);
  }
}
