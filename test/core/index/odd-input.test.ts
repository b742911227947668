/** What is no legal episode but legal JSON, and what only looks like JSON (demand I8). */
import { describe, expect, test } from 'vitest';
import { MAX_CALLS, MAX_NODES } from '../../../src/core/index/trace-facts.js';
import { buildRows, fieldOf } from './built-rows.js';

function only(text: string | Uint8Array) {
  const rows = buildRows(text);
  expect(rows).toHaveLength(1);
  return rows[0] as (typeof rows)[number];
}

const ODD_STRINGS = ['1', '1.5', 'true', 'false', '[]', '{}', '["x"]'];
const ODD_NUMBERS = ['true', 'false', '"1"', '[]', '{}'];
const ODD_CONTAINERS = ['1', '-1.5', 'true', '"x"'];

/** A value of a wrong type at each place that rows read, and the field that then says nothing. */
const PLACES: readonly (readonly [string, readonly string[], string, string])[] = [
  ['{"id":@,"traces":[]}', ODD_STRINGS, 'id', 'null'],
  ['{"env":{"id":@},"traces":[]}', ODD_STRINGS, 'env', 'null'],
  ['{"env":{"name":@},"traces":[]}', ODD_STRINGS, 'env', 'null'],
  ['{"env":@,"traces":[]}', [...ODD_CONTAINERS, '[]'], 'env', 'null'],
  ['{"group":{"id":@},"traces":[]}', ODD_STRINGS, 'group', 'null'],
  ['{"group":@,"traces":[]}', [...ODD_CONTAINERS, '[]'], 'group', 'null'],
  ['{"run":{"type":@},"traces":[]}', ODD_STRINGS, 'kind', '"eval"'],
  ['{"run":{"work":{"type":@}},"traces":[]}', ODD_STRINGS, 'kind', '"eval"'],
  ['{"run":{"work":@},"traces":[]}', [...ODD_CONTAINERS, '[]'], 'kind', '"eval"'],
  ['{"run":@,"traces":[]}', [...ODD_CONTAINERS, '[]'], 'kind', '"eval"'],
  ['{"ok":@,"traces":[]}', ['1', '0.5', '"true"', '[]', '{}'], 'ok', 'null'],
  ['{"errors":@,"traces":[]}', [...ODD_CONTAINERS, '{}'], 'num_errors', '0'],
  ['{"traces":@}', [...ODD_CONTAINERS, '{}'], 'trace_ids', '[]'],
  ['{"num_input_tokens":@,"num_output_tokens":5,"traces":[]}', ODD_NUMBERS, 'output_tokens', '0'],
  ['{"traces":[@]}', [...ODD_CONTAINERS, '[]'], 'trace_ids', '[]'],
  ['{"traces":[{"id":@}]}', ODD_STRINGS, 'trace_ids', '[]'],
  ['{"traces":[{"nodes":@}]}', [...ODD_CONTAINERS, '{}'], 'branches', '0'],
  ['{"traces":[{"nodes":[@]}]}', [...ODD_CONTAINERS, '[]'], 'branches', '1'],
  ['{"traces":[{"nodes":[{"message":@}]}]}', [...ODD_CONTAINERS, '[]'], 'turns', '0'],
  ['{"traces":[{"nodes":[{"message":{"role":@}}]}]}', ODD_STRINGS, 'turns', '0'],
  ['{"traces":[{"calls":@}]}', [...ODD_CONTAINERS, '{}'], 'cost', 'null'],
  ['{"traces":[{"calls":[@]}]}', [...ODD_CONTAINERS, '[]'], 'cost', 'null'],
  ['{"traces":[{"calls":[{"node":@}]}]}', [...ODD_NUMBERS, '-1', '1.0'], 'input_tokens', '0'],
  ['{"traces":[{"calls":[{"finish_reason":@}]}]}', ODD_STRINGS, 'truncated', 'false'],
  ['{"traces":[{"calls":[{"usage":@}]}]}', [...ODD_CONTAINERS, '[]'], 'cost', 'null'],
  ['{"traces":[{"calls":[{"usage":{"cost":@}}]}]}', ODD_NUMBERS, 'cost', 'null'],
  [
    '{"traces":[{"nodes":[{}],"calls":[{"node":0,"usage":{"prompt_tokens":@,"completion_tokens":3}}]}]}',
    [...ODD_NUMBERS, '5.0', '1e2', '18446744073709551616'],
    'input_tokens',
    '0',
  ],
  ['{"traces":[{"rewards":@}]}', [...ODD_CONTAINERS, '[]'], 'reward', 'null'],
  ['{"traces":[{"rewards":{"r":@}}]}', [...ODD_CONTAINERS, '[]', '[{"score":1}]'], 'reward', '0.0'],
  ['{"traces":[{"rewards":{"r":{"score":@}}}]}', ODD_NUMBERS, 'reward', '0.0'],
  ['{"traces":[{"rewards":{"r":{"score":1.0,"weight":@}}}]}', ODD_NUMBERS, 'reward', '1.0'],
  ['{"traces":[{"info":@}]}', [...ODD_CONTAINERS, '[]'], 'advantage', 'null'],
  ['{"traces":[{"info":{"kind":@}}]}', ODD_STRINGS, 'kind', '"eval"'],
  ['{"traces":[{"info":{"advantage":@}}]}', ODD_NUMBERS, 'advantage', 'null'],
  ['{"traces":[{"info":{"dispatch":@}}]}', [...ODD_CONTAINERS, '[]'], 'dispatch', 'null'],
  ['{"traces":[{"info":{"dispatch":{"time":@}}}]}', ODD_NUMBERS, 'dispatch', 'null'],
  ['{"traces":[{"info":{"arrival":{"time":@}}}]}', ODD_NUMBERS, 'arrival', 'null'],
  ['{"traces":[{"info":{"arrival":{"step":@,"time":2}}}]}', [...ODD_NUMBERS, '5.0', '1e2', '1e999'], 'arrival', '2'],
  ['{"traces":[{"stop_condition":@}]}', ODD_STRINGS, 'stop_condition', 'null'],
  ['{"traces":[{"timing":@}]}', [...ODD_CONTAINERS, '[]'], 'duration', 'null'],
  ['{"traces":[{"timing":{"agent":{"duration":@}}}]}', ['true', 'false', '"1"'], 'duration', 'null'],
];

