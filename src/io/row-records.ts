/** Rows of the records that are walked on one thread, with what a stream needs to know of each beside its row. */
import { NOTE } from '../core/index/notes.js';
import type { RowBuffer } from '../core/index/row-buffer.js';
import type { RowBuilder } from '../core/index/row-builder.js';
import type { OddityKind, RowFault, RowMaker } from '../core/index/segment-types.js';
import type { RecordTape } from '../core/scan/record-tape.js';
import type { RecordUnit } from '../core/scan/types.js';
import type { RowBatch } from './scan-types.js';

/** Rows that one batch has room for at first; it doubles. */
const FIRST_ROWS = 1024;

const ODDITIES: readonly (readonly [bit: number, kind: OddityKind])[] = [
  [NOTE.DUPLICATE_KEY, 'duplicate_key'],
  [NOTE.NON_FINITE, 'non_finite'],
  [NOTE.ODD_VALUE, 'odd_value'],
  [NOTE.LONE_SURROGATE, 'lone_surrogate'],
  [NOTE.ODD_PARENT, 'odd_parent'],
];
const NONE: readonly OddityKind[] = [];
const TOLD = ODDITIES.reduce((bits, [bit]) => bits | bit, 0);

/** Gathers rows until they are taken. */
export class RowRecords implements RowMaker {
  readonly #builder: RowBuilder;
  /** Of the row at hand; one object for all of them, which are many. */
  readonly #place: { line: null; offset: number; chunk: number | null };
  readonly #buffer: RowBuffer;
  #lineAt = new Uint32Array(FIRST_ROWS);
  #idHashes = new Uint32Array(FIRST_ROWS * 2);
  #steps = new Float64Array(FIRST_ROWS);
  #count = 0;
  #tokenDifferences = 0;

  /** `chunk`: the number that the rows carry, null for none. */
  constructor(builder: RowBuilder, chunk: number | null, buffer: RowBuffer) {
    this.#builder = builder;
    this.#place = { line: null, offset: 0, chunk };
    this.#buffer = buffer;
    buffer.clear();
  }

  beginRecord(): void {
    this.#builder.beginRecord();
  }

  take(tape: RecordTape, entries: number): void {
    this.#builder.take(tape, entries);
  }

  finish(): RowFault | null {
    return this.#builder.fault;
  }

  get unit(): RecordUnit {
    return this.#builder.unit;
  }

  get oddities(): readonly OddityKind[] {
    const { notes } = this.#builder;
    return (notes & TOLD) === 0 ? NONE : ODDITIES.filter(([bit]) => (notes & bit) !== 0).map(([, kind]) => kind);
  }

  writeRow(offset: number): void {
    if (this.#count === this.#lineAt.length) this.#grow();
    const index = this.#count;
    this.#count += 1;
    this.#place.offset = offset;
    this.#lineAt[index] = this.#builder.writeRow(this.#buffer, this.#place);
    this.#steps[index] = this.#builder.arrivalStep ?? Number.NaN;
    this.#builder.hashId(this.#idHashes, index * 2);
    if (this.#builder.hasOtherTokens) this.#tokenDifferences += 1;
  }

  /** The rows so far, in memory of their own; the next ones begin a new batch. */
  takeBatch(): RowBatch & { readonly tokenDifferences: number } {
    const batch = {
      rows: this.#buffer.view().slice(),
      lineAt: this.#lineAt.slice(0, this.#count),
      idHashes: this.#idHashes.slice(0, this.#count * 2),
      steps: this.#steps.slice(0, this.#count),
      tokenDifferences: this.#tokenDifferences,
    };
    this.#buffer.clear();
    this.#count = 0;
    this.#tokenDifferences = 0;
    return batch;
  }

  #grow(): void {
    const lineAt = new Uint32Array(this.#count * 2);
    lineAt.set(this.#lineAt);
    this.#lineAt = lineAt;
    const idHashes = new Uint32Array(this.#count * 4);
    idHashes.set(this.#idHashes);
    this.#idHashes = idHashes;
    const steps = new Float64Array(this.#count * 2);
    steps.set(this.#steps);
    this.#steps = steps;
  }
}
