/** Writes the tape of a record from text, as a walker writes it from bytes. */
import { ARENA_BYTES, TAPE_CAPACITY_ENTRIES, TAPE_ENTRY_WORDS, type TapeSink, TYPE } from '../core/scan/record-tape.js';

const MAX_LENGTH = 2 ** 31 - 1;

/** Text up to the longest that can be captured; beyond it only counts. */
export class CappedText {
  text = '';
  /** Bytes in UTF-8. */
  bytes = 0;
  last = '';
  hasBackslash = false;

  clear(): void {
    this.text = '';
    this.bytes = 0;
    this.last = '';
    this.hasBackslash = false;
  }

  append(part: string): void {
    if (part === '') return;
    this.bytes += Buffer.byteLength(part);
    this.last = part.charAt(part.length - 1);
    this.hasBackslash ||= part.includes('\\');
    this.text = this.bytes > ARENA_BYTES ? '' : this.text + part;
  }
}

/** The tape being written; handed over whenever it is full. */
export class TapeWriter {
  readonly #sink: TapeSink;
  readonly #words = new Int32Array(TAPE_CAPACITY_ENTRIES * TAPE_ENTRY_WORDS);
  readonly #arena = Buffer.alloc(ARENA_BYTES);
  #entries = 0;
  #arenaBytes = 0;

  constructor(sink: TapeSink) {
    this.#sink = sink;
  }

  clear(): void {
    this.#entries = 0;
    this.#arenaBytes = 0;
  }

  push(field: number, type: number, first: number, second: number): void {
    if (this.#entries === TAPE_CAPACITY_ENTRIES) this.handOver();
    this.#words.set([field | (type << 8), first, second], this.#entries * TAPE_ENTRY_WORDS);
    this.#entries += 1;
  }

  capture(field: number, type: number, text: CappedText): void {
    if (text.bytes > ARENA_BYTES) {
      this.push(field, TYPE.TOO_LARGE, 0, Math.min(text.bytes, MAX_LENGTH));
      return;
    }
    const isFull = this.#entries === TAPE_CAPACITY_ENTRIES || this.#arenaBytes + text.bytes > ARENA_BYTES;
    if (isFull) this.handOver();
    this.#arena.write(text.text, this.#arenaBytes);
    this.push(field, type, this.#arenaBytes, text.bytes);
    this.#arenaBytes += text.bytes;
  }

  handOver(): void {
    if (this.#entries > 0) this.#sink.take({ words: this.#words, arena: this.#arena }, this.#entries);
    this.clear();
  }
}
