import { describe, expect, test } from 'vitest';
import type { RowOptions } from '../../../src/core/index/record-facts.js';
import { RowBuffer } from '../../../src/core/index/row-buffer.js';
import { RowBuilder } from '../../../src/core/index/row-builder.js';
import { FIELD, TYPE } from '../../../src/core/scan/record-tape.js';
import { buildRows, fieldOf, namesOf, rowOf } from './built-rows.js';
import { WORKED_EXAMPLES } from './worked-examples.js';

const STREAM = WORKED_EXAMPLES.map(({ record }) => `${record}\n`).join('');

function exampleOf(name: string): { readonly record: string; readonly row: string } {
  const found = WORKED_EXAMPLES.find((example) => example.name === name);
  if (found === undefined) throw new Error(`no example ${name}`);
  return found;
}

/** A record of one trace with these members. */
function traced(members: string): string {
  return `{"id":"x","traces":[{${members}}]}`;
}

/** The fields of a row that say something, by key. */
function fieldsOf(record: string, options: Partial<RowOptions> = {}): Record<string, unknown> {
  return JSON.parse(rowOf(record, options)) as Record<string, unknown>;
}

describe('worked examples (spec 04 section 9)', () => {
  test('E1 to E10 as one stream, byte for byte', () => {
    expect(buildRows(STREAM).map(({ row }) => row)).toEqual(WORKED_EXAMPLES.map(({ row }) => `${row}\n`));
    expect(Buffer.byteLength(STREAM)).toBe(5940);
  });

  test('E14: the same over chunks, lines numbered through', () => {
    const chunks = [['E1', 'E2'], ['E3', 'E4', 'E5'], ['E6', 'E7', 'E8', 'E9'], ['E10']];
    const rows = chunks.flatMap((names, chunk) =>
      buildRows(names.map((name) => `${exampleOf(name).record}\n`).join(''), {}, chunk),
    );
    const places = rows.map(({ row }) => JSON.parse(row ?? '') as { offset: number; chunk: number });
    expect(places.map(({ chunk, offset }) => [chunk, offset])).toEqual([
      ...[
        [0, 0],
        [0, 1159],
        [1, 0],
        [1, 940],
        [1, 1554],
        [2, 0],
        [2, 504],
        [2, 1103],
        [2, 1142],
        [3, 0],
      ],
    ]);
  });

  test('E11: stored counts win, unless derived ones are asked for', () => {
    const { record, row } = exampleOf('E3');
    const stored = `${record.slice(0, -1)},"num_input_tokens":7,"num_output_tokens":7,"num_total_tokens":14}`;
    const own = row.replace('"line":3,"offset":1982', '"line":1,"offset":0');
    expect(rowOf(stored)).toBe(own.replace('"output_tokens":8', '"output_tokens":7'));
    expect(rowOf(stored, { tokens: 'stored' })).toBe(own.replace('"output_tokens":8', '"output_tokens":7'));
    expect(rowOf(stored, { tokens: 'derived' })).toBe(own);
  });

  test.each([
    ['13', '3'],
    ['10', '0.0'],
    ['9', '0.0'],
    ['13.0', '3.0'],
    ['10.0', '0.0'],
  ])('E12: stamps 10 and %s last %s', (arrival, expected) => {
    const record = traced(`"info":{"dispatch":{"time":10},"arrival":{"time":${arrival}}}`);
    expect(fieldOf(record, 'duration')).toBe(expected);
    expect(fieldOf(record, 'dispatch')).toBe('10');
    expect(fieldOf(record, 'arrival')).toBe(arrival);
  });

  test('E13: a phase that was cut off lasts less than nothing (B10)', () => {
    expect(fieldOf(traced('"timing":{"start":5.0,"agent":{"start":6.0,"end":0.0}}'), 'duration')).toBe('-6.0');
  });
});

