/** Summaries, filters, sorting and cursors of the read routes (spec 06 section 1, and what newer SDKs send). */
import { describe, expect, test } from 'vitest';
import type { Service } from '../../src/service/server.js';
import { call, episode, getJson, jsonl, service, stored, trace, upload } from './service-fixture.js';

type Item = { trace_id: string; episode_id: string };
type ItemPage = { items: Item[]; next_cursor: string | null };

const START = 1_750_000_000;

function at(seconds: number, over: object = {}): Record<string, unknown> {
  return { timing: { start: START + seconds, agent: { start: START + seconds, end: START + seconds + 1 } }, ...over };
}

async function ids(of: Service, query: string, route = '/traces'): Promise<string[]> {
  const page = (await getJson(of, `${route}?limit=100${query === '' ? '' : `&${query}`}`)) as unknown as ItemPage;
  return page.items.map((item) => item.trace_id ?? item.episode_id);
}

async function problem(of: Service, target: string): Promise<unknown> {
  const answer = await call(of, { target });
  return [answer.status, (answer.json().error as { code: string }).code];
}

/** Walks all pages; `between` runs after each one. */
async function walk(of: Service, target: string, between: (page: number) => Promise<void> = async () => {}) {
  const pages: string[][] = [];
  let cursor: string | null = null;
  do {
    const query: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const page = (await getJson(of, target + query)) as unknown as ItemPage;
    pages.push(page.items.map((item) => item.trace_id ?? item.episode_id));
    cursor = page.next_cursor;
    await between(pages.length);
  } while (cursor !== null && pages.length < 100);
  return pages;
}

/** Five traces that differ in everything a filter can ask for. */
async function mixed(): Promise<{ of: Service; uploads: string[] }> {
  const of = await service();
  const run = (id: string, step: number) => ({ type: 'train', id, work: { type: 'train', step } });
  const first = await stored(
    of,
    jsonl(
      episode('e1', [
        trace('a', at(1, { run: run('r1', 3), rewards: { x: { score: 2, weight: 0.5 } } })),
        trace(
          'b',
          at(2, { run: run('r1', 4), rewards: {}, ok: false, agent: { config: { model: 'm2' }, name: 'judge' } }),
        ),
      ]),
      episode('e2', [trace('c', at(3, { rewards: { x: { score: -1, weight: 1 } }, info: { outcome: 'lost' } }))], {
        env: { id: 'env-2' },
        run: { type: 'eval', id: 'r2' },
        outcome: 'drawn',
      }),
      episode('e3', [], {
        ok: false,
        errors: [
          { type: 'A', message: 'first' },
          { type: 'B', message: 'last' },
        ],
      }),
    ),
    { metadata: { schema_version: 1, context: { source: 'first', 'a.b': 'x&y=z' } } },
  );
  const second = await stored(
    of,
    jsonl(
      trace(
        'd',
        at(4, {
          stop_condition: 'max_turns',
          run: { type: 'eval', id: 'r2' },
          agent: { config: { model: 'm2', provider: 'p' } },
        }),
      ),
      trace('e', at(5, { task: { key: 'same task' }, rewards: { x: null } })),
    ),
    { format: 'trace', metadata: { schema_version: 1, context: { source: 'second' } } },
  );
  return { of, uploads: [first, second] };
}

