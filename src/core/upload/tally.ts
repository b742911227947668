/**
 * What an upload counts while it reads a run: the plan, what an earlier upload stored, and every line or place that
 * will not be stored. Counts are of this command; bytes are those that travel. No I/O.
 */
import type { Damage } from '../scan/types.js';
import type { EpisodeTotals } from '../snapshot.js';
import type { BatchLine, RejectedLine } from './types.js';

export class UploadTally {
  readonly #already = new ChunkTotals();
  readonly #damages = new Map<string, Damage>();
  readonly #rejected = new Map<string, RejectedLine>();
  readonly #read = { episodes: 0, bytes: 0 };
  readonly #leftOut = new ChunkTotals();

  /** @param known what the journal tells of bytes that are not read again; `stored` by chunk */
  constructor(known: {
    readonly stored: ReadonlyMap<number, EpisodeTotals>;
    readonly rejected: readonly RejectedLine[];
    readonly damages: readonly Damage[];
  }) {
    for (const [chunk, totals] of known.stored) this.#already.add(chunk, totals);
    for (const line of known.rejected) this.leaveOut(line);
    for (const damage of known.damages) this.damage(damage);
  }

  /** A line that goes into a batch. */
  plan(line: BatchLine): void {
    this.#read.episodes += 1;
    this.#read.bytes += line.byteLength;
  }

  /** A record that never came into a batch: a check of ours, or an earlier upload, found it unfit. */
  leaveOut(line: RejectedLine): void {
    this.#leftOut.add(line.chunk, { episodes: 1, bytes: line.byteLength });
    this.reject(line);
  }

  /** A line of a batch that the service refused. */
  reject(line: RejectedLine): void {
    this.#rejected.set(`${line.chunk}:${line.offset}`, line);
  }

  /** Stored by an earlier upload and found again at another place, or in a chunk that was rewritten around it. */
  keep(line: BatchLine): void {
    this.#already.add(line.chunk, { episodes: 1, bytes: line.byteLength });
  }

  /** A chunk was rewritten: what was known of its lines and places is found again where it stands now, or is gone. */
  forget(chunk: number): void {
    this.#already.remove(chunk);
    this.#leftOut.remove(chunk);
    for (const places of [this.#damages, this.#rejected]) {
      for (const [key, place] of places) if (place.chunk === chunk) places.delete(key);
    }
  }

  /** A place is damaged in one way: read again beside settled bytes, what is left of its line may look otherwise. */
  damage(damage: Damage): void {
    if (!this.knowsDamage(damage)) this.#damages.set(`${damage.chunk}:${damage.offset}`, damage);
  }

  knowsDamage({ chunk, offset }: Damage): boolean {
    return this.#damages.has(`${chunk}:${offset}`);
  }

  /** Stored by an earlier upload, as its journal says. */
  get already(): EpisodeTotals {
    return this.#already.sum;
  }

  /** Every record of the run that was read or is known: to send, stored already, or left out. */
  get planned(): EpisodeTotals {
    return sumOf([this.#read, this.#already.sum, this.#leftOut.sum]);
  }

  /** Lines that went into batches of this command. */
  get read(): EpisodeTotals {
    return this.#read;
  }

  /** In the order of the run. */
  rejected(): RejectedLine[] {
    return [...this.#rejected.values()].sort(byAddress);
  }

  /** In the order of the run. */
  damages(): Damage[] {
    return [...this.#damages.values()].sort(byAddress);
  }
}

function byAddress(a: { chunk: number; offset: number }, b: { chunk: number; offset: number }): number {
  return a.chunk - b.chunk || a.offset - b.offset;
}

/** Totals by chunk. */
class ChunkTotals {
  readonly #totals = new Map<number, EpisodeTotals>();

  get sum(): EpisodeTotals {
    return sumOf([...this.#totals.values()]);
  }

  add(chunk: number, totals: EpisodeTotals): void {
    this.#totals.set(chunk, sumOf([this.#totals.get(chunk) ?? { episodes: 0, bytes: 0 }, totals]));
  }

  remove(chunk: number): void {
    this.#totals.delete(chunk);
  }
}

function sumOf(parts: readonly EpisodeTotals[]): EpisodeTotals {
  return {
    episodes: parts.reduce((sum, { episodes }) => sum + episodes, 0),
    bytes: parts.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}
