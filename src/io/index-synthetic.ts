/** What an index of a layout without one has beside its rows (spec 04 section 8): a header, and who was trained on. */
import { RowBuffer } from '../core/index/row-buffer.js';
import { SeenIds } from '../core/index/seen-ids.js';
import type { Subset } from './run-rollouts.js';
import type { ChunkFile, Run } from './run-types.js';
import type { ScanPart } from './scan-stream.js';
import type { RowSettings } from './scan-types.js';

const LF = 0x0a;

const EFFECTIVE = /(^|\/)effective\/[^/]+$/;

/** Whether a file is the copy of R1 rollouts that were trained on. */
export function isEffectiveCopy(path: string): boolean {
  return EFFECTIVE.test(path);
}

/** The first line of a synthetic index. `files`: rows name them by position. */
export function createHeader(options: {
  readonly run: Run;
  readonly subset: Subset;
  readonly mode: RowSettings['mode'];
  readonly files: readonly ChunkFile[];
}): Buffer {
  const { run, subset, mode, files } = options;
  return line({
    prl_index: 1,
    synthetic: true,
    layout: run.layout,
    subset,
    mode,
    files: files.map(({ relativePath }) => relativePath),
  });
}

/**
 * Reads both copies of R1 rollouts as one (spec 01 section 5): an episode of the `effective` copy that `all` holds too
 * has no second row, and its line is remembered. Never part of a row.
 */
export class EffectiveFilter {
  readonly #seen = new SeenIds(Number.POSITIVE_INFINITY);
  readonly #lines: number[] = [];

  /** The part with the rows that stay; the first of them gets the number `firstLine`. */
  filter(part: ScanPart, firstLine: number): ScanPart {
    const { result, file } = part;
    const { rows, lineAt, idHashes, steps } = result;
    const isEffective = isEffectiveCopy(file.relativePath);
    const kept = new RowBuffer(rows.length);
    const keptAt: number[] = [];
    const keptIds: number[] = [];
    const keptSteps: number[] = [];
    let start = 0;
    for (let index = 0; index < lineAt.length; index += 1) {
      const end = rows.indexOf(LF, start) + 1;
      const [high, low] = [idHashes[index * 2] as number, idHashes[index * 2 + 1] as number];
      const line = firstLine + keptAt.length;
      // In `all` a repeated id is two rows, as in a stream.
      const known = high === 0 && low === 0 ? 0 : this.#seen.add(high, low, line);
      if (isEffective) this.#lines.push(known === 0 ? line : known);
      if (!isEffective || known === 0) {
        keptAt.push((lineAt[index] as number) - start + kept.length);
        keptIds.push(high, low);
        keptSteps.push(steps[index] as number);
        kept.reserve(end - start);
        kept.writeBytes(rows, start, end - start);
      }
      start = end;
    }
    const batch = {
      rows: kept.view(),
      lineAt: Uint32Array.from(keptAt),
      idHashes: Uint32Array.from(keptIds),
      steps: Float64Array.from(keptSteps),
    };
    const records = keptAt.length;
    return { ...part, result: { ...result, ...batch, counts: { ...result.counts, records } } };
  }

  /** The last line of the index: the numbers of the rows whose episodes were trained on. */
  trailer(): Buffer {
    return line({ prl_index: 1, effective: this.#lines.toSorted((a, b) => a - b) });
  }
}

function line(value: unknown): Buffer {
  return Buffer.from(`${JSON.stringify(value)}\n`);
}
