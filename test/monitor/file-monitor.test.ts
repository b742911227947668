/** A run written through the monitor, as its readers find it: layout R5, in order, with its index (spec 01 section 3). */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkIndexes, episodeOf, idsOf, openMonitor, rowsOf, tracesOf } from '../helpers/monitored-run.js';
import { readRun } from '../helpers/read-run.js';

const TRAIN = { step: 5, kind: 'train' } as const;

describe('an episode that is logged', () => {
  test('is a line with its run and its arrival, at the place of its receipt', async () => {
    const { monitor, run } = await openMonitor();
    const episode = episodeOf('e1');
    const { records } = await monitor.log(episode, TRAIN);
    const [written] = (await readRun(run)).records;
    expect(records).toEqual([{ index: 0, id: 'e1', line: 1, chunk: 0, offset: 0, bytes: written?.bytes.length }]);
    const text = String(written?.bytes);
    expect(text).toContain('"run":{"type":"train","id":"r1","work":{"type":"train","step":5}},"ok":true');
    expect(text).toContain(
      '"info":{"kind":"train","dispatch":{"step":5,"time":1790000000.0},"arrival":{"step":5,"time":1790000000.0}}',
    );
    expect(text).toContain('"logprobs":[-0.0312,0.0,-0.0]');
    expect(text).toContain('"rewards":{"correct":{"score":1.0,"weight":1.0}}');
    const trace = JSON.parse(text).traces[0];
    expect(trace.run).toEqual({ type: 'train', id: 'r1', work: { type: 'train', step: 5 } });
    expect(episode.traces[0]?.info).toEqual({});
  });

  test('of a training run keeps the work that its producer gave it', async () => {
    const { monitor, run } = await openMonitor({ run: { id: 'r1', name: 'mine', work: { type: 'train', step: 9 } } });
    const own = { type: 'train', id: 'theirs', work: { type: 'eval', step: 2, policy: { start: 1, end: 2 } } };
    await monitor.log([{ ...episodeOf('e1'), run: own }, episodeOf('e2')], TRAIN);
    await monitor.finalize();
    const runs = (await readRun(run)).records.map(({ bytes }) => JSON.parse(bytes.toString()).run);
    expect(runs).toEqual([
      { type: 'train', id: 'r1', name: 'mine', work: own.work },
      { type: 'train', id: 'r1', name: 'mine', work: { type: 'train', step: 9 } },
    ]);
  });

  test('of an evaluation needs no work', async () => {
    const { monitor, run } = await openMonitor({ run: { type: 'eval', id: 'r1' } });
    await monitor.log(episodeOf('e1'), { step: 0, kind: 'eval' });
    await monitor.finalize();
    const [record] = (await readRun(run)).records;
    expect(JSON.parse(String(record?.bytes))).toMatchObject({
      run: { type: 'eval', id: 'r1' },
      traces: [{ info: { kind: 'eval', arrival: { step: 0, time: 1_790_000_000 } } }],
    });
    expect(String(record?.bytes)).not.toContain('"work"');
  });
});

describe('a run', () => {
  test('of 100 calls that nobody awaits is whole and in order, live and sealed, and its indexes are right', async () => {
    const { monitor, run } = await openMonitor({ chunkBytes: 20_000 });
    const ids = Array.from({ length: 200 }, (_, index) => `e${index}`);
    const receipts = ids
      .filter((_, index) => index % 2 === 0)
      .map((id) => {
        const second = `e${Number(id.slice(1)) + 1}`;
        return monitor.log([episodeOf(id), episodeOf(second)], TRAIN);
      });
    const updates = ids.slice(0, 20).map((id) => ({ trace_id: `${id}-t`, info: { effective: true } }));
    void monitor.logAnnotations(updates);
    expect(monitor.snapshot()).toMatchObject({ queuedCalls: 101, queuedEpisodes: 200, queuedUpdates: 20 });
    await monitor.flush();
    expect(await idsOf(run)).toEqual(ids);
    const places = (await Promise.all(receipts)).flatMap(({ records }) => records);
    expect(rowsOf(run).map(({ id, line, chunk, offset }) => ({ id, line, chunk, offset }))).toEqual(
      places.map(({ id, line, chunk, offset }) => ({ id, line, chunk, offset })),
    );
    expect(places.map(({ line }) => line)).toEqual(ids.map((_, index) => index + 1));
    expect(places.at(-1)?.chunk).toBeGreaterThan(3);
    expect(await checkIndexes(run)).toMatchObject([
      { ok: true, counts: {}, rows: 200, rebuilt: 200 },
      { ok: true, counts: {}, rows: 20, rebuilt: 20 },
    ]);
    await monitor.finalize();
    const stream = readdirSync(join(tracesOf(run), 'stream'));
    expect(stream.every((name) => name.endsWith('.jsonl.zst'))).toBe(true);
    expect(stream.length).toBe((places.at(-1)?.chunk ?? 0) + 1);
    expect(await idsOf(run)).toEqual(ids);
    expect(await checkIndexes(run)).toMatchObject([
      { ok: true, counts: {}, rows: 200, rebuilt: 200 },
      { ok: true, counts: {}, rows: 20, rebuilt: 20 },
    ]);
    expect(existsSync(join(tracesOf(run), 'stream.lock'))).toBe(false);
  });
});