describe('a value of another type', () => {
  test.each(PLACES)('%s with %j: %s is %s, and it is noted', (pattern, values, key, expected) => {
    for (const value of values) {
      const record = pattern.replace('@', value);
      expect(fieldOf(record, key)).toBe(expected);
      expect(only(record).notes).toContain('ODD_VALUE');
    }
  });

  test.each(PLACES)('%s with null is no news', (pattern) => {
    expect(only(pattern.replace('@', 'null')).notes).not.toContain('ODD_VALUE');
  });

  test('what may be anything is not noted', () => {
    const record = '{"id":"x","traces":[{"info":{"note":1},"calls":[{"error":"text"}]}],"extra":[{"id":5}]}';
    expect(only(record).notes).toEqual([]);
  });
});

describe('keys that come twice', () => {
  test.each([
    ['{"id":"a","id":"b","traces":[]}', 'id', '"b"'],
    ['{"id":"a","id":null,"traces":[]}', 'id', 'null'],
    ['{"env":{"id":"a","name":"n"},"env":{"id":"b"},"traces":[]}', 'env', '"b"'],
    ['{"run":{"work":{"type":"train"}},"run":{"type":"sft"},"traces":[]}', 'kind', '"sft"'],
    ['{"run":{"work":{"type":"train"},"work":{}},"traces":[]}', 'kind', '"eval"'],
    ['{"traces":[{"id":"a"}],"traces":[{"id":"b"},{"id":"c"}]}', 'trace_ids', '["b","c"]'],
    ['{"traces":[{"id":"a"}],"traces":null}', 'trace_ids', '[]'],
    ['{"traces":[{"id":"a","id":"b"}]}', 'trace_ids', '["b"]'],
    ['{"traces":[{"nodes":[{},{},{}],"nodes":[{}]}]}', 'branches', '1'],
    ['{"traces":[{"nodes":[{"message":{"role":"assistant","role":"user"}}]}]}', 'turns', '0'],
    ['{"traces":[{"nodes":[{"message":{"role":"assistant"},"message":{}}]}]}', 'turns', '0'],
    ['{"traces":[{"nodes":[{"message":{"role":"assistant"},"message":{"role":"assistant"}}]}]}', 'turns', '1'],
    ['{"traces":[{"nodes":[{},{"parent":"x","parent":0}]}]}', 'branches', '1'],
    ['{"traces":[{"nodes":[{},{"parent":"x"},{"parent":"y","parent":"x"}]}]}', 'branches', '2'],
    ['{"traces":[{"calls":[{"usage":{"cost":1}}],"calls":[{"usage":{"cost":2}}]}]}', 'cost', '2'],
    ['{"traces":[{"calls":[{"usage":{"cost":1},"usage":null}]}]}', 'cost', 'null'],
    ['{"traces":[{"calls":[{"error":{},"error":null,"finish_reason":"length"}]}]}', 'truncated', 'true'],
    ['{"traces":[{"info":{"advantage":1.0},"info":{}}]}', 'advantage', 'null'],
    ['{"traces":[{"info":{"dispatch":{"time":1},"dispatch":{}}}]}', 'dispatch', 'null'],
    ['{"traces":[{"info":{"arrival":{"step":1,"time":2,"step":3}}}]}', 'arrival', '2'],
    ['{"traces":[{"rewards":{"r":{"score":1.0}},"rewards":{}}]}', 'reward', 'null'],
    ['{"traces":[{"stop_condition":"a","stop_condition":"b"}]}', 'stop_condition', '"b"'],
    ['{"traces":[{"timing":{"a":{"duration":1.0}},"timing":{"b":{"duration":2.0}}}]}', 'duration', '2.0'],
    ['{"\\u0069d":"a","id":"b","traces":[]}', 'id', '"b"'],
  ])('%s: %s is %s', (record, key, expected) => {
    expect(fieldOf(record, key)).toBe(expected);
    expect(only(record).notes).toContain('DUPLICATE_KEY');
  });

  test('the same key in objects side by side is not twice', () => {
    const trace =
      '{"id":"t","nodes":[{"message":{"role":"user"}},{"parent":0,"message":{}},{"parent":0}],"calls":[{"node":0},{"node":1}]}';
    expect(only(`{"id":"a","traces":[${trace},${trace}],"errors":[{"id":1}]}`).notes).toEqual([]);
  });
});

