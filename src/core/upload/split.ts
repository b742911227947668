/** What becomes of a batch that the service refuses: halves, single lines, or nothing to try. */
import { rejectLine } from './batcher.js';
import type { Batch, BatchLine, BatchRange, Island, PackedBatch, RejectedLine } from './types.js';

/** A verdict against a batch. */
export type Refusal = { readonly status: number; readonly code: string; readonly message: string };

/**
 * Whether smaller requests could save a part of a refused batch. Not after a 409: the bytes are stored under the other
 * line format, and halves of them would be new uploads of the same traces. Not after a bad receipt: the batch may be
 * stored as it is.
 */
export function canSplit(batch: Batch, refusal: Refusal): boolean {
  return batch.lines.length > 1 && refusal.status !== 409 && refusal.code !== 'bad_receipt';
}

/** Two halves by bytes, each with at least one line, in order. */
export function halve(batch: Batch): readonly [Batch, Batch] {
  let bytes = 0;
  let cut = 0;
  while (cut < batch.lines.length - 1 && (cut === 0 || bytes < batch.batchBytes / 2)) {
    bytes += (batch.lines[cut] as BatchLine).byteLength; // in range by the condition
    cut += 1;
  }
  return [partOf(batch, 0, cut), partOf(batch, cut, batch.lines.length)];
}

/** Every line of a batch under one refusal. */
export function rejectAll(
  batch: Batch,
  { code, message }: Refusal,
  { lineDigests }: Pick<PackedBatch, 'lineDigests'>,
): RejectedLine[] {
  return batch.lines.map((line, index) => ({
    ...rejectLine(line, code, message),
    digest: lineDigests[index] ?? null,
  }));
}

/** The source range a batch settles, with islands where lines in between are not its own. A batch has at least one line. */
export function rangeOf(
  batch: Batch,
  { digest, lineDigests }: Pick<PackedBatch, 'digest' | 'lineDigests'>,
): BatchRange {
  const first = batch.lines[0] as BatchLine;
  const last = batch.lines[batch.lines.length - 1] as BatchLine;
  const islands = islandsOf(batch.lines);
  return {
    chunk: batch.chunk,
    start: first.offset,
    end: last.offset + last.length,
    physicalLines: last.lineNumber - first.lineNumber + 1,
    format: batch.format,
    lines: batch.lines.length,
    sentBytes: batch.batchBytes,
    digest,
    tail: last.sourceTail,
    lineDigests,
    ...(islands.length > 1 ? { islands } : {}),
  };
}

/** The stretches that lines lie in, cut where one is behind a gap. */
function islandsOf(lines: readonly BatchLine[]): Island[] {
  const islands: Island[] = [];
  let first = lines[0] as BatchLine;
  let last = first;
  const close = (): number =>
    islands.push([first.offset, last.offset + last.length, last.lineNumber - first.lineNumber + 1]);
  for (const line of lines) {
    if (line.isBehindGap === true && line !== first) {
      close();
      first = line;
    }
    last = line;
  }
  close();
  return islands;
}

function partOf(batch: Batch, from: number, to: number): Batch {
  const lines = batch.lines.slice(from, to);
  return { ...batch, lines, batchBytes: lines.reduce((sum, line) => sum + line.byteLength, 0) };
}