describe('summaries', () => {
  test('a trace with everything', async () => {
    const of = await service();
    const record = trace('t1', {
      run: { type: 'train', id: 'r1', name: 'n', work: { type: 'train', step: 7 } },
      rewards: { a: { score: 1, weight: 0.5 }, b: { score: 3 }, c: null, d: { score: null, weight: 9 } },
      info: { outcome: 'won' },
      timing: { start: START + 0.123456, agent: { start: START + 1, end: START + 2.5 }, scoring: { start: 0, end: 0 } },
    });
    const uploadId = await stored(of, jsonl(episode('e1', [record])), {
      metadata: { schema_version: 1, context: { k: 'v' } },
    });
    const summary = await getJson(of, '/traces/t1');
    expect(Date.now() - Date.parse(summary.ingested_at as string)).toBeLessThan(60_000);
    expect(summary).toEqual({
      trace_id: 't1',
      upload_id: uploadId,
      episode_id: 'e1',
      created_at: '2025-06-15T15:06:40.123456Z',
      ingested_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
      run_id: 'r1',
      environment_id: 'env-1',
      model: { provider: null, id: 'maker/model-1' },
      task_id: 'task-t1',
      agent_name: 'solver',
      score: { reward: 3.5, outcome: 'won' },
      execution: { has_error: false, is_truncated: false },
      duration_ms: 2377,
      total_tokens: 15,
      size_bytes: Buffer.byteLength(JSON.stringify(record)),
      context: { k: 'v' },
    });
  });

  test('a trace with nothing: every key is there, null where nothing is recorded', async () => {
    const of = await service();
    await stored(of, '{"id":"t1"}\n', { format: 'trace' });
    const summary = await getJson(of, '/traces/t1');
    expect(summary).toEqual({
      trace_id: 't1',
      upload_id: expect.any(String),
      episode_id: null,
      created_at: summary.ingested_at,
      ingested_at: expect.any(String),
      run_id: null,
      environment_id: null,
      model: { provider: null, id: null },
      task_id: null,
      agent_name: null,
      score: { reward: null, outcome: null },
      execution: { has_error: false, is_truncated: false },
      duration_ms: 0,
      total_tokens: 0,
      size_bytes: 11,
      context: {},
    });
  });

  test('the run of a trace comes from the trace alone, the run of an episode from either', async () => {
    const of = await service();
    const run = { type: 'eval', id: 'r1' };
    await stored(of, jsonl(episode('envelope', [trace('a')], { run }), episode('members', [trace('b', { run })])));
    expect([await ids(of, 'run_id=r1'), await ids(of, 'run_id=r1', '/episodes')]).toEqual([
      ['b'],
      ['members', 'envelope'],
    ]);
    expect((await getJson(of, '/traces/a')).run_id).toBeNull();
  });

  test('an episode with its totals', async () => {
    const { of, uploads } = await mixed();
    expect(await getJson(of, '/episodes/e1')).toEqual({
      episode_id: 'e1',
      upload_id: uploads[0],
      schema_version: 1,
      created_at: '2025-06-15T15:06:41.000000Z',
      ingested_at: expect.any(String),
      run_id: 'r1',
      environment_id: 'env-1',
      outcome: null,
      has_error: false,
      error: { type: null, message: null },
      traces: {
        trace_count: 2,
        total_tokens: 30,
        total_duration_ms: 2000,
        any_trace_error: true,
        agent_names: ['judge', 'solver'],
      },
    });
    expect(await getJson(of, '/episodes/e3')).toMatchObject({ has_error: true, error: { type: 'B', message: 'last' } });
  });
});

