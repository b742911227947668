/**
 * The records of a whole run, file by file and in order, with everything that is damaged at its place. What every
 * consumer of a saved run reads: nothing is skipped in silence, and the sums of each file prove it.
 */
import { LineClassifier, type LineContent, mergeRemainder } from '../core/scan/classify.js';
import type { Damage, RecordUnit, StreamRecord } from '../core/scan/types.js';
import { MAX_LINE_BYTES } from '../core/upload/limits.js';
import { type LostRange, readLines, type SkipRange } from './chunk-reader.js';
import type { ChunkFile, Run } from './run-types.js';

export type ReadRecordsOptions = {
  /** Ranges of a file that are settled already and need not be read. A JSON document is read whole all the same. */
  readonly skip?: (file: ChunkFile) => readonly SkipRange[];
  readonly signal?: AbortSignal;
  /** Longest line in bytes, without LF but with CR; longer ones are damage. Default 64 MiB (spec 06 section 3). */
  readonly maxLineBytes?: number;
  /** Let through v0 rollouts, and files that mix episodes with bare traces. */
  readonly lenient?: boolean;
  /** The units that belong into the run's files; default episodes and bare traces. */
  readonly units?: ReadonlySet<RecordUnit>;
  /** The shape of a file's records where an earlier reading settled it; null or left out: its first record does. */
  readonly unitOf?: (file: ChunkFile) => RecordUnit | null;
};

/** What one file held, in uncompressed bytes: record, damaged, blank and skipped bytes add up to `endOffset`. */
export type FileSummary = {
  readonly records: number;
  readonly recordBytes: number;
  readonly damagedBytes: number;
  readonly blankBytes: number;
  readonly skippedBytes: number;
  /** First byte that was not looked at. */
  readonly endOffset: number;
  /** Where the last line starts when it has no LF: torn, or whole with a writer that had no time; else null. */
  readonly openLineOffset: number | null;
};

export type RunEvent =
  | { readonly type: 'file'; readonly file: ChunkFile; readonly summary: null }
  | { readonly type: 'file'; readonly file: ChunkFile; readonly summary: FileSummary }
  | { readonly type: 'record'; readonly record: StreamRecord }
  | { readonly type: 'damage'; readonly damage: Damage };

/**
 * Reads a run. First comes the damage found while listing it, holes included; then for each file a `file` event
 * without summary, its records and damage by offset, and a `file` event with summary. Throws on abort only.
 */
export async function* readRecords(run: Run, options: ReadRecordsOptions = {}): AsyncGenerator<RunEvent, void> {
  for (const damage of run.damage) yield { type: 'damage', damage };
  for (const file of run.files) {
    yield { type: 'file', file, summary: null };
    yield* readFileRecords(file, options);
  }
}

/** One file of a run: its records and damage by offset, and a `file` event with summary. */
export function readFileRecords(file: ChunkFile, options: ReadRecordsOptions = {}): AsyncGenerator<RunEvent, void> {
  return new FileReader(file, options).events();
}

class FileReader {
  readonly #file: ChunkFile;
  readonly #options: ReadRecordsOptions;
  readonly #classifier: LineClassifier;
  #records = 0;
  #recordBytes = 0;
  #damagedBytes = 0;
  #blankBytes = 0;
  #endOffset = 0;
  #openLineOffset: number | null = null;

  constructor(file: ChunkFile, options: ReadRecordsOptions) {
    this.#file = file;
    this.#options = options;
    const source = {
      file: file.relativePath,
      chunk: file.chunk,
      lenient: options.lenient ?? false,
      maxLineBytes: options.maxLineBytes ?? MAX_LINE_BYTES,
      ...(options.units === undefined ? {} : { units: options.units }),
    };
    this.#classifier = new LineClassifier(source, options.unitOf?.(file) ?? null);
  }

  async *events(): AsyncGenerator<RunEvent, void> {
    const { signal, maxLineBytes = MAX_LINE_BYTES } = this.#options;
    const skip = this.#file.form === 'document' ? [] : (this.#options.skip?.(this.#file) ?? []);
    const options = { skip, maxLineBytes, ...(signal === undefined ? {} : { signal }) };
    let loss: Damage | null = null;
    for await (const event of readLines(this.#file, options)) {
      if (event.type === 'lost') {
        if (loss !== null) yield this.#report(loss);
        loss = this.#lossOf(event.lost);
        continue;
      }
      if (event.type === 'structure') {
        if (loss !== null) yield this.#report(loss);
        loss = null;
        this.#blankBytes += event.bytes;
        this.#endOffset += event.bytes;
        continue;
      }
      const { line } = event;
      this.#endOffset = line.offset + line.length;
      if (!line.terminated) this.#openLineOffset = line.offset;
      const content: LineContent = this.#classifier.classify(line);
      const merged: Damage | null = loss === null ? null : mergeRemainder(loss, content);
      if (loss !== null) yield this.#report(merged ?? loss);
      loss = null;
      if (merged === null) yield* this.#contents(content);
    }
    if (loss !== null) yield this.#report(loss);
    yield { type: 'file', file: this.#file, summary: this.#summary(skip) };
  }

  *#contents(content: LineContent): Generator<RunEvent, void> {
    this.#blankBytes += content.blankBytes;
    for (const damage of content.damage) yield this.#report(damage);
    for (const record of content.records) {
      this.#records += 1;
      this.#recordBytes += record.length;
      yield { type: 'record', record };
    }
  }

  #report(damage: Damage): RunEvent {
    this.#damagedBytes += damage.bytes;
    this.#endOffset = Math.max(this.#endOffset, damage.offset + damage.bytes);
    return { type: 'damage', damage };
  }

  #lossOf({ offset, bytes, kind, reason }: LostRange): Damage {
    const { relativePath: file, chunk } = this.#file;
    return { file, chunk, offset, bytes, kind, recovered: false, message: reason };
  }

  #summary(skip: readonly SkipRange[]): FileSummary {
    const skippedBytes = skip.reduce((sum, range) => sum + range.end - range.start, 0);
    const skippedEnd = skip.at(-1)?.end ?? 0;
    return {
      records: this.#records,
      recordBytes: this.#recordBytes,
      damagedBytes: this.#damagedBytes,
      blankBytes: this.#blankBytes,
      skippedBytes,
      endOffset: Math.max(this.#endOffset, skippedEnd),
      openLineOffset: this.#openLineOffset,
    };
  }
}
