/**
 * Scans what cannot be read at memory speed: documents, standard input, sealed chunks without a seek table; and the
 * streams of annotations. Same rows, same damage, one record in memory.
 */
import { annotationRow } from '../core/index/annotation-row.js';
import type { RowFault } from '../core/index/segment-types.js';
import { ANNOTATIONS } from '../core/scan/classify.js';
import type { Damage, StreamRecord } from '../core/scan/types.js';
import { validateJson } from '../core/scan/validate.js';
import { type FileSummary, type ReadRecordsOptions, readFileRecords } from './run-records.js';
import type { ChunkFile } from './run-types.js';
import type { ScanOptions } from './scan-stream.js';
import type { RowBatch, SegmentResult } from './scan-types.js';

/** Longest record that is held whole. */
const MAX_RECORD_BYTES = 1_073_741_824;

/** Rows that are gathered before they are handed on. */
const BATCH_RECORDS = 256;

/** The rows of one file, a batch at a time. */
export async function* scanSlowly(file: ChunkFile, options: ScanOptions): AsyncGenerator<SegmentResult, void> {
  const { settings, holds, hasChunks, runner, signal } = options;
  const rowChunk = hasChunks ? file.chunk : null;
  const rows = holds === 'annotations' ? new AnnotationRows(rowChunk) : runner.openRecords(file, rowChunk, settings);
  const reading: ReadRecordsOptions = { signal, maxLineBytes: MAX_RECORD_BYTES };
  const scan = new SlowScan(file, rows, settings.isStrict);
  const units = holds === 'annotations' ? { units: ANNOTATIONS } : {};
  for await (const event of readFileRecords(file, { ...reading, ...units })) {
    if (event.type === 'record') scan.record(event.record);
    else if (event.type === 'damage') scan.damage.push(event.damage);
    else if (event.summary !== null) scan.end(event.summary);
    if (scan.records >= BATCH_RECORDS) yield scan.take();
  }
  yield scan.take();
}

/** Makes rows of whole records. */
export type RecordRows = {
  /** Adds the row of a record; or says why it has none. */
  add(bytes: Buffer, offset: number, length: number): RowFault | null;
  /** What was added since the last call. */
  take(): RowBatch & Pick<SegmentResult, 'oddities' | 'oddityCounts' | 'tokenDifferences'>;
};

class SlowScan {
  readonly #file: ChunkFile;
  readonly #rows: RecordRows;
  readonly #isStrict: boolean;
  readonly damage: Damage[] = [];
  records = 0;
  #recordBytes = 0;
  #blankBytes = 0;
  #openLineOffset: number | null = null;
  #position = 0;

  constructor(file: ChunkFile, rows: RecordRows, isStrict: boolean) {
    this.#file = file;
    this.#rows = rows;
    this.#isStrict = isStrict;
  }

  record({ bytes, offset, length }: StreamRecord): void {
    const fault = this.#invalid(bytes, offset) ?? this.#rows.add(bytes, offset, length);
    this.#position = offset + length;
    if (fault === null) {
      this.records += 1;
      this.#recordBytes += length;
      return;
    }
    const { relativePath: file, chunk } = this.#file;
    const { kind, reason: message } = fault;
    this.damage.push({ file, chunk, offset, bytes: length, kind, recovered: false, message });
  }

  end({ blankBytes, openLineOffset, endOffset }: FileSummary): void {
    this.#blankBytes = blankBytes;
    this.#openLineOffset = openLineOffset;
    this.#position = endOffset;
  }

  take(): SegmentResult {
    const damage = this.damage.splice(0);
    const damagedBytes = damage.reduce((sum, { bytes }) => sum + bytes, 0);
    const counts = {
      records: this.records,
      recordBytes: this.#recordBytes,
      damagedBytes,
      blankBytes: this.#blankBytes,
    };
    this.records = 0;
    this.#recordBytes = 0;
    this.#blankBytes = 0;
    const { position, openLineOffset } = { position: this.#position, openLineOffset: this.#openLineOffset };
    return { ...this.#rows.take(), damage, counts, digests: new Uint32Array(0), position, openLineOffset, unit: null };
  }

  #invalid(bytes: Buffer, offset: number): RowFault | null {
    const fault = this.#isStrict ? validateJson(bytes) : null;
    return fault === null
      ? null
      : { kind: 'invalid_json', reason: `${fault.reason}, near byte ${offset + fault.offset}` };
  }
}

/** Rows of annotation updates (spec 04 section 7), which carry no numbers of lines. */
class AnnotationRows implements RecordRows {
  readonly #chunk: number | null;
  #parts: Uint8Array[] = [];

  constructor(chunk: number | null) {
    this.#chunk = chunk;
  }

  add(bytes: Buffer, offset: number): RowFault | null {
    const row = annotationRow(bytes, { chunk: this.#chunk, offset });
    if (!(row instanceof Uint8Array)) return row;
    this.#parts.push(row);
    return null;
  }

  take(): ReturnType<RecordRows['take']> {
    const rows = Buffer.concat(this.#parts);
    this.#parts = [];
    const none = new Uint32Array(0);
    const batch = { rows, lineAt: none, idHashes: none, steps: new Float64Array(0) };
    return { ...batch, oddities: [], oddityCounts: {}, tokenDifferences: 0 };
  }
}