describe('where a row lies', () => {
  test('a line that is not known yet leaves its place open', () => {
    const [whole] = buildRows('{"id":"a","traces":[]}');
    const builder = fedByHand();
    const target = new RowBuffer(16);
    const lineAt = builder.writeRow(target, { line: null, offset: 0, chunk: 0 });
    const row = Buffer.from(target.view()).toString();
    expect(`${row.slice(0, lineAt)}1${row.slice(lineAt)}`).toBe(whole?.row);
  });

  test('without a number the chunk is left out (R2)', () => {
    const [row] = buildRows('{"id":"a","traces":[]}', {}, null);
    expect(row?.row).toMatch(/"duration":null\}\n$/);
  });

  test('an id can be asked for', () => {
    const { id } = fedByHand();
    expect(Buffer.from(id ?? []).toString()).toBe('a');
  });
});

describe('ids of the record at hand', () => {
  test('come as they are printed', () => {
    const builder = new RowBuilder();
    buildRows('{"id":"\\u0061\\/b","traces":[{"id":"\\u00e9"},{"id":""},{},{"id":"t"}]}', {}, 0, builder);
    expect(Buffer.from(builder.id ?? []).toString()).toBe('a/b');
    expect(builder.traceIds.map((id) => Buffer.from(id).toString())).toEqual(['é', 't']);
    buildRows('{"traces":[]}', {}, 0, builder);
    expect(builder.id).toBeNull();
    expect(builder.traceIds).toEqual([]);
  });
});

describe('token counts by both ways (4.3)', () => {
  const calls = '"nodes":[{}],"calls":[{"node":0,"usage":{"prompt_tokens":7,"completion_tokens":8}}]';

  test.each([
    ['"num_input_tokens":7,"num_output_tokens":8,', { input: 7n, output: 8n }, false],
    ['"num_input_tokens":7,"num_output_tokens":9,', { input: 7n, output: 9n }, true],
    ['"num_input_tokens":18446744073709551615,"num_output_tokens":8,', { input: 2n ** 64n - 1n, output: 8n }, true],
    ['"num_input_tokens":7.0,"num_output_tokens":8,', null, false],
    ['"num_output_tokens":8,', null, false],
  ])('%s', (members, stored, isOther) => {
    const builder = new RowBuilder({ tokens: 'stored', mode: 'compat', bothCounts: true });
    buildRows(`{${members}"traces":[{${calls}}]}`, {}, 0, builder);
    expect(builder.tokenCounts).toEqual({ stored, derived: { input: 7n, output: 8n } });
    expect(builder.hasOtherTokens).toBe(isOther);
    expect(namesOf(builder.notes)).toEqual(stored === null ? ['NO_STORED_TOKENS'] : []);
  });

  test('usage alone counts: neither token ids (A20) nor reasoning on top of completion (A22)', () => {
    const usage = '{"prompt_tokens":12,"completion_tokens":10,"reasoning_tokens":8}';
    const record = traced(`"nodes":[{"token_ids":[1,2,3,4,5]}],"calls":[{"node":0,"usage":${usage}}]`);
    expect(fieldsOf(record)).toMatchObject({ input_tokens: 12, output_tokens: 10 });
  });

  test('nothing is derived for a row that needs stored counts alone', () => {
    const builder = new RowBuilder({ tokens: 'stored', mode: 'compat' });
    const record = `{"num_input_tokens":1,"num_output_tokens":2,"traces":[{${calls}}]}`;
    const [row] = buildRows(record, {}, 0, builder);
    expect(row?.row).toContain('"input_tokens":1,"output_tokens":2,');
    expect(builder.hasOtherTokens).toBe(false);
    expect(fieldOf(`{"traces":[{${calls}}]}`, 'input_tokens', { tokens: 'stored' })).toBe('0');
  });
});

/** A builder that has `{"id":"a","traces":[]}`. */
function fedByHand(): RowBuilder {
  const builder = new RowBuilder();
  builder.beginRecord();
  const words = Int32Array.from([
    ...[FIELD.ID | (TYPE.STRING << 8), 0, 1],
    ...[FIELD.TRACES | (TYPE.ARRAY << 8), 0, 0],
    ...[FIELD.TRACES_END, 0, 0],
    ...[FIELD.UNIT_KEYS, 1, 0],
  ]);
  builder.take({ words, arena: Buffer.from('a') }, 4);
  return builder;
}

