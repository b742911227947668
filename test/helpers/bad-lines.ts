/** Lines that are no records, each with where that is seen. Part of line-cases.ts. */
import { FAULT } from '../../src/core/scan/walker.js';
import { bad, type LineCase } from './line-case.js';

/** With the mark before the byte that cannot stand there; at the end it is the comma that follows. */
const BAD_VALUES = [
  ...[
    '0¦1',
    '-0¦1',
    '0¦00',
    '-¦',
    '-¦a',
    '-¦-1',
    '¦+1',
    '¦.5',
    '1.¦',
    '1.¦e5',
    '1.¦.2',
    '1.5¦.2',
    '0.¦',
    '1e¦',
    '1e+¦',
  ],
  ...[
    '1e-¦x',
    '1e5¦.0',
    '1E¦E5',
    '0¦x10',
    '1¦a',
    '12 ¦3',
    '1¦_000',
    '-¦NaN',
    '123456789012¦a',
    '1.0¦f',
    '-Inf¦',
    'Na¦n',
  ],
  ...[
    'Na¦',
    'Inf¦',
    'Infinity¦1',
    'NaN¦N',
    '-¦i',
    't¦',
    'tru¦',
    'tru¦E',
    'true¦e',
    'fals¦',
    'false¦y',
    'nul¦',
    'null¦l',
  ],
  ...[
    'n¦one',
    '¦True',
    'f¦oo',
    "¦'a'",
    '¦undefined',
    'n¦Ull',
    '¦',
    '¦:',
    '¦,1',
    '¦}',
    '¦]',
    '¦/**/1',
    '¦\\u0031',
    '¦é',
  ],
];

const VALUES: readonly LineCase[] = BAD_VALUES.flatMap((marked) => [
  bad('a bad value', FAULT.GRAMMAR, `{"ok":${marked},"id":1}`),
  bad('a bad value that is not wanted', FAULT.GRAMMAR, `{"x":${marked},"id":1}`),
]);

const GRAMMAR: readonly LineCase[] = [
  ...[
    ...['{¦,}', '{¦a:1}', "{¦'a':1}", '{¦1:2}', '{¦null:2}', '{¦]', '{¦[]}', '{¦{}}', '{¦:1}', '{"a"¦}', '{"a" ¦1}'],
    ...[
      '{"a"¦,"b":1}',
      '{"a"¦"b"}',
      '{"a":¦}',
      '{"a":¦,"b":1}',
      '{"a":¦:1}',
      '{"a":1 ¦"b":2}',
      '{"a":1¦:2}',
      '{"a":1,¦}',
    ],
    ...['{"a":1,¦,"b":2}', '{"a":1,¦]', '{"a":1¦;"b":2}', '{"a":"b"¦"c"}', '{"a":{}¦{}}', '{"a":[]¦"b"}', '{"a":¦]}'],
  ].map((marked) => bad('a bad object', FAULT.GRAMMAR, marked)),
  ...[
    ...['[¦,1]', '[1,¦]', '[1,¦,2]', '[1 ¦2]', '[1¦:2]', '[¦}', '[1,¦}', '[{}¦{}]', '[{}¦"a"]', '["a"¦[]]', '[1¦;2]'],
  ].flatMap((marked) =>
    ['errors', 'traces', 'nodes', 'calls'].map((key) =>
      bad('a bad array that is walked', FAULT.GRAMMAR, `{"${key}":${marked},"id":1}`),
    ),
  ),
  ...['env', 'group', 'run', 'info'].map((key) =>
    bad('a bad object further in', FAULT.GRAMMAR, `{"${key}":{"id":1,¦},"id":1}`),
  ),
  bad('a bad object deep inside', FAULT.GRAMMAR, '{"traces":[{"calls":[{"usage":{"cost":1 ¦"x":2}}]}]}'),
  bad('white space of other languages', FAULT.GRAMMAR, '{"id":¦\u00a01}'),
  bad('white space of other languages', FAULT.NOT_OBJECT, '¦\u2028{}'),
  bad('vertical tab among tokens', FAULT.GRAMMAR, '{"a":¦\v1}'),
  bad('form feed behind a value', FAULT.GRAMMAR, '{"a":1¦\f}'),
  bad('a control character among tokens', FAULT.GRAMMAR, '{¦\x01"a":1}'),
  ...['\v', '\f', '\x01', '\x1f', '\b'].flatMap((control) => [
    bad('a control character in what is passed over', FAULT.GRAMMAR, `{"x":[1,¦${control}2]}`),
    bad('the same behind many numbers', FAULT.GRAMMAR, `{"x":[${'10,'.repeat(60)}¦${control}2]}`),
    bad('the same in RAW', FAULT.GRAMMAR, `{"rewards":{"a":${' '.repeat(61)}¦${control}2}}`),
  ]),
];

const BRACKETS: readonly LineCase[] = [
  ...[
    '{"a":1¦]',
    '{"a":{"b":1¦]}',
    '{"a":[1¦}}',
    '{"a":[¦}',
    '{"a":[[1]¦}',
    '{"a":{¦]',
    '{"a":{"b":[]¦]}',
    '{"a":[{¦]}',
  ],
  ...[
    '{"env":{"id":1¦]}',
    '{"traces":[1¦}',
    '{"traces":[{}¦}]',
    '{"errors":["a"¦}',
    '{"rewards":{"a":[¦}}',
    '{"nodes":[{"x":[¦}',
  ],
  ...[`{"a":[${'1,'.repeat(60)}2¦}`, `{"a":[${'1,'.repeat(60)}[2],{"x":3}¦}}`, '{"a":"x"\t¦]'],
].map((marked) => bad('crossed brackets', FAULT.BRACKETS, marked));

