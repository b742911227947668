/** Lines that are records or blank, however odd. Part of line-cases.ts. */
import { FAULT, LINE } from '../../src/core/scan/walker.js';
import { blank, type LineCase, record } from './line-case.js';
import { NUMBER_LINES, WIDTH_LINES } from './number-lines.js';
import { TYPED_FIELDS, typedLine, typedTape } from './typed-fields.js';

/** A string where it is captured, passed over alone, passed over in containers, and captured with its container. */
function stringEverywhere(what: string, text: string, type: 'STRING' | 'ESCAPED'): LineCase {
  const line = `{"id":"${text}","x":"${text}","task":{"${text}":["${text}"]},"rewards":{"${text}":"${text}"},"ok":true}`;
  const raw = `{"${text}":"${text}"}`;
  return record(what, line, [`ID ${type} ${text}`, `REWARDS RAW ${raw}`, 'OK TRUE', 'UNIT_KEYS']);
}

const BLANKS = ['', ' ', '\t', '\r', '\v', '\f', ' \t\r\v\f ', '\r\r', ' '.repeat(5000), `\v${' '.repeat(300)}\f`].map(
  blank,
);

const STRINGS: readonly LineCase[] = [
  ...[...Array.from({ length: 13 }, (_, pairs) => pairs), 2000].flatMap((pairs) => {
    const run = '\\\\'.repeat(pairs);
    return [
      stringEverywhere(`${pairs * 2} backslashes`, run, pairs === 0 ? 'STRING' : 'ESCAPED'),
      stringEverywhere(`${pairs * 2 + 1} backslashes and a quote`, `${run}\\"`, 'ESCAPED'),
    ];
  }),
  ...[14, 15, 16, 17, 30, 31, 32, 33, 62, 63, 64, 65, 126, 127, 128, 129].flatMap((width) => [
    stringEverywhere(`a quote behind ${width} bytes`, 'x'.repeat(width), 'STRING'),
    stringEverywhere(`an escaped quote behind ${width} bytes`, `${'x'.repeat(width)}\\"y`, 'ESCAPED'),
    stringEverywhere(`two backslashes behind ${width} bytes`, `${'x'.repeat(width)}\\\\`, 'ESCAPED'),
  ]),
  stringEverywhere('brackets and colons', ']}[{,:', 'STRING'),
  stringEverywhere('every escape', '\\"\\\\\\/\\b\\f\\n\\r\\t\\u00ff', 'ESCAPED'),
  stringEverywhere('escapes are not checked', '\\x\\u12\\uZZZZ\\ ', 'ESCAPED'),
  stringEverywhere('a pair of surrogates', '\\ud83d\\ude00', 'ESCAPED'),
  stringEverywhere('a lone surrogate', '\\ud800', 'ESCAPED'),
  stringEverywhere('wide characters', 'é\u2028\u{1F600}\u007f', 'STRING'),
  stringEverywhere('a long text', 'lorem ipsum '.repeat(900), 'STRING'),
  stringEverywhere('a long text with escapes', 'lorem\\n\\"ipsum\\" '.repeat(700), 'ESCAPED'),
];

const NOT_UTF8: LineCase = {
  name: 'bytes that are no UTF-8 are let through',
  line: Buffer.from('{"id":"a\xff\xc0\x80\xed\xa0\x80","\xfe":"\xff"}', 'latin1'),
  kind: LINE.RECORD,
  fault: FAULT.NONE,
  at: -1,
  tape: ['ID STRING a\xff\xc0\x80\xed\xa0\x80', 'UNIT_KEYS'],
};

/** In the order of their bits; written out, so that a changed order in the source is seen. */
const UNIT_KEY_NAMES = (
  'traces nodes trajectory prompt completion trace_id trace_ids branches version trace open set calls pending discard ' +
  'links line chunk offset prl_index'
).split(' ');