describe('strings', () => {
  test.each([
    ['plain', 'plain'],
    ['', ''],
    ['\\u0041\\u007a', 'Az'],
    ['a\\/b', 'a/b'],
    ['\\"\\\\', '\\"\\\\'],
    ['\\b\\f\\n\\r\\t', '\\b\\f\\n\\r\\t'],
    ['\\u0000\\u0001\\u001F', '\\u0000\\u0001\\u001f'],
    ['\\u000a\\u0008\\u000b\\u000c\\u000d\\u0009', '\\n\\b\\u000b\\f\\r\\t'],
    ['\\u0022\\u005c\\u002f', '\\"\\\\/'],
    ['\\u007f\\u0080\\u07ff\\u0800\\uffff', '\u007f\u0080\u07ff\u0800\uffff'],
    ['\\u2028', '\u2028'],
    ['é漢🙂', 'é漢🙂'],
    ['\\ud83d\\ude42\\uD83D\\uDE42', '🙂🙂'],
    ['x\\u0079z\\\\u0041', 'xyz\\\\u0041'],
    ['y'.repeat(200), 'y'.repeat(200)],
    [`\\n${'y'.repeat(5000)}`, `\\n${'y'.repeat(5000)}`],
  ])('%j is printed as orjson does', (written, expected) => {
    const record = `{"id":"${written}","group":{"id":"${written}"},"traces":[{"id":"${written}","stop_condition":"${written}"}]}`;
    expect(fieldOf(record, 'id')).toBe(`"${expected}"`);
    expect(fieldOf(record, 'group')).toBe(`"${expected}"`);
    expect(fieldOf(record, 'trace_ids')).toBe(expected === '' ? '[]' : `["${expected}"]`);
    expect(fieldOf(record, 'stop_condition')).toBe(`"${expected}"`);
    expect(only(record).notes).toEqual([]);
  });

  test.each(['\\ud83d', '\\uDE42', '\\ud83d\\ud83dx', 'a\\uD83Dz', '\\ud83d\\n', '\\ud83d\\u0041'])(
    'half a character %j stays as it is, and is noted (B24)',
    (written) => {
      const { row, notes } = only(`{"id":"${written}","traces":[]}`);
      expect(row).toContain(`"id":"${written.replace('\\u0041', 'A')}"`);
      expect(notes).toEqual(['LONE_SURROGATE']);
    },
  );
});

