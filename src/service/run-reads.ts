/**
 * Totals over the traces of a run, computed when read: no run is stored anywhere, so a run without traces does not exist.
 * Of every trace id only the newest copy counts. Routes of the newer SDK; spec 06 does not list them.
 */
import { readCursor, writeCursor } from './cursor.js';
import { formatInstant } from './instant.js';
import { Conditions, readPage } from './listing.js';
import { QueryValues } from './query-values.js';
import { Refusal, rejected } from './refusal.js';
import type { Store } from './store.js';
import { NEWEST_COPY, type SummaryPage } from './trace-reads.js';

const RUN_TYPES = new Set(['eval', 'train', 'unknown']);

/** `newest` is the key of the run's newest trace: it orders runs by arrival, and leads to the context. */
const TOTALS = `SELECT t.run_id, max(t.trace_key) AS newest, min(t.created_at_us) AS first_created_at_us,
  max(t.created_at_us) AS last_created_at_us, max(u.ingested_at_us) AS last_ingested_at_us, count(*) AS trace_count,
  count(DISTINCT t.episode_id) AS episode_count, avg(t.reward) AS avg_reward, min(t.run_step) AS step_min,
  max(t.run_step) AS step_max, count(DISTINCT t.run_step) AS step_count, max(t.has_error) AS has_error,
  json_group_array(DISTINCT t.environment_id) AS environment_ids, json_group_array(DISTINCT t.model_id) AS model_ids
  FROM traces t JOIN uploads u USING (upload_key)`;

const TYPE_OF_NEWEST = `(SELECT coalesce(n.run_type, 'unknown') FROM traces n WHERE n.trace_key = newest)`;

/**
 * GET /runs: most recently ingested first. Times choose which traces are totalled, not which runs. There are no users
 * here, so `created_by` selects nothing.
 *
 * @throws Refusal 400 `invalid_filter` or `invalid_cursor`.
 */
export function listRuns(store: Store, owner: string, search: URLSearchParams): SummaryPage {
  const query = new QueryValues(search);
  const types = query.texts('run_type');
  const unknown = types.find((type) => !RUN_TYPES.has(type));
  if (unknown !== undefined) {
    throw rejected(
      'invalid_filter',
      `query parameter run_type: "${unknown}" is not one of ${[...RUN_TYPES].join(', ')}`,
    );
  }
  const traces = runTraces(owner)
    .when('t.created_at_us >= ?', query.instantUs('created_after'))
    .when('t.created_at_us < ?', query.instantUs('created_before'));
  if (query.texts('created_by').length > 0) traces.add('0');
  const page = readPage(query);
  query.finish();
  const having = new Conditions().add('count(*) > 0');
  if (types.length > 0) having.add(`${TYPE_OF_NEWEST} IN (SELECT value FROM json_each(?))`, JSON.stringify(types));
  const filters = `runs\n${traces.fingerprint}\n${having.fingerprint}`;
  if (page.cursor !== null) having.add('newest < ?', readCursor(page.cursor, filters).key);
  const sql = `${TOTALS} WHERE ${traces.sql} GROUP BY t.run_id HAVING ${having.sql} ORDER BY newest DESC LIMIT ?`;
  const rows = store.all(sql, [...traces.values, ...having.values, page.limit + 1]);
  const shown = rows.slice(0, page.limit);
  const last = rows.length > page.limit ? (shown.at(-1)?.newest as number) : null;
  return {
    items: shown.map((row) => runSummary(store, row)),
    next_cursor: last === null ? null : writeCursor({ value: null, key: last }, filters),
  };
}

/**
 * GET /runs/{id}.
 *
 * @throws Refusal 404 `run_not_found` when no trace names the run.
 */
export function getRun(store: Store, owner: string, runId: string): object {
  const traces = runTraces(owner).add('t.run_id = ?', runId);
  const row = store.get(`${TOTALS} WHERE ${traces.sql} GROUP BY t.run_id`, traces.values);
  if (row === undefined) throw new Refusal(404, 'run_not_found', `no traces of run ${runId}`);
  return runSummary(store, row);
}

/** GET /runs/{id}/steps: every recorded step, oldest first; none for a run without steps or without traces. */
export function listRunSteps(store: Store, owner: string, runId: string): object {
  const traces = runTraces(owner).add('t.run_id = ?', runId).add('t.run_step IS NOT NULL');
  const items = store.all(
    `SELECT t.run_step AS step, count(*) AS trace_count, count(DISTINCT t.episode_id) AS episode_count,
       avg(t.reward) AS avg_reward FROM traces t WHERE ${traces.sql} GROUP BY t.run_step ORDER BY t.run_step`,
    traces.values,
  );
  return { step_min: items[0]?.step ?? null, step_max: items.at(-1)?.step ?? null, step_count: items.length, items };
}

function runTraces(owner: string): Conditions {
  return new Conditions().add('t.owner = ?', owner).add('t.run_id IS NOT NULL').add(NEWEST_COPY);
}

/** RunSummary of the SDK; `context` is that of the newest trace's upload, not a union. */
function runSummary(store: Store, row: Record<string, unknown>): object {
  const context = store.get(
    `SELECT json_group_object(c.key, c.value) AS context FROM contexts c
       JOIN traces t USING (upload_key) WHERE t.trace_key = ?`,
    [row.newest as number],
  );
  return {
    run_id: row.run_id,
    first_trace_created_at: formatInstant(row.first_created_at_us as number),
    last_trace_created_at: formatInstant(row.last_created_at_us as number),
    last_trace_ingested_at: formatInstant(row.last_ingested_at_us as number),
    trace_count: row.trace_count,
    episode_count: row.episode_count,
    avg_reward: row.avg_reward,
    step_min: row.step_min,
    step_max: row.step_max,
    step_count: row.step_count,
    has_error: row.has_error === 1,
    first_user_id: null,
    environment_ids: names(row.environment_ids),
    model_ids: names(row.model_ids),
    context: JSON.parse((context?.context as string | undefined) ?? '{}'),
  };
}

function names(json: unknown): string[] {
  return (JSON.parse(json as string) as (string | null)[]).filter((name) => name !== null).sort();
}