describe('rewards (4.2, A17)', () => {
  test.each([
    ['{}', 'null'],
    ['null', 'null'],
    ['{"r":null}', '0.0'],
    ['{"r":{}}', '0.0'],
    ['{"r":{"score":1,"weight":1}}', '1.0'],
    ['{"r":{"score":2}}', '2.0'],
    ['{"r":{"weight":2}}', '0.0'],
    ['{"r":{"score":-0.5,"weight":-2.0}}', '1.0'],
    ['{"r":{"score":NaN,"weight":1.0},"s":{"score":0.5,"weight":1.0}}', '0.5'],
    ['{"r":{"score":0.1,"weight":1.0},"s":{"score":0.2,"weight":1.0},"t":{"score":0.3,"weight":1.0}}', '0.6'],
    ['{"r":{"score":1e16},"s":{"score":1.0},"t":{"score":-1e16}}', '1.0'],
    ['{"r":{"score":1e16},"s":{"score":1,"weight":1},"t":{"score":-1e16}}', '0.0'],
    ['{"r":{"score":1e308,"weight":10.0}}', 'null'],
    ['{"r":{"score":9007199254740993,"weight":3}}', '2.702159776422298e+16'],
    ['{"a":{"score":1e16},"b":{"score":1.0},"a":{"score":-1e16},"c":{"score":1e16}}', '1.0'],
    ['{"r":{"score":3,"score":1}}', '1.0'],
    ['{"\\u0072":{"score":3},"r":{"sc\\u006fre":1}}', '1.0'],
    ['{"r":{"score":1,"detail":{"score":[5,{"a":"]}"}]}}}', '1.0'],
    [' { "r" : { "score" : 1.5 , "weight" : 2 } } ', '3.0'],
  ])('%s is %s', (rewards, expected) => {
    expect(fieldOf(traced(`"rewards":${rewards}`), 'reward')).toBe(expected);
  });

  test('the mean leaves out traces without rewards and counts those with placeholders', () => {
    const traces = ['{"rewards":{"r":{"score":1.0}}}', '{"rewards":{}}', '{"rewards":{"r":null}}', '{}'];
    expect(fieldOf(`{"traces":[${traces}]}`, 'reward')).toBe('0.5');
  });

  test('more names than the reader remembers', () => {
    for (const count of [16, 17, 64, 65, 200]) {
      const entries = Array.from({ length: count }, (_, index) => `"name-${index}":{"score":1.0}`);
      const record = traced(`"rewards":{${entries}}`);
      const repeated = traced(`"rewards":{${entries},"name-${count - 1}":{"score":2.0}}`);
      const rows = buildRows(`${record}\n${record}\n${repeated}\n`);
      const rewards = rows.map(({ row }) => (JSON.parse(row ?? '') as { reward: number }).reward);
      expect(rewards).toEqual([count, count, count + 1]);
      expect(rows[2]?.notes).toEqual(['DUPLICATE_KEY']);
    }
  });
});

describe('advantage', () => {
  test('is the mean over traces that have one', () => {
    const traces = [
      '{"info":{"advantage":1}}',
      '{"info":{}}',
      '{"info":{"advantage":null}}',
      '{"info":{"advantage":2}}',
    ];
    expect(fieldOf(`{"traces":[${traces}]}`, 'advantage')).toBe('1.5');
    expect(fieldOf(traced('"info":{"advantage":1}'), 'advantage')).toBe('1.0');
  });
});

describe('cost (A23)', () => {
  test.each([
    ['[{"usage":{"cost":1}},{"usage":{"cost":2}}]', '3'],
    ['[{"usage":{"cost":1}},{"usage":{"cost":2.0}}]', '3.0'],
    ['[{"usage":{"cost":1.5e-6}}]', '1.5e-6'],
    ['[{"error":{"type":"E"},"usage":{"cost":0.25}}]', '0.25'],
    ['[{"usage":{}},{"usage":null},{}]', 'null'],
    ['[{"usage":{"cost":null}}]', 'null'],
    ['[{"usage":{"cost":true}}]', 'null'],
    ['[{"usage":{"cost":5},"usage":{}}]', 'null'],
    ['[{"usage":{"cost":18446744073709551615}},{"usage":{"cost":1}}]', '18446744073709551616'],
  ])('%s is %s', (calls, expected) => {
    expect(fieldOf(traced(`"calls":${calls}`), 'cost')).toBe(expected);
  });
});

