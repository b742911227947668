/**
 * What a lost or outdated journal does not know, from the service's own listing (U4). A listing tells which upload carries
 * each episode, and an upload is named by the SHA-256 of its bytes: the lines of a chunk that are listed under one upload
 * and hash to its name are stored, byte for byte, whatever cut them. Nothing is taken on the word of the service alone;
 * what cannot be proven is sent again, which is never wrong (U2).
 */
import { messageOf } from '../core/errors.js';
import type { LineFormat } from '../core/scan/types.js';
import type { RunStamp } from '../core/stream/stamp.js';
import type { Candidate } from '../core/upload/batcher.js';
import { prepareRecord } from '../core/upload/prepare.js';
import { type Address, merged } from '../core/upload/resume.js';
import type { Cut } from '../core/upload/types.js';
import type { SkipRange } from './chunk-reader.js';
import { monotonicClock } from './clock.js';
import type { Journal } from './journal.js';
import { ListedBatch } from './listed-batch.js';
import { type RunEvent, readRecords } from './run-records.js';
import type { ChunkFile, Run } from './run-types.js';
import type { ServiceAccess } from './sender.js';
import { type Listed, TracesReader } from './traces-reader.js';

export type ReconcileOptions = {
  readonly run: Run;
  readonly journal: Journal;
  readonly stamp: RunStamp | null;
  readonly access: ServiceAccess;
  readonly signal: AbortSignal;
};

/** Upload by the id of an episode, or of a bare trace; only uploads that the journal does not know. */
type Listing = ReadonlyMap<string, string>;

/** Episodes on a page. Newest come first, so that behind a page without news there is hardly any. */
const PAGE_ITEMS = 100;
/** For the first page: a service that is silent is found out by sending, with all the patience that asks for. */
const FIRST_PAGE_MS = 5_000;
const SILENT = `no answer in ${FIRST_PAGE_MS / 1000} s`;
/** Runs that the records of one run may name; those of others are sent again. */
const MAX_RUNS = 16;
/** Settled ranges shorter than this cost more to pass over than to read. */
const SHORT_SKIP_BYTES = 4 * 1024 * 1024;

/**
 * Settles in the journal what is proven to be stored. Asks for nothing when the journal covers the run, and for one
 * page when it knows every upload on it; the run is read only where the service lists uploads that are news.
 *
 * Ends quietly with the signal: the upload that follows says so.
 *
 * @returns what a user should know once something is stored, where nobody could tell what a new or damaged journal does
 *   not know; null as a rule
 * @throws what `prepareRecord` throws
 */
