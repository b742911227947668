/**
 * What an earlier run of the same upload left behind, per chunk: source ranges that are settled, lines that were
 * rejected, and cuts that were made and not confirmed. Pure bookkeeping over ranges; the journal feeds it.
 */
import type { RejectedLine, SettledRange, SourceRange } from './types.js';

/** What to do with a record: send it; pass over it as if it were blank; or close the open batch, as settled bytes follow. */
export type Placement = 'send' | 'skip' | 'settled';

/** Where a record stands. */
export type Address = { readonly chunk: number; readonly offset: number };

export class ResumeState {
  readonly #settled = new Map<number, SettledRange[]>();
  readonly #pins = new Map<number, SourceRange[]>();
  readonly #rejected = new Map<string, RejectedLine>();

  /** A planned cut. It replaces earlier ones it overlaps: halves take the place of their whole. */
  pin(range: SourceRange): void {
    const others = (this.#pins.get(range.chunk) ?? []).filter((other) => !overlaps(other, range));
    this.#pins.set(range.chunk, sorted([...others, range]));
  }

  settle({ chunk, start, end, physicalLines }: SettledRange): void {
    const range = { chunk, start, end, physicalLines };
    this.#unpin(range);
    this.#settled.set(chunk, merged([...(this.#settled.get(chunk) ?? []), range]));
  }

  reject(line: RejectedLine): void {
    this.#unpin({ chunk: line.chunk, start: line.offset, end: line.offset + line.length });
    this.#rejected.set(keyOf(line), line);
  }

  /** Takes back the rejections inside a range: its lines were sent once more, and stored. */
  acquit(range: SourceRange): void {
    for (const [key, line] of this.#rejected) {
      if (line.chunk === range.chunk && line.offset >= range.start && line.offset < range.end)
        this.#rejected.delete(key);
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

  placementOf(address: Address): Placement {
    if (this.#rejected.has(keyOf(address))) return 'skip';
    return rangeAt(this.coveredRanges(address.chunk), address.offset) === null ? 'send' : 'settled';
  }

  /** The same with `--retry-rejected`: only what was rejected. */
  placementOfRejected(address: Address): Placement {
    return this.#rejected.has(keyOf(address)) ? 'send' : 'settled';
  }

  /** The planned cut a record falls into, the same object for all its records; null where the rules may cut freely. */
  pinAt({ chunk, offset }: Address): SourceRange | null {
    return rangeAt(this.#pins.get(chunk) ?? [], offset);
  }

  #unpin(range: SourceRange): void {
    const pins = this.#pins.get(range.chunk);
    if (pins === undefined) return;
    this.#pins.set(
      range.chunk,
      pins.filter((pin) => !overlaps(pin, range)),
    );
  }
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

function overlaps(a: SourceRange, b: SourceRange): boolean {
  return a.start < b.end && b.start < a.end;
}

function keyOf({ chunk, offset }: Address): string {
  return `${chunk}:${offset}`;
}

/** Binary search: a chunk of a long run may have thousands of ranges. */
function rangeAt(ranges: readonly SourceRange[], offset: number): SourceRange | null {
  let low = 0;
  let high = ranges.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const range = ranges[middle] as SourceRange; // in range by the search
    if (offset < range.start) high = middle;
    else if (offset >= range.end) low = middle + 1;
    else return range;
  }
  return null;
}
