import { describe, expect, test } from 'vitest';
import { type IndexRecordOptions, indexRecord, indexRecordSteps } from '../../../src/core/index/index-record.js';
import type { RowOptions } from '../../../src/core/index/record-facts.js';
import { rowOf } from './built-rows.js';
import { WORKED_EXAMPLES } from './worked-examples.js';

const PLACE = { line: 1, offset: 0, chunk: 0 } as const;

function objectRow(episode: unknown, options: Partial<RowOptions> = {}): string {
  return Buffer.from(indexRecord(episode, { ...PLACE, ...options }))
    .toString()
    .trimEnd();
}

/** Numbers with the text they were written in. */
function parseKeepingText(text: string): unknown {
  const keep = (_key: string, value: unknown, context: { readonly source?: string }): unknown =>
    typeof value === 'number' ? rawJson(context.source ?? '') : value;
  return JSON.parse(text, keep as (key: string, value: unknown) => unknown);
}

function rawJson(text: string): unknown {
  return (JSON as unknown as { readonly rawJSON: (text: string) => unknown }).rawJSON(text);
}

describe('the row of an object equals the row of its encoded record (R-IDX-2)', () => {
  test.each(WORKED_EXAMPLES)('$name', ({ record, row }) => {
    const place = JSON.parse(row) as { line: number; offset: number };
    const options: IndexRecordOptions = { line: place.line, offset: place.offset, chunk: 0 };
    expect(Buffer.from(indexRecord(parseKeepingText(record), options)).toString()).toBe(`${row}\n`);
    // Without their text the whole floats of the example are integers, in the record that is encoded as well.
    const plain: unknown = JSON.parse(record);
    expect(objectRow(plain)).toBe(rowOf(JSON.stringify(plain)));
  });

  const cases: readonly (readonly [string, unknown])[] = [
    ['whole numbers', { traces: [{ calls: [{ usage: { cost: 1 } }], info: { dispatch: { time: -0 } } }] }],
    ['numbers beyond 2^53', { traces: [{ calls: [{ usage: { cost: 2 ** 60 } }, { usage: { cost: 1e20 } }] }] }],
    ['numbers beyond 2^64', { traces: [{ calls: [{ usage: { cost: 1e21 } }, { usage: { cost: -1e19 } }] }] }],
    ['small floats', { traces: [{ info: { dispatch: { time: 1.5e-7 }, arrival: { time: 2.5 }, advantage: 0.1 } }] }],
    ['NaN is null (A13)', { traces: [{ rewards: { r: { score: Number.NaN, weight: 1 }, s: { score: 0.5 } } }] }],
    ['infinities are null', { traces: [{ info: { advantage: Number.NEGATIVE_INFINITY }, stop_condition: 'x' }] }],
    ['a NaN parent', { traces: [{ nodes: [{ parent: Number.NaN }, { parent: 0 }] }] }],
    ['a NaN error is none', { traces: [{ calls: [{ error: Number.NaN, finish_reason: 'length' }] }] }],
    ['absent and undefined', { id: undefined, traces: [{ nodes: [{ parent: undefined }, { parent: null }] }] }],
    ['functions and symbols', { id: () => 1, ok: Symbol('x'), traces: [{ stop_condition: () => 1 }, undefined] }],
    ['an undefined list of traces is no list', { traces: undefined, nodes: [{}], id: 't' }],
    [
      'odd parents',
      { traces: [{ nodes: [{ parent: 1.5 }, { parent: true }, { parent: 'x' }, { parent: [] }, { parent: 1 }] }] },
    ],
    ['strings', { id: 'a"\\\n\u0001\u2028é🙂', env: { name: '' }, traces: [{ id: 'x/y' }, { id: '' }, { id: 5 }] }],
    ['half characters', { id: 'a\ud800b', traces: [{ id: '\udfff' }] }],
    [
      'phases',
      {
        traces: [
          {
            timing: {
              start: 1,
              a: { duration: 0.1 },
              'b/c': { duration: 5 },
              '': { end: 3, d: { start: 1, end: 2.5 } },
            },
          },
        ],
      },
    ],
    ['number-like keys', { traces: [{ rewards: { 10: { score: 1e16 }, 9: { score: 1.5 }, a: { score: -1e16 } } }] }],
    ['a key named __proto__', JSON.parse('{"traces":[{"rewards":{"__proto__":{"score":2.5}}}]}')],
    [
      'a bare trace',
      { id: 't', nodes: [{ parent: null, message: { role: 'assistant' } }], info: { env_name: 'e', group_id: 'g' } },
    ],
    ['kinds and runs', { run: { type: 'train', work: { type: 'eval' } }, ok: true, errors: [1, 2], traces: [] }],
    [
      'stored counts',
      {
        num_input_tokens: 5,
        num_output_tokens: 6,
        traces: [{ nodes: [{}], calls: [{ node: 0, usage: { prompt_tokens: 1, completion_tokens: 2 } }] }],
      },
    ],
    [
      'derived counts',
      {
        num_input_tokens: 5.5,
        num_output_tokens: 6,
        traces: [
          {
            nodes: [{}],
            calls: [{ node: 0, usage: { prompt_tokens: 1, completion_tokens: 2, cached_input_tokens: 2 ** 60 } }],
          },
        ],
      },
    ],
    [
      'wrong types',
      {
        id: 1,
        env: [],
        group: 'g',
        run: 1,
        ok: 'yes',
        errors: {},
        traces: [
          1,
          null,
          [],
          { nodes: {}, calls: [1, null, { node: -1, usage: [] }], rewards: [], info: 'x', timing: 1 },
        ],
      },
    ],
    ['no object at all', 'text'],
  ];

  test.each(cases)('%s', (_, episode) => {
    for (const options of [{}, { mode: 'exact' }, { tokens: 'derived' }] as const) {
      const encoded = typeof episode === 'object' ? JSON.stringify(episode) : '{}';
      expect(objectRow(episode, options)).toBe(rowOf(encoded, options));
    }
  });

  test('bigints are integers, a literal is what it says', () => {
    const episode = {
      id: rawJson('"quoted"'),
      ok: rawJson('true'),
      traces: [
        {
          calls: [{ usage: { cost: 2n ** 63n } }, { usage: { cost: 1n } }],
          info: { dispatch: { time: rawJson('99.0') }, arrival: { time: rawJson('103') }, advantage: rawJson('null') },
          rewards: { r: { score: rawJson('1e0'), weight: 3n } },
        },
      ],
    };
    expect(JSON.parse(objectRow(episode))).toMatchObject({ id: 'quoted', ok: true, advantage: null });
    const row = objectRow(episode);
    expect(row).toContain('"cost":9223372036854775809,');
    expect(row).toContain('"reward":3.0,');
    expect(row).toContain('"dispatch":99.0,"arrival":103,"duration":4.0,');
    expect(objectRow({ traces: [{ calls: [{ usage: { cost: 2n ** 64n } }] }] })).toContain(
      '"cost":1.8446744073709552e+19,',
    );
  });
});

