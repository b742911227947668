/** Scans a run on this thread in segments of any size, and puts the parts together as `prl index` does. */
import { closeSync } from 'node:fs';
import { RowNumberer } from '../../src/core/index/number-rows.js';
import type { ScanCounts } from '../../src/core/index/segment-scan.js';
import { cutSegments } from '../../src/core/index/segments.js';
import type { Damage, RecordUnit } from '../../src/core/scan/types.js';
import type { ChunkFile, Run } from '../../src/io/run-types.js';
import { openForScan } from '../../src/io/scan-chunk.js';
import { scanStream } from '../../src/io/scan-stream.js';
import type { RowSettings, SegmentResult } from '../../src/io/scan-types.js';
import { SegmentRunner } from '../../src/io/segment-runner.js';

export type Scanned = {
  readonly rows: string;
  /** Of each row; NaN for none. */
  readonly steps: readonly number[];
  readonly damage: readonly Damage[];
  readonly counts: ScanCounts;
  readonly openLines: readonly number[];
};

export const USUAL_SETTINGS: RowSettings = {
  tokens: 'auto',
  mode: 'compat',
  isStrict: false,
  isBothCounts: false,
  hasDigests: false,
};

/** `segmentBytes`: Infinity takes each chunk whole. */
export async function scanInSegments(
  files: Run['files'],
  segmentBytes: number,
  settings: RowSettings = USUAL_SETTINGS,
): Promise<Scanned> {
  const numberer = new RowNumberer();
  const rows: string[] = [];
  const steps: number[] = [];
  const damage: Damage[] = [];
  const openLines: number[] = [];
  const counts = { records: 0, recordBytes: 0, damagedBytes: 0, blankBytes: 0 };
  for (const file of files) {
    for (const result of await resultsOf(file, segmentBytes, settings)) {
      rows.push(Buffer.from(numberer.number(result.rows, result.lineAt)).toString());
      steps.push(...result.steps);
      damage.push(...result.damage);
      if (result.openLineOffset !== null) openLines.push(result.openLineOffset);
      for (const key of Object.keys(counts) as (keyof ScanCounts)[]) counts[key] += result.counts[key];
    }
  }
  return { rows: rows.join(''), steps, damage, counts, openLines };
}

async function resultsOf(file: ChunkFile, segmentBytes: number, settings: RowSettings): Promise<SegmentResult[]> {
  const runner = new SegmentRunner();
  const opened = openForScan(file, true);
  if (opened.kind !== 'open') return slowResults(file, settings, runner);
  const { chunk, borders } = opened;
  const results: SegmentResult[] = [];
  // Across segments the unit is settled beforehand, as io/scan-stream does.
  let unit: RecordUnit | null = null;
  const whole = runner.open({ chunk, segment: { start: 0, end: chunk.bytes }, unit: null, settings });
  while (unit === null && whole.step(1)) unit = whole.unit;
  runner.take(whole);
  for (const segment of cutSegments(chunk.bytes, segmentBytes, borders)) {
    const scan = runner.open({ chunk, segment, unit, settings });
    while (scan.step(segmentBytes));
    results.push(runner.take(scan));
  }
  closeSync(chunk.descriptor);
  return results;
}

async function slowResults(file: ChunkFile, settings: RowSettings, runner: SegmentRunner): Promise<SegmentResult[]> {
  const results: SegmentResult[] = [];
  const { signal } = new AbortController();
  const options = { settings, holds: 'episodes', hasChunks: true, runner, pool: null, signal } as const;
  for await (const { result } of scanStream([file], { ...options, onProgress: () => {} })) results.push(result);
  return results;
}
