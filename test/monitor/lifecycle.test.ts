/** Opening, flushing, ending and opening again: what a second process finds, and what nobody may do. */
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { FileMonitor } from '../../src/monitor/file-monitor.js';
import { checkIndexes, episodeOf, idsOf, openMonitor, rowsOf, tracesOf } from '../helpers/monitored-run.js';
import { SEAL_WORKER } from '../helpers/stream-folder.js';
import { tempFolder } from '../helpers/temp-folder.js';

const TRAIN = { step: 5, kind: 'train' } as const;

describe('the run of a monitor', () => {
  test.each([
    [{ PRL_RUN_ID: 'one', RUN_ID: 'two' }, 'one'],
    [{ PRL_RUN_ID: '', RUN_ID: 'two' }, 'two'],
    [{}, '07'.repeat(16)],
  ])('R-REC-4, A35: under %o is %s', async (environment, id) => {
    const randomBytes = (count: number): Uint8Array => new Uint8Array(count).fill(7);
    const { monitor, run } = await openMonitor({ run: { type: 'train' }, environment, randomBytes });
    expect(monitor.runId).toBe(id);
    await monitor.log(episodeOf('a'), TRAIN);
    await monitor.finalize();
    expect(await idsOf(run)).toEqual(['a']);
  });

  test('has no second writer until it is finalized', async () => {
    const { monitor, run } = await openMonitor();
    await expect(FileMonitor.open(run)).rejects.toMatchObject({
      code: 'PRL_ERR_LOCKED',
      message: expect.stringContaining(`pid ${process.pid}`),
    });
    await monitor.log(episodeOf('a'), TRAIN);
    await monitor.finalize();
    const second = await openMonitor({}, run);
    await second.monitor.log(episodeOf('b'), TRAIN);
    await second.monitor.finalize();
    expect(await idsOf(run)).toEqual(['a', 'b']);
  });

  test.each([
    [{ producer: '../up' }, 'PRL_ERR_USAGE'],
    [{ producer: '' }, 'PRL_ERR_USAGE'],
    [{ producer: 'a.index.jsonl' }, 'PRL_ERR_USAGE'],
    [{ producer: 'orch.lock' }, 'PRL_ERR_USAGE'],
    [{ run: { type: 'test' as 'train' } }, 'PRL_ERR_USAGE'],
  ])('is not opened with %o, and nothing is made', async (options, code) => {
    const run = join(tempFolder(), 'run');
    await expect(FileMonitor.open(run, options)).rejects.toMatchObject({ code });
    expect(existsSync(run)).toBe(false);
  });

  test.each([{ floatDecimals: 10 }, { sliceMs: 0 }, { chunkBytes: 0 }])('is not opened with %o', async (options) => {
    await expect(FileMonitor.open(join(tempFolder(), 'run'), options)).rejects.toThrow(RangeError);
  });

  test('that cannot be written is not opened, and leaves no lock', async () => {
    const { monitor, run } = await openMonitor();
    await monitor.finalize();
    rmSync(join(run, 'monitors/file/metrics.jsonl'));
    mkdirSync(join(run, 'monitors/file/metrics.jsonl'));
    await expect(FileMonitor.open(run, { workerUrl: SEAL_WORKER })).rejects.toMatchObject({
      message: expect.stringContaining('metrics.jsonl'),
    });
    expect(readdirSync(tracesOf(run)).filter((name) => name.endsWith('.lock'))).toEqual([]);
  });
});

