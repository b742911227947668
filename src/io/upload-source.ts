/**
 * The batches of one run that are still to be sent: reads what no journal covers, notes damage and rejections where
 * they are found, and leaves a line that is still being written for the next pass (U17).
 */
import { stat } from 'node:fs/promises';
import { LineMemory } from '../core/scan/line-memory.js';
import type { Damage, DamageKind, RecordUnit, StreamRecord } from '../core/scan/types.js';
import type { RunStamp } from '../core/stream/stamp.js';
import type { Backlog } from '../core/upload/backlog.js';
import { type Candidate, rejectLine } from '../core/upload/batcher.js';
import { type BatchesOptions, batchesOf, type CutMark } from '../core/upload/batches.js';
import { prepareRecord } from '../core/upload/prepare.js';
import { merged } from '../core/upload/resume.js';
import type { UploadTally } from '../core/upload/tally.js';
import type { Batch, Clock, RejectedLine, SettledRange } from '../core/upload/types.js';
import type { UploadMemory } from '../core/upload/upload-memory.js';
import type { SkipRange } from './chunk-reader.js';
import { EpisodeIds } from './episode-ids.js';
import type { Journal } from './journal.js';
import { lineDigest } from './pack.js';
import type { RecordFilter } from './record-filter.js';
import type { RunEvents } from './run-events.js';
import type { ChunkFile } from './run-types.js';

export type UploadSourceOptions = Pick<BatchesOptions, 'targetBytes'> & {
  readonly events: RunEvents;
  /** Null sends every record byte for byte. */
  readonly stamp: RunStamp | null;
  /** Null remembers and knows nothing: standard input. */
  readonly journal: Journal | null;
  /** Told of the lines and batches of a run that is followed; null reads what there is. */
  readonly backlog: Backlog | null;
  readonly clock: Clock;
  /** The lasting name of a chunk that comes while the run is followed. */
  readonly nameOf: (file: ChunkFile) => string;
  /** Send only what the journal knows as rejected (`--retry-rejected`). */
  readonly isRetry: boolean;
  /** Chooses what is sent, of a run that is then read whole; null sends everything. */
  readonly filter: RecordFilter | null;
  readonly tally: UploadTally;
  /** Waited for before each line is read. */
  readonly memory: UploadMemory;
  /** A socket may read a line even after its request was given up: then its memory is never used again. */
  readonly bodiesAreLines: boolean;
  /** Told of each line that an earlier upload stored, where the line is read again: recognised, or seen by a filter. */
  readonly onKept: (candidate: Candidate) => void;
  readonly onNotice: (message: string) => void;
};

/** Ranges this short cost more to pass over than to read, where there are more than a few of them: 4 MiB, a usual frame. */
const SHORT_SKIP_BYTES = 4 * 1024 * 1024;
const MAX_SHORT_SKIPS = 16;

/** Damage of a line that has its LF stays as it is, so a rerun that passes over the bytes has to know it. */
const LASTING_DAMAGE: ReadonlySet<DamageKind> = new Set([
  'torn',
  'glued',
  'trailing',
  'nul',
  'bom',
  'invalid_utf8',
  'invalid_json',
  'line_too_large',
  'wrong_unit',
]);

/** Of memory of lines that were settled, kept for those to come: a request of the usual size. No budget counts it. */
const MOST_FREE_BYTES = 32 * 1024 * 1024;

export class UploadSource {
  readonly #options: UploadSourceOptions;
  readonly #ids = new EpisodeIds();
  #growing = 0;

  constructor(options: UploadSourceOptions) {
    this.#options = options;
  }

  /** Files that were longer when they had been read than when the run was opened. */
  get growing(): number {
    return this.#growing;
  }

