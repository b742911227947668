/**
 * Makes the index row of each record that a walker reads (spec 04), byte for byte as prime-rl writes it. One builder
 * works on one record at a time: a walker fills it, then the record is looked at and its row written.
 */
import type { RecordTape, TapeSink } from '../scan/record-tape.js';
import type { RecordUnit } from '../scan/types.js';
import type { PythonNumber } from './exact-sum.js';
import type { RowFault } from './notes.js';
import { DEFAULT_ROW_OPTIONS, type RowOptions } from './record-facts.js';
import type { RowBuffer } from './row-buffer.js';
import { type RowPlace, RowWriter } from './row-writer.js';
import { hashId } from './seen-ids.js';
import { TapeFeed } from './tape-feed.js';

/** Token counts of a record, by both ways. */
export type TokenCounts = {
  /** As the record says; null unless it has both as integers. */
  readonly stored: { readonly input: bigint; readonly output: bigint } | null;
  /** As its calls tell. Zeros when the options ask for no derived counts. */
  readonly derived: { readonly input: bigint; readonly output: bigint };
};

export class RowBuilder implements TapeSink {
  readonly #feed: TapeFeed;
  readonly #writer: RowWriter;

  constructor(options: RowOptions = DEFAULT_ROW_OPTIONS) {
    this.#feed = new TapeFeed(options);
    this.#writer = new RowWriter(this.#feed.facts, this.#feed.kept, options.tokens);
  }

  beginRecord(): void {
    this.#feed.beginRecord();
  }

  take(tape: RecordTape, entries: number): void {
    this.#feed.take(tape, entries);
  }

  /** What the record is, by its keys. A row can be written of any unit; it means something for episodes and traces. */
  get unit(): RecordUnit {
    return this.#feed.unit;
  }

  /** Why the record is no JSON after all; null when it has a row. */
  get fault(): RowFault | null {
    return this.#feed.fault;
  }

  /** NOTE bits. */
  get notes(): number {
    return this.#feed.facts.notes;
  }

  /** The id as orjson prints it between the quotes, as a view until the next record; null when there is none. */
  get id(): Uint8Array | null {
    const { facts, kept } = this.#feed;
    const { start, length } = facts.id;
    return length < 0 ? null : kept.bytes.subarray(start, start + length);
  }

  /** The ids of the traces that have one, in order, in the same form. Views until the next record. */
  get traceIds(): readonly Uint8Array[] {
    const { facts, kept } = this.#feed;
    return Array.from({ length: facts.idCount }, (_, index) => {
      const start = facts.idSpans[index * 2] as number;
      return kept.bytes.subarray(start, start + (facts.idSpans[index * 2 + 1] as number));
    });
  }

  /** Writes the hash of the id as two words; zeros when there is none. */
  hashId(target: Uint32Array, at: number): void {
    const { facts, kept } = this.#feed;
    const { start, length } = facts.id;
    if (length < 0) {
      target[at] = 0;
      target[at + 1] = 0;
    } else hashId(kept.bytes, start, length, target, at);
  }

  /**
   * The step that was being collected when the episode arrived, as its first trace says (spec 02 section 2, stamps): an
   * integer literal within 2^53; null for anything else.
   */
  get arrivalStep(): number | null {
    const { arrivalStep } = this.#feed.facts;
    return Number.isNaN(arrivalStep) ? null : arrivalStep;
  }

  /** Both token counts, for a report of where they differ; the options must ask for both. */
  get tokenCounts(): TokenCounts {
    const { facts } = this.#feed;
    const derived = { input: exact(facts.derivedInput), output: exact(facts.derivedOutput) };
    if (!facts.hasStoredTokens) return { stored: null, derived };
    return { stored: { input: exact(facts.storedInput), output: exact(facts.storedOutput) }, derived };
  }

  /**
   * Whether the record stores other token counts than its calls tell; both are legal, between versions of the writer.
   * False when the options ask for no derived counts.
   */
  get hasOtherTokens(): boolean {
    const { facts } = this.#feed;
    if (!facts.hasStoredTokens || !facts.isDerived) return false;
    return !isEqual(facts.storedInput, facts.derivedInput) || !isEqual(facts.storedOutput, facts.derivedOutput);
  }

  /**
   * Appends the row with its LF.
   * @returns where in `target.bytes` the digits of the line are, or belong when `place.line` is null
   */
  writeRow(target: RowBuffer, place: RowPlace): number {
    return this.#writer.write(target, place);
  }
}

function exact(number: PythonNumber): bigint {
  return number.big ?? BigInt(number.value);
}

function isEqual(left: PythonNumber, right: PythonNumber): boolean {
  return left.value === right.value && left.big === right.big;
}
