/** Lines that go for the borders of a scanner that reads many bytes at a time, by table and at random. */
import fc from 'fast-check';

const BAD_UTF8 = [
  [0x80],
  [0xff],
  [0xc0, 0xaf],
  [0xc3],
  [0xe2, 0x82],
  [0xe0, 0x80, 0x80],
  [0xed, 0xa0, 0x80],
  [0xf0, 0x80, 0x80, 0x80],
  [0xf4, 0x90, 0x80, 0x80],
  [0xf5, 0x80, 0x80, 0x80],
  [0xf0, 0x9f, 0x98],
  [0xe2, 0x28, 0xa1],
  [0xc1, 0xbf],
  [0xe0, 0x9f, 0xbf],
  [0xe2, 0x82, 0x28],
  [0xf0, 0x28, 0x98, 0x80],
  [0xf0, 0x9f, 0x28, 0x80],
  [0xf0, 0x9f, 0x98, 0x28],
];

const WIDE = ['\u00e9', '\u07ff', '\u0800', '\ud7ff', '\ue000', '\uffff', '\u{10000}', '\u{10ffff}', '\u2028\u007f'];

const ESCAPES = [
  '\\n',
  '\\"',
  '\\\\',
  '\\/',
  '\\u00e9',
  '\\ud83d\\ude00',
  '\\x',
  '\\u12g4',
  '\\u123',
  '\\U0041',
  '\\ud800',
  '\\udc00',
];

const BAD_NUMBERS = [
  '01',
  '-01',
  '-',
  '1.',
  '-.5',
  '.5',
  '1..2',
  '1.2.3',
  '1e',
  '1e+',
  '1e1.5',
  '+1',
  '--1',
  '1-2',
  '0x1',
  '00',
  '-0-',
  '1_0',
  'e-5',
  '1.e-5',
  '-e-5',
  '1e-5e-5',
  '1e-5.5',
  '1e-',
  '1e--5',
  '01e-5',
  '1e-5-1',
  '1 2',
];
const GOOD_NUMBERS = [
  '0',
  '-0',
  '0.0',
  '-0.5',
  '10',
  '1e5',
  '1E-7',
  '-1.5e-07',
  '1e+22',
  '123456789012345678901234567890',
];
const WORDS = [
  'true',
  'false',
  'null',
  'NaN',
  'Infinity',
  '-Infinity',
  'tru',
  'truee',
  'falze',
  'falsy',
  'nulL',
  'nan',
  '-NaN',
  'trué',
];

/** Names with lists of texts. Not all are legal: the oracle knows. */
export function edgeTexts(): [string, Buffer[]][] {
  return [
    ['UTF-8 damage at every place of a block', BAD_UTF8.flatMap((bytes) => atWidths((pad) => bytesText(pad, bytes)))],
    ['damage outside strings', BAD_UTF8.flatMap((bytes) => damageOutside(Buffer.from(bytes)))],
    ['wide characters at every place of a block', WIDE.flatMap((text) => atWidths((pad) => stringText(pad, text)))],
    ['runs of wide characters', WIDE.map((text) => stringText('x', text.repeat(90)))],
    ['escapes at every place of a block', ESCAPES.flatMap((text) => atWidths((pad) => stringText(pad, text)))],
    [
      'runs of escapes',
      ESCAPES.flatMap((text) => [1, 2, 31, 64, 90].map((count) => stringText('', text.repeat(count)))),
    ],
    ['every character behind a backslash', everyEscape()],
    ['a run of one word with another in it', wordRuns()],
    ['pairs of escapes', ESCAPES.flatMap((left) => ESCAPES.map((right) => stringText('', `${left}${right}`)))],
    [
      'control characters',
      [0, 1, 9, 13, 31, 127].flatMap((code) => atWidths((pad) => stringText(pad, String.fromCharCode(code)))),
    ],
    [
      'numbers at every place of a block',
      [...BAD_NUMBERS, ...GOOD_NUMBERS].flatMap((text) => atWidths((_, width) => numberText(width, text))),
    ],
    ['numbers by themselves', [...BAD_NUMBERS, ...GOOD_NUMBERS].map((text) => Buffer.from(text))],
    ['numbers of many digits', [60, 63, 64, 65, 128, 300, 308, 309, 310, 640].flatMap(longNumbers)],
    ['words at every place of a block', WORDS.flatMap((text) => atWidths((_, width) => wordText(width, text)))],
    ['words by themselves', WORDS.map((text) => Buffer.from(text))],
    ['commas, colons and brackets amiss', structures()],
    [
      'blank lines',
      ['', ' ', '\t\r', '\v', ' \f ', '\v{}', '{}\v', ' \v\u00a0', '\r{}\r'].map((text) => Buffer.from(text)),
    ],
    [
      'bytes after the value',
      ['x', ' x', '{}', '\u0000', ',', '\u00e9', '"', ']'].map((text) => Buffer.from(`{"a":[1]}${text}`)),
    ],
  ];
}

