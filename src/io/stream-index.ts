/** Indexes one stream into a sink, and in place notes how far it came, so that a killed indexing can go on. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { ChunkDigests } from '../core/index/block-digests.js';
import { RowNumberer } from '../core/index/number-rows.js';
import { hashId } from '../core/index/seen-ids.js';
import type { OddityKind } from '../core/index/segment-types.js';
import { LineFramer } from '../core/scan/framing.js';
import { freeMemory } from './free-memory.js';
import { CheckSink, FileSink, type RowSink } from './index-sinks.js';
import { type ChunkMark, type IndexState, markChunk, markIndex, type Resume } from './index-state.js';
import { createHeader, EffectiveFilter } from './index-synthetic.js';
import type { Subset } from './run-rollouts.js';
import type { RunStream } from './run-streams.js';
import type { ChunkFile, Run } from './run-types.js';
import { type ScanOptions, type ScanPart, scanStream } from './scan-stream.js';
import { StreamTally } from './stream-tally.js';

/** Least time between two notes of how far an indexing came: what is done again after kill -9 (I3). */
const CHECKPOINT_MS = 2000;

const LF = 0x0a;
const ID_KEY = Buffer.from(',"id":"');

export type StreamIndexOptions = {
  readonly run: Run;
  readonly stream: RunStream;
  readonly subset: Subset;
  /** Without `startOffset`, which follows from the state. */
  readonly scan: Omit<ScanOptions, 'startOffset'>;
  /** Null remembers nothing and goes on from nowhere. */
  readonly state: IndexState | null;
  /** What an earlier indexing noted of the chunks, to be compared with. */
  readonly known: readonly ChunkMark[];
};

/** Where a chunk begins in the index, and what was counted before it. */
type ChunkStart = { readonly file: ChunkFile; readonly firstLine: number; readonly indexOffset: number };

export class StreamIndex {
  readonly #options: StreamIndexOptions;
  readonly tally: StreamTally;
  #numberer = new RowNumberer();
  readonly #marks: ChunkMark[] = [];
  #resume: Resume | null = null;
  /** The chunk at hand, and what of it is settled for good. */
  #chunk: ChunkStart | null = null;
  #sums = emptySums();
  /** The row of a last line without LF, which may still grow: it is behind every mark. */
  #openRow = { rows: 0, bytes: 0 };
  /** A chunk could not be marked: behind it nothing can be remembered. */
  #isUnmarked = false;
  #writtenBytes = 0;
  #digests = new ChunkDigests();
  #settled = { bytes: 0, canResume: false };
  #checkpointAtMs = performance.now();

  constructor(options: StreamIndexOptions) {
    this.#options = options;
    this.tally = new StreamTally(options.stream);
  }

  /** Where an earlier indexing ended; null to begin at the beginning. To be called first. */
  async findStart(): Promise<Resume | null> {
    const { state, stream, scan } = this.#options;
    this.#resume = (await state?.load(stream, scan.settings)) ?? null;
    return this.#resume;
  }

  /** Whether the earlier indexing has seen all there is, so that the index is right as it stands. */
  async isDone(): Promise<boolean> {
    const resume = this.#resume;
    if (resume === null || resume.state.index.isDraft) return false;
    const { files } = this.#options.stream;
    const isAtEnd = resume.fileIndex === files.length - 1 && resume.offset === files.at(-1)?.uncompressedBytes;
    const { size } = await stat(resume.state.index.path);
    return isAtEnd && size === resume.indexBytes;
  }

  /** Counts what an earlier indexing has settled, where there is nothing else. */
  async takeOverAll(resume: Resume): Promise<void> {
    const { state, indexBytes, line } = resume;
    this.tally.restore(resume, await readIds(state.index.path, indexBytes, line - 1));
  }

