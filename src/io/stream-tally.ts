/** Sums up the parts of one stream while they are scanned, and proves at the end of each chunk that no byte is missing. */
import type { RepeatedEpisode, StreamOutcome } from '../core/index/outcome.js';
import type { RowAddress } from '../core/index/row-text.js';
import { SeenIds } from '../core/index/seen-ids.js';
import type { Oddity, OddityKind } from '../core/index/segment-types.js';
import { NO_STEPS, StepOrder, type StepsSoFar } from '../core/index/step-order.js';
import type { Damage } from '../core/scan/types.js';
import type { Resume, SavedState } from './index-state.js';
import { isEffectiveCopy } from './index-synthetic.js';
import type { RunStream } from './run-streams.js';
import { bytesOf, type ScanPart } from './scan-stream.js';

/** Repeated episodes, episodes out of order and oddities that are listed; all are counted. */
const MAX_LISTED = 1000;

/** An episode is told when it comes again within so many others: what is remembered takes 25 MB at most. */
const REMEMBERED_IDS = 500_000;

export class StreamTally {
  readonly #stream: RunStream;
  readonly #damaged: Damage[];
  readonly #oddities: Oddity[] = [];
  readonly #oddityCounts: Partial<Record<OddityKind, number>> = {};
  readonly #repeated: RepeatedEpisode[] = [];
  #repeatedCount = 0;
  readonly #seen = new SeenIds(REMEMBERED_IDS);
  readonly #steps = new StepOrder(MAX_LISTED);
  readonly #extents = new Map<number, number>();
  #episodes = 0;
  #bytes = 0;
  #resumedBytes = 0;
  #tokenDifferences = 0;
  /** Of the chunk at hand. */
  #chunkBytes = 0;
  #openLine: { readonly chunk: number; readonly offset: number } | null = null;

  constructor(stream: RunStream) {
    this.#stream = stream;
    this.#damaged = [...stream.damage];
  }

  /**
   * Takes over what an earlier indexing found before the point where this one goes on.
   * `idHashes` are those of the rows that stay.
   */
  restore({ state, marks, fileIndex, offset, line }: Resume, idHashes: Uint32Array): void {
    const files = this.#stream.files;
    const isBefore = (chunk: number, at: number): boolean => {
      const index = files.findIndex((file) => file.chunk === chunk);
      return index >= 0 && (index < fileIndex || (index === fileIndex && at < offset));
    };
    for (const damage of state.damaged) if (isBefore(damage.chunk, damage.offset)) this.#damaged.push(damage);
    this.#oddities.push(...state.oddities.filter(({ chunk, offset: at }) => isBefore(chunk, at)));
    for (const [index, mark] of marks.entries()) {
      this.#bytes += mark.bytes;
      this.#tokenDifferences += mark.tokenDifferences;
      this.#addOddities(mark.oddityCounts);
      if (index < fileIndex || offset === 0) this.#extents.set(mark.chunk, mark.bytes);
    }
    this.#resumedBytes = this.#bytes;
    this.#chunkBytes = offset;
    this.#episodes = line - 1;
    this.#noteIds(idHashes, 1);
    const late = state.outOfOrder.filter((episode) => episode.line < line);
    this.#steps.restore(marks.at(-1) ?? NO_STEPS, late);
  }

  get episodes(): number {
    return this.#episodes;
  }

