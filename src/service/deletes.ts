/**
 * Deletes of spec 06 section 7. They remove rows, so that no route finds the documents any more; the bytes stay in their
 * chunk until the data directory is compacted, which is not offered yet. A repeated delete is a 404.
 */
import { QueryValues } from './query-values.js';
import { Refusal, rejected } from './refusal.js';
import type { Store } from './store.js';

const MARK_UPLOADS = 'UPDATE uploads SET is_whole = 0 WHERE upload_key IN (SELECT upload_key FROM traces WHERE ';

/**
 * DELETE /traces/{id}: every stored copy of one trace. `created_at` may name the one time they were created at; copies of
 * another time do not count as found.
 *
 * @throws Refusal 404 `trace_not_found`, 400 `invalid_filter`.
 */
export function deleteTrace(store: Store, owner: string, traceId: string, search: URLSearchParams): void {
  const query = new QueryValues(search);
  const createdAtUs = query.instantUs('created_at');
  query.finish();
  store.transaction(() => {
    const hint = createdAtUs === null ? '' : ' AND created_at_us = ?';
    const values = [owner, traceId, ...(createdAtUs === null ? [] : [createdAtUs])];
    const found = store.get(`SELECT 1 FROM traces WHERE owner = ? AND trace_id = ?${hint} LIMIT 1`, values);
    if (found === undefined) throw new Refusal(404, 'trace_not_found', `no trace ${traceId}`);
    // The hint only speeds the search up: what is deleted is the trace, in all its copies.
    deleteWhere(store, 'owner = ? AND trace_id = ?', [owner, traceId]);
  });
}

/**
 * DELETE /traces?run_id=: every trace of a run; episodes stay.
 *
 * @throws Refusal 404 `run_not_found`, 400 `invalid_filter` without a run id.
 */
export function deleteRun(store: Store, owner: string, search: URLSearchParams): void {
  const query = new QueryValues(search);
  const runId = query.text('run_id');
  query.finish();
  if (!runId) throw rejected('invalid_filter', 'query parameter run_id: a delete of traces must name one run');
  store.transaction(() => {
    const deleted = deleteWhere(store, 'owner = ? AND run_id = ?', [owner, runId]);
    if (deleted === 0) throw new Refusal(404, 'run_not_found', `no traces of run ${runId}`);
  });
}

function deleteWhere(store: Store, condition: string, values: readonly string[]): number {
  store.run(`${MARK_UPLOADS}${condition})`, values);
  return store.run(`DELETE FROM traces WHERE ${condition}`, values);
}