describe('kind, env, group', () => {
  test.each([
    ['{"traces":[{"info":{"kind":"other"}},{"info":{"kind":"train"}},{"info":{"kind":"eval"}}]}', '"train"'],
    ['{"run":{"type":"train","work":{"type":"eval"}},"traces":[]}', '"eval"'],
    ['{"run":{"type":"train","work":{"type":""}},"traces":[]}', '"train"'],
    ['{"run":{"type":"","work":{}},"traces":[]}', '"eval"'],
    ['{"run":{"type":"sft","work":null},"traces":[]}', '"sft"'],
    ['{"run":{"type":"t\\u0072ain"},"traces":[{"info":{"kind":"\\u0065val"}}]}', '"eval"'],
    ['{"run":null,"traces":[]}', '"eval"'],
  ])('%s is %s', (record, expected) => {
    expect(fieldOf(record, 'kind')).toBe(expected);
  });

  test.each([
    ['{"id":"i","name":"n"}', '"n"'],
    ['{"id":"i","name":""}', '"i"'],
    ['{"id":"i","name":null}', '"i"'],
    ['{"id":"","name":""}', '""'],
    ['{"name":""}', 'null'],
    ['null', 'null'],
  ])('env %s is %s', (env, expected) => {
    expect(fieldOf(`{"env":${env},"traces":[]}`, 'env')).toBe(expected);
  });
});

describe('explicit nulls (6.4, B08, B09)', () => {
  const linear = '{"nodes":[{"parent":null},{"parent":0}],"stop_condition":"done"}';

  test('count as a parent and erase a stop, as upstream does', () => {
    expect(fieldsOf(`{"traces":[${linear},{"stop_condition":null}]}`)).toMatchObject({
      branches: 0,
      stop_condition: null,
    });
  });

  test('do neither in exact mode', () => {
    expect(fieldsOf(`{"traces":[${linear},{"stop_condition":null}]}`, { mode: 'exact' })).toMatchObject({
      branches: 1,
      stop_condition: 'done',
    });
  });
});

describe('truncated (B12)', () => {
  test.each(['max_turns', 'max_input_tokens', 'max_output_tokens', 'max_total_tokens', 'compaction_failed'])(
    '%s in either mode',
    (stop) => {
      const record = `{"traces":[{"stop_condition":"${stop}"},{"stop_condition":"agent_completed"}]}`;
      expect(fieldOf(record, 'truncated')).toBe('true');
      expect(fieldOf(record, 'truncated', { mode: 'exact' })).toBe('true');
    },
  );

  test('context_length in exact mode only', () => {
    const record = traced('"stop_condition":"context_length"');
    expect(fieldOf(record, 'truncated')).toBe('false');
    expect(fieldOf(record, 'truncated', { mode: 'exact' })).toBe('true');
  });

  test.each([
    ['[{"finish_reason":"length"}]', 'true'],
    ['[{"finish_reason":"l\\u0065ngth","error":null}]', 'true'],
    ['[{"finish_reason":"length"},{"finish_reason":"stop"}]', 'false'],
    ['[{"finish_reason":"length"},{"error":{"type":"E"},"finish_reason":"stop"}]', 'true'],
    ['[{"finish_reason":"length","error":false}]', 'false'],
    ['[{"finish_reason":"length"},null]', 'true'],
    ['[]', 'false'],
  ])('by calls %s: %s', (calls, expected) => {
    expect(fieldOf(traced(`"calls":${calls}`), 'truncated')).toBe(expected);
  });
});