  /** @throws PrlError `PRL_ERR_USAGE` for a bad batch size; an abort ends it with the signal's reason */
  async *batches(signal: AbortSignal): AsyncGenerator<Batch> {
    const { stamp, journal, backlog, clock, isRetry, filter, tally, memory, targetBytes, onNotice } = this.#options;
    const batches = batchesOf(this.#records(signal), {
      stamp,
      ...(targetBytes === undefined ? {} : { targetBytes }),
      ...(filter === null ? {} : { selects: (record) => this.#selects(record, filter) }),
      ...(journal === null
        ? {}
        : {
            placementOf: (address) =>
              isRetry ? journal.resume.placementOfRejected(address) : journal.resume.placementOf(address),
            pinAt: (address) => journal.resume.pinAt(address),
            recognises: (candidate) => this.#recognises(candidate, journal),
          }),
      onRejected: async (line, parts) => {
        const rejected = { ...line, digest: lineDigest(parts) };
        tally.leaveOut(rejected);
        await journal?.rejected(rejected);
      },
      onPrepared: ({ candidate }) => {
        tally.plan(candidate.line);
        this.#ids.add(candidate.episodeId);
        backlog?.add(candidate.line.byteLength, clock.nowMs());
      },
      hold: (open, lastLineBytes) => memory.hold(open, lastLineBytes, signal),
    });
    for await (const batch of batches) {
      backlog?.cut(batch, clock.nowMs());
      yield batch;
    }
    for (const notice of [this.#ids.notice(), filter?.notice() ?? null]) if (notice !== null) onNotice(notice);
  }

  /** Counts a record that is asked for and need not be sent, as without a filter the journal does. */
  #selects(record: StreamRecord, filter: RecordFilter): boolean {
    if (!filter.accepts(record)) return false;
    const { journal, tally, stamp, isRetry, onKept } = this.#options;
    const rejection = journal?.resume.rejectionAt(record) ?? null;
    if (rejection !== null && !isRetry) tally.leaveOut(rejection);
    if (rejection !== null || journal?.resume.placementOf(record) !== 'settled') return true;
    const prepared = prepareRecord(record, stamp);
    if (!prepared.ok) return true;
    tally.keep(prepared.candidate.line);
    onKept(prepared.candidate);
    return true;
  }

  /** In a chunk that was rewritten, lines that were settled before stay so, wherever they stand now. */
  async #recognises(candidate: Candidate, journal: Journal): Promise<boolean> {
    const { line, format } = candidate;
    if (!journal.hasChanged(line.chunk)) return false;
    const digest = lineDigest(line.parts);
    const when = journal.lines.whenStored(digest);
    if (when !== null) {
      // What this upload stored, before the chunk was rewritten, is counted as sent.
      if (when === 'earlier') {
        this.#options.tally.keep(line);
        this.#options.onKept(candidate);
      }
      await journal.keep(line, format, digest);
      return true;
    }
    const verdict = journal.lines.rejectionOf(digest);
    if (verdict === null) return false;
    const rejected = { ...rejectLine(line, verdict.code, verdict.message), digest };
    this.#options.tally.leaveOut(rejected);
    await journal.rejected(rejected);
    return true;
  }

  async *#records(signal: AbortSignal): AsyncGenerator<StreamRecord | CutMark> {
    const { events, journal } = this.#options;
    /** What may be damaged only because nobody has written on yet. */
    let last: Damage | null = null;
    for await (const event of events.read({
      signal,
      skip: (file) => this.#skip(file),
      unitOf: (file) => this.#unitOf(file),
      canCutEarly: () => journal?.isKept === true,
      ...(this.#options.bodiesAreLines ? {} : { memory: new LineMemory(MOST_FREE_BYTES) }),
    })) {
      if (event.type === 'cut') {
        yield 'cut';
        continue;
      }
      if (event.type === 'rewritten') {
        await this.#forget(event.chunk, event.reason);
        continue;
      }
      const summary = event.type === 'file' ? event.summary : null;
      // A mark at its beginning may stand before what is damaged.
      if (last !== null && last.offset < (summary?.openLineOffset ?? Number.POSITIVE_INFINITY)) {
        await this.#note(last);
        last = null;
      }
      if (event.type === 'damage' && event.damage.kind === 'line_too_large') this.#options.filter?.passOver();
      if (event.type === 'record') yield event.record;
      // Beside settled bytes only a part of its line is read again, which may look torn.
      else if (event.type === 'damage' && this.#options.tally.knowsDamage(event.damage)) continue;
      else if (event.type === 'damage' && this.#mayBeOpen(event.damage)) last = event.damage;
      else if (event.type === 'damage') await this.#note(event.damage);
      else if (event.summary !== null) {
        await this.#closeFile(event.file, last);
        last = null;
      }
    }
  }

  /** Settled bytes are not read again, and the first record may be among them. */
  #unitOf({ chunk }: ChunkFile): RecordUnit | null {
    return this.#options.journal?.storedIn(chunk)[0]?.format ?? null;
  }

  /** Settled lines of a chunk that was rewritten meanwhile, or of all, are recognised from now on (U18). */
  async #forget(chunk: number | null, reason: string): Promise<void> {
    const { journal, tally } = this.#options;
    for (const one of chunk === null ? (journal?.chunks ?? []) : [chunk]) {
      tally.forget(one);
      await journal?.forget(one, reason);
    }
  }

  /** Whether this may be a line that is still being written. Who follows a file is told of such a line as its end only. */
  #mayBeOpen({ kind, recovered }: Damage): boolean {
    return !recovered && (this.#options.backlog === null || kind === 'torn' || kind === 'nul');
  }

  async #note(damage: Damage): Promise<void> {
    this.#options.tally.damage(damage);
    if (LASTING_DAMAGE.has(damage.kind)) await this.#options.journal?.damaged(damage);
  }

