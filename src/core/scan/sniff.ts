/** Which kind of record a JSON text is, by the keys of its outer object; spec 01 section 2, unit sniffing. */
import { CompiledSelector, type Picked } from './pick.js';
import type { RecordUnit } from './types.js';

/** The keys that tell the units apart. */
export const UNIT_SELECTOR = new CompiledSelector({
  traces: true,
  nodes: true,
  trajectory: true,
  prompt: true,
  completion: true,
  trace_id: true,
  trace_ids: true,
  branches: true,
  version: true,
  trace: true,
  open: true,
  set: true,
  calls: true,
  pending: true,
  discard: true,
  links: true,
  line: true,
  chunk: true,
  offset: true,
});

const DELTA_KEYS = ['open', 'set', 'nodes', 'calls', 'pending', 'discard', 'links'] as const;

/**
 * The unit of a value picked with `UNIT_SELECTOR`; first match of the table wins. A delta is looked for before a bare
 * trace: a delta that carries `nodes` would match both, and no trace has a key `trace`.
 */
export function unitOf(root: Picked): RecordUnit {
  const keys = root.members;
  if (keys === null) return 'unknown';
  if (keys.get('traces')?.kind === 'array') return 'episode';
  if (keys.has('trace') && DELTA_KEYS.some((key) => keys.has(key))) return 'delta';
  if (keys.has('nodes')) return 'trace';
  if (keys.has('trajectory') || (keys.has('prompt') && keys.has('completion'))) return 'v0';
  if (keys.has('trace_id') && keys.has('branches') && keys.has('version')) return 'annotation';
  return isIndexRow(keys) ? 'index' : 'unknown';
}

/** A row of an index: of R3, of R2 (no `chunk`; spec 03 section 9), or of an annotation stream (spec 04 section 7). */
function isIndexRow(keys: ReadonlyMap<string, Picked>): boolean {
  if (!keys.has('offset')) return false;
  return keys.has('line') ? keys.has('chunk') || keys.has('trace_ids') : keys.has('chunk') && keys.has('trace_id');
}
