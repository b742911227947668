/** What is written into an episode before it is encoded: run identity and arrival. */
import { describe, expect, test } from 'vitest';
import { encodeToBuffer } from '../../../src/core/encode/drivers.js';
import { RecordEncoder } from '../../../src/core/encode/record-encoder.js';
import { EPISODE_RULES } from '../../../src/core/encode/record-rules.js';
import {
  type Arrival,
  type RunInfo,
  recordRun,
  resolveRunId,
  stampArrival,
  stampSteps,
} from '../../../src/core/encode/record-run.js';
import { readFacts } from '../../../src/core/stream/facts.js';
import { stampRun } from '../../../src/core/stream/stamp.js';
import { wasmModule } from '../../../src/io/wasm-modules.js';

const RUN: RunInfo = { type: 'train', id: 'r1' };
const WORK = { type: 'train', step: 3 } as const;
const ARRIVAL: Arrival = { kind: 'train', step: 7, timeS: 1_790_000_000.5 };

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(frozen);
  return value;
}

function drained<R>(steps: Generator<void, R, void>): { readonly yields: number; readonly result: R } {
  for (let yields = 0; ; yields += 1) {
    const step = steps.next();
    if (step.done === true) return { yields, result: step.value };
  }
}

describe('the run on the episode and on every trace (R-REC-3)', () => {
  test.each<[string, object, RunInfo, object]>([
    [
      'made from nothing, in the order of the model',
      { id: 'e', traces: [{ id: 't' }] },
      { work: WORK, name: 'n', id: 'r1', type: 'train' },
      {
        id: 'e',
        traces: [{ id: 't', run: { type: 'train', id: 'r1', name: 'n', work: WORK } }],
        run: { type: 'train', id: 'r1', name: 'n', work: WORK },
      },
    ],
    [
      'the own one of an episode keeps name and work, and its place',
      { run: { id: 'local', name: 'n', type: 'eval', work: WORK }, traces: [{}, {}] },
      RUN,
      {
        run: { id: 'r1', name: 'n', type: 'train', work: WORK },
        traces: [
          { run: { id: 'r1', name: 'n', type: 'train', work: WORK } },
          { run: { id: 'r1', name: 'n', type: 'train', work: WORK } },
        ],
      },
    ],
    [
      'what is given wins over the own one of an episode',
      { run: { type: 'train', id: 'local', name: 'old', work: { type: 'train', step: 1 } }, traces: [] },
      { ...RUN, name: 'new', work: WORK },
      { run: { type: 'train', id: 'r1', name: 'new', work: WORK }, traces: [] },
    ],
    [
      'the own one of a trace keeps all but id and type',
      { traces: [{ run: { step: 4, id: 'local', type: 'eval' }, nodes: [] }] },
      { ...RUN, name: 'n' },
      {
        traces: [{ run: { step: 4, id: 'r1', type: 'train' }, nodes: [] }],
        run: { type: 'train', id: 'r1', name: 'n' },
      },
    ],
    [
      'a run that is no object is replaced',
      { run: null, traces: [{ run: 'local' }, { run: null }, { run: ['x'] }] },
      RUN,
      { run: RUN, traces: [{ run: RUN }, { run: RUN }, { run: RUN }] },
    ],
    ['traces that are no objects stay', { traces: [null, 'x', 5] }, RUN, { traces: [null, 'x', 5], run: RUN }],
    ['traces that are no list stay', { traces: { a: 1 } }, RUN, { traces: { a: 1 }, run: RUN }],
    ['no traces', { id: 'e' }, RUN, { id: 'e', run: RUN }],
  ])('%s', (_name, episode, run, expected) => {
    // The text, so that the order of members counts too.
    expect(JSON.stringify(recordRun(frozen(episode), run))).toBe(JSON.stringify(expected));
  });

  test.each([
    ['an episode', (odd: object) => recordRun(odd, RUN)],
    ['a trace', (odd: object) => recordRun({ traces: [odd] }, RUN).traces[0]],
    ['an info', (odd: object) => stampArrival({ info: odd }, ARRIVAL).info],
  ])('%s with content that no key shows stays whole, for the encoder to refuse', (_name, copyOf) => {
    for (const odd of [new Map([['id', 'e']]), new Date(0), Float64Array.of(1), { toJSON: () => 'e' }]) {
      expect(copyOf(odd)).toBe(odd);
    }
  });

  test('shares all that does not change, and runs of traces are their own objects', () => {
    const nodes = [{ token_ids: [1] }];
    const episode = frozen({ task: { type: 'T' }, traces: [{ nodes }, { nodes }] });
    const copy: { task: object; traces: readonly { nodes: object; run?: object }[] } = recordRun(episode, RUN);
    expect(copy.task).toBe(episode.task);
    expect(copy.traces[0]?.nodes).toBe(nodes);
    expect(copy.traces[0]?.run).not.toBe(copy.traces[1]?.run);
  });

  test.each([
    ['no run anywhere', { id: 'e', traces: [{ id: 'a' }, { id: 'b', info: { kind: 'eval' } }] }],
    ['other runs', { run: { id: 'x', type: 'eval' }, traces: [{ run: { id: 'y', type: 'eval', step: 1 } }, {}] }],
    ['odd runs', { run: 5, traces: [{ run: [] }, { run: {} }] }],
  ])('a recorded episode with %s counts as keyed when it is uploaded', (_name, episode) => {
    const encoder = new RecordEncoder(wasmModule('encoder'));
    const bytes = encodeToBuffer(encoder, recordRun(episode, RUN), EPISODE_RULES);
    const facts = readFacts(bytes, 'episode');
    if (facts === null) throw new Error('no facts');
    expect(facts.traces.map(({ run }) => run?.id?.value)).toEqual(['r1', 'r1']);
    expect(stampRun(bytes, facts, { runId: 'r1', fallbackRunId: null })).toEqual([bytes]);
    expect(stampRun(bytes, facts, { runId: 'r2', fallbackRunId: null })).not.toEqual([bytes]);
  });
});

