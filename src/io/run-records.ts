/**
 * The records of a whole run, file by file and in order, with everything that is damaged at its place. What every
 * consumer of a saved run reads: nothing is skipped in silence, and the sums of each file prove it.
 */
import { LineClassifier, type LineContent, mergeRemainder } from '../core/scan/classify.js';
import type { LineMemory } from '../core/scan/line-memory.js';
import type { Damage, RecordUnit, StreamRecord } from '../core/scan/types.js';
import { MAX_LINE_BYTES } from '../core/upload/limits.js';
import { type LineEvent, type LostRange, readLines, type SkipRange } from './chunk-reader.js';
import type { ChunkFile, Run } from './run-types.js';

export type ReadRecordsOptions = {
  /** Ranges of a file that are settled already and need not be read. A JSON document is read whole all the same. */
  readonly skip?: (file: ChunkFile) => readonly SkipRange[];
  readonly signal?: AbortSignal;
  /** Longest line in bytes, without LF but with CR; longer ones are damage. Default 64 MiB (spec 06 section 3). */
  readonly maxLineBytes?: number;
  /** Where lines are put, for whoever gives it back (`lease`); default memory of their own. */
  readonly memory?: LineMemory;
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
export async function* readFileRecords(
  file: ChunkFile,
  options: ReadRecordsOptions = {},
): AsyncGenerator<RunEvent, void> {
  const { signal, maxLineBytes = MAX_LINE_BYTES, memory } = options;
  const skip = file.form === 'document' ? [] : (options.skip?.(file) ?? []);
  const records = new FileRecords(file, options);
  const optional = { ...(signal === undefined ? {} : { signal }), ...(memory === undefined ? {} : { memory }) };
  for await (const event of readLines(file, { skip, maxLineBytes, ...optional })) {
    yield* records.take(event);
  }
  yield* records.settle();
  yield { type: 'file', file, summary: records.summary(skip) };
}

/** Turns the lines of one file, in order, into its records and damage, and keeps the sums. Reads nothing itself. */
export class FileRecords {
  readonly #file: ChunkFile;
  readonly #classifier: LineClassifier;
  #records = 0;
  #recordBytes = 0;
  #damagedBytes = 0;
  #blankBytes = 0;
  #endOffset = 0;
  #openLineOffset: number | null = null;
  /** Told once the line behind it has shown whether its beginning was lost too. */
  #loss: Damage | null = null;

  constructor(file: ChunkFile, options: ReadRecordsOptions) {
    this.#file = file;
    const source = {
      file: file.relativePath,
      chunk: file.chunk,
      lenient: options.lenient ?? false,
      maxLineBytes: options.maxLineBytes ?? MAX_LINE_BYTES,
      ...(options.units === undefined ? {} : { units: options.units }),
    };
    this.#classifier = new LineClassifier(source, options.unitOf?.(file) ?? null);
  }

  *take(event: LineEvent): Generator<RunEvent, void> {
    if (event.type === 'lost') {
      yield* this.settle();
      this.#loss = this.#lossOf(event.lost);
      return;
    }
    if (event.type === 'structure') {
      yield* this.settle();
      this.#blankBytes += event.bytes;
      this.#endOffset += event.bytes;
      return;
    }
    const { line } = event;
    this.#endOffset = line.offset + line.length;
    if (!line.terminated) this.#openLineOffset = line.offset;
    const content = this.#classifier.classify(line);
    const merged: Damage | null = this.#loss === null ? null : mergeRemainder(this.#loss, content);
    if (merged !== null) this.#loss = merged;
    yield* this.settle();
    if (merged === null) yield* this.#contents(content);
  }

  /** Tells a loss that no further line of what is read can belong to. */
  *settle(): Generator<RunEvent, void> {
    const loss = this.#loss;
    this.#loss = null;
    if (loss !== null) yield this.#report(loss);
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

  /** The sums so far. `skip`: what was passed over, in order. */
  summary(skip: readonly SkipRange[]): FileSummary {
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