describe('what is no JSON after all', () => {
  test.each([
    ['{"id":"\\x","traces":[]}', 'an unknown escape inside a string'],
    ['{"id":"\\u12g4","traces":[]}', 'a unicode escape without four hex digits'],
    ['{"id":"\\u12","traces":[]}', 'a unicode escape without four hex digits'],
    ['{"traces":[{"nodes":[{"message":{"role":"\\q"}}]}]}', 'an unknown escape inside a string'],
    ['{"traces":[{"nodes":[{"parent":"\\q"}]}]}', 'an unknown escape inside a string'],
    ['{"traces":[{"stop_condition":"\\q"}]}', 'an unknown escape inside a string'],
    ['{"traces":[{"rewards":{"r":{"score":01}}}]}', 'a number with a leading zero'],
    ['{"traces":[{"rewards":{"r":{"score":1.}}}]}', 'a number without digits after the point'],
    ['{"traces":[{"rewards":{"r":{"score":1e}}}]}', 'a number without digits in the exponent'],
    ['{"traces":[{"rewards":{"r":{"score":-}}}]}', 'no value where one belongs'],
    ['{"traces":[{"rewards":{"r":1 "s":2}}]}', 'no comma or closing bracket where one belongs'],
    ['{"traces":[{"rewards":{"r" 1}}]}', 'no colon after a key'],
    ['{"traces":[{"rewards":{r:1}}]}', 'no key where one belongs'],
    ['{"traces":[{"rewards":{"r":1,}}]}', 'no key where one belongs'],
    ['{"traces":[{"rewards":{"r":nul}}]}', 'no value where one belongs'],
    ['{"traces":[{"rewards":{"r":tru}}]}', 'no value where one belongs'],
    ['{"traces":[{"rewards":{"r":falsy}}]}', 'no value where one belongs'],
    ['{"traces":[{"rewards":{"r":Nan}}]}', 'no value where one belongs'],
    ['{"traces":[{"rewards":{"r":[1,,2]}}]}', 'no value where one belongs'],
    ['{"traces":[{"rewards":{"r":{"x":["\\q"]}}}]}', 'an unknown escape inside a string'],
    ['{"traces":[{"rewards":{"\\q":1}}]}', 'an unknown escape inside a string'],
    ['{"traces":[{"rewards":{"r":{"score":1e400}}}]}', 'a number too large for a double'],
    ['{"traces":[{"timing":{"agent":{"x":[1,]}}}]}', 'no value where one belongs'],
    ['{"traces":[{"timing":{"a":{},"a":{"x":foo}}}]}', 'no value where one belongs'],
    ['{"traces":[{"info":{"dispatch":{"time":1e400}}}]}', 'a number too large for a double'],
    [`{"traces":[{"info":{"advantage":${'9'.repeat(400)}}}]}`, 'a number too large for a double'],
    ['{"traces":[{"calls":[{"usage":{"cost":-1e999}}]}]}', 'a number too large for a double'],
  ])('%s', (record, reason) => {
    expect(only(record)).toMatchObject({ row: null, fault: { kind: 'invalid_json', reason } });
  });

  test('a timing that stamps make needless is passed over like any payload', () => {
    const stamps = '"info":{"dispatch":{"time":1},"arrival":{"time":2}}';
    const timing = '"timing":{"agent":{"start":1.}}';
    expect(fieldOf(`{"traces":[{${timing},${stamps}},{${timing}}]}`, 'duration')).toBe('1');
    const { fault } = only(`{"traces":[{${timing}},{${stamps}}]}`);
    expect(fault?.reason).toBe('a number without digits after the point');
  });

  test.each([
    '{"id":"@","traces":[]}',
    '{"traces":[{"id":"@"}]}',
    '{"traces":[{"id":"\\n@"}]}',
    '{"traces":[{"nodes":[{"message":{"role":"@"}}]}]}',
    '{"traces":[{"rewards":{"@":{"score":1}}}]}',
    '{"traces":[{"rewards":{"r":{"@":"x"}}}]}',
    '{"traces":[{"timing":{"@":{}}}]}',
  ])('bytes that are not UTF-8 in %s', (pattern) => {
    const [before = '', after = ''] = pattern.split('@');
    for (const bad of [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xc0, 0x80]]) {
      const { row, fault } = only(Buffer.concat([Buffer.from(before), Buffer.from(bad), Buffer.from(after)]));
      expect(row).toBeNull();
      expect(fault?.kind).toBe('invalid_utf8');
    }
    expect(only(pattern.replace('@', 'é')).fault).toBeNull();
  });

  test('a fault does not outlive its line', () => {
    const rows = buildRows('{"id":"\\x","traces":[]}\n{"id":"a","traces":[]}\n');
    expect(rows.map(({ row }) => row === null)).toEqual([true, false]);
    expect(rows[1]).toMatchObject({ fault: null, notes: [] });
  });
});