  /** Reads the rest of the stream, or all of it, into the sink. */
  async scan(sink: RowSink): Promise<void> {
    const { run, stream, scan, subset } = this.#options;
    const isSynthetic = run.tracesDirectory === null;
    if (isSynthetic) await sink.add(this.#header(), 0, null);
    if (this.#resume !== null && sink instanceof FileSink) await this.#takeOver(this.#resume, sink);
    const filter = subset === 'both' ? new EffectiveFilter() : null;
    const { fileIndex = 0, offset = 0 } = this.#resume ?? {};
    for await (const part of scanStream(stream.files.slice(fileIndex), { ...scan, startOffset: offset })) {
      await this.#add(filter === null ? part : filter.filter(part, this.#numberer.line), sink);
    }
    if (filter !== null && isSynthetic) await sink.add(filter.trailer(), 0, null);
  }

  /** Notes the finished index of `bytes`, so that the next indexing reads what is new alone. */
  async remember(indexPath: string, bytes: number): Promise<void> {
    if (this.#options.state === null) return;
    await this.#markChunk();
    await this.#save(indexPath, bytes - this.#openRow.bytes, false);
  }

  /** Notes how far the draft came; false when there is nothing worth it. */
  async checkpoint(sink: FileSink): Promise<boolean> {
    if (this.#options.state === null || !this.#settled.canResume) return false;
    await sink.draft.sync();
    const kept = this.#marks.length;
    await this.#markChunk();
    await this.#save(sink.draft.draftPath, sink.draft.writtenBytes - this.#openRow.bytes, true);
    this.#marks.length = kept;
    return true;
  }

  async #takeOver(resume: Resume, sink: FileSink): Promise<void> {
    const { line, indexBytes, marks, fileIndex, offset } = resume;
    this.#numberer = new RowNumberer(line);
    this.tally.restore(resume, await readIds(sink.draft.draftPath, indexBytes, line - 1));
    this.#marks.push(...marks);
    const open = offset > 0 ? this.#marks.pop() : undefined;
    const file = this.#options.stream.files[fileIndex];
    if (open === undefined || file === undefined) return;
    this.#chunk = { file, firstLine: open.firstLine, indexOffset: open.indexOffset };
    this.#sums = {
      episodes: open.episodes,
      tokenDifferences: open.tokenDifferences,
      oddityCounts: { ...open.oddityCounts },
    };
    this.#settled = { bytes: offset, canResume: true };
    this.#digests = ChunkDigests.of(open.digests);
  }

  async #add(part: ScanPart, sink: RowSink): Promise<void> {
    const { file, result, isLast, canResume } = part;
    const draft = sink instanceof FileSink ? sink.draft : null;
    if (this.#chunk?.file !== file) {
      this.#chunk = { file, firstLine: this.#numberer.line, indexOffset: draft?.writtenBytes ?? 0 };
      this.#sums = emptySums();
      this.#digests = new ChunkDigests();
    }
    this.#digests.add(result.digests);
    this.tally.add(part, this.#numberer.line);
    const rows = this.#numberer.number(result.rows, result.lineAt);
    await sink.add(rows, result.counts.records, this.#expectedBytes(rows.length));
    this.#settle(part, rows);
    freeMemory(result.rows, result.lineAt, result.idHashes, result.steps);
    if (isLast) {
      if (sink instanceof CheckSink) this.#compareData(file.chunk, sink);
      await this.#markChunk();
      this.#chunk = null;
    }
    const isDue = performance.now() - this.#checkpointAtMs >= CHECKPOINT_MS;
    if (!isDue || !canResume || !(sink instanceof FileSink)) return;
    await this.checkpoint(sink);
    this.#checkpointAtMs = performance.now();
  }

  /** All rows, if the rest of the stream is as full of them as what was read. */
  #expectedBytes(newBytes: number): number | null {
    this.#writtenBytes += newBytes;
    const { bytes } = this.tally;
    const all = this.#options.stream.files.reduce((sum, { uncompressedBytes }) => sum + (uncompressedBytes ?? 0), 0);
    return bytes > 0 && all > 0 ? Math.ceil((this.#writtenBytes / bytes) * all) : null;
  }

  #settle({ result, canResume }: ScanPart, rows: Uint8Array): void {
    const { position, openLineOffset, counts, damage, tokenDifferences, oddityCounts } = result;
    const isOpen = openLineOffset !== null;
    const hasOpenRow =
      isOpen && counts.records > 0 && !damage.some(({ offset, bytes }) => offset + bytes > openLineOffset);
    const openBytes = rows.length - (rows.lastIndexOf(LF, rows.length - 2) + 1);
    this.#openRow = hasOpenRow ? { rows: 1, bytes: openBytes } : { rows: 0, bytes: 0 };
    this.#settled = { bytes: openLineOffset ?? position, canResume };
    this.#sums.episodes += counts.records - this.#openRow.rows;
    this.#sums.tokenDifferences += tokenDifferences;
    for (const [kind, count] of Object.entries(oddityCounts) as [OddityKind, number][]) {
      this.#sums.oddityCounts[kind] = (this.#sums.oddityCounts[kind] ?? 0) + count;
    }
  }

  /** Says which blocks of a chunk are no longer what was indexed. */
  #compareData(chunk: number, sink: CheckSink): void {
    const known = this.#options.known.find((mark) => mark.chunk === chunk);
    if (known === undefined) return;
    const bytes = this.tally.extentOf(chunk) ?? 0;
    const changed = this.#digests.changedSince(ChunkDigests.of(known.digests), known.bytes, bytes);
    for (const offset of changed) sink.addChangedData(chunk, offset);
  }

  async #markChunk(): Promise<void> {
    const chunk = this.#chunk;
    if (chunk === null || this.#options.state === null) return;
    const { file, firstLine, indexOffset } = chunk;
    const steps = this.tally.stepsWithout(this.#openRow.rows);
    const mark = await markChunk(file, this.#settled.bytes, {
      ...this.#sums,
      ...steps,
      firstLine,
      indexOffset,
      digests: this.#digests.text(this.#settled.bytes),
    });
    if (mark !== null) this.#marks.push(mark);
    else this.#isUnmarked = true;
  }

  async #save(path: string, bytes: number, isDraft: boolean): Promise<void> {
    if (this.#isUnmarked || this.#marks.length === 0) return;
    const index = await markIndex(path, bytes, isDraft);
    const { settings } = this.#options.scan;
    const line = this.#numberer.line - this.#openRow.rows;
    await this.#options.state?.save({ settings, chunks: this.#marks, index, line, ...this.tally.findings });
  }

  #header(): Uint8Array {
    const { run, subset, stream, scan } = this.#options;
    return createHeader({ run, subset, mode: scan.settings.mode, files: stream.files });
  }
}

type Sums = { episodes: number; tokenDifferences: number; oddityCounts: Partial<Record<OddityKind, number>> };

function emptySums(): Sums {
  return { episodes: 0, tokenDifferences: 0, oddityCounts: {} };
}

/** The hashes of the ids in the first `bytes` of an index. */
async function readIds(path: string, bytes: number, rows: number): Promise<Uint32Array> {
  const hashes = new Uint32Array(rows * 2);
  if (bytes === 0) return hashes;
  const framer = new LineFramer({ startOffset: 0, startLineNumber: 1, maxLineBytes: 2 ** 26 });
  let at = 0;
  for await (const part of createReadStream(path, { end: bytes - 1, highWaterMark: 1_048_576 })) {
    for (const { bytes: row } of framer.push(part as Buffer)) {
      const id = row === null ? null : idOf(row);
      if (id !== null && at < hashes.length) hashId(id, 0, id.length, hashes, at);
      at += 2;
    }
  }
  return hashes;
}

/** The id of a row as it stands between its quotes; the keys before it hold numbers alone. */
function idOf(row: Buffer): Buffer | null {
  const start = row.indexOf(ID_KEY);
  // Behind `"id":null` the text may stand in a value.
  if (start < 0 || row.indexOf(',"kind":') < start) return null;
  const from = start + ID_KEY.length;
  let end = row.indexOf(0x22, from);
  while (end > 0 && isEscaped(row, end)) end = row.indexOf(0x22, end + 1);
  return row.subarray(from, end);
}

function isEscaped(row: Buffer, at: number): boolean {
  let backslashes = 0;
  while (row[at - 1 - backslashes] === 0x5c) backslashes += 1;
  return backslashes % 2 === 1;
}