  /** A last line without LF is damaged only if nobody is about to finish it, whatever it looks like; no journal keeps it. */
  async #closeFile(file: ChunkFile, open: Damage | null): Promise<void> {
    // Who follows a file ends with it only when nobody adds to it.
    const isGrowing = this.#options.backlog === null && (await hasGrown(file));
    if (isGrowing) this.#growing += 1;
    if (open === null) return;
    if (!isGrowing) return this.#options.tally.damage(open);
    this.#options.onNotice(
      `${file.relativePath}: the last line (from byte ${open.offset}) is still being written; the next upload sends it`,
    );
  }

  /** Settled ranges and rejected lines: a rerun reads neither again. A retry reads the rejected lines alone. */
  #skip(file: ChunkFile): readonly SkipRange[] {
    const { journal, isRetry, filter } = this.#options;
    journal?.addChunk(file.chunk, this.#options.nameOf(file));
    if (journal === null || filter !== null) return [];
    const rejected = journal.resume.rejected().filter((line) => line.chunk === file.chunk);
    if (isRetry) return allBut(rejected);
    const settled = merged([...journal.resume.coveredRanges(file.chunk), ...rejected.map(rangeOfLine)]).map(skipOf);
    return settled.length <= MAX_SHORT_SKIPS
      ? settled
      : settled.filter(({ start, end }) => end - start >= SHORT_SKIP_BYTES);
  }
}

function rangeOfLine({ chunk, offset, length }: RejectedLine): SettledRange {
  return { chunk, start: offset, end: offset + length, physicalLines: 1 };
}

function skipOf({ start, end, physicalLines }: SettledRange): SkipRange {
  return physicalLines === null ? { start, end } : { start, end, lines: physicalLines };
}

/** Everything between the given lines, which are sorted, and after the last one. */
function allBut(lines: readonly RejectedLine[]): SkipRange[] {
  const skips: SkipRange[] = [];
  let start = 0;
  let lineNumber = 1;
  for (const line of lines) {
    if (line.offset > start) skips.push({ start, end: line.offset, lines: line.lineNumber - lineNumber });
    start = line.offset + line.length;
    lineNumber = line.lineNumber + 1;
  }
  return [...skips, { start, end: Number.MAX_SAFE_INTEGER, lines: 0 }];
}

async function hasGrown(file: ChunkFile): Promise<boolean> {
  if (file.form !== 'plain') return false;
  const now = await stat(file.path).catch(() => null); // sealed or gone meanwhile: it does not grow
  return now !== null && now.size > file.sizeBytes;
}