  get damaged(): number {
    return this.#damaged.length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The part of `bytes` that an earlier indexing had settled. */
  get resumedBytes(): number {
    return this.#resumedBytes;
  }

  /** What a later indexing takes over. */
  get findings(): Pick<SavedState, 'damaged' | 'oddities' | 'outOfOrder'> {
    const listed = new Set(this.#stream.damage);
    const damaged = this.#damaged.filter((damage) => !listed.has(damage));
    return { damaged, oddities: this.#oddities, outOfOrder: this.#steps.found.first };
  }

  /** The order of the rows so far; `openRows`, 0 or 1: rows of a last line that may still grow, left out. */
  stepsWithout(openRows: number): StepsSoFar {
    return openRows === 0 ? this.#steps.soFar : this.#steps.beforeLast;
  }

  /** Uncompressed bytes of a chunk that was scanned; null for any other number. */
  extentOf(chunk: number): number | null {
    return this.#extents.get(chunk) ?? null;
  }

  /**
   * Takes a part whose first row has the number `line`.
   * @throws Error when the bytes of a chunk do not add up, which is a bug: something was skipped in silence
   */
  add({ file, result, isLast }: ScanPart, line: number): void {
    const { counts, damage, oddities, oddityCounts, idHashes, steps, position, openLineOffset, tokenDifferences } =
      result;
    const bytes = bytesOf(result);
    this.#chunkBytes += bytes;
    this.#bytes += bytes;
    this.#episodes += counts.records;
    this.#tokenDifferences += tokenDifferences;
    for (const one of damage) this.#damaged.push(one);
    this.#oddities.push(...oddities.slice(0, MAX_LISTED - this.#oddities.length));
    this.#addOddities(oddityCounts);
    this.#noteIds(idHashes, line);
    if (!isEffectiveCopy(file.path)) this.#steps.add(steps, line);
    if (openLineOffset !== null) this.#openLine = { chunk: file.chunk, offset: openLineOffset };
    if (!isLast) return;
    this.#extents.set(file.chunk, this.#chunkBytes);
    const expected = file.form === 'plain' ? file.sizeBytes : null;
    if (expected !== null && position >= expected && this.#chunkBytes !== expected) {
      throw new Error(`${file.relativePath}: ${this.#chunkBytes} bytes accounted for where ${expected} were read`);
    }
    this.#chunkBytes = 0;
  }

  /** Whether an address lies behind the last line that was there whole. */
  isBehindEnd({ chunk, offset }: RowAddress): boolean {
    const last = this.#stream.files.at(-1)?.chunk;
    if (last === undefined || chunk !== last) return last === undefined || chunk > last;
    return offset >= (this.#openLine?.chunk === last ? this.#openLine.offset : (this.#extents.get(last) ?? 0));
  }

  outcome(
    written: Pick<StreamOutcome, 'index' | 'isComplete' | 'rowsWritten' | 'changed' | 'isGrowing' | 'check'>,
  ): StreamOutcome {
    const { files, name, holds } = this.#stream;
    const torn = this.#tornTail();
    return {
      ...written,
      stream: name,
      holds,
      episodes: this.#episodes,
      bytes: this.#bytes,
      resumedBytes: this.#resumedBytes,
      chunks: files.length,
      sealed: files.filter(({ form }) => form === 'sealed').length,
      torn,
      damaged: this.#damaged.filter((damage) => damage !== torn),
      oddities: this.#oddities,
      oddityCounts: this.#oddityCounts,
      repeated: { count: this.#repeatedCount, first: this.#repeated },
      outOfOrder: this.#steps.found,
      tokenDifferences: this.#tokenDifferences,
    };
  }

  /** The torn line that ends the last chunk, if one does. */
  #tornTail(): Damage | null {
    const last = this.#stream.files.at(-1);
    const open = this.#openLine;
    if (last === undefined || open === null || open.chunk !== last.chunk) return null;
    return (
      this.#damaged.findLast(
        ({ kind, chunk, offset }) => kind === 'torn' && chunk === open.chunk && offset === open.offset,
      ) ?? null
    );
  }

  #addOddities(counts: Readonly<Partial<Record<OddityKind, number>>>): void {
    for (const [kind, count] of Object.entries(counts) as [OddityKind, number][]) {
      this.#oddityCounts[kind] = (this.#oddityCounts[kind] ?? 0) + count;
    }
  }

  #noteIds(idHashes: Uint32Array, firstLine: number): void {
    for (let index = 0; index < idHashes.length; index += 2) {
      const [high, low] = [idHashes[index] as number, idHashes[index + 1] as number];
      if (high === 0 && low === 0) continue;
      const line = firstLine + index / 2;
      const first = this.#seen.add(high, low, line);
      if (first === 0) continue;
      this.#repeatedCount += 1;
      if (this.#repeated.length < MAX_LISTED) this.#repeated.push({ line, first_line: first });
    }
  }
}
