/** Reads the first record of a file to tell what it holds, and refuses what is no stream (spec 01, unit sniffing). */
import { PrlError } from '../core/errors.js';
import { isBlank, pick } from '../core/scan/pick.js';
import { UNIT_SELECTOR, unitOf } from '../core/scan/sniff.js';
import type { RecordUnit } from '../core/scan/types.js';
import { readLines } from './chunk-reader.js';
import type { ChunkFile } from './run-types.js';

/** Damaged lines that are passed over in search of the first record. */
const MAX_LINES_TRIED = 100;

/** Unit of the first line that is whole JSON; null when the file has none near its start, or cannot be read. */
export async function sniffFile(file: ChunkFile): Promise<RecordUnit | null> {
  let tried = 0;
  for await (const event of readLines(file)) {
    if (event.type === 'lost' || event.line.bytes === null) continue;
    const { bytes } = event.line;
    const result = pick(bytes, UNIT_SELECTOR);
    if (result.ok && isBlank(bytes, result.end, bytes.length)) return unitOf(result.root);
    tried += 1;
    if (tried === MAX_LINES_TRIED) return null;
  }
  return null;
}

const REFUSALS: Partial<Readonly<Record<RecordUnit, { readonly what: string; readonly hint: string }>>> = {
  v0: {
    what: 'v0 rollouts of an early verifiers, which carry no episodes',
    hint: 'Run the evaluation again with verifiers 0.4 or later, which writes traces.jsonl.',
  },
  index: {
    what: 'the index of a stream, not the stream',
    hint: 'Give the run directory, or the stream beside the index.',
  },
  annotation: { what: 'annotation updates, not episodes', hint: 'Give the run directory.' },
  delta: { what: 'deltas of an episode in flight, not episodes', hint: 'Give the run directory.' },
  unknown: {
    what: 'JSON that is neither an episode nor a trace',
    hint: 'An episode is an object with an array "traces", a bare trace one with "nodes".',
  },
};

/**
 * Refuses a file by the unit of its first record.
 * @throws PrlError `PRL_ERR_USAGE` naming what the file holds
 */
export function refuseUnit(path: string, unit: RecordUnit | null, lenient: boolean): void {
  const refusal = unit === null || (unit === 'v0' && lenient) ? undefined : REFUSALS[unit];
  if (refusal === undefined) return;
  throw new PrlError('PRL_ERR_USAGE', `${path} holds ${refusal.what}`, { hint: refusal.hint });
}
