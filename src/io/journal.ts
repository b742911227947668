/**
 * The journal of uploads of one run: what a service has confirmed, what it refused, which cuts were made. Appended
 * and made durable record by record; a torn tail is cut, damage is set aside, neither is ever a reason to stop. It may
 * be deleted at any time: an upload is correct without it, only dearer to repeat.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Damage, LineFormat } from '../core/scan/types.js';
import type { EpisodeTotals } from '../core/snapshot.js';
import {
  type Destination,
  type JournalEntry,
  type RangeEntry,
  type SourceIdentity,
  toRangeEntry,
} from '../core/upload/journal-format.js';
import { KnownLines } from '../core/upload/known-lines.js';
import { ResumeState } from '../core/upload/resume.js';
import type { BatchLine, BatchRange, RejectedLine, UploadJournal } from '../core/upload/types.js';
import { JournalFile, readJournal } from './journal-file.js';
import type { JournalPlaces } from './journal-place.js';

/**
 * Reads bytes of a chunk as they are now, uncompressed.
 *
 * @returns fewer bytes when the chunk ends early; null when the chunk is not there
 */
export type ReadRange = (chunk: number, start: number, end: number) => Promise<Buffer | null>;

export type JournalOptions = {
  readonly places: JournalPlaces;
  readonly destination: Destination;
  /**
   * A lasting name for each chunk number of the run as it is now: the number itself where it is part of the file's
   * name (R3), else the path inside the run. Facts about files that are gone are kept and not used.
   */
  readonly chunkNames: ReadonlyMap<number, string>;
  readonly readRange: ReadRange;
  /** The upload sends rejected lines once more: what it stores is rejected no longer; default false. */
  readonly isRetry?: boolean;
  /** Takes what is known and writes nothing, a dry run's way; default false. */
  readonly readsOnly?: boolean;
  /** Told once of each thing a user should know: damage set aside, a rewritten chunk, a journal that cannot be kept. */
  readonly onNotice: (message: string) => void;
};

const FILE_NAME = 'journal';
/** Places compared in each chunk when a journal is opened; a read in a sealed chunk costs a frame of 4 MiB. */
const EVIDENCE_READS = 8;
/** Recognised lines that share one record of the journal. */
const MAX_KEPT_LINES = 4096;

/** Opens, repairs and checks the journal of one destination. Rejects only for bugs. */
export async function openJournal(options: JournalOptions): Promise<Journal> {
  const journal = new Journal(options);
  await journal.load();
  return journal;
}