describe('the end of a monitor', () => {
  test('comes once, settles everything and seals; nothing can be logged afterwards', async () => {
    const { monitor, run, notices } = await openMonitor();
    const logged = [1, 2, 3].map((id) => monitor.log(episodeOf(`e${id}`), TRAIN));
    void monitor.logMetrics({ loss: 0.5 }, { step: 1 });
    const first = monitor.finalize();
    expect(monitor.finalize()).toBe(first);
    for (const late of [
      monitor.log(episodeOf('late'), TRAIN),
      monitor.logMetrics({}, { step: 1 }),
      monitor.logAnnotations([{ trace_id: 't' }]),
    ]) {
      await expect(late).rejects.toMatchObject({
        code: 'PRL_ERR_USAGE',
        message: expect.stringContaining('finalized'),
      });
    }
    expect(notices.map(({ kind }) => kind)).toEqual(['failed', 'failed', 'failed']);
    await first;
    await Promise.all(logged);
    expect(readdirSync(join(tracesOf(run), 'stream'))).toEqual(['00000.jsonl.zst']);
    expect(readFileSync(join(run, 'monitors/file/metrics.jsonl'), 'utf8')).toBe(
      '{"step": 1, "time": 1790000000.0, "loss": 0.5, "producer": "orch"}\n',
    );
    expect(await idsOf(run)).toEqual(['e1', 'e2', 'e3']);
  });

  test('of a run without episodes leaves no chunk, and an empty index', async () => {
    const { monitor, run } = await openMonitor();
    expect(await monitor.log([], TRAIN)).toEqual({ records: [] });
    expect(await monitor.logAnnotations([])).toEqual({ records: [] });
    await monitor.finalize();
    expect(readdirSync(tracesOf(run)).sort()).toEqual(['stream', 'stream.index.jsonl']);
    expect(readdirSync(join(tracesOf(run), 'stream'))).toEqual([]);
    expect(readFileSync(join(tracesOf(run), 'stream.index.jsonl'), 'utf8')).toBe('');
  });

  test('with compress off leaves plain chunks', async () => {
    const { monitor, run } = await openMonitor({ compress: false, chunkBytes: 1 });
    await monitor.log([episodeOf('a'), episodeOf('b')], TRAIN);
    await monitor.finalize();
    expect(readdirSync(join(tracesOf(run), 'stream'))).toEqual(['00000.jsonl', '00001.jsonl']);
    expect(await checkIndexes(run)).toMatchObject([{ ok: true, rows: 2 }]);
  });
});

describe('a monitor that goes on after a crash', () => {
  test('shuts off torn ends and gives records their rows (R-CHK-3, B03, B20)', async () => {
    const { monitor, run } = await openMonitor({ compress: false });
    await monitor.log([episodeOf('a'), episodeOf('b'), episodeOf('c')], TRAIN);
    await monitor.logMetrics({ loss: 1 }, { step: 1 });
    await monitor.finalize();
    // Killed between the rows of b and c, in the middle of the next record, and of the next metrics.
    const index = join(tracesOf(run), 'stream.index.jsonl');
    const rows = readFileSync(index);
    truncateSync(index, rows.indexOf('"line":3'));
    appendFileSync(join(tracesOf(run), 'stream/00000.jsonl'), '{"id":"torn","env":{"id');
    appendFileSync(join(run, 'monitors/file/metrics.jsonl'), '{"step": 2, "lo');
    const second = await openMonitor({ compress: false }, run);
    expect(second.notices.map(({ kind }) => kind)).toEqual(['torn', 'torn']);
    expect(readFileSync(index)).toEqual(rows);
    await second.monitor.log(episodeOf('d'), TRAIN);
    await second.monitor.logMetrics({ loss: 2 }, { step: 2 });
    await second.monitor.finalize();
    expect(rowsOf(run).map(({ id, line }) => [id, line])).toEqual([
      ['a', 1],
      ['b', 2],
      ['c', 3],
      ['d', 4],
    ]);
    expect(await checkIndexes(run)).toMatchObject([{ ok: true, counts: {}, rows: 4, rebuilt: 4 }]);
    const metrics = readFileSync(join(run, 'monitors/file/metrics.jsonl'), 'utf8').split('\n');
    expect(metrics).toEqual([
      '{"step": 1, "time": 1790000000.0, "loss": 1, "producer": "orch"}',
      '{"step": 2, "lo',
      '{"step": 2, "time": 1790000000.0, "loss": 2, "producer": "orch"}',
      '',
    ]);
  });
});