describe('durations without stamps (4.6)', () => {
  test.each([
    ['{}', 'null'],
    ['{"agent":{}}', 'null'],
    ['{"agent":{"duration":1}}', '1.0'],
    ['{"agent":{"start":1,"end":3}}', '2.0'],
    ['{"agent":{"duration":null,"start":1,"end":3}}', '2.0'],
    ['{"start":1.0,"end":3.0}', '2.0'],
    ['{"duration":4.0,"agent":{"duration":1.0}}', '5.0'],
    ['{"a/b":{"duration":1.0}}', 'null'],
    ['{"agent":{"model":{"duration":9.0}}}', 'null'],
    ['{"agent":{"duration":1.0},"agent":{"duration":2.0}}', '2.0'],
    ['{"":{"duration":1.0,"agent":{"duration":2.0}},"agent":{"duration":4.0}}', '7.0'],
    ['{"agent":{"duration":true,"start":1.0,"end":2.0}}', '1.0'],
    ['{"agent":{"duration":NaN,"start":1.0,"end":2.0}}', '1.0'],
    ['{"note":"x","agent":{"duration":1.0}}', '1.0'],
    ['{"start":{"duration":1.0},"end":{"duration":2.0}}', '3.0'],
    ['{"agent":{"start":-9223372036854775808,"end":9223372036854775807}}', '1.8446744073709552e+19'],
    ['{"agent":{"start":9007199254740992,"end":9007199254740993}}', '1.0'],
    ['{"a":{"duration":1e308},"b":{"duration":1e308}}', 'null'],
    ['{"\\u0061gent":{"duration":1.0}}', '1.0'],
  ])('%s is %s', (timing, expected) => {
    expect(fieldOf(traced(`"timing":${timing}`), 'duration')).toBe(expected);
  });

  test('phases of all traces are added by name, and then up with compensation', () => {
    const phase = (seconds: string) => `{"timing":{"agent":{"duration":${seconds}},"boot":{"duration":0.1}}}`;
    expect(fieldOf(`{"traces":[${phase('1e16')},${phase('1.0')}]}`, 'duration')).toBe('1e+16');
    expect(fieldOf(`{"traces":[${phase('0.1')},${phase('0.2')}]}`, 'duration')).toBe('0.5');
  });

  test('one stamp is not enough, and only the first trace counts (6.6)', () => {
    const timing = '"timing":{"agent":{"duration":1.0}}';
    expect(fieldsOf(traced(`"info":{"dispatch":{"time":1}},${timing}`))).toMatchObject({
      dispatch: 1,
      arrival: null,
      duration: 1,
    });
    const stamped = '{"info":{"dispatch":{"time":1},"arrival":{"time":9}}}';
    expect(fieldsOf(`{"traces":[{${timing}},${stamped}]}`)).toMatchObject({ dispatch: null, duration: 1 });
    expect(fieldsOf(`{"traces":[${stamped},{${timing}}]}`)).toMatchObject({ dispatch: 1, arrival: 9, duration: 8 });
  });

  test('stamps too large for a double subtract exactly', () => {
    const record = traced('"info":{"dispatch":{"time":9007199254740993},"arrival":{"time":18446744073709551615}}');
    expect(fieldOf(record, 'duration')).toBe('18437736874454810622');
  });
});

describe('failures before any trace (A18) and error counts (A16)', () => {
  test('errors of the episode count, those of traces do not', () => {
    const record = '{"ok":false,"errors":[{"type":"A"},1,[2,3]],"traces":[{"errors":[{},{}]}]}';
    expect(fieldsOf(record)).toMatchObject({ ok: false, num_errors: 3 });
    expect(fieldsOf('{"errors":null,"traces":[]}')).toMatchObject({ num_errors: 0, ok: null, trace_ids: [] });
  });
});

describe('turns (6.2) and agents (A09)', () => {
  test('assistant nodes count, sampled or not, of trainable agents or not', () => {
    const nodes =
      '[{"message":{"role":"assistant"},"sampled":false},{"parent":0,"message":{"role":"\\u0061ssistant"}}]';
    const judge = `{"agent":{"trainable":false},"nodes":${nodes}}`;
    expect(fieldsOf(`{"traces":[{"nodes":${nodes}},${judge}]}`)).toMatchObject({ turns: 4, branches: 2 });
  });
});
