/** Sums up the parts of one stream while they are scanned, and proves at the end of each chunk that no byte is missing. */
import type { RepeatedEpisode, StreamOutcome } from '../core/index/outcome.js';
import { SeenIds } from '../core/index/seen-ids.js';
import type { Oddity, OddityKind } from '../core/index/segment-scan.js';
import type { Damage } from '../core/scan/types.js';
import type { RunStream } from './run-streams.js';
import { bytesOf, type ScanPart } from './scan-stream.js';

/** Repeated episodes and oddities that are listed; all are counted. */
const MAX_LISTED = 1000;

export class StreamTally {
  readonly #stream: RunStream;
  readonly #damaged: Damage[];
  readonly #oddities: Oddity[] = [];
  readonly #oddityCounts: Partial<Record<OddityKind, number>> = {};
  readonly #repeated: RepeatedEpisode[] = [];
  #repeatedCount = 0;
  readonly #seen = new SeenIds();
  readonly #extents = new Map<number, number>();
  #episodes = 0;
  #bytes = 0;
  #tokenDifferences = 0;
  /** Of the chunk at hand. */
  #chunkBytes = 0;
  #openLine: { readonly chunk: number; readonly offset: number } | null = null;

  constructor(stream: RunStream) {
    this.#stream = stream;
    this.#damaged = [...stream.damage];
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

  /** Uncompressed bytes of a chunk that was scanned; null for any other number. */
  extentOf(chunk: number): number | null {
    return this.#extents.get(chunk) ?? null;
  }

  /**
   * Takes a part whose first row has the number `line`.
   * @throws Error when the bytes of a chunk do not add up, which is a bug: something was skipped in silence
   */
  add({ file, result, isLast }: ScanPart, line: number): void {
    const { counts, damage, oddities, oddityCounts, idHashes, position, openLineOffset, tokenDifferences } = result;
    const bytes = bytesOf(result);
    this.#chunkBytes += bytes;
    this.#bytes += bytes;
    this.#episodes += counts.records;
    this.#tokenDifferences += tokenDifferences;
    for (const one of damage) this.#damaged.push(one);
    this.#oddities.push(...oddities.slice(0, MAX_LISTED - this.#oddities.length));
    for (const [kind, count] of Object.entries(oddityCounts) as [OddityKind, number][]) {
      this.#oddityCounts[kind] = (this.#oddityCounts[kind] ?? 0) + count;
    }
    this.#noteIds(idHashes, line);
    if (openLineOffset !== null) this.#openLine = { chunk: file.chunk, offset: openLineOffset };
    if (!isLast) return;
    this.#extents.set(file.chunk, this.#chunkBytes);
    const expected = file.form === 'plain' ? file.sizeBytes : null;
    if (expected !== null && position >= expected && this.#chunkBytes !== expected) {
      throw new Error(`${file.relativePath}: ${this.#chunkBytes} bytes accounted for where ${expected} were read`);
    }
    this.#chunkBytes = 0;
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
      chunks: files.length,
      sealed: files.filter(({ form }) => form === 'sealed').length,
      torn,
      damaged: this.#damaged.filter((damage) => damage !== torn),
      oddities: this.#oddities,
      oddityCounts: this.#oddityCounts,
      repeated: { count: this.#repeatedCount, first: this.#repeated },
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