describe('the arrival in info', () => {
  test.each<[string, object, unknown, string]>([
    [
      'in this order when absent before',
      { timing: { start: 1.5 } },
      WORK,
      '{"kind":"train","dispatch":{"step":3,"time":1.5},"arrival":{"step":7,"time":1790000000.5}}',
    ],
    ['no dispatch without work', { timing: { start: 1.5 } }, undefined, '{"kind":"train","arrival":…}'],
    ['no dispatch with a null for work', { timing: { start: 1.5 } }, null, '{"kind":"train","arrival":…}'],
    [
      'behind what is there',
      { info: { note: [null] }, timing: { start: 1.5 } },
      WORK,
      '{"note":[null],"kind":"train","dispatch":{"step":3,"time":1.5},"arrival":…}',
    ],
    [
      'over what is there, in its place',
      { info: { arrival: 'old', x: 1, kind: 'eval', dispatch: { step: 0 } }, timing: { start: 1.5 } },
      WORK,
      '{"arrival":…,"x":1,"kind":"train","dispatch":{"step":3,"time":1.5}}',
    ],
    [
      'a dispatch that is there stays without work',
      { info: { dispatch: { step: 0 } } },
      undefined,
      '{"dispatch":{"step":0},"kind":"train","arrival":…}',
    ],
    [
      'whole seconds are floats, as in Python',
      { timing: { start: 1_790_000_000 } },
      WORK,
      '{"kind":"train","dispatch":{"step":3,"time":1790000000.0},"arrival":…}',
    ],
    [
      'a start of zero is a float as well',
      { timing: { start: 0 } },
      WORK,
      '{"kind":"train","dispatch":{"step":3,"time":0.0},"arrival":…}',
    ],
    ['an info of another kind stays', { info: ['x'] }, WORK, '["x"]'],
    [
      'without a timing the time of dispatch is null',
      { info: null },
      WORK,
      '{"kind":"train","dispatch":{"step":3,"time":null},"arrival":…}',
    ],
  ])('%s', (_name, trace, work, expected) => {
    const { info } = stampArrival<{ info?: unknown }>(frozen(trace), ARRIVAL, work);
    const arrival = '"arrival":{"step":7,"time":1790000000.5}';
    expect(JSON.stringify(info)).toBe(expected.replace('"arrival":…', arrival));
  });

  test('a whole time of arrival is a float', () => {
    const { info } = stampArrival<{ info?: unknown }>({}, { ...ARRIVAL, timeS: 1_790_000_000 });
    expect(JSON.stringify(info)).toBe('{"kind":"train","arrival":{"step":7,"time":1790000000.0}}');
  });
});

describe('run and arrival in steps', () => {
  test.each([0, 1, 500])('of an episode with %i traces: one turn for each', (count) => {
    const traces = Array.from({ length: count }, (_, index) => ({ id: `t${index}`, timing: { start: index } }));
    const episode = frozen({ id: 'e', run: { type: 'eval', id: 'local', work: WORK }, traces });
    const { yields, result } = drained(stampSteps<object>(episode, RUN, ARRIVAL));
    const recorded: { traces: readonly object[] } = recordRun(episode, RUN);
    const expected = { ...recorded, traces: recorded.traces.map((trace) => stampArrival(trace, ARRIVAL, WORK)) };
    expect(JSON.stringify(result)).toBe(JSON.stringify(expected));
    expect(yields).toBe(count);
  });

  test('the work of the run that is given dispatches traces of an episode without one', () => {
    const { result } = drained(stampSteps({ traces: [{ timing: { start: 2.5 } }] }, { ...RUN, work: WORK }, ARRIVAL));
    const text = JSON.stringify(result.traces[0]);
    expect(text).toContain('"info":{"kind":"train","dispatch":{"step":3,"time":2.5},"arrival":');
  });
});

describe('the run id of a producer (R-REC-4)', () => {
  const random = (count: number): Uint8Array => Uint8Array.from({ length: count }, (_, index) => 255 - index);

  test.each([
    [{ PRL_RUN_ID: 'a', RUN_ID: 'b' }, 'a'],
    [{ PRL_RUN_ID: '', RUN_ID: 'b' }, 'b'],
    [{ RUN_ID: 'b' }, 'b'],
    [{ PRL_RUN_ID: '', RUN_ID: '' }, 'fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0'],
    [{}, 'fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0'],
  ])('%j gives %s', (environment, id) => {
    expect(resolveRunId(environment, random)).toBe(id);
  });
});