describe('one trace at a time (R-IDX-1)', () => {
  test('steps stop after each trace and end with the row', () => {
    const episode = { id: 'x', traces: [{ id: 'a' }, { id: 'b' }, { id: 'c' }] };
    const steps = indexRecordSteps(episode, PLACE);
    let traces = 0;
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) traces += 1;
    expect(traces).toBe(3);
    expect(Buffer.from(step.value)).toEqual(Buffer.from(indexRecord(episode, PLACE)));
  });

  test('what nodes, calls and tasks carry is not touched', () => {
    const untouchable = (...allowed: string[]) => ({
      get(target: object, key: string | symbol): unknown {
        if (typeof key === 'string' && !allowed.includes(key)) throw new Error(`read ${key}`);
        return Reflect.get(target, key);
      },
    });
    const payload = { content: 'x', token_ids: [1], time: {}, model: 'm', task: {}, reasoning_tokens: 5 };
    const message = new Proxy({ role: 'assistant', ...payload }, untouchable('role'));
    const node = new Proxy({ parent: 0, message, ...payload }, untouchable('parent', 'message'));
    const usage = new Proxy(
      { prompt_tokens: 1, completion_tokens: 2, cost: 0.5, ...payload },
      untouchable('prompt_tokens', 'completion_tokens', 'cached_input_tokens', 'cost'),
    );
    const call = new Proxy({ node: 0, usage, ...payload }, untouchable('node', 'usage', 'error', 'finish_reason'));
    const trace = new Proxy(
      { id: 't', nodes: [{}, node], calls: [call], ...payload },
      untouchable('id', 'nodes', 'calls', 'rewards', 'info', 'stop_condition', 'timing'),
    );
    expect(JSON.parse(objectRow({ id: 'x', traces: [trace] }))).toMatchObject({ turns: 1, cost: 0.5, input_tokens: 1 });
  });
});
