/** Reading rows of an index back: where they point, and their fields as text. Numbers are never parsed to compare. */
import { CompiledSelector, isBlank, type Picked, parsePicked, pick } from '../scan/pick.js';

/** The keys of a row in written order (spec 04 section 2), then those of an annotation row (section 7). */
export const ROW_KEYS = [
  ...['cost', 'line', 'offset', 'id', 'kind', 'trace_ids', 'env', 'group', 'ok', 'num_errors', 'reward', 'advantage'],
  ...['input_tokens', 'output_tokens', 'turns', 'branches', 'stop_condition', 'truncated', 'dispatch', 'arrival'],
  ...['duration', 'chunk', 'trace_id', 'info'],
] as const;

export type RowKey = (typeof ROW_KEYS)[number];

/** Where a record begins. `chunk` is 0 where rows carry none (R2). */
export type RowAddress = { readonly chunk: number; readonly offset: number };

/** One row as it stands in an index file. */
export type IndexedRow = RowAddress & {
  /** The text of each field, by key; a key that is not there is left out. */
  readonly fields: ReadonlyMap<RowKey, string>;
};

const SELECTOR = new CompiledSelector(Object.fromEntries(ROW_KEYS.map((key) => [key, true as const])));

/** Below 0 when `a` comes first in the stream, 0 when both are one. */
export function compareAddresses(a: RowAddress, b: RowAddress): number {
  return a.chunk - b.chunk || a.offset - b.offset;
}

/** How every row of an episode begins; cannot stand inside a JSON string. */
const ROW_START = Buffer.from('{"cost":');

/** The row that a line of an index holds, LF included or not; null when it is none. */
export function readRow(bytes: Buffer): IndexedRow | null {
  const result = pick(bytes, SELECTOR);
  if (!result.ok || result.root.members === null || !isBlank(bytes, result.end, bytes.length)) return null;
  const { members } = result.root;
  const offset = numberAt(bytes, members.get('offset'));
  const chunk = members.has('chunk') ? numberAt(bytes, members.get('chunk')) : 0;
  if (offset === null || chunk === null) return null;
  const fields = new Map<RowKey, string>();
  for (const key of ROW_KEYS) {
    const picked = members.get(key);
    if (picked !== undefined) fields.set(key, bytes.toString('utf8', picked.start, picked.end));
  }
  return { chunk, offset, fields };
}

/** The rest of a line in which one row was written behind a torn one; null when it holds no second beginning. */
export function gluedRest(bytes: Buffer): Buffer | null {
  const at = bytes.lastIndexOf(ROW_START);
  return at > 0 ? bytes.subarray(at) : null;
}

/** Whether a line is the header of a synthetic index, known by its key (spec 04 section 8), or what stands at its end. */
export function isRemark(bytes: Buffer): boolean {
  const result = pick(bytes, { prl_index: true });
  return result.ok && result.root.members?.has('prl_index') === true;
}

function numberAt(bytes: Buffer, picked: Picked | undefined): number | null {
  if (picked?.kind !== 'number') return null;
  const value = Number(parsePicked(bytes, picked));
  return Number.isSafeInteger(value) && value >= 0 ? value : null;
}