/** One text for each place that something can have in a block of 16 or 64 bytes. */
function atWidths(make: (pad: string, width: number) => Buffer): Buffer[] {
  const widths = [0, 1, 2, 7, 11, 12, 13, 14, 15, 16, 17, 30, 31, 32, 47, 48, 60, 61, 62, 63, 64, 65, 66, 127, 128];
  return widths.map((width) => make('x'.repeat(width), width));
}

function stringText(pad: string, inside: string): Buffer {
  return Buffer.from(`["${pad}${inside}${'y'.repeat(66)}"]`);
}

function bytesText(pad: string, inside: readonly number[]): Buffer {
  return Buffer.concat([Buffer.from(`["${pad}`), Buffer.from(inside), Buffer.from(`${'y'.repeat(66)}"]`)]);
}

function damageOutside(damage: Buffer): Buffer[] {
  const before = [
    '',
    '{"a"',
    '{"a":',
    '[1,',
    '[1',
    '{"a":1,',
    '[tr',
    '[1.',
    '[1e',
    '[-',
    '["\\u00',
    '["\\',
    '{}',
    '[1e400',
    ' \v',
  ];
  return before.map((text) => Buffer.concat([Buffer.from(text), damage, Buffer.from(']')]));
}

/** `width` bytes of plain numbers before it, more behind it. */
function numberText(width: number, text: string): Buffer {
  const before = width === 0 ? '' : `${'1,'.repeat(width >> 1).slice(0, -1)}${width % 2 === 0 ? '' : '1'},`;
  return Buffer.from(`[${before.replace(/^,/, '')}${text},${'-0.25,7,'.repeat(12)}8]`);
}

function wordText(width: number, text: string): Buffer {
  const before = 'true,false,'
    .repeat(12)
    .slice(0, width)
    .replace(/[a-z]*$/, '');
  return Buffer.from(`[${before}${text},${'true,false,'.repeat(9)}true]`);
}

function everyEscape(): Buffer[] {
  const codes = Array.from({ length: 128 }, (_, code) => code).filter((code) => code !== 0x0a);
  return codes.map((code) => stringText('x'.repeat(20), `\\${String.fromCharCode(code)}`));
}

function wordRuns(): Buffer[] {
  const places = Array.from({ length: 45 }, (_, place) => place);
  return ['true', 'false'].flatMap((word) =>
    ['trux', 'falsy', 'null', 'true:true'].flatMap((other) =>
      places.map((place) =>
        Buffer.from(`[${Array.from({ length: 60 }, (_, at) => (at === place ? other : word)).join(',')}]`),
      ),
    ),
  );
}

function longNumbers(digits: number): Buffer[] {
  const run = '7'.repeat(digits);
  const zeros = '0'.repeat(digits);
  return [
    run,
    `-${run}`,
    `0.${run}`,
    `${run}.${run}`,
    `1${zeros}e5`,
    `0.${zeros}1e300`,
    `0${run}`,
    `${run}.`,
    `${run}e`,
    `1e${run}`,
  ].map((text) => Buffer.from(`[${text},1]`));
}

function structures(): Buffer[] {
  const texts = [
    '[1,2,3,,4]',
    `[${'1,'.repeat(70)},2]`,
    `[${'1,'.repeat(70)}]`,
    `[${'1,'.repeat(70)}}`,
    `[,${'1,'.repeat(70)}2]`,
    `[1 ${'2,'.repeat(70)}3]`,
    `[${'1, '.repeat(70)}2 ]`,
    `[${'1 ,'.repeat(70)}2]`,
    `[${'1,  '.repeat(40)}2 , 3]`,
    `[${'1, '.repeat(40)}2 3, 4]`,
    `[${'true,'.repeat(40)},true]`,
    `[${'true, '.repeat(40)}false ,true]`,
    `[${'1,true,"a",null,'.repeat(20)}{}]`,
    `[${'[1,2],'.repeat(20)}[3]]`,
    `{${'"key":1,'.repeat(30)}"last":2}`,
    `{${'"key":1,'.repeat(30)}}`,
    `{${'"key" : 1 , '.repeat(30)}"last":2}`,
    `{${'"key":1,'.repeat(30)}2}`,
    `{${'"key":1,'.repeat(30)}"last",2}`,
    `{"a":[${'1,'.repeat(70)}2],"b":[${'-1.5,'.repeat(70)}2}]}`,
    '{"a":{}}',
    '{"a":[]}',
    '{"a":[[],[[]],{}]}',
    '{"a":[}',
    '{"a":{]',
    '[[1]',
    '{"a":1}}',
  ];
  return texts.map((text) => Buffer.from(text));
}