describe('values longer than a walker keeps', () => {
  const long = 'z'.repeat(1_048_577);

  test.each([
    `{"id":"${long}","traces":[]}`,
    `{"traces":[{"id":"${long}"}]}`,
    `{"traces":[{"rewards":{"${long}":null}}]}`,
    `{"traces":[{"timing":{"${long}":null}}]}`,
    `{"traces":[{"info":{"advantage":1.${'0'.repeat(1_048_577)}}}]}`,
  ])('cost their line (%#)', (record) => {
    expect(only(record)).toMatchObject({ row: null, fault: { kind: 'line_too_large' } });
  });

  test('do not matter where a value is only compared', () => {
    const record = `{"traces":[{"nodes":[{"message":{"role":"${long}"}}],"calls":[{"finish_reason":"${long}"}]}]}`;
    expect(fieldOf(record, 'turns')).toBe('0');
    expect(only(record).notes).toEqual(['ODD_VALUE']);
  });
});

describe('a record that fills more than one tape', () => {
  test('has the row of a short one', () => {
    const nodes = Array.from({ length: 30_000 }, (_, index) =>
      index === 0 ? '{"message":{"role":"user"}}' : `{"parent":${index - 1},"message":{"role":"assistant"}}`,
    );
    const timing = '"timing":{"agent":{"duration":2.5}}';
    const trace = `{"id":"t",${timing},"rewards":{"r":{"score":1.0}},"nodes":[${nodes}]}`;
    const record = `{"id":"long","env":{"id":"e"},"traces":[${trace},${trace}]}`;
    expect(fieldOf(record, 'id')).toBe('"long"');
    expect(fieldOf(record, 'trace_ids')).toBe('["t","t"]');
    expect(fieldOf(record, 'duration')).toBe('5.0');
    expect(fieldOf(record, 'turns')).toBe('59998');
    expect(fieldOf(record, 'branches')).toBe('2');
    expect(fieldOf(record, 'reward')).toBe('1.0');
  });

  test('keeps many traces and calls apart', () => {
    const calls = Array.from({ length: 100 }, () => '{"usage":{"cost":1}}');
    const traces = Array.from({ length: 500 }, (_, index) => `{"id":"t${index}","calls":[${calls}]}`);
    const record = `{"id":"wide","traces":[${traces}]}`;
    expect(fieldOf(record, 'cost')).toBe('50000');
    expect(JSON.parse(fieldOf(record, 'trace_ids'))).toHaveLength(500);
  });
});