describe('what is told', () => {
  test('counts what waits, what is written and what is not', async () => {
    const { monitor } = await openMonitor();
    const logged = [monitor.log([episodeOf('a'), episodeOf('b')], TRAIN), monitor.log(episodeOf('c'), TRAIN)];
    void monitor.logAnnotations([{ trace_id: 't' }]);
    void monitor.logMetrics({ a: 1 }, { step: null });
    expect(monitor.snapshot()).toMatchObject({
      runId: 'r1',
      ...{ earlierEpisodes: 0, queuedCalls: 3, queuedEpisodes: 3, queuedUpdates: 1 },
      ...{ writtenEpisodes: 0, writtenUpdates: 0, writtenBytes: 0, metricsRows: 0 },
    });
    const bytes = (await Promise.all(logged))
      .flatMap(({ records }) => records)
      .reduce((sum, one) => sum + one.bytes, 0);
    await monitor.flush();
    expect(monitor.snapshot()).toMatchObject({
      ...{ earlierEpisodes: 0, queuedCalls: 0, queuedEpisodes: 0, queuedUpdates: 0 },
      ...{ writtenEpisodes: 3, writtenUpdates: 1, metricsRows: 1, refused: 0, failed: 0, metricsFailed: 0 },
      stream: { lines: 3, bytes },
    });
    expect(monitor.snapshot().writtenBytes).toBeGreaterThan(bytes);
  });

  test('by metrics: values left out, and rows that cannot be', async () => {
    const { monitor, run, notices } = await openMonitor();
    const names = [...'acdefgh'].map((name) => [name, Number.NaN] as const);
    await monitor.logMetrics({ ...Object.fromEntries(names), b: 1 }, { step: 1 });
    await expect(monitor.logMetrics({ f: () => {} }, { step: 2 })).rejects.toMatchObject({ code: 'PRL_ERR_REJECTED' });
    expect(notices.map(({ kind, message }) => [kind, message])).toEqual([
      ['metrics', 'left out of the metrics as no finite numbers: a, c, d, e, f and 2 more'],
      ['metrics', expect.stringContaining('the metric f holds a function')],
    ]);
    expect(readFileSync(join(run, 'monitors/file/metrics.jsonl'), 'utf8')).toBe(
      '{"step": 1, "time": 1790000000.0, "b": 1, "producer": "orch"}\n',
    );
  });

  test.each([
    [{ step: 0.5, kind: 'train' }, 'step 0.5'],
    [{ step: Number.NaN, kind: 'train' }, 'step NaN'],
    [{ step: 1, kind: 'test' }, 'kind "test"'],
  ])('log() with %o is refused', async (options, message) => {
    const { monitor } = await openMonitor();
    const logged = monitor.log(episodeOf('a'), options as { step: number; kind: 'train' });
    await expect(logged).rejects.toMatchObject({ code: 'PRL_ERR_USAGE', message: expect.stringContaining(message) });
  });

  test('annotations of a producer that is none are refused', async () => {
    const { monitor, run } = await openMonitor();
    const logged = monitor.logAnnotations([{ trace_id: 't' }], { producer: 'a/b' });
    await expect(logged).rejects.toMatchObject({ code: 'PRL_ERR_USAGE' });
    await monitor.logAnnotations([{ trace_id: 't' }], { producer: 'trainer' });
    await monitor.finalize();
    expect(readdirSync(join(tracesOf(run), 'annotations')).sort()).toEqual(['trainer', 'trainer.index.jsonl']);
    expect(readFileSync(join(tracesOf(run), 'annotations/trainer.index.jsonl'), 'utf8')).toBe(
      '{"trace_id":"t","chunk":0,"offset":0,"info":{}}\n',
    );
  });
});