const TRAILING: readonly LineCase[] = [
  ...[
    '{}¦x',
    '{}¦{}',
    '{} ¦{}',
    '{}¦}',
    '{}¦]',
    '{}¦,',
    '{}¦"',
    '{}¦1',
    '{}¦null',
    '{}\t\r ¦[]',
    '{}¦\v',
    '{}¦\f',
    '{} ¦\x01',
  ],
  ...[
    '{"id":"a"}¦{"id":"b"}',
    '{"id":"a","traces":[]}¦}',
    '{"a":1}¦,{"a":2}',
    '{}¦//',
    '{}¦é',
    `{}${' '.repeat(500)}¦x`,
  ],
  ...[`{"id":1}¦${'garbage '.repeat(900)}`, '{"id":"a","env":{}}¦{"id":"b","env":{"id":"x'],
].map((marked) => bad('behind the object', FAULT.TRAILING, marked));

const NOT_OBJECTS: readonly LineCase[] = [
  ...[
    '¦[]',
    '¦null',
    '¦1',
    '¦"a"',
    '¦x',
    '¦}',
    '¦]',
    '  ¦[{}]',
    '\t¦,',
    '¦\ufeff{}',
    '¦\v{}',
    ' ¦\f {}',
    '¦\v\f x',
    '¦\x01',
    ' \r¦-',
  ],
  ...['¦\v\x00', `¦${'x'.repeat(5000)}`, '¦:', '¦é', '¦\\', "¦'", '¦true}', '¦"id":"a"}'],
].map((marked) => bad('no object', FAULT.NOT_OBJECT, marked));

const NULS: readonly LineCase[] = [
  ...[
    '¦\0',
    '  ¦\0',
    `¦${'\0'.repeat(4097)}`,
    '¦\0{"id":"a"}',
    '{¦\0}',
    '{"a¦\0":1}',
    '{"a"¦\0:1}',
    '{"a":¦\0}',
    '{"a":1¦\0}',
  ],
  ...[
    '{"a":1,¦\0"b":2}',
    '{"id":"a¦\0"}',
    '{"x":"a¦\0"}',
    '{"x":"\\¦\0"}',
    '{"id":"\\¦\0"}',
    '{"x":[¦\0]}',
    '{"x":["¦\0"]}',
  ],
  ...[
    '{"x":{"a":"b\\¦\0"}}',
    '{}¦\0',
    '{} ¦\0\0\0',
    '{"id":12¦\0}',
    '{"id":-¦\0}',
    '{"id":1.¦\0}',
    '{"id":tr¦\0}',
    '{"x":nul¦\0l}',
  ],
  ...[
    '{"traces":[¦\0]}',
    '{"rewards":{¦\0}}',
    '{"\\u0069¦\0d":1}',
    `{"x":[${'10,'.repeat(60)}¦\0,1]}`,
    '{"id":"a"¦\0\0\0',
  ],
].map((marked) => bad('NUL', FAULT.NUL, marked));

const CONTROL_CHARACTERS = Array.from({ length: 32 }, (_, code) => String.fromCharCode(code)).filter(
  (control) => control !== '\0' && control !== '\n',
);

const CONTROLS: readonly LineCase[] = [
  ...CONTROL_CHARACTERS.flatMap((control) => [`{"id":"a¦${control}b"}`, `{"x":"${'y'.repeat(40)}¦${control}"}`]),
  ...['{"a¦\tb":1}', '{"id":"\\¦\t"}', '{"x":"\\¦\r"}', '{"\\¦\x1fid":1}', '{"x":["¦\t"]}', '{"x":{"¦\r":1}}'],
  ...['{"timing":{"a":"¦\v"}}', `{"x":"${'y'.repeat(300)}¦\t"}`, `{"${'k'.repeat(300)}¦\x01":1}`],
  ...[`{"x":[${'10,'.repeat(60)}"¦\x02"]}`, '{"x":["\\\\\\¦\x03"]}'],
].map((marked) => bad('a control character in a string', FAULT.CONTROL, marked));

/** Every kind of token and place, to be cut anywhere. */
const CUT_ME =
  '{"id":"e\\"1","\\u006fk":true,"x":-1.5e+3,"traces":[{"id":null,"nodes":[{"parent":12},7],"calls":[],"rewards":{"r":[{"a":"\\\\"}]}}],' +
  '"errors":[false,{}],"task":{"k":["v",[1,2]]},"y":NaN}';

const TORN: readonly LineCase[] = [
  ...Array.from({ length: CUT_ME.length - 1 }, (_, index) => CUT_ME.slice(0, index + 1)),
  ...[
    '{"x":"\\',
    '{"id":"\\',
    '{"\\',
    '{"x":["\\',
    '{"id":"a" ',
    '{"x":[1,2 ',
    `{"x":[${'10,'.repeat(80)}`,
    '{"id":-Inf',
  ],
  ...[`{"x":"${'y'.repeat(5000)}`, `{"id":"${'y'.repeat(5000)}`, `{"${'y'.repeat(5000)}`, `{${' '.repeat(5000)}`],
].map((line) => bad(`torn behind ${line.length} bytes`, FAULT.TORN, line));

export const BAD_LINES: readonly LineCase[] = [
  ...VALUES,
  ...GRAMMAR,
  ...BRACKETS,
  ...TRAILING,
  ...NOT_OBJECTS,
  ...NULS,
  ...CONTROLS,
  ...TORN,
];