const KEYS: readonly LineCase[] = [
  record('an escaped key', '{"\\u0069d":"a","i\\u0064":"b","\\u0069\\u0064":"c"}', [
    'ID STRING a',
    'ID STRING b',
    'ID STRING c',
    'UNIT_KEYS',
  ]),
  record('escaped keys further in', '{"trac\\u0065s":[{"nod\\u0065s":[{"p\\u0061rent":3}]}]}', [
    'TRACES ARRAY',
    'TRACE OBJECT',
    'NODES ARRAY',
    'NODE OBJECT',
    'PARENT INT 3',
    'TRACES_END',
    'UNIT_KEYS traces',
  ]),
  record('hex digits of both cases', '{"\\u006fk":true,"\\u006Fk":false}', ['OK TRUE', 'OK FALSE', 'UNIT_KEYS']),
  record('every character escaped', `{"${[...'num_output_tokens'].map(escapeUnit).join('')}":7}`, [
    'OUTPUT_TOKENS INT 7',
    'UNIT_KEYS',
  ]),
  record('escapes that spell other keys', '{"i\\nd":1,"\\u0049d":2,"id\\u0000":3,"\\u00e9d":4,"id\\/":5}', [
    'UNIT_KEYS',
  ]),
  record(
    'escapes that are none',
    '{"i\\d":1,"\\u006":2,"\\u00zzd":3,"\\U0069d":4,"id\\u":5,"\\u0069":6,"\\u+069d":7}',
    ['UNIT_KEYS'],
  ),
  record('keys that begin or end as wanted ones', '{"i":1,"idd":2,"Id":3,"id ":4,"xid":5,"ide":6,"oK":7,"d":8}', [
    'UNIT_KEYS',
  ]),
  record('name and node are not one key', '{"env":{"node":1,"name":"n"},"calls":[{"name":1,"node":2}]}', [
    'ENV OBJECT',
    'ENV_NAME STRING n',
    'CALLS ARRAY',
    'CALL OBJECT',
    'CALL_NODE INT 2',
    'UNIT_KEYS calls',
  ]),
  record('an empty key', '{"":{"":1},"id":"a"}', ['ID STRING a', 'UNIT_KEYS']),
  record('keys of an object of JavaScript', '{"__proto__":{"id":1},"constructor":2,"toString":3,"hasOwnProperty":4}', [
    'UNIT_KEYS',
  ]),
  record('keys beyond ASCII', '{"é":1,"\u{1F600}":2,"ïd":3,"id":4}', ['ID INT 4', 'UNIT_KEYS']),
  record('a huge key', `{"${'k'.repeat(5000)}":1,"${'\\n'.repeat(3000)}":2,"id":3}`, ['ID INT 3', 'UNIT_KEYS']),
  record('wanted keys where they are not wanted', '{"task":{"id":1,"traces":[]},"x":[{"id":2}],"cost":3,"role":4}', [
    'UNIT_KEYS',
  ]),
  record('all keys of a unit', `{${UNIT_KEY_NAMES.map((key) => `"${key}":0`).join(',')}}`, [
    'TRACES INT 0',
    'NODES INT 0',
    'CALLS INT 0',
    `UNIT_KEYS ${UNIT_KEY_NAMES.join(',')}`,
  ]),
  record('an escaped key of a unit', '{"\\u006finks":1,"\\u006cinks":2,"prl_inde\\u0078":1}', [
    'UNIT_KEYS links,prl_index',
  ]),
  record('keys of a unit further in do not count', '{"env":{"traces":1},"info":{"version":2,"line":3}}', [
    'ENV OBJECT',
    'INFO OBJECT',
    'UNIT_KEYS',
  ]),
];

