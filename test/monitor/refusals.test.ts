/** Records that have no JSON form are refused alone, by their path; everything else of a call is written (spec 08 B19). */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { LogError } from '../../src/monitor/log-error.js';
import {
  checkIndexes,
  episodeOf,
  idsOf,
  type Monitored,
  openMonitor,
  rowsOf,
  tracesOf,
} from '../helpers/monitored-run.js';
import { readRun } from '../helpers/read-run.js';

const TRAIN = { step: 5, kind: 'train' } as const;

/** An episode whose info holds something that cannot be written. */
function broken(id: string, n: unknown): object {
  const episode = episodeOf(id);
  (episode.traces[0] as { info: object }).info = { n };
  return episode;
}

const self: unknown[] = [];
self.push(self);

const THROWING = {
  get type(): string {
    throw new Error('not now');
  },
};

const UNWRITABLE: readonly (readonly [string, object, string])[] = [
  ['an integer beyond 64 bits', broken('bad', 2n ** 64n), 'traces[0].info.n'],
  ['half of a surrogate pair', broken('bad', ['a\ud83d']), 'traces[0].info.n[0]'],
  ['a function', broken('bad', () => {}), 'traces[0].info.n'],
  ['a date', broken('bad', new Date(0)), 'traces[0].info.n'],
  ['a getter that throws', { ...episodeOf('bad'), task: THROWING }, ''],
  ['a value inside itself', broken('bad', self), 'traces[0].info.n[0]'],
  ['a trace that is a map', { ...episodeOf('bad'), traces: [new Map()] }, 'traces[0]'],
  [
    'half a pair behind megabytes',
    episodeOf('bad', ['x'.repeat(3_000_000), '\udc00']),
    'traces[0].nodes[1].message.content',
  ],
];

describe('R-REC-2, B19: of a call', () => {
  test.each(UNWRITABLE)('%s costs its own episode', async (_, bad, path) => {
    const { monitor, run, notices } = await openMonitor();
    await monitor.log(episodeOf('before'), TRAIN);
    const error = await monitor.log([episodeOf('a'), bad, episodeOf('b')], TRAIN).catch((reason: unknown) => reason);
    await monitor.log(episodeOf('after'), TRAIN);
    expect(error).toBeInstanceOf(LogError);
    expect(error).toMatchObject({
      code: 'PRL_ERR_REJECTED',
      hint: expect.any(String),
      refused: [{ index: 1, id: 'bad', path, message: expect.stringContaining(path) }],
      receipt: {
        records: [
          { index: 0, id: 'a', line: 2 },
          { index: 2, id: 'b', line: 3 },
        ],
      },
    });
    expect(notices).toEqual([{ kind: 'refused', message: (error as LogError).message }]);
    await monitor.finalize();
    expect(await idsOf(run)).toEqual(['before', 'a', 'b', 'after']);
    expect(rowsOf(run).map(({ line }) => line)).toEqual([1, 2, 3, 4]);
    expect(await checkIndexes(run)).toMatchObject([{ ok: true, counts: {}, rows: 4 }]);
    expect(monitor.snapshot()).toMatchObject({ queuedEpisodes: 0, writtenEpisodes: 4, refused: 1, failed: 0 });
  });

  test.each<[string, unknown]>([
    ['null', null],
    ['text', 'episode'],
    ['a list', []],
    ['typed numbers', new Float64Array(2)],
    ['a map', new Map()],
  ])('%s is no episode', async (_, value) => {
    const { monitor, run } = await openMonitor();
    const logged = monitor.log([value as object, episodeOf('a')], TRAIN);
    await expect(logged).rejects.toMatchObject({
      code: 'PRL_ERR_REJECTED',
      refused: [{ index: 0, id: null, path: '' }],
    });
    await monitor.finalize();
    expect(await idsOf(run)).toEqual(['a']);
  });

  test('all are named, and a call of nothing else leaves nothing', async () => {
    const { monitor, run } = await openMonitor();
    const logged = monitor.log(
      Array.from({ length: 9 }, (_, index) => broken(`b${index}`, Symbol('s'))),
      TRAIN,
    );
    const error = (await logged.catch((reason: unknown) => reason)) as LogError;
    expect(error.refused.map(({ id }) => id)).toEqual(['b0', 'b1', 'b2', 'b3', 'b4', 'b5', 'b6', 'b7', 'b8']);
    expect(error.message).toMatch(/^9 of 9 records were not written, 0 \(id b0\): .*; and 6 more$/s);
    await monitor.finalize();
    expect(await idsOf(run)).toEqual([]);
    expect(readFileSync(join(tracesOf(run), 'stream.index.jsonl'), 'utf8')).toBe('');
  });

  test('an update that names no trace, or holds what cannot be written, costs itself', async () => {
    const { monitor, run } = await openMonitor();
    const updates = [
      { trace_id: 't1' },
      { info: {} },
      { trace_id: 't2', info: { n: 2n ** 65n } },
      null,
      { trace_id: 't3' },
    ];
    const error = await monitor.logAnnotations(updates as { trace_id: string }[]).catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      code: 'PRL_ERR_REJECTED',
      refused: [
        { index: 1, id: null, path: 'trace_id' },
        { index: 2, id: 't2', path: 'info.n' },
        { index: 3, id: null, path: '' },
      ],
    });
    await monitor.finalize();
    expect(rowsOf(run, 'annotations/orch.index.jsonl').map(({ trace_id }) => trace_id)).toEqual(['t1', 't3']);
    expect(await checkIndexes(run)).toMatchObject([{ ok: true }, { ok: true, rows: 2 }]);
  });
});

