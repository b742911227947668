/**
 * Rebuilds the indexes of a run from its streams alone, and writes, compares or hands out the rows (`prl index`). The
 * rows depend on the bytes of the streams and on nothing else: not on threads, timing or what was indexed before.
 */
import { availableParallelism } from 'node:os';
import { relative, sep } from 'node:path';
import type { Environment } from '../core/environment.js';
import { PrlError } from '../core/errors.js';
import type { IndexOutcome, StreamOutcome } from '../core/index/outcome.js';
import { SEGMENT_BYTES } from '../core/index/segments.js';
import type { IndexSnapshot } from '../core/snapshot.js';
import { CheckSink, FileSink, HandOnSink, type RowSink } from './index-sinks.js';
import { IndexState, type Resume } from './index-state.js';
import { refuseWriter } from './index-writer.js';
import { findExistingPlace, findPlaces } from './journal-place.js';
import { nameRun } from './run-name.js';
import type { Subset } from './run-rollouts.js';
import { listStreams, type RunStream } from './run-streams.js';
import type { Run } from './run-types.js';
import { ScanPool } from './scan-pool.js';
import type { RowSettings } from './scan-types.js';
import { SegmentRunner } from './segment-runner.js';
import { hasGrown } from './stream-growth.js';
import { StreamIndex } from './stream-index.js';
import type { StreamTally } from './stream-tally.js';
import { compileAhead } from './wasm-modules.js';

export type IndexTarget =
  /** Beside the streams. `isForced`: although a writer may be alive. */
  | { readonly kind: 'in-place'; readonly isForced: boolean }
  /** Against the indexes beside the streams, or against the file at `path`. */
  | { readonly kind: 'check'; readonly path: string | null }
  /** Rows of the episodes are handed to `write`, which may hold them back. */
  | { readonly kind: 'rows'; readonly write: (bytes: Uint8Array) => Promise<void> }
  | { readonly kind: 'file'; readonly path: string };

export type RunIndexOptions = {
  readonly run: Run;
  readonly target: IndexTarget;
  /** Threads; null takes the number of cores, and this thread alone for a small run. */
  readonly jobs: number | null;
  readonly tokens: RowSettings['tokens'];
  /** Null: `compat` where upstream writes an index itself, else `exact` (spec 04 section 6.4). */
  readonly mode: RowSettings['mode'] | null;
  readonly isStrict: boolean;
  /** Which copy of R1 rollouts `run` was opened with. */
  readonly subset: Subset;
  readonly onNotice: (notice: string) => void;
  /** Read everything again, whatever an earlier indexing has settled. */
  readonly startsOver?: boolean;
  /** Where the state of runs lives; null remembers nothing, so that every indexing reads everything. */
  readonly environment: Environment | null;
  /** The built worker; only tests that run from the sources give it. */
  readonly workerUrl?: URL;
};

/** Starting threads takes longer than they save below this (design/scanning.md section 5). */
const SMALL_RUN_BYTES = 536_870_912;

export class RunIndex {
  readonly #options: RunIndexOptions;
  readonly #settings: RowSettings;
  #streams: readonly RunStream[] = [];
  #done: StreamOutcome[] = [];
  #tally: StreamTally | null = null;
  #scannedBytes = 0;
  #threads = 1;

  constructor(options: RunIndexOptions) {
    this.#options = options;
    const { tokens, isStrict, mode, run, target } = options;
    const isCheck = target.kind === 'check';
    // They are kept in place, and compared with those that were kept.
    const hasDigests = isCheck || target.kind === 'in-place';
    const usualMode = run.tracesDirectory === null ? 'exact' : 'compat';
    this.#settings = { tokens, isStrict, mode: mode ?? usualMode, isBothCounts: isCheck, hasDigests };
  }

  /** What explicit nulls do to the rows. */
  get mode(): RowSettings['mode'] {
    return this.#settings.mode;
  }

