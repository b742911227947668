/**
 * Writing the tape of record-tape.ts: entries and the bytes they point at, handed to the sink when either is full.
 * A text may be handed in in pieces, as windows of the input pass by; entries never stand between them.
 */
import { ARENA_BYTES, TAPE_CAPACITY_ENTRIES, TAPE_ENTRY_WORDS, type TapeSink, TYPE } from './record-tape.js';

const CAPACITY_ENTRIES = TAPE_CAPACITY_ENTRIES;
const ENTRY_WORDS = TAPE_ENTRY_WORDS;
const MAX_TEXT_BYTES = ARENA_BYTES;

/** Copies shorter than this go byte by byte: a call of Buffer.copy costs as much. */
const SHORT_COPY_BYTES = 40;

/** Digits of the longest INT. */
const INT_DIGITS = 9;

const BACKSLASH = 0x5c;

const MAX_WORD = 0x7fff_ffff;

export class TapeWriter {
  readonly #sink: TapeSink;
  readonly #words = new Int32Array(CAPACITY_ENTRIES * ENTRY_WORDS);
  readonly #arena = Buffer.from(new ArrayBuffer(MAX_TEXT_BYTES));
  readonly #tape = { words: this.#words, arena: this.#arena };
  #entries = 0;
  #arenaEnd = 0;
  #textStart = 0;
  #textBytes = 0;

  constructor(sink: TapeSink) {
    this.#sink = sink;
  }

  /** Drops what was written and not handed over. */
  beginRecord(): void {
    this.#entries = 0;
    this.#arenaEnd = 0;
    this.#sink.beginRecord();
  }

  entry(field: number, type: number, a: number, b: number): void {
    if (this.#entries === CAPACITY_ENTRIES) this.handOver();
    const words = this.#words;
    const at = this.#entries * ENTRY_WORDS;
    words[at] = field | (type << 8);
    words[at + 1] = a;
    words[at + 2] = b;
    this.#entries += 1;
  }

  handOver(): void {
    if (this.#entries > 0) this.#sink.take(this.#tape, this.#entries);
    this.#entries = 0;
    this.#arenaEnd = 0;
  }

  /** A text begins, which an entry or `dropText` ends. Makes room for the entry now, while no text is open. */
  beginText(): void {
    if (this.#entries === CAPACITY_ENTRIES) this.handOver();
    this.#textStart = this.#arenaEnd;
    this.#textBytes = 0;
  }

  /** The next piece of the open text; one longer than the arena is only measured. */
  append(bytes: Buffer, from: number, to: number): void {
    const count = to - from;
    this.#textBytes += count;
    if (this.#textBytes > MAX_TEXT_BYTES) {
      this.#arenaEnd = this.#textStart;
      return;
    }
    if (this.#arenaEnd + count > MAX_TEXT_BYTES) this.#clearFront();
    const arena = this.#arena;
    const target = this.#arenaEnd;
    if (count < SHORT_COPY_BYTES) {
      for (let index = 0; index < count; index += 1) arena[target + index] = bytes[from + index] as number;
    } else {
      bytes.copy(arena, target, from, to);
    }
    this.#arenaEnd = target + count;
  }

  /** Hands over everything but the open text, which moves to the front of the arena. */
  #clearFront(): void {
    const start = this.#textStart;
    const end = this.#arenaEnd;
    this.handOver();
    this.#arena.copyWithin(0, start, end);
    this.#textStart = 0;
    this.#arenaEnd = end - start;
  }

  /** Ends the open text as the value of a field. */
  textEntry(field: number, type: number): void {
    if (this.#textBytes > MAX_TEXT_BYTES) this.entry(field, TYPE.TOO_LARGE, 0, Math.min(this.#textBytes, MAX_WORD));
    else this.entry(field, type, this.#textStart, this.#textBytes);
  }

  /** Ends the open text, which is an integer literal without a sign. */
  digitsEntry(field: number): void {
    if (this.#textBytes > INT_DIGITS) {
      this.textEntry(field, TYPE.NUMBER);
      return;
    }
    let value = 0;
    for (let at = this.#textStart; at < this.#arenaEnd; at += 1)
      value = value * 10 + (this.#arena[at] as number) - 0x30;
    this.dropText();
    this.entry(field, TYPE.INT, value, 0);
  }

  /** Whether the open text holds a backslash, as far as it is kept. */
  hasBackslash(): boolean {
    const arena = this.#arena;
    const end = this.#arenaEnd;
    let at = this.#textStart;
    while (at < end && arena[at] !== BACKSLASH) at += 1;
    return at < end;
  }

  /** Ends the open text, which is no value. */
  dropText(): void {
    this.#arenaEnd = this.#textStart;
  }

  /** The open text, as long as it is not longer than the arena. */
  get arena(): Uint8Array {
    return this.#arena;
  }

  get textStart(): number {
    return this.#textStart;
  }

  /** Of all pieces, also of a text that was too long to keep. */
  get textBytes(): number {
    return this.#textBytes;
  }
}