describe('more than memory should hold', () => {
  test.each([
    ['nodes', MAX_NODES, (count: number) => `"nodes":[${'0,'.repeat(count - 1)}0]`],
    ['calls', MAX_CALLS, (count: number) => `"calls":[${'{},'.repeat(count - 1)}{}]`],
  ])('%s of one trace beyond %i cost their line', (_, most, members) => {
    const record = (count: number) => `{"traces":[{${members(count)}},{"id":"t"}]}`;
    const rows = buildRows(`${record(most)}\n${record(most + 1)}\n${record(2)}\n`);
    expect(rows.map(({ fault }) => fault?.kind ?? null)).toEqual([null, 'line_too_large', null]);
  });

  test('ids of more than 64 MiB in all', () => {
    const trace = `{"id":"${'i'.repeat(1_000_000)}"}`;
    const record = (count: number) => `{"traces":[${Array.from({ length: count }, () => trace)}]}`;
    const rows = buildRows(`${record(67)}\n${record(68)}\n${record(1)}\n`);
    expect(rows.map(({ fault }) => fault?.kind ?? null)).toEqual([null, 'line_too_large', null]);
  });
});

describe('bare traces (A06, spec 01 section 2)', () => {
  const members = '"id":"t","ok":true,"nodes":[{"parent":null,"message":{"role":"assistant"}}],"errors":[{},{}]';

  test('are wrapped', () => {
    const record = `{"version":1,${members},"run":{"type":"train"},"env":{"id":"no"},"group":{"id":"no"},"num_input_tokens":5,"num_output_tokens":6}`;
    const { row, unit, notes } = only(record);
    expect(unit).toBe('trace');
    expect(notes).toEqual([]);
    expect(JSON.parse(row ?? '')).toMatchObject({
      ...{ id: null, kind: 'train', trace_ids: ['t'], env: null, group: null, ok: true, num_errors: 0 },
      ...{ input_tokens: 0, output_tokens: 0, turns: 1, branches: 0 },
    });
  });

  test('older stamps name env and group, which is noted (A26)', () => {
    const { row, notes } = only(`{${members},"info":{"env_name":"e","group_id":"g","kind":"eval"}}`);
    expect(JSON.parse(row ?? '')).toMatchObject({ env: 'e', group: 'g', kind: 'eval' });
    expect(notes).toEqual(['NAMED_BY_INFO']);
  });

  test('with fields on both sides of a list of traces that is none', () => {
    const record = `{"nodes":[{"message":{"role":"assistant"}}],"traces":[{"id":"x","nodes":[{},{}]}],"traces":null,"calls":[{"usage":{"cost":1}}],"id":"t"}`;
    expect(JSON.parse(only(record).row ?? '')).toMatchObject({ trace_ids: ['t'], turns: 1, branches: 1, cost: 1 });
  });

  test('fields of a trace beside a list of traces belong to no trace', () => {
    const record = `{${members},"rewards":{"r":{"score":9}},"traces":[{"id":"x"}],"calls":[{"usage":{"cost":1}}]}`;
    const { row, unit } = only(record);
    expect(unit).toBe('episode');
    expect(JSON.parse(row ?? '')).toMatchObject({ id: 't', trace_ids: ['x'], reward: null, cost: null, turns: 0 });
  });
});

describe('units (spec 01 section 2)', () => {
  test.each([
    ['{"traces":[]}', 'episode'],
    ['{"traces":{},"nodes":[]}', 'trace'],
    ['{"nodes":1}', 'trace'],
    ['{"trajectory":[]}', 'v0'],
    ['{"prompt":1,"completion":2}', 'v0'],
    ['{"trace_id":"t","branches":[],"version":1}', 'annotation'],
    ['{"trace":"t","nodes":[]}', 'delta'],
    ['{"line":1,"chunk":0,"offset":0}', 'index'],
    ['{"cost":null,"line":1,"offset":0,"trace_ids":[]}', 'index'],
    ['{"trace_id":"t","chunk":0,"offset":0,"info":{}}', 'index'],
    ['{"prl_index":1,"synthetic":true}', 'index'],
    ['{"task":{}}', 'unknown'],
  ])('%s is %s', (record, unit) => {
    expect(only(record).unit).toBe(unit);
  });
});