function escapeUnit(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

const DUPLICATES: readonly LineCase[] = [
  record('id', '{"id":"a","id":"b"}', ['ID STRING a', 'ID STRING b', 'UNIT_KEYS']),
  record('id, null last', '{"id":"a","id":null}', ['ID STRING a', 'ID NULL', 'UNIT_KEYS']),
  record('ok', '{"ok":true,"ok":1,"ok":false}', ['OK TRUE', 'OK INT 1', 'OK FALSE', 'UNIT_KEYS']),
  record('env', '{"env":{"id":"a"},"env":{}}', ['ENV OBJECT', 'ENV_ID STRING a', 'ENV OBJECT', 'UNIT_KEYS']),
  record('env.name', '{"env":{"name":"a","name":""}}', [
    'ENV OBJECT',
    'ENV_NAME STRING a',
    'ENV_NAME STRING ',
    'UNIT_KEYS',
  ]),
  record('group', '{"group":{"id":"a"},"group":null}', [
    'GROUP OBJECT',
    'GROUP_ID STRING a',
    'GROUP NULL',
    'UNIT_KEYS',
  ]),
  record('run', '{"run":{"type":"a"},"run":{"work":{"type":"b"},"work":1}}', [
    'RUN OBJECT',
    'RUN_TYPE STRING a',
    'RUN OBJECT',
    'WORK OBJECT',
    'WORK_TYPE STRING b',
    'WORK INT 1',
    'UNIT_KEYS',
  ]),
  record('errors', '{"errors":[1,2],"errors":[],"errors":{}}', [
    'ERRORS ARRAY 2',
    'ERRORS ARRAY 0',
    'ERRORS OBJECT',
    'UNIT_KEYS',
  ]),
  record('traces', '{"traces":[{"id":"a"}],"traces":[{"id":"b"}]}', [
    'TRACES ARRAY',
    'TRACE OBJECT',
    'TRACE_ID STRING a',
    'TRACES_END',
    'TRACES ARRAY',
    'TRACE OBJECT',
    'TRACE_ID STRING b',
    'TRACES_END',
    'UNIT_KEYS traces',
  ]),
  record('traces, an object last', '{"traces":[],"traces":{"id":1}}', [
    'TRACES ARRAY',
    'TRACES_END',
    'TRACES OBJECT',
    'UNIT_KEYS traces',
  ]),
  ...['nodes', 'calls'].map((key) =>
    record(key, `{"${key}":[1],"${key}":[2],"${key}":"x"}`, [
      `${key.toUpperCase()} ARRAY`,
      `${key.toUpperCase().slice(0, -1)} INT 1`,
      `${key.toUpperCase()} ARRAY`,
      `${key.toUpperCase().slice(0, -1)} INT 2`,
      `${key.toUpperCase()} STRING x`,
      `UNIT_KEYS ${key}`,
    ]),
  ),
  record('parent', '{"nodes":[{"parent":1,"parent":2},{"parent":null,"parent":0}]}', [
    'NODES ARRAY',
    'NODE OBJECT',
    'PARENT INT 1',
    'PARENT INT 2',
    'NODE OBJECT',
    'PARENT NULL',
    'PARENT INT 0',
    'UNIT_KEYS nodes',
  ]),
  record('message and role', '{"nodes":[{"message":{"role":"a","role":"b"},"message":{}}]}', [
    'NODES ARRAY',
    'NODE OBJECT',
    'MESSAGE OBJECT',
    'ROLE STRING a',
    'ROLE STRING b',
    'MESSAGE OBJECT',
    'UNIT_KEYS nodes',
  ]),
  record('usage', '{"calls":[{"usage":{"cost":1,"cost":2.0},"usage":null}]}', [
    'CALLS ARRAY',
    'CALL OBJECT',
    'USAGE OBJECT',
    'COST INT 1',
    'COST NUMBER 2.0',
    'USAGE NULL',
    'UNIT_KEYS calls',
  ]),
  record('error of a call', '{"calls":[{"error":{"type":"x"},"error":null}]}', [
    'CALLS ARRAY',
    'CALL OBJECT',
    'CALL_ERROR OBJECT',
    'CALL_ERROR NULL',
    'UNIT_KEYS calls',
  ]),
  record('rewards', '{"rewards":{"a":1,"a":2},"rewards":{ }}', [
    'REWARDS RAW {"a":1,"a":2}',
    'REWARDS RAW { }',
    'UNIT_KEYS',
  ]),
  record('info', '{"info":{"kind":"a"},"info":{"kind":"b","kind":"c"}}', [
    'INFO OBJECT',
    'INFO_KIND STRING a',
    'INFO OBJECT',
    'INFO_KIND STRING b',
    'INFO_KIND STRING c',
    'UNIT_KEYS',
  ]),
  record('tokens', '{"num_input_tokens":1,"num_input_tokens":null}', [
    'INPUT_TOKENS INT 1',
    'INPUT_TOKENS NULL',
    'UNIT_KEYS',
  ]),
  record('unwanted', '{"x":1,"x":{"x":[],"x":2},"x":"y"}', ['UNIT_KEYS']),
  record('written in two ways', '{"id":1,"i\\u0064":2}', ['ID INT 1', 'ID INT 2', 'UNIT_KEYS']),
].map((one) => ({ ...one, name: `twice, ${one.name}` }));

const SPACED_TAPE = [
  'ID STRING a',
  'ERRORS ARRAY 2',
  'TRACES ARRAY',
  'TRACE OBJECT',
  'CALLS ARRAY',
  'CALL INT 1',
  'CALL OBJECT',
  'TRACES_END',
  'UNIT_KEYS traces',
];

function spaced(space: string): string {
  const tokens =
    '{ "id" : "a" , "errors" : [ null , { } ] , "n" : 1.5 , "traces" : [ { "calls" : [ 1 , { } ] } ] , "x" : [ [ ] , true ] }';
  return ` ${tokens} `.replaceAll(' ', space);
}

const SPACES: readonly LineCase[] = [
  ...['', ' ', '\t', '\r', ' \t\r', ' '.repeat(70), '\t'.repeat(300)].map((space) =>
    record('white space everywhere', spaced(space), SPACED_TAPE),
  ),
  record('CR before LF', '{"id":"a"}\r', ['ID STRING a', 'UNIT_KEYS']),
  record('long white space behind', `{"id":1}${' '.repeat(5000)}\t`, ['ID INT 1', 'UNIT_KEYS']),
  record('long white space before', `${' '.repeat(5000)}{"id":1}`, ['ID INT 1', 'UNIT_KEYS']),
  record('spaces are part of RAW', '{"timing": { "a" :\t[ 1 ,2 ]\r} }', [
    'TIMING RAW { "a" :\t[ 1 ,2 ]\r}',
    'UNIT_KEYS',
  ]),
];

const ORDERS: readonly LineCase[] = [
  record('an empty object', '{}', ['UNIT_KEYS']),
  record(
    'keys in reversed order',
    '{"traces":[{"timing":{},"stop_condition":"s","info":{"arrival":{"time":2.5,"step":3},"dispatch":{"time":1,"step":2},' +
      '"kind":"k"},"rewards":{},"calls":[{"usage":{"cost":1,"prompt_tokens":2},"node":0}],"nodes":[{"message":{"role":"r"},"parent":9}],' +
      '"id":"t"}],"ok":false,"run":{"work":{"type":"w"},"type":"y"},"env":{"name":"n","id":"i"},"id":"e"}',
    [
      ...['TRACES ARRAY', 'TRACE OBJECT', 'TIMING RAW {}', 'STOP_CONDITION STRING s', 'INFO OBJECT', 'ARRIVAL OBJECT'],
      ...['ARRIVAL_TIME NUMBER 2.5', 'ARRIVAL_STEP INT 3', 'DISPATCH OBJECT', 'DISPATCH_TIME INT 1'],
      ...['INFO_KIND STRING k', 'REWARDS RAW {}'],
      ...['CALLS ARRAY', 'CALL OBJECT', 'USAGE OBJECT', 'COST INT 1', 'PROMPT_TOKENS INT 2', 'CALL_NODE INT 0'],
      ...['NODES ARRAY', 'NODE OBJECT', 'MESSAGE OBJECT', 'ROLE STRING r', 'PARENT INT 9', 'TRACE_ID STRING t'],
      ...['TRACES_END', 'OK FALSE', 'RUN OBJECT', 'WORK OBJECT', 'WORK_TYPE STRING w', 'RUN_TYPE STRING y'],
      ...['ENV OBJECT', 'ENV_NAME STRING n', 'ENV_ID STRING i', 'ID STRING e', 'UNIT_KEYS traces'],
    ],
  ),
  record(
    'a bare trace',
    '{"version":1,"id":"t","nodes":[],"calls":[],"rewards":null,"info":{"env_name":"e","group_id":"g","advantage":-0.5}}',
    [
      ...['ID STRING t', 'NODES ARRAY', 'CALLS ARRAY', 'REWARDS NULL', 'INFO OBJECT', 'INFO_ENV_NAME STRING e'],
      ...['INFO_GROUP_ID STRING g', 'ADVANTAGE NUMBER -0.5', 'UNIT_KEYS nodes,version,calls'],
    ],
  ),
  record(
    'fields of the record inside a trace',
    '{"traces":[{"ok":true,"errors":[1],"env":{"id":1},"run":{"type":2}}]}',
    [...['TRACES ARRAY', 'TRACE OBJECT', 'TRACES_END', 'UNIT_KEYS traces']],
  ),
  record('an element of an array of arrays', '{"traces":[[{"id":1}],[[]],[]],"nodes":[[1]],"calls":[[]]}', [
    ...['TRACES ARRAY', 'TRACE ARRAY', 'TRACE ARRAY', 'TRACE ARRAY', 'TRACES_END', 'NODES ARRAY', 'NODE ARRAY'],
    ...['CALLS ARRAY', 'CALL ARRAY', 'UNIT_KEYS traces,nodes,calls'],
  ]),
  record(
    'odd parents',
    '{"nodes":[{"parent":-1},{"parent":1.0},{"parent":"0"},{"parent":[]},{"parent":99999999999},{}]}',
    [
      ...['NODES ARRAY', 'NODE OBJECT', 'PARENT NUMBER -1', 'NODE OBJECT', 'PARENT NUMBER 1.0', 'NODE OBJECT'],
      ...['PARENT STRING 0', 'NODE OBJECT', 'PARENT ARRAY', 'NODE OBJECT', 'PARENT NUMBER 99999999999', 'NODE OBJECT'],
      'UNIT_KEYS nodes',
    ],
  ),
  record('errors of all kinds', '{"errors":["]",{"a":[1,2]},[],null,1.5,-Infinity,[[],[]]]}', [
    'ERRORS ARRAY 7',
    'UNIT_KEYS',
  ]),
  record('arrays of numbers', `{"x":[${'1234,'.repeat(80)}5],"id":"a","y":{"z":[${'-0.25, '.repeat(80)}1e5]}}`, [
    'ID STRING a',
    'UNIT_KEYS',
  ]),
  record('a string behind many numbers', `{"x":[${'10,'.repeat(60)}"]"],"id":1}`, ['ID INT 1', 'UNIT_KEYS']),
  record('an array behind many numbers', `{"x":[${'10,'.repeat(60)}[4,[5]],{"k":"}"}],"id":1}`, [
    'ID INT 1',
    'UNIT_KEYS',
  ]),
  record('tabs among many numbers', `{"x":[${'10,\t20,\r'.repeat(60)}3],"id":1}`, ['ID INT 1', 'UNIT_KEYS']),
  record('payload that is no JSON is not seen', '{"task":[1,,2],"x":[1,foo],"y":{"a" 1},"z":[01,],"w":{1:2},"id":1}', [
    'ID INT 1',
    'UNIT_KEYS',
  ]),
];

const TYPES: readonly LineCase[] = TYPED_FIELDS.map((typed) =>
  record('a value of every type', typedLine(typed), typedTape(typed)),
);

export const LEGAL_LINES: readonly LineCase[] = [
  ...BLANKS,
  ...STRINGS,
  NOT_UTF8,
  ...KEYS,
  ...DUPLICATES,
  ...SPACES,
  ...ORDERS,
  ...TYPES,
  ...NUMBER_LINES,
  ...WIDTH_LINES,
];
