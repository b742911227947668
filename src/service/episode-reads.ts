/** Episode summaries: one with its members' totals, a filtered list, the raw envelope (spec 06 section 1). */
import { formatInstant } from './instant.js';
import { addContexts, addCopies, Conditions, listRows, readPage } from './listing.js';
import { QueryValues } from './query-values.js';
import { Refusal } from './refusal.js';
import type { Store } from './store.js';
import { memberConditions, type RawRange, type SummaryPage } from './trace-reads.js';

const FROM = 'FROM episodes e JOIN uploads u USING (upload_key)';
const COLUMNS = 'e.*, u.digest, u.schema_version, u.ingested_at_us, u.chunk';

/** The bytes around the array of traces, and what stands in its place. */
export type RawEnvelope = { readonly head: RawRange; readonly traces: string; readonly tail: RawRange };

/** Condition on alias `e`: the newest copy of its episode id within its run. */
const NEWEST_IN_RUN = `NOT EXISTS (SELECT 1 FROM episodes n WHERE n.owner = e.owner AND n.episode_id = e.episode_id
  AND n.run_id IS e.run_id AND n.episode_key > e.episode_key)`;

/**
 * GET /episodes: what the filters select, newest first. An episode that was uploaded again to its run is listed once, as
 * its newest copy; with `upload_id`, as those uploads stored it. Step and context filters hold for an episode
 * when one of its member traces matches; an episode without traces never does.
 *
 * @throws Refusal 400 `invalid_filter` or `invalid_cursor`.
 */
export function listEpisodes(store: Store, owner: string, search: URLSearchParams): SummaryPage {
  const query = new QueryValues(search);
  const conditions = new Conditions()
    .add('e.owner = ?', owner)
    .when('e.run_id = ?', query.text('run_id'))
    .when('e.environment_id = ?', query.text('environment_id'))
    .when('e.outcome = ?', query.text('outcome'))
    .when('e.has_error = ?', query.flag('has_error'))
    .when('e.created_at_us >= ?', query.instantUs('created_after'))
    .when('e.created_at_us < ?', query.instantUs('created_before'));
  addCopies(conditions, query, NEWEST_IN_RUN);
  addMemberFilters(conditions, query);
  const page = readPage(query);
  query.finish();
  const select = `SELECT ${COLUMNS}, e.created_at_us AS sort_value, e.episode_key AS sort_key ${FROM}`;
  const order = { sortColumn: 'e.created_at_us', isSortNullable: false, keyColumn: 'e.episode_key' };
  const { rows, nextCursor } = listRows(store, { select, conditions, ...order, page });
  return { items: rows.map(episodeSummary), next_cursor: nextCursor };
}

/**
 * GET /episodes/{id}: the newest copy, with totals over its member traces.
 *
 * @throws Refusal 404 `episode_not_found`.
 */
export function getEpisode(store: Store, owner: string, episodeId: string): object {
  const row = newestEpisode(store, owner, episodeId);
  const members = memberConditions(owner, episodeId);
  const totals = store.get(
    `SELECT count(*) AS trace_count, min(total(total_tokens), ${Number.MAX_SAFE_INTEGER}) AS total_tokens,
       min(total(duration_ms), ${Number.MAX_SAFE_INTEGER}) AS total_duration_ms,
       coalesce(max(has_error), 0) AS any_trace_error,
       json_group_array(DISTINCT agent_name) AS agent_names FROM traces t WHERE ${members.sql}`,
    members.values,
  );
  const names = JSON.parse((totals?.agent_names as string | undefined) ?? '[]') as (string | null)[];
  return {
    ...episodeSummary(row),
    traces: {
      trace_count: totals?.trace_count,
      total_tokens: totals?.total_tokens,
      total_duration_ms: totals?.total_duration_ms,
      any_trace_error: totals?.any_trace_error === 1,
      agent_names: names.filter((name) => name !== null).sort(),
    },
  };
}

/**
 * GET /episodes/{id}?raw=true: the uploaded envelope, its array of traces narrowed to the member trace ids in upload
 * order, every other byte as it came. It does not change when a member is deleted.
 *
 * @throws Refusal 404 `episode_not_found`.
 */
export function getRawEpisode(store: Store, owner: string, episodeId: string): RawEnvelope {
  const row = newestEpisode(store, owner, episodeId);
  const [chunk, offset, bytes, tracesOffset, tracesBytes] = [
    row.chunk,
    row.offset,
    row.bytes,
    row.traces_offset,
    row.traces_bytes,
  ] as [number, number, number, number, number];
  const tracesEnd = tracesOffset + tracesBytes;
  return {
    head: { chunk, offset, bytes: tracesOffset - offset },
    traces: row.trace_ids as string,
    tail: { chunk, offset: tracesEnd, bytes: offset + bytes - tracesEnd },
  };
}

function newestEpisode(store: Store, owner: string, episodeId: string): Record<string, unknown> {
  const sql = `SELECT ${COLUMNS} ${FROM} WHERE e.owner = ? AND e.episode_id = ? ORDER BY e.episode_key DESC LIMIT 1`;
  const row = store.get(sql, [owner, episodeId]);
  if (row === undefined) throw new Refusal(404, 'episode_not_found', `no episode ${episodeId}`);
  return row;
}

function addMemberFilters(conditions: Conditions, query: QueryValues): void {
  const steps = { min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER };
  const members = new Conditions()
    .when('t.run_step = ?', query.integer('run_step', steps))
    .when('t.run_step >= ?', query.integer('step_min', steps))
    .when('t.run_step <= ?', query.integer('step_max', steps));
  addContexts(members, query);
  if (members.sql === '') return;
  conditions.add(
    `EXISTS (SELECT 1 FROM traces t WHERE t.owner = e.owner AND t.episode_id = e.episode_id AND ${members.sql})`,
    ...members.values,
  );
}

/** EpisodeSummary of the wire; every key always present. */
function episodeSummary(row: Record<string, unknown>): object {
  return {
    episode_id: row.episode_id,
    upload_id: row.digest,
    schema_version: row.schema_version,
    created_at: formatInstant(row.created_at_us as number),
    ingested_at: formatInstant(row.ingested_at_us as number),
    run_id: row.run_id,
    environment_id: row.environment_id,
    outcome: row.outcome,
    has_error: row.has_error === 1,
    error: { type: row.error_type, message: row.error_message },
  };
}