describe('an episode that changes while it is written', () => {
  /** Large enough to be written in many slices. */
  const large = () => {
    const episode = episodeOf('large');
    const nodes = Array.from({ length: 400 }, () => ({
      message: { role: 'user', content: 'x'.repeat(1000) },
      token_ids: Array.from({ length: 1000 }, (_, index) => index),
    }));
    return { ...episode, traces: [{ ...episode.traces[0], nodes }] };
  };

  /** Resolves when some of it has left the encoder, in the turn after. */
  async function untilBegun({ monitor }: Monitored): Promise<void> {
    for (let isBegun = false; !isBegun; ) {
      await new Promise((done) => setImmediate(done));
      const { bytes, pendingBytes } = monitor.snapshot().stream;
      isBegun = bytes + pendingBytes > 0;
    }
  }

  test('is refused when a list has another length, and nothing of it remains', async () => {
    const opened = await openMonitor({ sliceMs: 0.05 });
    const episode = large();
    const logged = opened.monitor.log([episode, episodeOf('next')], TRAIN);
    await untilBegun(opened);
    episode.traces[0]?.nodes.push({ message: { role: 'user', content: '' }, token_ids: [] });
    await expect(logged).rejects.toMatchObject({
      code: 'PRL_ERR_REJECTED',
      refused: [{ id: 'large', path: 'traces[0].nodes', message: expect.stringMatching(/400 elements had 401/) }],
      receipt: { records: [{ index: 1, id: 'next' }] },
    });
    expect(await idsOf(opened.run)).toEqual(['next']);
    expect(await checkIndexes(opened.run)).toMatchObject([{ ok: true, rows: 1 }]);
  });

  test('is a mixture of old and new when values change, and legal all the same', async () => {
    const opened = await openMonitor({ sliceMs: 0.05 });
    const episode = large();
    const logged = opened.monitor.log(episode, TRAIN);
    await untilBegun(opened);
    for (const node of episode.traces[0]?.nodes ?? []) node.message.content = 'y';
    await logged;
    const nodes = (await nodesOf(opened.run))[0] as { message: { content: string } }[];
    expect(nodes.at(0)?.message.content).toBe('x'.repeat(1000));
    expect(nodes.at(-1)?.message.content).toBe('y');
  });

  test('is written as it was with snapshots', async () => {
    const { monitor, run } = await openMonitor({ snapshot: true });
    const episode = large();
    const expected = JSON.stringify(episode.traces[0]?.nodes);
    const logged = monitor.log(episode, TRAIN);
    episode.traces[0]?.nodes.splice(10);
    for (const node of episode.traces[0]?.nodes ?? []) node.token_ids.fill(0);
    await logged;
    await monitor.finalize();
    expect(rowsOf(run)).toHaveLength(1);
    expect(JSON.stringify((await nodesOf(run))[0])).toBe(expected);
  });
});

async function nodesOf(run: string): Promise<unknown[]> {
  return (await readRun(run)).records.map(({ bytes }) => JSON.parse(bytes.toString()).traces[0].nodes);
}
