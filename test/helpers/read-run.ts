/** Reads runs to the end for tests: what came out, and proof that every byte was accounted for. */
import { expect } from 'vitest';
import type { Damage, StreamRecord } from '../../src/core/scan/types.js';
import { openRun } from '../../src/io/run.js';
import { type FileSummary, type ReadRecordsOptions, readRecords } from '../../src/io/run-records.js';
import type { ChunkFile, Run } from '../../src/io/run-types.js';

export type ReadRun = {
  readonly run: Run;
  readonly records: StreamRecord[];
  readonly damage: Damage[];
  readonly summaries: { readonly file: ChunkFile; readonly summary: FileSummary }[];
};

/** Opens and reads a run. */
export async function readRun(path: string, options: ReadRecordsOptions = {}): Promise<ReadRun> {
  return readOpened(await openRun(path, { lenient: options.lenient ?? false }), options);
}

/** Reads a run that is open; checks the sums of each file against its size (I4). */
export async function readOpened(run: Run, options: ReadRecordsOptions = {}): Promise<ReadRun> {
  const records: StreamRecord[] = [];
  const damage: Damage[] = [];
  const summaries: { file: ChunkFile; summary: FileSummary }[] = [];
  for await (const event of readRecords(run, options)) {
    if (event.type === 'record') records.push(event.record);
    if (event.type === 'damage') damage.push(event.damage);
    if (event.type === 'file' && event.summary !== null) summaries.push({ file: event.file, summary: event.summary });
  }
  for (const { file, summary } of summaries) {
    const { recordBytes, damagedBytes, blankBytes, skippedBytes, endOffset } = summary;
    expect(recordBytes + damagedBytes + blankBytes + skippedBytes).toBe(endOffset);
    if (file.uncompressedBytes !== null) expect(endOffset).toBe(file.uncompressedBytes);
  }
  return { run, records, damage, summaries };
}

/** The text of all records, as it was written. */
export function textOf(records: readonly StreamRecord[]): string {
  return Buffer.concat(records.map((record) => record.bytes)).toString();
}

/** A small episode line, LF included. */
export function episodeLine(id: string, text = ''): string {
  return `{"id":"${id}","env":{"id":"e"},"task":{"type":"T","data":{"prompt":${JSON.stringify(text)}}},"ok":true,"errors":[],"traces":[]}\n`;
}