export async function reconcile(options: ReconcileOptions): Promise<string | null> {
  const { run, journal, signal } = options;
  if (isSettled(run, journal)) return null;
  let unlisted: string | null = null;
  try {
    await lookUp(options, (reason) => {
      unlisted ??= reason;
    });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  journal.lines.begin();
  if (unlisted === null || !journal.mayMiss) return null;
  return `the service did not list what it holds of this run (${unlisted}): what an earlier upload stored is sent again, and is there twice where its requests were others`;
}

async function lookUp(options: ReconcileOptions, onUnlisted: (reason: string) => void): Promise<void> {
  const { journal, stamp } = options;
  const listings = new Map<string, Listing>();
  const batches = new Map<string, ListedBatch>();
  const cuts = new OpenCuts(journal.resume.pinned());
  for await (const event of unsettledEvents(options)) {
    // A record that shares its line with damage is settled alone: what is left of the line would look otherwise.
    if (event.type === 'damage' && event.damage.recovered) await journal.damaged(event.damage);
    if (event.type === 'file' && event.summary !== null) {
      await settleProven(journal, batches);
      cuts.passed(event.file.chunk);
    }
    if (event.type !== 'record' || journal.resume.placementOf(event.record) !== 'send') continue;
    const prepared = prepareRecord(event.record, stamp);
    if (!prepared.ok || prepared.runId === null) continue;
    const { candidate, runId } = prepared;
    if (!listings.has(runId) && listings.size < MAX_RUNS) {
      const listing = await list(options, { runId, format: candidate.format, onUnlisted });
      listings.set(runId, listing);
      cuts.compare(listing);
    }
    const listing = listings.get(runId);
    // A run that was never uploaded is not read twice.
    if (listing?.size === 0 && listings.size === 1) return;
    if (cuts.endBefore(event.record)) return settleProven(journal, batches);
    if (listing !== undefined) sortIn(batches, listing, candidate);
  }
}

/**
 * Cuts that the journal has made and not seen confirmed. What a killed upload had in flight lies in them alone: then the
 * run is read no further than that, however large it is (U3).
 */
class OpenCuts {
  readonly #uploads = new Set<string | undefined>();
  /** Where the last one of each chunk ends, of the chunks that are still to be read. */
  readonly #ends = new Map<number, number>();
  #holdNews = true;

  constructor(cuts: Iterable<Cut>) {
    for (const { chunk, end, digest } of cuts) {
      this.#uploads.add(digest);
      this.#ends.set(chunk, Math.max(end, this.#ends.get(chunk) ?? 0));
    }
  }

  passed(chunk: number): void {
    this.#ends.delete(chunk);
  }

  /** Looks for what a service lists as news among the cuts. */
  compare(listing: Listing): void {
    this.#holdNews &&= [...listing.values()].every((uploadId) => this.#uploads.has(uploadId));
  }

  /** Whether nothing that is news can stand at an address or behind it. */
  endBefore({ chunk, offset }: Address): boolean {
    return this.#holdNews && [...this.#ends].every(([of, end]) => of === chunk && end <= offset);
  }
}

function sortIn(batches: Map<string, ListedBatch>, listing: Listing, candidate: Candidate): void {
  const id = candidate.format === 'episode' ? candidate.episodeId : (candidate.traceIds[0] ?? null);
  const uploadId = id === null ? undefined : listing.get(id);
  if (id === null || uploadId === undefined) return;
  const batch = batches.get(uploadId) ?? new ListedBatch(candidate.format);
  batches.set(uploadId, batch);
  batch.add(id, candidate);
}

/** Settles those of the batches that are what they are listed as, and lets all of them go. */
async function settleProven(journal: Journal, batches: Map<string, ListedBatch>): Promise<void> {
  for (const [uploadId, batch] of batches) {
    const range = batch.provenBy(uploadId);
    if (range !== null) await journal.stored(range);
  }
  batches.clear();
}

function unsettledEvents({ run, journal, signal }: ReconcileOptions): AsyncGenerator<RunEvent, void> {
  return readRecords(run, {
    signal,
    skip: ({ chunk }) => longSkips(journal, chunk),
    unitOf: ({ chunk }) => journal.storedIn(chunk)[0]?.format ?? null,
  });
}

function longSkips(journal: Journal, chunk: number): SkipRange[] {
  return journal.resume
    .coveredRanges(chunk)
    .filter(({ start, end }) => end - start >= SHORT_SKIP_BYTES)
    .map(({ start, end, physicalLines }) =>
      physicalLines === null ? { start, end } : { start, end, lines: physicalLines },
    );
}

/** Whether the journal covers every byte of the run, as after an upload that was finished: then nobody is asked. */
function isSettled(run: Run, journal: Journal): boolean {
  return run.files.every((file) => isCovered(file, journal));
}

function isCovered({ chunk, uncompressedBytes }: ChunkFile, journal: Journal): boolean {
  if (uncompressedBytes === null) return false;
  const rejected = journal.resume
    .rejected()
    .filter((line) => line.chunk === chunk)
    .map(({ offset, length }) => ({ chunk, start: offset, end: offset + length, physicalLines: null }));
  const [first, ...others] = merged([...journal.resume.coveredRanges(chunk), ...rejected]);
  if (first === undefined) return uncompressedBytes === 0;
  return others.length === 0 && first.start === 0 && first.end >= uncompressedBytes;
}

type Asked = {
  readonly runId: string;
  readonly format: LineFormat;
  readonly onUnlisted: (reason: string) => void;
};

/** The uploads that are news. A service that does not answer, or not like this, lists none. */
async function list({ access, journal, signal }: ReconcileOptions, asked: Asked): Promise<Listing> {
  const { runId, format, onUnlisted } = asked;
  const reader = new TracesReader({ ...access, clock: monotonicClock, random: Math.random });
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), FIRST_PAGE_MS);
  const either = AbortSignal.any([signal, patience.signal]);
  try {
    const pages = format === 'episode' ? reader.listEpisodes(runId, either) : reader.listRunTraces(runId, either);
    return await untilKnown(pages, journal.lines.uploadIds(), () => clearTimeout(timer));
  } catch (error) {
    if (!signal.aborted) onUnlisted(patience.signal.aborted ? SILENT : messageOf(error));
    return new Map();
  } finally {
    clearTimeout(timer);
    await reader.close();
  }
}

/** Reads on as long as a page holds news. */
async function untilKnown(
  pages: AsyncIterable<Listed>,
  known: ReadonlySet<string>,
  onFirst: () => void,
): Promise<Listing> {
  const listing = new Map<string, string>();
  /** One text for each upload: every item of a page brings its own. */
  const uploads = new Map<string, string>();
  let knownInARow = 0;
  for await (const { id, uploadId } of pages) {
    onFirst();
    if (uploadId === null || known.has(uploadId)) {
      knownInARow += 1;
      if (knownInARow >= PAGE_ITEMS) break;
      continue;
    }
    knownInARow = 0;
    const shared = uploads.get(uploadId) ?? uploadId;
    uploads.set(shared, shared);
    listing.set(id, shared);
  }
  return listing;
}
