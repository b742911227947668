/**
 * What an earlier run of the same upload left behind, per chunk: source ranges that are settled, lines that were
 * rejected, and cuts that were made and not confirmed. Pure bookkeeping over ranges; the journal feeds it.
 */
import type { BatchRange, Cut, RejectedLine, SettledRange, SourceRange } from './types.js';

/** What to do with a record: send it; pass over it as if it were blank; or leave it out of a batch around it, as settled. */
export type Placement = 'send' | 'skip' | 'settled';

/** Where a record stands. */
export type Address = { readonly chunk: number; readonly offset: number };

/** A stretch of a chunk and the cut that it belongs to. */
type Pin = SourceRange & { readonly cut: Cut };

export class ResumeState {
  readonly #settled = new Map<number, readonly SettledRange[]>();
  readonly #pins = new Map<number, readonly Pin[]>();
  readonly #rejected = new Map<string, RejectedLine>();

  /**
   * A planned cut. It replaces earlier ones it overlaps: halves take the place of their whole. Returns false for one that
   * was planned before, as it is at each try of a service that is away.
   */
  pin(cut: Cut): boolean {
    if (isSameCut(cut, this.pinAt({ chunk: cut.chunk, offset: cut.start }))) return false;
    const pins = stretchesOf(cut).map(({ chunk, start, end }) => ({ chunk, start, end, cut }));
    this.#unpin(cut.chunk, pins);
    this.#pins.set(cut.chunk, sorted([...(this.#pins.get(cut.chunk) ?? []), ...pins]));
    return true;
  }

  settle(range: SettledRange & Pick<BatchRange, 'islands'>): void {
    const { chunk } = range;
    const stretches = stretchesOf(range);
    this.#unpin(chunk, stretches);
    this.#settled.set(chunk, joinedInto(this.#settled.get(chunk) ?? [], stretches));
  }

  reject(line: RejectedLine): void {
    this.#unpin(line.chunk, [{ chunk: line.chunk, start: line.offset, end: line.offset + line.length }]);
    this.#rejected.set(keyOf(line), line);
  }

  /** Takes back the rejections inside a range: its lines were sent once more, and stored. */
  acquit(range: Cut): void {
    const stretches = stretchesOf(range);
    for (const [key, line] of this.#rejected) {
      if (line.chunk === range.chunk && rangeAt(stretches, line.offset) !== null) this.#rejected.delete(key);
    }
  }

