/**
 * What each record of a run is selected by: the index row that its bytes make (spec 04), computed by the walker and
 * never by parsing the record. Records must come whole and in order, since `line` counts them.
 */
import type { EpisodeRow, RowFacts } from '../core/index/episode-row.js';
import { DEFAULT_ROW_OPTIONS } from '../core/index/record-facts.js';
import { RowBuffer } from '../core/index/row-buffer.js';
import { RowBuilder } from '../core/index/row-builder.js';
import { MemorySource } from '../core/scan/memory-source.js';
import type { StreamRecord } from '../core/scan/types.js';
import { LINE, type RecordWalker } from '../core/scan/walker.js';
import { openWalker } from './open-walker.js';
import type { ChunkFile, Run } from './run-types.js';

/** Bytes of a row that need no growing. */
const ROW_BYTES = 4096;

/** The step at which episodes arrived, in the layouts that keep a directory a step (spec 01: R0, R1). */
const STEP_DIRECTORY = /(?:^|\/)step_(\d{1,15})\//;

export class RowReader {
  readonly #builder: RowBuilder;
  readonly #walker: RecordWalker;
  readonly #buffer = new RowBuffer(ROW_BYTES);
  readonly #hasChunks: boolean;
  readonly #steps: ReadonlyMap<number, number>;
  #line = 0;

  constructor({ layout, tracesDirectory, files }: Run) {
    // As an index in place, or a synthetic one, has its rows.
    this.#builder = new RowBuilder({ ...DEFAULT_ROW_OPTIONS, mode: tracesDirectory === null ? 'exact' : 'compat' });
    this.#walker = openWalker(this.#builder);
    this.#hasChunks = layout !== 'R2';
    this.#steps = new Map(files.flatMap((file) => stepOfDirectory(file) ?? []));
  }

  /** Null for a record that no row can be made of: it is no JSON in a place that a row depends on. */
  read({ bytes, chunk, offset }: StreamRecord): RowFacts | null {
    this.#walker.reset(new MemorySource(bytes), offset);
    if (this.#walker.next() !== LINE.RECORD || this.#builder.fault !== null) return null;
    this.#line += 1;
    this.#buffer.clear();
    this.#builder.writeRow(this.#buffer, { line: this.#line, offset, chunk: this.#hasChunks ? chunk : null });
    const { buffer, byteOffset, length } = this.#buffer.view();
    const row = JSON.parse(Buffer.from(buffer, byteOffset, length).toString()) as EpisodeRow;
    return { row, arrivalStep: this.#builder.arrivalStep ?? this.#steps.get(chunk) ?? null };
  }

  /** Counts a record that has a row in the index and was too long to be read here. */
  passOver(): void {
    this.#line += 1;
  }
}

function stepOfDirectory({ chunk, relativePath }: ChunkFile): [[chunk: number, step: number]] | null {
  const step = STEP_DIRECTORY.exec(relativePath)?.[1];
  return step === undefined ? null : [[chunk, Number(step)]];
}
