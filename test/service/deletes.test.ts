/** Deletes of spec 06 section 7, and what they mean for copies, replays and neighbours. */
import { describe, expect, test } from 'vitest';
import type { Service } from '../../src/service/server.js';
import { call, episode, getJson, jsonl, service, stored, trace, upload } from './service-fixture.js';

const run = { type: 'train', id: 'r1' };

async function remove(of: Service, target: string): Promise<unknown[]> {
  const answer = await call(of, { method: 'DELETE', target });
  const code = answer.bytes.length === 0 ? null : (answer.json().error as { code: string }).code;
  return [answer.status, code];
}

async function count(of: Service, route: string): Promise<number> {
  return ((await getJson(of, route)).items as unknown[]).length;
}

describe('one trace', () => {
  test('202 without a body, all copies gone, 404 on every route and on a repeat', async () => {
    const of = await service();
    await stored(of, jsonl(episode('e1', [trace('t1'), trace('t2')])));
    await stored(of, jsonl(trace('t1', { ok: false })), { format: 'trace' });
    expect(await remove(of, '/traces/t1')).toEqual([202, null]);
    expect(await remove(of, '/traces/t1')).toEqual([404, 'trace_not_found']);
    expect((await call(of, { target: '/traces/t1?raw=true' })).status).toBe(404);
    expect(await count(of, '/traces')).toBe(1);
    expect(await getJson(of, '/episodes/e1')).toMatchObject({ traces: { trace_count: 1 } });
    expect((await call(of, { target: '/traces/t2?raw=true' })).bytes.toString()).toBe(JSON.stringify(trace('t2')));
  });

  test('a time hint must match a copy (spec 08 A38), in any form of the same time', async () => {
    const of = await service();
    await stored(of, jsonl(trace('t1', { timing: { start: 1_750_000_000.25 } })), { format: 'trace' });
    const { created_at: createdAt } = await getJson(of, '/traces/t1');
    expect(createdAt).toBe('2025-06-15T15:06:40.250000Z');
    expect(await remove(of, '/traces/t1?created_at=2025-06-15T15:06:41Z')).toEqual([404, 'trace_not_found']);
    expect(await remove(of, '/traces/t1?created_at=soon')).toEqual([400, 'invalid_filter']);
    expect(await count(of, '/traces')).toBe(1);
    expect(await remove(of, '/traces/t1?created_at=2025-06-15T17:06:40.25%2B02:00')).toEqual([202, null]);
    expect(await count(of, '/traces')).toBe(0);
  });

  test('ids that look like path steps are ids (spec 08 A44, B22)', async () => {
    const of = await service();
    const odd = ['.', '..', 'nul\0nul', '%', 'a b', 'ü?#&', '\u0001', '[red]x'];
    await stored(of, jsonl(...odd.map((id) => trace(id)), trace('bystander')), { format: 'trace' });
    for (const [index, id] of odd.entries()) {
      const segment = id === '.' || id === '..' ? id.replaceAll('.', '%2E') : encodeURIComponent(id);
      expect((await getJson(of, `/traces/${segment}`)).trace_id).toBe(id);
      expect(await remove(of, `/traces/${segment}`)).toEqual([202, null]);
      expect(await count(of, '/traces')).toBe(odd.length - index);
    }
  });
});

describe('one run', () => {
  test('all its traces, no other, and no episode', async () => {
    const of = await service();
    await stored(
      of,
      jsonl(
        episode('e1', [trace('a', { run }), trace('b')], { run }),
        episode('e2', [trace('c', { run: { id: 'r2' } })]),
      ),
    );
    expect(await remove(of, '/traces?run_id=r1')).toEqual([202, null]);
    expect(await remove(of, '/traces?run_id=r1')).toEqual([404, 'run_not_found']);
    const left = (await getJson(of, '/traces')).items as { trace_id: string }[];
    expect(left.map((item) => item.trace_id).sort()).toEqual(['b', 'c']);
    expect(await count(of, '/episodes')).toBe(2);
    expect((await call(of, { target: '/runs/r1' })).status).toBe(404);
  });

  test.each(['/traces', '/traces?run_id=', '/traces?environment_id=x', '/traces?run_id=r1&task_id=x'])(
    'DELETE %s is refused and deletes nothing',
    async (target) => {
      const of = await service();
      await stored(of, jsonl(trace('a', { run })), { format: 'trace' });
      expect(await remove(of, target)).toEqual([400, 'invalid_filter']);
      expect(await count(of, '/traces')).toBe(1);
    },
  );
});

test('bytes that were deleted in part are stored anew, because a receipt says that all of them are there', async () => {
  const of = await service();
  const lines = jsonl(episode('e1', [trace('a', { run }), trace('b')]));
  await stored(of, lines);
  await remove(of, '/traces?run_id=r1');
  const again = await upload(of, lines);
  expect([again.status, (await upload(of, lines)).status]).toEqual([201, 200]);
  const items = (await getJson(of, '/traces')).items as { trace_id: string }[];
  expect(items.map((item) => item.trace_id).sort()).toEqual(['a', 'b']);
  expect(await count(of, '/episodes')).toBe(1);
  expect((await call(of, { target: '/traces/a?raw=true' })).bytes.toString()).toBe(JSON.stringify(trace('a', { run })));
});