describe('filters', () => {
  test.each([
    ['', 'edcba'],
    ['run_id=r1', 'ba'],
    ['run_id=r3', ''],
    ['environment_id=env-1', 'ba'],
    ['model_id=m2', 'db'],
    ['model_provider=p', 'd'],
    ['task_id=same+task', 'e'],
    ['task_id=same%20task', 'e'],
    ['reward_min=0', 'eda'],
    ['reward_min=0.5&reward_max=1', 'da'],
    ['reward_max=-1e0', 'c'],
    ['outcome=lost', 'c'],
    ['has_error=true', 'b'],
    ['has_error=false', 'edca'],
    ['is_truncated=true', 'd'],
    ['created_after=2025-06-15T15:06:43Z', 'edc'],
    ['created_before=2025-06-15T15:06:43.000000%2B00:00', 'ba'],
    ['created_after=2025-06-15T17:06:42%2B02:00&created_before=2025-06-15T15:06:44', 'cb'],
    ['created_after=2025-06-15', 'edcba'],
    ['context.source=second', 'ed'],
    ['context.source=first&context.a.b=x%26y%3Dz', 'cba'],
    ['context.source=first&context.missing=x', ''],
    ['run_id=r1&has_error=true', 'b'],
    ['sort=duration_ms', 'edcba'],
    ['sort=reward', 'adecb'],
  ])('traces: %s selects "%s"', async (query, expected) => {
    const { of } = await mixed();
    expect((await ids(of, query)).join('')).toBe(expected);
  });

  test.each([
    ['', 'e3 e2 e1'],
    ['run_id=r2', 'e2'],
    ['environment_id=env-1', 'e3 e1'],
    ['outcome=drawn', 'e2'],
    ['has_error=true', 'e3'],
    ['created_before=2025-06-15T15:06:43Z', 'e1'],
    ['run_step=4', 'e1'],
    ['run_step=5', ''],
    ['step_min=1&step_max=9', 'e1'],
    ['context.source=first', 'e2 e1'],
    ['context.source=second', ''],
  ])('episodes: %s selects "%s"', async (query, expected) => {
    const { of } = await mixed();
    expect((await ids(of, query, '/episodes')).join(' ')).toBe(expected);
  });

  test.each([
    ['', 'ba'],
    ['has_error=true', 'b'],
    ['model_id=m2', 'b'],
    ['run_id=r2', ''],
    ['context.source=first', 'ba'],
  ])('members of an episode: %s selects "%s"', async (query, expected) => {
    const { of } = await mixed();
    expect((await ids(of, query, '/episodes/e1/traces')).join('')).toBe(expected);
  });

  test('an upload id, or several, selects what those batches stored', async () => {
    const { of, uploads } = await mixed();
    const [first, second] = uploads;
    expect((await ids(of, `upload_id=${first}`)).join('')).toBe('cba');
    expect((await ids(of, `upload_id=${first}&upload_id=${second}&upload_id=unknown`)).join('')).toBe('edcba');
    expect(await ids(of, `upload_id=${first}`, '/episodes')).toEqual(['e3', 'e2', 'e1']);
  });

  test.each([
    '/traces?color=red',
    '/traces?run_id=a&run_id=b',
    '/traces?has_error=maybe',
    '/traces?reward_min=much',
    '/traces?reward_min=',
    '/traces?reward_min=1e999',
    '/traces?created_after=yesterday',
    '/traces?created_after=2025-02-30',
    '/traces?created_after=2025-06-15T25:00:00Z',
    '/traces?limit=0',
    '/traces?limit=101',
    '/traces?limit=1.5',
    '/traces?sort=__proto__',
    '/episodes?sort=created_at',
    '/episodes?model_id=m',
    '/episodes/e1/traces?sort=reward',
    '/episodes?run_step=one',
    '/traces/a?raw=yes',
    '/traces/a?run_id=x',
    '/runs?run_type=test',
  ])('%s is an invalid_filter', async (target) => {
    const { of } = await mixed();
    expect(await problem(of, target)).toEqual([400, 'invalid_filter']);
  });
});

