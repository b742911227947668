/** Reads the first record of a file to tell what it holds, and refuses what is no stream (spec 01, unit sniffing). */
import { PrlError } from '../core/errors.js';
import { isBlank, pick } from '../core/scan/pick.js';
import { UNIT_SELECTOR } from '../core/scan/record-selector.js';
import { unitOf } from '../core/scan/sniff.js';
import type { RecordUnit } from '../core/scan/types.js';
import { readLines } from './chunk-reader.js';
import { unitAt } from './line-unit.js';
import type { ChunkFile } from './run-types.js';

/** Damaged lines that are passed over in search of the first record. */
const MAX_LINES_TRIED = 100;

const OPEN_BRACE = 0x7b;

/** Lines up to this length are held to be looked at; a longer one is walked. */
const MAX_HELD_BYTES = 1_048_576;

/** What a file begins with. `text`: lines were tried, and not one of them even begins like a JSON object. */
export type Sniffed = RecordUnit | 'text';

/** Unit of the first line that is whole JSON; null when the file has none near its start, or cannot be read. */
export async function sniffFile(file: ChunkFile): Promise<Sniffed | null> {
  let tried = 0;
  let isText = true;
  for await (const event of readLines(file, { maxLineBytes: MAX_HELD_BYTES })) {
    if (event.type !== 'line') continue;
    const { bytes, offset } = event.line;
    if (bytes === null) return unitAt(file, offset);
    if (isBlank(bytes, 0, bytes.length)) continue;
    const result = pick(bytes, UNIT_SELECTOR);
    if (result.ok && isBlank(bytes, result.end, bytes.length)) return unitOf(result.root);
    // A damaged record, a byte order mark or NUL bytes are no reason to take a file for something else.
    if (bytes[0] === OPEN_BRACE || bytes[0] === 0 || (bytes[0] as number) >= 0x80) isText = false;
    tried += 1;
    if (tried === MAX_LINES_TRIED) break;
  }
  return tried > 0 && isText ? 'text' : null;
}

/**
 * Whether a file named `.json` is a document: an array, or an object that does not end on its first line. A file of
 * that name whose first line is a whole record is read as JSONL, which costs less and locates damage better.
 */
export async function isDocument(file: ChunkFile): Promise<boolean> {
  if (!file.path.endsWith('.json') || file.form !== 'plain') return false;
  for await (const event of readLines(file, { maxLineBytes: MAX_HELD_BYTES })) {
    if (event.type !== 'line') continue;
    const { bytes, offset } = event.line;
    if (bytes === null) return unitAt(file, offset) === null;
    if (isBlank(bytes, 0, bytes.length)) continue;
    const result = pick(bytes, UNIT_SELECTOR);
    return !(result.ok && result.root.kind === 'object' && isBlank(bytes, result.end, bytes.length));
  }
  return false;
}

const REFUSALS: Partial<Readonly<Record<Sniffed, { readonly what: string; readonly hint: string }>>> = {
  v0: {
    what: 'v0 rollouts of an early verifiers, which carry no episodes',
    hint: 'run the evaluation again with a newer verifiers, one that writes traces.jsonl',
  },
  index: {
    what: 'the index of a stream, not the stream',
    hint: 'give the run directory, or the stream beside the index',
  },
  annotation: { what: 'annotation updates, not episodes', hint: 'give the run directory' },
  delta: { what: 'deltas of an episode in flight, not episodes', hint: 'give the run directory' },
  text: {
    what: 'no JSON lines',
    hint: 'give a run directory, or a file of episodes: .jsonl, .jsonl.zst or .json',
  },
  unknown: {
    what: 'JSON that is neither an episode nor a trace',
    hint: 'an episode is an object with an array "traces", a bare trace one with "nodes"',
  },
};

/**
 * Refuses a file by the unit of its first record.
 * @throws PrlError `PRL_ERR_USAGE` naming what the file holds
 */
export function refuseUnit(path: string, unit: Sniffed | null, lenient: boolean): void {
  const refusal = unit === null || (unit === 'v0' && lenient) ? undefined : REFUSALS[unit];
  if (refusal === undefined) return;
  throw new PrlError('PRL_ERR_USAGE', `${path} holds ${refusal.what}`, { hint: refusal.hint });
}
