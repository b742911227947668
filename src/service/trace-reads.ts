/** Trace summaries: one, a filtered list, the members of an episode (spec 06 section 1). */
import { formatInstant } from './instant.js';
import { addContexts, addCopies, Conditions, type Listing, listRows, readPage } from './listing.js';
import { QueryValues } from './query-values.js';
import { Refusal, rejected } from './refusal.js';
import type { Store } from './store.js';

/** Where a raw document lies: a byte range of a chunk. */
export type RawRange = { readonly chunk: number; readonly offset: number; readonly bytes: number };

export type SummaryPage = { readonly items: readonly object[]; readonly next_cursor: string | null };

const FROM = 'FROM traces t JOIN uploads u USING (upload_key)';
const COLUMNS = `t.*, u.digest, u.ingested_at_us, u.chunk,
  (SELECT json_group_object(key, value) FROM contexts c WHERE c.upload_key = t.upload_key) AS context`;

const SORT_COLUMNS: Readonly<Record<string, string>> = {
  created_at: 't.created_at_us',
  reward: 't.reward',
  duration_ms: 't.duration_ms',
};

/** Condition on alias `t`: the newest copy of its trace id, the one that arrived last. */
export const NEWEST_COPY = `NOT EXISTS (SELECT 1 FROM traces n
  WHERE n.owner = t.owner AND n.trace_id = t.trace_id AND n.trace_key > t.trace_key)`;

/** Condition on alias `t`: the newest copy of its trace id within its run. */
const NEWEST_IN_RUN = `NOT EXISTS (SELECT 1 FROM traces n WHERE n.owner = t.owner AND n.trace_id = t.trace_id
  AND n.run_id IS t.run_id AND n.trace_key > t.trace_key)`;

/**
 * GET /traces: what the filters select, newest first or by `sort`, always descending, unscored last. A trace that was
 * uploaded again to its run is listed once, as its newest copy; with `upload_id`, as those uploads stored it.
 *
 * @throws Refusal 400 `invalid_filter` or `invalid_cursor`.
 */
export function listTraces(store: Store, owner: string, search: URLSearchParams): SummaryPage {
  const query = new QueryValues(search);
  const conditions = filterTraces(new Conditions().add('t.owner = ?', owner), query);
  addCopies(conditions, query, NEWEST_IN_RUN);
  const sort = query.text('sort') ?? 'created_at';
  const sortColumn = Object.hasOwn(SORT_COLUMNS, sort) ? SORT_COLUMNS[sort] : undefined;
  if (sortColumn === undefined) {
    const allowed = Object.keys(SORT_COLUMNS).join(', ');
    throw rejected('invalid_filter', `query parameter sort: "${sort}" is not one of ${allowed}`);
  }
  const page = readPage(query);
  query.finish();
  return summaryPage(store, { ...traceListing(sortColumn), conditions, page });
}

/**
 * GET /episodes/{id}/traces: the newest copy of each member trace, newest first; filters as for traces, no sort.
 *
 * @throws Refusal 404 `episode_not_found`, 400 `invalid_filter` or `invalid_cursor`.
 */
export function listEpisodeTraces(store: Store, owner: string, episode: string, search: URLSearchParams): SummaryPage {
  const query = new QueryValues(search);
  const conditions = memberConditions(owner, episode);
  filterTraces(conditions, query);
  const page = readPage(query);
  query.finish();
  const found = store.get('SELECT 1 FROM episodes WHERE owner = ? AND episode_id = ? LIMIT 1', [owner, episode]);
  if (found === undefined) throw new Refusal(404, 'episode_not_found', `no episode ${episode}`);
  return summaryPage(store, { ...traceListing('t.created_at_us'), conditions, page });
}

/** Selects the traces that count as members of an episode: of each trace id the newest copy. Table alias `t`. */
export function memberConditions(owner: string, episodeId: string): Conditions {
  return new Conditions().add('t.owner = ?', owner).add('t.episode_id = ?', episodeId).add(NEWEST_COPY);
}

/**
 * GET /traces/{id}: the newest copy.
 *
 * @throws Refusal 404 `trace_not_found`.
 */
export function getTrace(store: Store, owner: string, traceId: string): { summary: object; raw: RawRange } {
  const sql = `SELECT ${COLUMNS} ${FROM} WHERE t.owner = ? AND t.trace_id = ? ORDER BY t.trace_key DESC LIMIT 1`;
  const row = store.get(sql, [owner, traceId]);
  if (row === undefined) throw new Refusal(404, 'trace_not_found', `no trace ${traceId}`);
  const raw = { chunk: row.chunk as number, offset: row.offset as number, bytes: row.bytes as number };
  return { summary: traceSummary(row), raw };
}

function traceListing(sortColumn: string): Omit<Listing, 'conditions' | 'page'> {
  const select = `SELECT ${COLUMNS}, ${sortColumn} AS sort_value, t.trace_key AS sort_key ${FROM}`;
  return { select, sortColumn, isSortNullable: sortColumn === SORT_COLUMNS.reward, keyColumn: 't.trace_key' };
}

function summaryPage(store: Store, listing: Listing): SummaryPage {
  const { rows, nextCursor } = listRows(store, listing);
  return { items: rows.map(traceSummary), next_cursor: nextCursor };
}

/** The filters that both listings share. Bounds on reward are inclusive; times are from, inclusive, to, exclusive. */
function filterTraces(conditions: Conditions, query: QueryValues): Conditions {
  conditions
    .when('t.run_id = ?', query.text('run_id'))
    .when('t.environment_id = ?', query.text('environment_id'))
    .when('t.model_id = ?', query.text('model_id'))
    .when('t.model_provider = ?', query.text('model_provider'))
    .when('t.task_id = ?', query.text('task_id'))
    .when('t.reward >= ?', query.number('reward_min'))
    .when('t.reward <= ?', query.number('reward_max'))
    .when('t.outcome = ?', query.text('outcome'))
    .when('t.has_error = ?', query.flag('has_error'))
    .when('t.is_truncated = ?', query.flag('is_truncated'))
    .when('t.created_at_us >= ?', query.instantUs('created_after'))
    .when('t.created_at_us < ?', query.instantUs('created_before'));
  addContexts(conditions, query);
  return conditions;
}

/** TraceSummary of the wire; every key always present, null where nothing is recorded. */
function traceSummary(row: Record<string, unknown>): object {
  return {
    trace_id: row.trace_id,
    upload_id: row.digest,
    episode_id: row.episode_id,
    created_at: formatInstant(row.created_at_us as number),
    ingested_at: formatInstant(row.ingested_at_us as number),
    run_id: row.run_id,
    environment_id: row.environment_id,
    model: { provider: row.model_provider, id: row.model_id },
    task_id: row.task_id,
    agent_name: row.agent_name,
    score: { reward: row.reward, outcome: row.outcome },
    execution: { has_error: row.has_error === 1, is_truncated: row.is_truncated === 1 },
    duration_ms: row.duration_ms,
    total_tokens: row.total_tokens,
    size_bytes: row.bytes,
    context: JSON.parse(row.context as string),
  };
}