describe('cursors', () => {
  async function many(count: number): Promise<Service> {
    const of = await service();
    // Equal times and equal rewards in groups, a third unscored: ties and nulls at page borders.
    const traces = Array.from({ length: count }, (_, index) =>
      trace(
        `t${String(index).padStart(3, '0')}`,
        at(index >> 2, { rewards: index % 3 ? { r: { score: index % 5 } } : {} }),
      ),
    );
    await stored(of, jsonl(...traces), { format: 'trace' });
    return of;
  }

  test.each(['created_at', 'reward', 'duration_ms'])(
    'sort %s: pages of every size add up to the whole',
    async (sort) => {
      const of = await many(60);
      const whole = (await walk(of, `/traces?sort=${sort}&limit=100`)).flat();
      expect(new Set(whole).size).toBe(60);
      for (const limit of [1, 7, 20, 59, 60]) {
        const pages = await walk(of, `/traces?sort=${sort}&limit=${limit}`);
        expect(pages.flat()).toEqual(whole);
        expect(pages.length).toBe(Math.ceil(60 / limit));
      }
    },
  );

  test('rows that arrive between pages neither repeat nor hide any', async () => {
    const of = await many(30);
    const before = (await walk(of, '/traces?limit=100')).flat();
    const pages = await walk(of, '/traces?limit=7', async (page) => {
      await stored(of, jsonl(trace(`new-${page}-new`, at(100)), trace(`new-${page}-old`, at(-page))), {
        format: 'trace',
      });
    });
    expect(pages.flat().filter((id) => !id.startsWith('new'))).toEqual(before);
    expect(pages.flat().filter((id) => id.endsWith('-new'))).toEqual([]);
  });

  test('the last page has no cursor, an empty cursor is none', async () => {
    const of = await many(3);
    expect(await getJson(of, '/traces?limit=3&cursor=')).toMatchObject({ next_cursor: null });
    expect((await getJson(of, '/traces?limit=2')).next_cursor).toEqual(expect.any(String));
  });

  test('a cursor is good for its own filters, sort, route and owner only; the page size may change', async () => {
    const of = await many(10);
    await stored(of, jsonl(trace('theirs')), { format: 'trace', headers: { 'x-prime-team-id': 'other' } });
    const cursor = (await getJson(of, '/traces?limit=2&has_error=false')).next_cursor as string;
    const use = (target: string, headers = {}) => call(of, { target: `${target}cursor=${cursor}`, headers });
    expect((await use('/traces?has_error=false&limit=5&')).status).toBe(200);
    for (const target of [
      '/traces?',
      '/traces?has_error=true&',
      '/traces?has_error=false&sort=reward&',
      '/episodes?has_error=false&',
    ]) {
      expect((await use(target)).json()).toMatchObject({ error: { code: 'invalid_cursor' } });
    }
    const other = await use('/traces?has_error=false&', { 'x-prime-team-id': 'other' });
    expect(other.json()).toMatchObject({ error: { code: 'invalid_cursor' } });
  });

  test('a cursor changed in any character is refused', async () => {
    const of = await many(5);
    const cursor = (await getJson(of, '/traces?limit=2')).next_cursor as string;
    for (let index = 0; index < cursor.length; index += 1) {
      const changed = cursor.slice(0, index) + (cursor[index] === 'A' ? 'Z' : 'A') + cursor.slice(index + 1);
      // The last character of base64 may carry bits that stand for nothing.
      if (Buffer.from(changed, 'base64url').equals(Buffer.from(cursor, 'base64url'))) continue;
      expect(await problem(of, `/traces?limit=2&cursor=${changed}`)).toEqual([400, 'invalid_cursor']);
    }
  });

  test('episodes and members have pages too', async () => {
    const of = await service();
    const members = Array.from({ length: 9 }, (_, index) => trace(`t${index}`, at(index)));
    await stored(
      of,
      jsonl(...Array.from({ length: 9 }, (_, index) => episode(`e${index}`, index === 4 ? members : []))),
    );
    expect((await walk(of, '/episodes?limit=4')).map((page) => page.length)).toEqual([4, 4, 1]);
    expect((await walk(of, '/episodes/e4/traces?limit=2')).flat()).toEqual(members.map(({ id }) => id).reverse());
  });
});

describe('runs', () => {
  test('totals over a run, its steps, and the list by arrival', async () => {
    const { of } = await mixed();
    const page = (await getJson(of, '/runs')) as unknown as { items: Record<string, unknown>[] };
    expect(page.items.map((run) => run.run_id)).toEqual(['r2', 'r1']);
    expect(await getJson(of, '/runs/r1')).toEqual({
      run_id: 'r1',
      first_trace_created_at: '2025-06-15T15:06:41.000000Z',
      last_trace_created_at: '2025-06-15T15:06:42.000000Z',
      last_trace_ingested_at: expect.any(String),
      trace_count: 2,
      episode_count: 1,
      avg_reward: 1,
      step_min: 3,
      step_max: 4,
      step_count: 2,
      has_error: true,
      first_user_id: null,
      environment_ids: ['env-1'],
      model_ids: ['m2', 'maker/model-1'],
      context: { source: 'first', 'a.b': 'x&y=z' },
    });
    expect(await getJson(of, '/runs/r1/steps')).toEqual({
      step_min: 3,
      step_max: 4,
      step_count: 2,
      items: [
        { step: 3, trace_count: 1, episode_count: 1, avg_reward: 1 },
        { step: 4, trace_count: 1, episode_count: 1, avg_reward: null },
      ],
    });
    expect(await getJson(of, '/runs/nobody/steps')).toEqual({
      step_min: null,
      step_max: null,
      step_count: 0,
      items: [],
    });
  });

  test.each([
    ['run_type=train', ['r1']],
    ['run_type=train&run_type=eval', ['r2', 'r1']],
    ['run_type=unknown', []],
    ['created_by=someone', []],
    ['created_before=2025-06-15T15:06:43Z', ['r1']],
  ])('runs: %s', async (query, expected) => {
    const { of } = await mixed();
    const page = (await getJson(of, `/runs?${query}`)) as unknown as { items: { run_id: string }[] };
    expect(page.items.map((run) => run.run_id)).toEqual(expected);
  });

  test('pages of runs', async () => {
    const { of } = await mixed();
    const first = await getJson(of, '/runs?limit=1');
    const second = await getJson(of, `/runs?limit=1&cursor=${first.next_cursor as string}`);
    expect([first.items, second.items]).toMatchObject([[{ run_id: 'r2' }], [{ run_id: 'r1' }]]);
    expect(second.next_cursor).toBeNull();
    expect(await problem(of, `/runs?run_type=eval&cursor=${first.next_cursor as string}`)).toEqual([
      400,
      'invalid_cursor',
    ]);
  });
});