/** The key under which a destination's facts are kept. */
export function destinationKey(destination: Destination): string {
  const { baseUrl, teamId, context, stamp } = destination;
  const pairs = Object.entries(context).sort(([a], [b]) => (a < b ? -1 : 1));
  const text = JSON.stringify([baseUrl, teamId ?? '', pairs, stamp]);
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

export class Journal implements UploadJournal {
  readonly resume = new ResumeState();
  /** The lines of chunks that are gone or changed as well. */
  readonly lines = new KnownLines();
  readonly #options: JournalOptions;
  readonly #file: JournalFile;
  readonly #key: string;
  /** Stored ranges by chunk; kept whole for counts and for the evidence of the last one. */
  readonly #stored = new Map<number, RangeEntry[]>();
  readonly #names: Map<number, string>;
  readonly #chunksByName: Map<string, number>;
  /** Names that facts are kept about, of files that are not there. */
  readonly #absent = new Set<string>();
  readonly #damages = new Map<string, Damage>();
  readonly #seen = new Map<number, SourceIdentity>();
  /** Chunks whose settled bytes were found changed: their lines are recognised one by one. */
  readonly #changed = new Set<number>();
  #kept: BatchRange | null = null;
  #isKnownDestination = false;
  #isNew = false;

  constructor(options: JournalOptions) {
    this.#options = options;
    this.#file = new JournalFile(options.onNotice);
    this.#key = destinationKey(options.destination);
    this.#names = new Map(options.chunkNames);
    this.#chunksByName = new Map([...options.chunkNames].map(([chunk, name]) => [name, chunk]));
  }

  /** Episodes (lines) and bytes that the service has confirmed for this destination. */
  get committed(): EpisodeTotals {
    return sumOf([...this.#stored.values()].flat());
  }

  /** The same for each chunk that has some. */
  get committedByChunk(): ReadonlyMap<number, EpisodeTotals> {
    return new Map([...this.#stored].map(([chunk, ranges]) => [chunk, sumOf(ranges)]));
  }

  /** Numbers of the chunks that there are. */
  get chunks(): readonly number[] {
    return [...this.#names.keys()];
  }

  /** False when it could not be opened or written: what is stored from then on is not remembered. */
  get isKept(): boolean {
    return this.#file.isKept;
  }

  /** Whether an upload may have stored what it does not know: it is new, or was damaged. */
  get mayMiss(): boolean {
    return this.#isNew || this.#file.hasLost;
  }

  get damages(): readonly Damage[] {
    return [...this.#damages.values()];
  }

  /** Stored ranges of a chunk, in the order they were stored; a line stored by a retry lies inside another one. */
  storedIn(chunk: number): readonly RangeEntry[] {
    return this.#stored.get(chunk) ?? [];
  }

  /** The file of a chunk as an upload saw it last; null when none did. */
  seen(chunk: number): SourceIdentity | null {
    return this.#seen.get(chunk) ?? null;
  }

  /** Whether lines of the chunk have to be recognised, since where they stand tells nothing any more. */
  hasChanged(chunk: number): boolean {
    return this.#changed.has(chunk);
  }

  /** A chunk that was not there when the journal was opened. What is known of its file is looked up line by line. */
  addChunk(chunk: number, name: string): void {
    if (this.#names.has(chunk)) return;
    this.#names.set(chunk, name);
    this.#chunksByName.set(name, chunk);
    if (this.#absent.has(name)) this.#changed.add(chunk);
  }

  /** Called by `openJournal`. */
  async load(): Promise<void> {
    await this.#load();
    this.lines.begin();
  }

  async #load(): Promise<void> {
    const { writable, readOnly } = this.#options.places;
    if (readOnly !== null) this.#replay(await readJournal(join(readOnly, FILE_NAME)));
    if (this.#options.readsOnly === true) return this.#checkEvidence();
    if (writable === null) {
      this.#file.suspend('no place to keep a journal: neither the run nor the state directory can be written');
    } else {
      await this.#file.open(join(writable, FILE_NAME), (entries) => this.#replay(entries));
    }
    await this.#checkEvidence();
    this.#isNew = !this.#isKnownDestination;
    if (this.#isNew) {
      await this.#file.append({ kind: 'destination', to: this.#key, destination: this.#options.destination });
    }
  }

  async planned(range: BatchRange): Promise<void> {
    const cut = toRangeEntry({ ...range, lineDigests: [] }, this.#nameOf(range.chunk));
    await this.#record({ kind: 'planned', to: this.#key, range: cut });
  }

  async stored(range: BatchRange): Promise<void> {
    const entry = toRangeEntry(range, this.#nameOf(range.chunk));
    const isRetry = this.#options.isRetry === true;
    await this.#record({ kind: 'stored', to: this.#key, range: isRetry ? { ...entry, isRetry } : entry });
  }

  async rejected(line: RejectedLine): Promise<void> {
    await this.#record({ kind: 'rejected', to: this.#key, file: this.#nameOf(line.chunk), line });
  }

  /** Remembers damage, so that a rerun that passes over settled bytes still lists it. */
  async damaged(damage: Damage): Promise<void> {
    await this.#record({ kind: 'damage', to: this.#key, file: this.#nameOf(damage.chunk), damage });
  }

  /** Remembers how a file looked before it was read. */
  async see(chunk: number, identity: SourceIdentity): Promise<void> {
    await this.#record({ kind: 'seen', to: this.#key, file: this.#nameOf(chunk), identity });
  }

  /** The bytes of a chunk are not those that were settled (U18): from now on its lines are recognised one by one. */
  async forget(chunk: number, what: string): Promise<void> {
    // What was recognised before stood in the bytes that are gone.
    await this.#settleKept();
    this.#options.onNotice(`chunk ${chunk} was rewritten (${what}); the lines that are not stored yet are sent`);
    await this.#record({ kind: 'forgotten', to: this.#key, file: this.#nameOf(chunk) });
  }

  /** Settles a recognised line where it stands now. Lines that touch share a record of the journal. */
  async keep(line: BatchLine, format: LineFormat, digest: string): Promise<void> {
    const kept = this.#kept;
    const joins = kept !== null && kept.chunk === line.chunk && kept.end === line.offset && kept.lines < MAX_KEPT_LINES;
    if (!joins) await this.#settleKept();
    this.#kept = keptWith(joins ? kept : null, line, format, digest);
  }

  async #settleKept(): Promise<void> {
    const kept = this.#kept;
    this.#kept = null;
    if (kept !== null)
      await this.#record({ kind: 'stored', to: this.#key, range: toRangeEntry(kept, this.#nameOf(kept.chunk)) });
  }

  /** Waits for what is being written and lets the file go. */
  async close(): Promise<void> {
    await this.#settleKept();
    await this.#file.close();
  }

  #replay(entries: readonly JournalEntry[]): void {
    for (const entry of entries) if (entry.to === this.#key) this.#apply(entry);
  }

  async #record(entry: JournalEntry): Promise<void> {
    if (this.#apply(entry)) await this.#file.append(entry);
  }

  #nameOf(chunk: number): string {
    return this.#names.get(chunk) ?? String(chunk);
  }

  /** Takes one fact into the picture; false when it is known already or is about a file that is not there. */
  #apply(entry: JournalEntry): boolean {
    if (entry.kind === 'destination') {
      this.#isKnownDestination = true;
      return true;
    }
    if (entry.kind === 'stored') this.lines.addStored(entry.range);
    if (entry.kind === 'rejected') this.lines.addRejected(entry.line);
    const name = 'range' in entry ? entry.range.file : entry.file;
    const chunk = this.#chunksByName.get(name);
    if (chunk === undefined) {
      this.#absent.add(name);
      return false;
    }
    switch (entry.kind) {
      case 'planned':
        return this.resume.pin({ ...entry.range, chunk });
      case 'stored':
        this.resume.settle({ ...entry.range, chunk });
        if (entry.range.isRetry === true) this.resume.acquit({ ...entry.range, chunk });
        this.#remember(chunk, entry.range);
        return true;
      case 'rejected':
        this.resume.reject({ ...entry.line, chunk });
        return true;
      case 'damage':
        return this.#noteDamage({ ...entry.damage, chunk });
      case 'seen':
        return this.#noteSeen(chunk, entry.identity);
      case 'forgotten':
        this.#forget(chunk);
        return true;
    }
  }

  #noteDamage(damage: Damage): boolean {
    const key = `${damage.chunk}:${damage.offset}`;
    const isNew = !this.#damages.has(key);
    if (isNew) this.#damages.set(key, damage);
    return isNew;
  }

  #noteSeen(chunk: number, identity: SourceIdentity): boolean {
    const isNews = !isDeepStrictEqual(this.#seen.get(chunk), identity);
    this.#seen.set(chunk, identity);
    return isNews;
  }

  #remember(chunk: number, range: RangeEntry): void {
    const ranges = this.#stored.get(chunk);
    if (ranges === undefined) this.#stored.set(chunk, [range]);
    else ranges.push(range);
  }

  #forget(chunk: number): void {
    this.resume.forget(chunk);
    this.#stored.delete(chunk);
    this.#changed.add(chunk);
    for (const [key, damage] of this.#damages) if (damage.chunk === chunk) this.#damages.delete(key);
  }

  /** Compares the ends of stored ranges with the chunks as they are now (U18); the last one tells a truncation. */
  async #checkEvidence(): Promise<void> {
    for (const [chunk, ranges] of [...this.#stored]) {
      const changed = await this.#findChanged(chunk, sampleOf(ranges));
      if (changed === null) continue;
      await this.forget(chunk, `bytes before ${changed.end} differ`);
    }
  }

  async #findChanged(chunk: number, ranges: readonly RangeEntry[]): Promise<RangeEntry | null> {
    for (const range of ranges) {
      const tail = Buffer.from(range.tail, 'base64');
      const now = await this.#options.readRange(chunk, range.end - tail.length, range.end);
      if (now !== null && !now.equals(tail)) return range;
    }
    return null;
  }
}

function sumOf(ranges: readonly RangeEntry[]): EpisodeTotals {
  return {
    episodes: ranges.reduce((sum, { lines }) => sum + lines, 0),
    bytes: ranges.reduce((sum, { sentBytes }) => sum + sentBytes, 0),
  };
}

function keptWith(kept: BatchRange | null, line: BatchLine, format: LineFormat, digest: string): BatchRange {
  return {
    chunk: line.chunk,
    start: kept?.start ?? line.offset,
    end: line.offset + line.length,
    physicalLines: (kept?.physicalLines ?? 0) + 1,
    format,
    lines: (kept?.lines ?? 0) + 1,
    sentBytes: (kept?.sentBytes ?? 0) + line.byteLength,
    digest: '',
    tail: line.sourceTail,
    lineDigests: [...(kept?.lineDigests ?? []), digest],
  };
}

/** The last range by position, then others evenly spread over the chunk, the first one among them. */
function sampleOf(ranges: readonly RangeEntry[]): RangeEntry[] {
  const sorted = [...ranges].sort((a, b) => b.end - a.end);
  const step = Math.max(1, (sorted.length - 1) / (EVIDENCE_READS - 1));
  const sample = new Set<RangeEntry>();
  for (let at = 0; at <= sorted.length - 1 + step / 2; at += step) {
    const range = sorted[Math.min(sorted.length - 1, Math.round(at))];
    if (range !== undefined) sample.add(range);
  }
  return [...sample];
}
