/**
 * Scans the chunks of a stream, on this thread or over a pool, and hands out what they hold in stream order. What only
 * the slow readers can read, they read at its turn.
 */
import { closeSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { BLOCK_BYTES } from '../core/index/block-digests.js';
import type { SegmentScan } from '../core/index/segment-scan.js';
import { cutSegments, SEALED_SEGMENT_BYTES, SEGMENT_BYTES, type Segment } from '../core/index/segments.js';
import type { Damage, RecordUnit } from '../core/scan/types.js';
import type { ChunkFile } from './run-types.js';
import { type OpenedForScan, openForScan } from './scan-chunk.js';
import type { ScanPool, WaitingScan } from './scan-pool.js';
import type { RowSettings, ScanChunk, SegmentJob, SegmentResult } from './scan-types.js';
import { SegmentRunner } from './segment-runner.js';
import { scanSlowly } from './slow-scan.js';

export type ScanOptions = {
  readonly settings: RowSettings;
  readonly holds: 'episodes' | 'annotations';
  /** Whether rows name their chunk. */
  readonly hasChunks: boolean;
  readonly runner: SegmentRunner;
  /** Null scans on this thread. */
  readonly pool: ScanPool | null;
  /** Uncompressed offset of the line in the first file to begin with; default 0. */
  readonly startOffset?: number;
  readonly signal: AbortSignal;
  /** Uncompressed bytes scanned on this thread since the last call; the pool tells its own. */
  readonly onProgress: (bytes: number) => void;
};

/** What was scanned, in stream order. */
export type ScanPart = {
  readonly file: ChunkFile;
  readonly result: SegmentResult;
  /** The file ends here. */
  readonly isLast: boolean;
  /** Whether a later scan can go on behind this part. */
  readonly canResume: boolean;
};

/** Bytes scanned before this thread looks at signals, screens and threads again: one to eight milliseconds. */
const STEP_BYTES = 4_194_304;

/** Lines like the first that a segment has room for. */
const LINES_A_SEGMENT = 16;

/**
 * The same for a sealed chunk, whose segments are as long as can be, since each decompresses frames that the next one
 * does as well. Rows of so many lines take a few MiB; those of tiny records in the longest segment would take 70, and
 * several segments wait for their turn.
 */
const LINES_A_SEALED_SEGMENT = 4096;

/** Segments under way or done and not yet asked for, for each thread: bounds the rows that wait in memory. */
const AHEAD = 3;

/** @throws the reason of the signal; Error for a bug in a thread */
export async function* scanStream(files: readonly ChunkFile[], options: ScanOptions): AsyncGenerator<ScanPart, void> {
  if (options.pool !== null) yield* scanInPool(files, options, options.pool);
  else for (const file of files) yield* scanHere(file, openAs(options, file), startOf(file, files, options), options);
}

/** One file, on this thread. */
async function* scanHere(
  file: ChunkFile,
  opened: OpenedForScan,
  start: number,
  options: ScanOptions,
): AsyncGenerator<ScanPart, void> {
  const { runner, settings, signal, onProgress } = options;
  if (opened.kind === 'slow') {
    // Marks are made behind such a file, never inside it.
    if (start > 0) return;
    for await (const result of scanSlowly(file, options)) {
      signal.throwIfAborted();
      onProgress(bytesOf(result));
      yield { file, result, isLast: false, canResume: false };
    }
    yield { file, result: emptyResult([], 0), isLast: true, canResume: true };
    return;
  }
  if (opened.kind === 'lost') {
    yield { file, result: lostResult(file, opened), isLast: true, canResume: false };
    return;
  }
  const { chunk } = opened;
  try {
    const unit = start === 0 ? null : findFirst(chunk, options).unit;
    const segment = segmentFrom({ start: 0, end: chunk.bytes }, start);
    const scan = runner.open({ chunk, segment, unit, settings });
    for (let isMore = true; isMore; ) {
      const before = scan.position;
      isMore = scan.step(STEP_BYTES);
      onProgress(scan.position - before);
      yield { file, result: runner.take(scan), isLast: !isMore, canResume: true };
      await turn();
      signal.throwIfAborted();
    }
  } finally {
    closeSync(chunk.descriptor);
  }
}

/** Annotations have rows of their own, which only the slow way makes. */
function openAs({ holds, hasChunks }: ScanOptions, file: ChunkFile): OpenedForScan {
  return holds === 'annotations' ? { kind: 'slow' } : openForScan(file, hasChunks);
}

type Planned =
  | { readonly kind: 'segment'; readonly file: ChunkFile; readonly job: SegmentJob; readonly isLast: boolean }
  | { readonly kind: 'here'; readonly file: ChunkFile; readonly start: number; readonly opened: OpenedForScan };

/** A segment under way in the pool, or a file that is read here at its turn. */
type Ahead = { readonly planned: Planned; readonly scan: PooledScan | null };

/** What becomes of a segment; `isSettled` without waiting. */
type PooledScan = { readonly result: Promise<SegmentResult>; isSettled: boolean };

async function* scanInPool(
  files: readonly ChunkFile[],
  options: ScanOptions,
  pool: ScanPool,
): AsyncGenerator<ScanPart, void> {
  const plan = planSegments(files, options);
  const ahead: Ahead[] = [];
  const open = new Set<number>();
  const here = new ScanHere(pool, options);
  try {
    for (let isMore = true; isMore || ahead.length > 0; ) {
      while (isMore && ahead.length < pool.threads * AHEAD) {
        const next = plan.next();
        isMore = next.done !== true;
        if (next.done === true) break;
        const planned = next.value;
        if (planned.kind === 'segment') open.add(planned.job.chunk.descriptor);
        ahead.push({ planned, scan: planned.kind === 'segment' ? start(pool, planned.job) : null });
      }
      const first = ahead.shift();
      if (first === undefined) break;
      const { planned, scan } = first;
      if (planned.kind === 'here' || scan === null) {
        if (planned.kind === 'here') yield* scanHere(planned.file, planned.opened, planned.start, options);
        continue;
      }
      await here.workUntil(scan);
      const { file, isLast } = planned;
      yield { file, result: await abortable(scan.result, options.signal), isLast, canResume: true };
      if (!isLast) continue;
      open.delete(planned.job.chunk.descriptor);
      closeSync(planned.job.chunk.descriptor);
    }
  } finally {
    // A thread that still reads finds its descriptor closed, and its pool is being closed as well.
    for (const descriptor of open) closeSync(descriptor);
    for (const { planned } of ahead) {
      if (planned.kind === 'here' && planned.opened.kind === 'open') closeSync(planned.opened.chunk.descriptor);
    }
  }
}

function start(pool: ScanPool, job: SegmentJob): PooledScan {
  const result = pool.run(job);
  const scan = { result, isSettled: false };
  const settle = (): void => {
    scan.isSettled = true;
  };
  // Whoever waits for it learns of a failure; until then it must not count as unhandled.
  result.then(settle, settle);
  return scan;
}

/** The thread that puts the results together scans as well, while the next result is not there. */
class ScanHere {
  readonly #pool: ScanPool;
  readonly #options: ScanOptions;
  /** Its own, since a file may be read here in between. */
  readonly #runner = new SegmentRunner();
  #current: { readonly waiting: WaitingScan; readonly scan: SegmentScan } | null = null;

  constructor(pool: ScanPool, options: ScanOptions) {
    this.#pool = pool;
    this.#options = options;
  }

  /** Scans what waits for a thread until a result is there, or nothing waits. */
  async workUntil(wanted: PooledScan): Promise<void> {
    while (!wanted.isSettled && this.#begin()) {
      this.#options.signal.throwIfAborted();
      this.#step();
      // Lets the other threads answer.
      await turn();
    }
  }

  #begin(): boolean {
    if (this.#current !== null) return true;
    const waiting = this.#pool.takeWaiting();
    if (waiting === null) return false;
    this.#current = { waiting, scan: this.#runner.open(waiting.job) };
    return true;
  }

  #step(): void {
    const current = this.#current;
    if (current === null) return;
    const { waiting, scan } = current;
    try {
      const before = scan.position;
      const isMore = scan.step(STEP_BYTES);
      this.#options.onProgress(scan.position - before);
      if (isMore) return;
      waiting.resolve(this.#runner.take(scan));
    } catch (error) {
      waiting.reject(error instanceof Error ? error : new Error(String(error)));
    }
    this.#current = null;
  }
}

/** The segments of all files, each opened when its turn comes near. */
function* planSegments(files: readonly ChunkFile[], options: ScanOptions): Generator<Planned, void> {
  for (const file of files) {
    const opened = openAs(options, file);
    const start = startOf(file, files, options);
    if (opened.kind !== 'open' || opened.chunk.bytes <= start) {
      yield { kind: 'here', file, start, opened };
      continue;
    }
    const { chunk, borders } = opened;
    const { unit, bytes: firstBytes } = findFirst(chunk, options);
    // The line across a border is read twice, so segments are many times as long as lines.
    const lines = borders === null ? LINES_A_SEGMENT : LINES_A_SEALED_SEGMENT;
    const blocks = Math.ceil((lines * firstBytes) / BLOCK_BYTES);
    const segmentBytes = Math.min(Math.max(SEGMENT_BYTES, blocks * BLOCK_BYTES), SEALED_SEGMENT_BYTES);
    const all = cutSegments(chunk.bytes, segmentBytes, borders);
    const segments = all.filter(({ end }) => end > start).map((segment) => segmentFrom(segment, start));
    for (const [index, segment] of segments.entries()) {
      const job = { chunk, segment, unit, settings: options.settings };
      yield { kind: 'segment', file, job, isLast: index === segments.length - 1 };
    }
  }
}

/** Where to begin in a file. */
function startOf(file: ChunkFile, files: readonly ChunkFile[], { startOffset = 0 }: ScanOptions): number {
  return file === files[0] ? startOffset : 0;
}

/** The part of a segment from a line on that is not settled; read from the start of its block, for the digest of that. */
function segmentFrom({ start, end }: Segment, lineStart: number): Segment {
  if (lineStart <= start) return { start, end };
  const blockStart = Math.floor(lineStart / BLOCK_BYTES) * BLOCK_BYTES;
  return { start: Math.max(start, blockStart), end, linesFrom: lineStart };
}

/**
 * What the first record of a chunk is, which decides about all others before the threads part, and how many bytes it
 * took to find it.
 */
function findFirst(
  chunk: ScanChunk,
  { settings }: ScanOptions,
): { readonly unit: RecordUnit | null; readonly bytes: number } {
  // Another segment may be under way on this thread.
  const runner = new SegmentRunner();
  const segment = { start: 0, end: chunk.bytes };
  const scan = runner.open({ chunk, segment, unit: null, settings: { ...settings, isStrict: false } });
  while (scan.unit === null && scan.step(1));
  runner.take(scan);
  return { unit: scan.unit, bytes: scan.position };
}

async function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let stop: (() => void) | undefined;
  const stopped = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason as Error);
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([promise, stopped]);
  } finally {
    if (stop !== undefined) signal.removeEventListener('abort', stop);
  }
}

/** Bytes that a result accounts for. */
export function bytesOf({ counts }: SegmentResult): number {
  return counts.recordBytes + counts.damagedBytes + counts.blankBytes;
}

function lostResult(
  file: ChunkFile,
  { bytes, reason }: { readonly bytes: number; readonly reason: string },
): SegmentResult {
  const { relativePath, chunk } = file;
  const damage = {
    file: relativePath,
    chunk,
    offset: 0,
    bytes,
    kind: 'unreadable',
    recovered: false,
    message: reason,
  } as const;
  return emptyResult([damage], bytes);
}

function emptyResult(damage: readonly Damage[], damagedBytes: number): SegmentResult {
  return {
    rows: new Uint8Array(0),
    lineAt: new Uint32Array(0),
    idHashes: new Uint32Array(0),
    steps: new Float64Array(0),
    damage,
    oddities: [],
    oddityCounts: {},
    counts: { records: 0, recordBytes: 0, damagedBytes, blankBytes: 0 },
    tokenDifferences: 0,
    openLineOffset: null,
    digests: new Uint32Array(0),
    position: damagedBytes,
    unit: null,
  };
}
