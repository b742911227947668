/**
 * Every line that was ever stored or refused for one destination, by its digest: what tells a line that was settled
 * wherever it stands now, in a chunk that was rewritten or came back.
 */
import { lineDigestsOf, type RangeEntry } from './journal-format.js';
import type { RejectedLine } from './types.js';

export class KnownLines {
  readonly #stored: RangeEntry[] = [];
  readonly #rejected = new Map<string, RejectedLine>();
  /** How many of the ranges an earlier upload stored. */
  #earlierRanges = 0;
  /** Made when it is first asked for: few uploads ever do. */
  #digests: Map<string, 'earlier' | 'now'> | null = null;

  addStored(range: RangeEntry): void {
    this.#stored.push(range);
    if (this.#digests !== null) noteDigests(this.#digests, range, 'now');
  }

  addRejected(line: RejectedLine): void {
    if (line.digest !== null) this.#rejected.set(line.digest, line);
  }

  /** What was added so far is of earlier uploads, what comes from now on is of this one. */
  begin(): void {
    this.#earlierRanges = this.#stored.length;
  }

  /** Which upload stored a line of these bytes; null when none did. */
  whenStored(digest: string): 'earlier' | 'now' | null {
    this.#digests ??= this.#collect();
    return this.#digests.get(digest) ?? null;
  }

  /** The verdict on a line of these bytes; null when there was none. */
  rejectionOf(digest: string): RejectedLine | null {
    return this.#rejected.get(digest) ?? null;
  }

  /** Every upload that stored lines, those of files that are gone or changed included. */
  uploadIds(): ReadonlySet<string> {
    return new Set(this.#stored.flatMap(({ digest }) => (digest === '' ? [] : [digest])));
  }

  #collect(): Map<string, 'earlier' | 'now'> {
    const digests = new Map<string, 'earlier' | 'now'>();
    this.#stored.forEach((range, index) => {
      noteDigests(digests, range, index < this.#earlierRanges ? 'earlier' : 'now');
    });
    return digests;
  }
}

/** A line that is stored already stays that of whoever stored it first. */
function noteDigests(digests: Map<string, 'earlier' | 'now'>, range: RangeEntry, when: 'earlier' | 'now'): void {
  for (const digest of lineDigestsOf(range)) if (!digests.has(digest)) digests.set(digest, when);
}