  snapshot(): IndexSnapshot {
    const { run, target } = this.#options;
    // Before the streams are listed only the episodes are known.
    const files = this.#streams.length === 0 ? run.files : this.#streams.flatMap(({ files: some }) => some);
    const isKnown = files.every(({ uncompressedBytes }) => uncompressedBytes !== null);
    const finished = this.#done.reduce((sum, { episodes }) => sum + episodes, 0);
    const damaged = this.#done.reduce((sum, done) => sum + done.damaged.length + (done.torn === null ? 0 : 1), 0);
    const resumed = this.#done.reduce((sum, { resumedBytes }) => sum + resumedBytes, this.#tally?.resumedBytes ?? 0);
    return {
      run: nameRun(run),
      work: target.kind === 'check' ? 'check' : target.kind === 'rows' ? 'rows' : 'index',
      bytes: this.#scannedBytes,
      totalBytes: isKnown ? sumBytes(files) - resumed : null,
      chunks: files.length,
      sealed: files.filter(({ form }) => form === 'sealed').length,
      episodes: finished + (this.#tally?.episodes ?? 0),
      damaged: damaged + (this.#tally?.damaged ?? 0),
      threads: this.#threads,
    };
  }

  /**
   * Indexes the streams one after the other. An abort leaves every file as it was; what was handed out by then stands.
   * @throws PrlError `PRL_ERR_USAGE` when there is no place for the index, `PRL_ERR_TEMPORARY` when a writer may be
   *   alive, `PRL_ERR_LIMIT` without room
   */
  async run(signal: AbortSignal): Promise<IndexOutcome> {
    this.#streams = await this.#wanted();
    await this.#refuseWriters(this.#streams);
    const pool = this.#openPool();
    try {
      for (const stream of this.#streams) this.#done.push(await this.#index(stream, pool, signal));
      return { streams: this.#done, interrupted: false };
    } catch (error) {
      if (!signal.aborted || error !== signal.reason) throw error;
      return { streams: [...this.#done, ...this.#interrupted()], interrupted: true };
    } finally {
      await pool?.close();
    }
  }

  /** What is known of the stream that was being read. */
  #interrupted(): StreamOutcome[] {
    const stream = this.#streams[this.#done.length];
    if (this.#tally === null || stream === undefined) return [];
    const { target } = this.#options;
    return [
      this.#tally.outcome({
        index: this.#indexName(stream),
        isComplete: false,
        rowsWritten: target.kind === 'rows' ? this.#tally.episodes : 0,
        changed: false,
        isGrowing: false,
        check: null,
      }),
    ];
  }

  /** The streams that have a part in this, the ones without a place for their index refused. */
  async #wanted(): Promise<readonly RunStream[]> {
    const { run, target } = this.#options;
    const all = await listStreams(run);
    const isAll = target.kind === 'in-place' || (target.kind === 'check' && target.path === null);
    if (!isAll) return all.filter(({ holds }) => holds === 'episodes');
    if (run.tracesDirectory !== null) return all;
    throw new PrlError('PRL_ERR_USAGE', `${run.root} (layout ${run.layout}) has no index file of its own`, {
      hint:
        target.kind === 'check'
          ? 'name the index to compare with: --check --out FILE'
          : 'write one elsewhere with --out FILE, or to stdout with --rows',
    });
  }

  async #refuseWriters(streams: readonly RunStream[]): Promise<void> {
    const { target, run } = this.#options;
    if (target.kind !== 'in-place' || target.isForced) return;
    for (const stream of streams) await refuseWriter(run, stream);
  }

  #openPool(): ScanPool | null {
    const { jobs, workerUrl } = this.#options;
    const files = this.#streams.flatMap(({ files: some, holds }) => (holds === 'episodes' ? some : []));
    const bytes = sumBytes(files);
    if (jobs === null && bytes < SMALL_RUN_BYTES) return null;
    const threads = Math.min(jobs ?? availableParallelism(), Math.max(1, Math.ceil(bytes / SEGMENT_BYTES)));
    if (threads < 2) return null;
    this.#threads = threads;
    compileAhead(this.#settings.isStrict ? ['walker', 'validator'] : ['walker']);
    const onProgress = (scanned: number): void => {
      this.#scannedBytes += scanned;
    };
    return new ScanPool(threads, onProgress, workerUrl);
  }

  async #index(stream: RunStream, pool: ScanPool | null, signal: AbortSignal): Promise<StreamOutcome> {
    for (const notice of stream === this.#streams[0] ? [] : stream.notices) this.#options.onNotice(notice);
    const index = await this.#open(stream, pool, signal);
    this.#tally = index.tally;
    const resume = this.#options.startsOver === true ? null : await index.findStart();
    if (resume !== null && (await index.isDone())) return await this.#unchanged(stream, index, resume);
    const sink = await this.#openSink(stream, index.tally, resume);
    try {
      await index.scan(sink);
      // Somebody may have started to write meanwhile, and would go on writing into the file that is replaced.
      await this.#refuseWriters([stream]);
      const result = await sink.end();
      if (sink instanceof FileSink) await index.remember(sink.path, sink.draft.writtenBytes);
      this.#tally = null;
      const growing = hasGrown(stream);
      return index.tally.outcome({ ...result, index: this.#indexName(stream), isComplete: true, isGrowing: growing });
    } catch (error) {
      const isKept = signal.aborted && sink instanceof FileSink && (await index.checkpoint(sink).catch(() => false));
      await sink.discard(isKept);
      throw error;
    }
  }

  async #open(stream: RunStream, pool: ScanPool | null, signal: AbortSignal): Promise<StreamIndex> {
    const { run, target, subset } = this.#options;
    // Rows of annotations are made the slow way, which starts from the beginning.
    const state = stream.holds === 'episodes' ? await this.#findState(stream) : null;
    return new StreamIndex({
      run,
      stream,
      subset,
      state: target.kind === 'in-place' ? state : null,
      known: target.kind === 'check' ? ((await state?.marks()) ?? []) : [],
      scan: {
        settings: this.#settings,
        holds: stream.holds,
        hasChunks: stream.hasChunks,
        runner: new SegmentRunner(),
        pool: stream.holds === 'episodes' ? pool : null,
        signal,
        onProgress: (bytes) => {
          this.#scannedBytes += bytes;
        },
      },
    });
  }

  /** What an earlier indexing in place noted; only another one in place may make a place for it. */
  async #findState(stream: RunStream): Promise<IndexState | null> {
    const { run, target, environment } = this.#options;
    if (environment === null || (target.kind !== 'in-place' && target.kind !== 'check')) return null;
    const isInPlace = target.kind === 'in-place';
    const places = await (isInPlace ? findPlaces : findExistingPlace)(run.root, environment);
    const place = isInPlace ? places.writable : places.readOnly;
    return place === null ? null : new IndexState(place, stream);
  }

  /** Nothing was added since the index was written, and nobody touched it. */
  async #unchanged(stream: RunStream, index: StreamIndex, resume: Resume): Promise<StreamOutcome> {
    await index.takeOverAll(resume);
    this.#tally = null;
    const result = { rowsWritten: resume.line - 1, changed: false, check: null };
    return index.tally.outcome({
      ...result,
      index: this.#indexName(stream),
      isComplete: true,
      isGrowing: hasGrown(stream),
    });
  }

  async #openSink(stream: RunStream, tally: StreamTally, resume: Resume | null): Promise<RowSink> {
    const { target } = this.#options;
    switch (target.kind) {
      case 'rows':
        return new HandOnSink(target.write);
      case 'file':
        return FileSink.create(target.path);
      case 'in-place': {
        const path = stream.indexPath as string;
        if (resume === null) return FileSink.create(path);
        return FileSink.resume(path, resume.state.index, resume.indexBytes, resume.line - 1);
      }
      case 'check':
        return new CheckSink(target.path ?? (stream.indexPath as string), (chunk) => tally.extentOf(chunk), {
          hasGrown: () => hasGrown(stream),
          isAhead: (address) => tally.isBehindEnd(address) && hasGrown(stream),
        });
    }
  }

  #indexName(stream: RunStream): string | null {
    const { target, run } = this.#options;
    if (target.kind === 'rows') return null;
    if (target.kind === 'file') return target.path;
    if (target.kind === 'check' && target.path !== null) return target.path;
    return relative(run.root, stream.indexPath as string)
      .split(sep)
      .join('/');
  }
}

function sumBytes(files: RunStream['files']): number {
  return files.reduce((sum, { uncompressedBytes }) => sum + (uncompressedBytes ?? 0), 0);
}