  /** Forgets everything about a chunk: its bytes are not those the journal knew (U18). */
  forget(chunk: number): void {
    this.#settled.delete(chunk);
    this.#pins.delete(chunk);
    for (const [key, line] of this.#rejected) if (line.chunk === chunk) this.#rejected.delete(key);
  }

  /** Half-open, sorted and merged: they neither overlap nor touch. */
  coveredRanges(chunk: number): readonly SettledRange[] {
    return this.#settled.get(chunk) ?? [];
  }

  /** Rejected lines by chunk and offset. */
  rejected(): RejectedLine[] {
    return [...this.#rejected.values()].sort((a, b) => a.chunk - b.chunk || a.offset - b.offset);
  }

  /** The verdict on the line at an address; null when there is none. */
  rejectionAt(address: Address): RejectedLine | null {
    return this.#rejected.get(keyOf(address)) ?? null;
  }

  placementOf(address: Address): Placement {
    if (this.#rejected.has(keyOf(address))) return 'skip';
    return rangeAt(this.coveredRanges(address.chunk), address.offset) === null ? 'send' : 'settled';
  }

  /** The same with `--retry-rejected`: only what was rejected. */
  placementOfRejected(address: Address): Placement {
    return this.#rejected.has(keyOf(address)) ? 'send' : 'settled';
  }

  /** The planned cut a record falls into, the same object for all its records; null where the rules may cut freely. */
  pinAt({ chunk, offset }: Address): Cut | null {
    return rangeAt(this.#pins.get(chunk) ?? [], offset)?.cut ?? null;
  }

  /** Every planned cut that is neither settled nor replaced. */
  pinned(): ReadonlySet<Cut> {
    return new Set([...this.#pins.values()].flatMap((pins) => pins.map(({ cut }) => cut)));
  }

  /** Drops every cut that has a part in one of the stretches, which are sorted. */
  #unpin(chunk: number, stretches: readonly SourceRange[]): void {
    const pins = this.#pins.get(chunk) ?? [];
    const gone = new Set(pins.filter((pin) => overlapsOne(pin, stretches)).map(({ cut }) => cut));
    if (gone.size > 0)
      this.#pins.set(
        chunk,
        pins.filter(({ cut }) => !gone.has(cut)),
      );
  }
}

/** Whether two cuts take the same stretch for the same request; of one with islands nobody can tell so simply. */
function isSameCut(cut: Cut, known: Cut | null): boolean {
  if (known === null || cut.digest === undefined || cut.islands !== undefined || known.islands !== undefined)
    return false;
  return cut.start === known.start && cut.end === known.end && cut.digest === known.digest;
}

/** The parts of a cut that are its own: its islands, or all of it. */
function stretchesOf(cut: Cut & { readonly physicalLines?: number | null }): SettledRange[] {
  const { chunk, start, end, islands, physicalLines = null } = cut;
  if (islands === undefined) return [{ chunk, start, end, physicalLines }];
  return islands.map(([from, to, lines]) => ({ chunk, start: from, end: to, physicalLines: lines }));
}

/** The known ranges with others among them; only those that the others reach are looked at one by one. */
function joinedInto(known: readonly SettledRange[], added: readonly SettledRange[]): SettledRange[] {
  const start = added[0]?.start ?? 0;
  const end = added.at(-1)?.end ?? 0;
  const from = countUntil(known, (range) => range.end >= start);
  const to = countUntil(known, (range) => range.start > end);
  return [...known.slice(0, from), ...merged([...known.slice(from, to), ...added]), ...known.slice(to)];
}

/** Sorts ranges of one chunk and joins those that overlap or touch. Lines of an overlap cannot be told: null. */
export function merged(ranges: readonly SettledRange[]): SettledRange[] {
  const result: SettledRange[] = [];
  for (const range of sorted(ranges)) {
    const last = result.at(-1);
    if (last === undefined || range.start > last.end) result.push(range);
    else if (range.end > last.end) result[result.length - 1] = joined(last, range);
  }
  return result;
}

function joined(first: SettledRange, second: SettledRange): SettledRange {
  const { physicalLines } = first;
  const isSum = first.end === second.start && physicalLines !== null && second.physicalLines !== null;
  return { ...first, end: second.end, physicalLines: isSum ? physicalLines + (second.physicalLines ?? 0) : null };
}

function sorted<T extends SourceRange>(ranges: readonly T[]): T[] {
  return [...ranges].sort((a, b) => a.start - b.start);
}

/** Whether a range shares bytes with one of the sorted others. */
function overlapsOne(range: SourceRange, others: readonly SourceRange[]): boolean {
  const next = others[countUntil(others, (other) => other.end > range.start)];
  return next !== undefined && next.start < range.end;
}

function keyOf({ chunk, offset }: Address): string {
  return `${chunk}:${offset}`;
}

/** Binary search: a chunk of a long run may have thousands of ranges. */
function rangeAt<T extends SourceRange>(ranges: readonly T[], offset: number): T | null {
  const range = ranges[countUntil(ranges, ({ end }) => end > offset)];
  return range !== undefined && range.start <= offset ? range : null;
}

/** How many sorted ranges come before the first that holds. */
function countUntil<T>(ranges: readonly T[], holds: (range: T) => boolean): number {
  let low = 0;
  let high = ranges.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(ranges[middle] as T))
      high = middle; // in range by the search
    else low = middle + 1;
  }
  return low;
}