const scalar = fc.oneof(
  fc.integer({ min: -200_000, max: 200_000 }).map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.integer({ min: -99_999, max: 0 }).map((value) => String(value / 10_000)),
  fc.constantFrom('true', 'false', 'null'),
  fc.constantFrom('NaN', '-Infinity', '0', '1e-7', '1e16', '-1.5e+300'),
);

/** Arrays as episodes have them: long, of one kind each. */
const list = fc
  .tuple(
    fc.oneof(
      fc.array(fc.nat(150_000).map(String), { maxLength: 60 }),
      fc.array(
        fc.nat(90_000).map((value) => String(-value / 10_000)),
        { maxLength: 60 },
      ),
      fc.array(fc.constantFrom('true', 'false'), { maxLength: 60 }),
      fc.array(scalar, { maxLength: 30 }),
    ),
    fc.constantFrom(',', ',', ', ', ' ,'),
  )
  .map(([items, comma]) => `[${items.join(comma)}]`);

const text = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: fc.string({ maxLength: 60 }).map((plain) => JSON.stringify(plain).slice(1, -1)) },
      { weight: 2, arbitrary: fc.constantFrom(...WIDE, ...ESCAPES.slice(0, 6)) },
      {
        weight: 1,
        arbitrary: fc.constantFrom(
          '\\ud800',
          '\\udfff',
          '\\\\'.repeat(40),
          '\u6f22\u5b57'.repeat(20),
          '\\t'.repeat(30),
        ),
      },
    ),
    { maxLength: 8 },
  )
  .map((parts) => `"${parts.join('')}"`);

const value: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    scalar,
    list,
    text,
    fc.array(tie('value'), { maxLength: 5 }).map((items) => `[${items.join(', ')}]`),
    fc
      .array(fc.tuple(text, tie('value')), { maxLength: 5 })
      .map((members) => `{${members.map(([key, inside]) => `${key}:${inside}`).join(',')}}`),
  ),
})).value;

/** To JSON no value, to the strict check a literal that ends too soon: the oracle cannot tell. */
const CUT_NON_FINITE = /(?:N|Na|I[nfit]*)(?:\n|$)/;

const JSON_BYTES = Buffer.from('{}[]",:\\u0123456789abdefDEF.-+tfn \n\t\u0001\v');

/** A few lines of JSON, most of them with up to three bytes changed; line ends and bytes beyond ASCII among the changes. */
export function damagedLines(): fc.Arbitrary<Buffer> {
  const byte = fc.oneof(fc.constantFrom(...JSON_BYTES), fc.integer({ min: 0x80, max: 0xff }));
  const edit = fc.record({
    at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    insert: fc.option(byte),
    remove: fc.nat(2),
  });
  const edits = fc.oneof(fc.constant([]), fc.array(edit, { maxLength: 3 }));
  const line = fc.tuple(value, edits).map(([json, changes]) =>
    changes.reduce((bytes, { at, insert, remove }) => {
      const position = Math.floor(at * bytes.length);
      return Buffer.concat([
        bytes.subarray(0, position),
        Buffer.from(insert === null ? [] : [insert]),
        bytes.subarray(position + remove),
      ]);
    }, Buffer.from(json)),
  );
  const end = Buffer.from('\n');
  return fc
    .tuple(fc.array(line, { minLength: 1, maxLength: 4 }), fc.boolean())
    .map(([lines, isEnded]) =>
      Buffer.concat(lines.flatMap((bytes, index) => (index < lines.length - 1 || isEnded ? [bytes, end] : [bytes]))),
    )
    .filter((bytes) => !CUT_NON_FINITE.test(bytes.toString('latin1')));
}
