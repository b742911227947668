/** Which kind of record a JSON text is, by the keys of its outer object; spec 01 section 2, unit sniffing. */
import type { Picked } from './pick.js';
import { UNIT_KEYS } from './record-tape.js';
import type { RecordUnit } from './types.js';

const bitOf = (key: (typeof UNIT_KEYS)[number]): number => 1 << UNIT_KEYS.indexOf(key);

const NODES = bitOf('nodes');
const TRAJECTORY = bitOf('trajectory');
const PROMPT_AND_COMPLETION = bitOf('prompt') | bitOf('completion');
const ANNOTATION = bitOf('trace_id') | bitOf('branches') | bitOf('version');
const TRACE = bitOf('trace');
const DELTA =
  bitOf('open') | bitOf('set') | NODES | bitOf('calls') | bitOf('pending') | bitOf('discard') | bitOf('links');
const LINE = bitOf('line');
const CHUNK = bitOf('chunk');
const OFFSET = bitOf('offset');
const TRACE_ID = bitOf('trace_id');
const TRACE_IDS = bitOf('trace_ids');
const HEADER = bitOf('prl_index');

/** The unit of a value picked with `UNIT_SELECTOR`, or with `RECORD_SELECTOR`. */
export function unitOf(root: Picked): RecordUnit {
  const members = root.members;
  if (members === null) return 'unknown';
  let keys = 0;
  for (let index = 0; index < UNIT_KEYS.length; index += 1) {
    if (members.has(UNIT_KEYS[index] as string)) keys |= 1 << index;
  }
  return unitOfKeys(keys, members.get('traces')?.kind === 'array');
}

/**
 * The unit of an object by its keys; first match of the table wins. A delta is looked for before a bare trace: a delta
 * that carries `nodes` would match both, and no trace has a key `trace`.
 * @param keys bit i for key i of UNIT_KEYS
 * @param hasTraceList whether `traces` is an array
 */
export function unitOfKeys(keys: number, hasTraceList: boolean): RecordUnit {
  if (hasTraceList) return 'episode';
  if ((keys & TRACE) !== 0 && (keys & DELTA) !== 0) return 'delta';
  if ((keys & NODES) !== 0) return 'trace';
  if ((keys & TRAJECTORY) !== 0 || (keys & PROMPT_AND_COMPLETION) === PROMPT_AND_COMPLETION) return 'v0';
  if ((keys & ANNOTATION) === ANNOTATION) return 'annotation';
  return isIndexKeys(keys) ? 'index' : 'unknown';
}

/**
 * The header of a synthetic index (spec 04 section 8), or a row: of R3, of R2 (no `chunk`; spec 03 section 9), or of an
 * annotation stream (spec 04 section 7).
 */
function isIndexKeys(keys: number): boolean {
  if ((keys & HEADER) !== 0) return true;
  if ((keys & OFFSET) === 0) return false;
  if ((keys & LINE) !== 0) return (keys & (CHUNK | TRACE_IDS)) !== 0;
  return (keys & CHUNK) !== 0 && (keys & TRACE_ID) !== 0;
}