describe('copies of one id (spec 06 section 3, R-UP-2)', () => {
  test('a run lists the newest copy, an upload its own; the newest one is read, members count once', async () => {
    const of = await service();
    const old = trace('t1', { rewards: { r: { score: 1 } } });
    const renewed = trace('t1', { rewards: { r: { score: 2 } } });
    const first = await stored(of, jsonl(episode('e1', [old])));
    const second = await stored(of, jsonl(episode('e1', [renewed])));
    expect(await ids(of, '')).toEqual(['t1']);
    expect(await ids(of, '', '/episodes')).toEqual(['e1']);
    expect(await ids(of, `upload_id=${first}`)).toEqual(['t1']);
    expect(await ids(of, `upload_id=${first}&upload_id=${second}`)).toEqual(['t1', 't1']);
    expect(await ids(of, `upload_id=${first}&upload_id=${second}`, '/episodes')).toEqual(['e1', 'e1']);
    expect(await getJson(of, '/traces/t1')).toMatchObject({ upload_id: second, score: { reward: 2 } });
    expect((await call(of, { target: '/traces/t1?raw=true' })).bytes.toString()).toBe(JSON.stringify(renewed));
    expect(await getJson(of, '/episodes/e1')).toMatchObject({ upload_id: second, traces: { trace_count: 1 } });
    expect(await ids(of, '', '/episodes/e1/traces')).toEqual(['t1']);
  });
});

test('an episode that was uploaded to two runs is listed in both', async () => {
  const of = await service();
  for (const id of ['r1', 'r2']) {
    const run = { type: 'eval', id };
    await stored(of, jsonl({ ...episode('e1', [trace('t1', { run })]), run }));
  }
  for (const id of ['r1', 'r2']) {
    expect(await ids(of, `run_id=${id}`)).toEqual(['t1']);
    expect(await ids(of, `run_id=${id}`, '/episodes')).toEqual(['e1']);
  }
});

describe('teams', () => {
  test('what one team stores is nowhere for another', async () => {
    const of = await service();
    const mine = { 'x-prime-team-id': 'mine' };
    const lines = jsonl(episode('e1', [trace('t1', { run: { type: 'eval', id: 'r1' } })]));
    await stored(of, lines, { headers: mine });
    for (const headers of [{}, { 'x-prime-team-id': 'theirs' }]) {
      for (const target of ['/traces', '/episodes', '/runs']) {
        expect((await getJson(of, target, headers)).items).toEqual([]);
      }
      for (const target of ['/traces/t1', '/traces/t1?raw=true', '/episodes/e1', '/episodes/e1/traces', '/runs/r1']) {
        expect((await call(of, { target, headers })).status).toBe(404);
      }
      expect((await call(of, { method: 'DELETE', target: '/traces/t1', headers })).status).toBe(404);
      // The same bytes are new to the other team.
      expect((await upload(of, lines, { headers })).status).toBe(201);
    }
    expect((await getJson(of, '/traces', mine)).items).toHaveLength(1);
  });
});
