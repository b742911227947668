/** Lines, batches and records for tests, made from plain text. */
import type { LineFormat, StreamRecord } from '../../src/core/scan/types.js';
import type { Candidate } from '../../src/core/upload/batcher.js';
import type { Batch, BatchLine } from '../../src/core/upload/types.js';

/** Records of a chunk from the text of the chunk; every non-empty line becomes one. */
export function recordsOf(text: string | Buffer, chunk = 0, unit: 'episode' | 'trace' = 'episode'): StreamRecord[] {
  const bytes = Buffer.from(text);
  const records: StreamRecord[] = [];
  let lineNumber = 0;
  for (let offset = 0; offset < bytes.length; ) {
    const newline = bytes.indexOf(0x0a, offset);
    const end = newline < 0 ? bytes.length : newline + 1;
    lineNumber += 1;
    const line = bytes.subarray(offset, end);
    if (line.toString().trim() !== '') {
      records.push({ chunk, offset, length: line.length, lineNumber, unit, bytes: line });
    }
    offset = end;
  }
  return records;
}

/** Candidates from raw text, without ids: for rules that look at bytes alone. */
export function candidatesOf(text: string | Buffer, chunk = 0, format: LineFormat = 'trace'): Candidate[] {
  return recordsOf(text, chunk).map(({ offset, length, lineNumber, bytes }) => ({
    format,
    line: {
      chunk,
      offset,
      length,
      lineNumber,
      id: null,
      parts: [bytes],
      byteLength: bytes.length,
      sourceTail: bytes.subarray(-64),
    },
    episodeId: null,
    traceIds: [],
    rows: 1,
  }));
}

/** One batch of the given lines; each text gets its LF. */
export function batchOf(
  lines: readonly string[],
  { chunk = 0, format = 'episode' as LineFormat, offset = 0 } = {},
): Batch {
  let position = offset;
  const batchLines: BatchLine[] = lines.map((text, index) => {
    const bytes = Buffer.from(`${text}\n`);
    const start = position;
    position += bytes.length;
    return {
      chunk,
      offset: start,
      length: bytes.length,
      lineNumber: index + 1,
      id: `id-${index}`,
      parts: [bytes],
      byteLength: bytes.length,
      sourceTail: bytes.subarray(-64),
    };
  });
  return { format, chunk, lines: batchLines, batchBytes: position - offset };
}

export function textOf(batch: Batch): string {
  return Buffer.concat(batch.lines.flatMap((line) => line.parts)).toString();
}
