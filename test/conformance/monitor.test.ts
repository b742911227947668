/**
 * What the file monitor writes, in the eyes of the official libraries: orjson, pyzstd and verifiers read every record at
 * the address of its row, live and sealed; rows and metrics are what Python prints.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import type { AnnotationUpdate } from '../../src/monitor/monitor-types.js';
import { openMonitor } from '../helpers/monitored-run.js';
import { ask, judge } from './python.js';

const SEED = 20261201;
const EPISODES = 150;

type Checked = {
  readonly faults: readonly string[];
  readonly sealed: number;
  readonly episodes: readonly { readonly id: string; readonly run: object; readonly infos: readonly object[] }[];
  readonly updates: readonly object[];
};

type Produced = {
  readonly id: string;
  readonly run?: { readonly work?: object };
  readonly traces: readonly { id: string }[];
};

describe.skipIf(judge.missing !== null)(`a run of the file monitor (${judge.missing ?? 'verifiers'})`, () => {
  let episodes: readonly Produced[] = [];

  beforeAll(async () => {
    const made = (await ask('index_episodes.py', { kind: 'generate', seed: SEED, count: EPISODES })) as {
      line: string;
    }[];
    episodes = made.map(({ line }) => JSON.parse(Buffer.from(line, 'base64').toString()));
  });

  test.each([
    ['sealed', true],
    ['live', false],
  ])('%s: read by address, loaded, its rows restated', async (_, compress) => {
    const { monitor, run } = await openMonitor({ run: { id: 'r1' }, chunkBytes: 100_000, compress });
    const arrivals = episodes.map((episode, step) =>
      monitor.log(episode, { step, kind: step % 3 === 0 ? 'eval' : 'train' }),
    );
    const updates = episodes.flatMap(({ traces }) => traces.map(({ id }, index) => updateOf(id, index)));
    await monitor.logAnnotations(updates);
    await Promise.all(arrivals);
    await monitor.finalize();
    const checked = (await ask('monitor.py', { run })) as Checked;
    expect(checked.faults).toEqual([]);
    expect(checked.sealed > 3).toBe(compress);
    expect(checked.episodes.map(({ id }) => id)).toEqual(episodes.map(({ id }) => id));
    for (const [step, episode] of checked.episodes.entries()) {
      const kind = step % 3 === 0 ? 'eval' : 'train';
      const work = episodes[step]?.run?.work ?? { type: kind, step };
      expect(episode.run).toMatchObject({ type: 'train', id: 'r1', work });
      for (const info of episode.infos) expect(info).toMatchObject({ kind, arrival: { step, time: 1_790_000_000 } });
    }
    expect(checked.updates).toEqual(updates.map(roundedUpdate));
  });

  test('rows of metrics are what Python prints', async () => {
    const path = join(await writtenMetrics(), 'monitors/file/metrics.jsonl');
    const rows = readFileSync(path, 'utf8').trimEnd().split('\n');
    expect(rows).toHaveLength(METRICS.length);
    expect(await ask('monitor.py', { rows })).toEqual(rows.map((row) => `${row}\n`));
  });
});

/** An update with streams that rounding changes, and nulls in them. */
function updateOf(trace_id: string, index: number): AnnotationUpdate {
  const info = index === 0 ? { effective: true, ship: { step: 5, time: 110.5 }, advantage: -1 / 3 } : {};
  const streams = {
    advantages: [null, 1 / 3, 1, null],
    trainer_logprobs: Float64Array.of(-0.03125, 0, -1e-9),
    is_masked: [null, true, false],
    mismatch_kl: [null, 1.23456789e-4, 1e-9],
  };
  return { trace_id, info, branches: index === 1 ? [] : [{ index: 0, ...streams }] };
}

function roundedUpdate({ trace_id, info, branches = [] }: AnnotationUpdate): object {
  const streams = {
    advantages: [null, 0.3333, 1, null],
    trainer_logprobs: [-0.0312, 0, -0],
    is_masked: [null, true, false],
    mismatch_kl: [null, 0.000123, 0],
  };
  return { version: 1, trace_id, info, branches: branches.map(({ index }) => ({ index, ...streams })) };
}

const METRICS = fc.sample(
  fc.dictionary(
    fc.string({ unit: 'grapheme', maxLength: 8 }),
    fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e-3, max: 1e-3 }),
      fc.integer(),
      fc.maxSafeInteger(),
      fc.string({ unit: 'grapheme' }),
      fc.boolean(),
      fc.constant(null),
      fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }), { maxLength: 3 }),
    ),
  ),
  { seed: SEED, numRuns: 1000 },
);

async function writtenMetrics(): Promise<string> {
  const { monitor, run } = await openMonitor();
  for (const [step, metrics] of METRICS.entries())
    void monitor.logMetrics(metrics, { step: step % 7 === 0 ? null : step });
  await monitor.finalize();
  return run;
}
