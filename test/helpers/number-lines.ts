/** Legal lines with numbers of every form, and with everything of the widths about a block. Part of line-cases.ts. */
import { type LineCase, record } from './line-case.js';

const INTS = ['0', '1', '9', '10', '123456789', '999999999'];
/** Widths about the blocks that SIMD reads. */
const WIDTHS = [7, 8, 9, 14, 15, 16, 17, 30, 31, 32, 33, 34, 47, 48, 49, 63, 64, 65, 66, 127, 128, 129];

const WIDE_NUMBERS = WIDTHS.flatMap((width) => {
  const digits = '6'.repeat(width);
  return [
    `${digits}.5`,
    `0.${digits}`,
    `-${digits}`,
    `${digits}e5`,
    `1.${digits}E-12`,
    `1e${digits}`,
    `${digits}.${digits}`,
  ];
});

const NUMBERS = [
  ...['-0', '-1', '-123456789', '1234567890', '123456789012345678901234567890', '0.0', '1.0', '-0.0', '1e5', '1E+5'],
  ...['1e-5', '12.50e+07', '0e0', '0.1', '1e400', '-1E-400', '9'.repeat(400), `0.${'3'.repeat(500)}`],
];

export const NUMBER_LINES: readonly LineCase[] = [
  ...INTS.map((text) =>
    record('a small integer', `{"ok":${text},"x":${text},"calls":[${text}],"id":${text}}`, [
      `OK INT ${text}`,
      'CALLS ARRAY',
      `CALL INT ${text}`,
      `ID INT ${text}`,
      'UNIT_KEYS calls',
    ]),
  ),
  ...[...NUMBERS, ...WIDE_NUMBERS].map((text) =>
    record('a number kept as text', `{"ok":${text},"x":${text},"calls":[${text} ],"id":${text}}`, [
      `OK NUMBER ${text}`,
      'CALLS ARRAY',
      `CALL NUMBER ${text}`,
      `ID NUMBER ${text}`,
      'UNIT_KEYS calls',
    ]),
  ),
  ...['NaN', 'Infinity', '-Infinity'].map((text) =>
    record('no JSON, but written by Python', `{"ok":${text},"x":${text},"calls":[${text}\t],"id":${text}}`, [
      'OK NON_FINITE',
      'CALLS ARRAY',
      'CALL NON_FINITE',
      'ID NON_FINITE',
      'UNIT_KEYS calls',
    ]),
  ),
];

/** Keys, white space and arrays that end about a block. */
export const WIDTH_LINES: readonly LineCase[] = WIDTHS.flatMap((width) => [
  record(
    `a key of ${width} bytes`,
    `{"${'k'.repeat(width)}":{"${'k'.repeat(width)}":1},"id":1,"${'k'.repeat(width - 1)}\\"":2,"ok":3}`,
    ['ID INT 1', 'OK INT 3', 'UNIT_KEYS'],
  ),
  record(
    `${width} spaces`,
    `{${' '.repeat(width)}"id"${' '.repeat(width)}:${' '.repeat(width)}1${' '.repeat(width)},"x":[${' '.repeat(width)}]}`,
    ['ID INT 1', 'UNIT_KEYS'],
  ),
  record(
    `arrays of ${width} bytes`,
    `{"x":[${'1'.repeat(width)}],"y":[${'1,'.repeat(width)}1],"z":[[${'true,'.repeat(width)}null],"]"],"errors":[${'0,'.repeat(width)}0],"id":1}`,
    [`ERRORS ARRAY ${width + 1}`, 'ID INT 1', 'UNIT_KEYS'],
  ),
  record(
    `objects of ${width} members`,
    `{"x":{${`"a":1,`.repeat(width)}"b":{}},"rewards":{${`"a":"b",`.repeat(width)}"c":{"d":[]}},"id":1}`,
    [`REWARDS RAW {${`"a":"b",`.repeat(width)}"c":{"d":[]}}`, 'ID INT 1', 'UNIT_KEYS'],
  ),
]);
