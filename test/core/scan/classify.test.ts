import { describe, expect, test } from 'vitest';
import { LineClassifier, type LineContent } from '../../../src/core/scan/classify.js';
import { LineFramer } from '../../../src/core/scan/framing.js';
import type { Damage, StreamRecord } from '../../../src/core/scan/types.js';

const CAP = 1_000_000;

function episode(id: string, text = 'x'): string {
  return `{"id":"${id}","env":{"id":"e"},"task":{"type":"T","data":{"prompt":${JSON.stringify(text)}}},"ok":true,"errors":[],"traces":[]}`;
}

function trace(id: string): string {
  return `{"version":1,"id":"${id}","nodes":[],"calls":[]}`;
}

type Read = { records: StreamRecord[]; damage: Damage[]; blankBytes: number };

function read(input: Buffer | string, lenient = false, cap = CAP): Read {
  const classifier = new LineClassifier({ file: 'f.jsonl', chunk: 3, lenient, maxLineBytes: cap });
  const framer = new LineFramer({ startOffset: 0, startLineNumber: 1, maxLineBytes: cap });
  const bytes = Buffer.from(input);
  const lines = [...framer.push(bytes)];
  const last = framer.finish();
  const contents: LineContent[] = (last === null ? lines : [...lines, last]).map((line) => classifier.classify(line));
  const all = {
    records: contents.flatMap((content) => content.records),
    damage: contents.flatMap((content) => content.damage),
    blankBytes: contents.reduce((sum, content) => sum + content.blankBytes, 0),
  };
  // I4: totals must equal the file, whatever is wrong with it.
  const sum =
    all.blankBytes +
    [...all.damage.map((one) => one.bytes), ...all.records.map((one) => one.length)].reduce((a, b) => a + b, 0);
  expect(sum).toBe(bytes.length);
  for (const record of all.records) {
    expect(record.bytes.equals(bytes.subarray(record.offset, record.offset + record.length))).toBe(true);
  }
  return all;
}

function kinds({ damage }: Read): unknown[] {
  return damage.map(({ kind, offset, bytes, recovered }) => [kind, offset, bytes, recovered]);
}

const LINE = { good: Buffer.from(`${episode('good')}\n`), next: Buffer.from(`${episode('next')}\n`) };
const UTF8_BAD = Buffer.concat([
  Buffer.from(episode('u', 'AB').slice(0, -40)),
  Buffer.from([0xe2, 0x82]),
  Buffer.from(`","b":[]},"ok":true,"traces":[]}\n`),
]);

/** One line of each class of damage, without the good lines around it. */
const DAMAGED: readonly (readonly [string, Buffer])[] = [
  ['torn', Buffer.from(`${episode('t').slice(0, 60)}\n`)],
  ['torn', Buffer.from('{"id":"t","traces":[\n')],
  ['trailing', Buffer.from(`${episode('t')}garbage\n`)],
  ['trailing', Buffer.from(`${episode('t')} \v\n`)],
  ['trailing', Buffer.from(`${episode('t')} ${trace('x')}\n`)],
  ['nul', Buffer.from(`${'\0'.repeat(512)}\n`)],
  ['nul', Buffer.from(`${episode('t').slice(0, 30)}${'\0'.repeat(100)}\n`)],
  ['nul', Buffer.from(`${episode('t')}${'\0'.repeat(100)}\n`)],
  ['nul', Buffer.from('{"id":"t","traces":[\0\0]}\n')],
  ['invalid_utf8', UTF8_BAD],
  ['invalid_json', Buffer.from('{"id":"t",traces:[]}\n')],
  ['invalid_json', Buffer.from('{"id":"t","traces":[]]\n')],
  ['invalid_json', Buffer.from('not json\n')],
  ['line_too_large', Buffer.from(`{"traces":["${'x'.repeat(CAP)}"]}\n`)],
  ['wrong_unit', Buffer.from('{"id":"t","line":1,"chunk":0,"offset":0}\n')],
  ['wrong_unit', Buffer.from('{"line":1,"offset":0,"id":"r2","trace_ids":[]}\n')],
  ['wrong_unit', Buffer.from('{"trace_id":"t","chunk":0,"offset":0,"info":{}}\n')],
  ['wrong_unit', Buffer.from('{"trace_id":"t","branches":[],"version":3}\n')],
  ['wrong_unit', Buffer.from('{"trace":"t","nodes":[]}\n')],
  ['wrong_unit', Buffer.from('{"prompt":"a","completion":"b","reward":1}\n')],
  ['wrong_unit', Buffer.from('{"step":1,"time":2}\n')],
  ['wrong_unit', Buffer.from(`${trace('bare')}\n`)],
  ['wrong_unit', Buffer.from('[1,2]\n')],
  ['wrong_unit', Buffer.from('42\n')],
];

describe('LineClassifier', () => {
  test.each(DAMAGED)('%s in the middle costs that line only (case %#)', (kind, line) => {
    const result = read(Buffer.concat([LINE.good, line, LINE.next]));
    expect(kinds(result)).toEqual([[kind, LINE.good.length, line.length, false]]);
    expect(result.records.map((record) => [record.lineNumber, record.offset])).toEqual([
      [1, 0],
      [3, LINE.good.length + line.length],
    ]);
  });

  test.each(DAMAGED.filter(([, line]) => !line.includes('bare')))(
    '%s at the start costs that line only (case %#)',
    (kind, line) => {
      const result = read(Buffer.concat([line, LINE.good, LINE.next]));
      expect(kinds(result)).toEqual([[kind, 0, line.length, false]]);
      expect(result.records.map((record) => record.lineNumber)).toEqual([2, 3]);
    },
  );

  test.each(DAMAGED)('%s at the end, with and without LF, costs that line only (case %#)', (kind, line) => {
    for (const tail of [line, line.subarray(0, -1)]) {
      const result = read(Buffer.concat([LINE.good, LINE.next, tail]));
      expect(kinds(result)).toEqual([[kind, LINE.good.length + LINE.next.length, tail.length, false]]);
      expect(result.records).toHaveLength(2);
    }
  });

  test('damage says where: file, chunk, byte and reason', () => {
    const [damage] = read(Buffer.concat([LINE.good, Buffer.from('{"traces":[],}\n')])).damage;
    expect(damage).toMatchObject({ file: 'f.jsonl', chunk: 3 });
    expect(damage?.message).toBe(`no key where one belongs, at byte ${LINE.good.length + 13}`);
    const [utf8] = read(Buffer.concat([LINE.good, UTF8_BAD])).damage;
    expect(utf8?.message).toBe(`bytes that are not UTF-8 at byte ${LINE.good.length + UTF8_BAD.indexOf(0xe2)}`);
  });

  test('every message is one line of plain ASCII', () => {
    for (const [, line] of DAMAGED) {
      for (const { message } of read(Buffer.concat([LINE.good, line])).damage) expect(message).toMatch(/^[ -~]+$/);
    }
  });

  test.each([
    ['empty lines', '\n\n'],
    ['white space', ' \t\r\n\f\v\n'],
    ['white space without LF', '   '],
  ])('blank: %s take no record and no damage', (_, blank) => {
    const result = read(`${episode('a')}\n${blank}`);
    expect(result.records).toHaveLength(1);
    expect(result.damage).toEqual([]);
    expect(result.blankBytes).toBe(blank.length);
  });

  test('a whole record without LF is a record; its bytes have none either', () => {
    const { records, damage } = read(`${episode('a')}\n${episode('b')}`);
    expect(damage).toEqual([]);
    expect(records[1]?.bytes.toString()).toBe(episode('b'));
  });

  test('CR LF parses and both bytes are kept', () => {
    const { records, damage } = read(`${episode('a')}\r\n`);
    expect(damage).toEqual([]);
    expect(records[0]?.bytes.toString()).toBe(`${episode('a')}\r\n`);
  });

  test('a byte order mark is three bytes of damage, the record behind it is whole', () => {
    const text = `\ufeff${episode('a')}\n`;
    const content = read(text);
    expect(kinds(content)).toEqual([['bom', 0, 3, true]]);
    expect(content.records).toMatchObject([{ offset: 3, length: Buffer.byteLength(text) - 3, unit: 'episode' }]);
    expect(content.records[0]?.bytes.toString()).toBe(`${episode('a')}\n`);
    expect(kinds(read('\ufeff\n'))).toEqual([['bom', 0, 3, true]]);
    // Anywhere else it is what stands before a record on the same line.
    expect(kinds(read(`${episode('a')}\n${text}`))).toEqual([['glued', episode('a').length + 1, 3, true]]);
  });

  test('the first record settles the shape of a file; lenient takes both', () => {
    const mixed = `${trace('t')}\n${episode('e')}\n${trace('u')}\n`;
    const strict = read(mixed);
    expect(strict.records.map((record) => record.unit)).toEqual(['trace', 'trace']);
    expect(kinds(strict)).toEqual([['wrong_unit', trace('t').length + 1, episode('e').length + 1, false]]);
    expect(read(mixed, true).records.map((record) => record.unit)).toEqual(['trace', 'episode', 'trace']);
    expect(read('{"prompt":"a","completion":"b"}\n', true).records).toMatchObject([{ unit: 'v0' }]);
  });

  test('equal keys: the last one decides (R52)', () => {
    const { records } = read('{"traces":[],"id":"a","id":"b"}\n{"traces":1,"id":"c","traces":[]}\n');
    expect(records.map((record) => record.unit)).toEqual(['episode', 'episode']);
    expect(kinds(read('{"traces":[],"traces":1}\n'))).toEqual([['wrong_unit', 0, 25, false]]);
  });

  describe('glued records (spec 03 section 7, R50)', () => {
    test('vector 5: the record behind a torn prefix is read at its own offset', () => {
      const prefix = '{"id":"a","env":{"id":"x"},"tr';
      const result = read(`${prefix}${episode('b')}\n${episode('c')}\n`);
      expect(kinds(result)).toEqual([['glued', 0, prefix.length, true]]);
      expect(result.records.map(({ offset, lineNumber }) => [offset, lineNumber])).toEqual([
        [prefix.length, 1],
        [prefix.length + episode('b').length + 1, 2],
      ]);
      expect(result.records[0]?.bytes.toString()).toBe(`${episode('b')}\n`);
    });

    test('a prefix torn at every byte gives the record back', () => {
      const lost = episode('lost', 'quote " backslash \\ brace { \u20ac [1,2]');
      const bytes = Buffer.from(lost);
      for (let cut = 1; cut < bytes.length; cut += 1) {
        const result = read(Buffer.concat([bytes.subarray(0, cut), LINE.good]));
        expect(kinds(result)).toEqual([['glued', 0, cut, true]]);
        expect(result.records[0]?.bytes.equals(LINE.good)).toBe(true);
      }
    });

    test.each(['', '\n'])(
      'a line torn at every byte, %j behind it, is torn: also where a character was cut',
      (behind) => {
        const bytes = Buffer.from(episode('lost', 'é \u20ac 漢 \u{1f600} \u0800 \ud7ff \u{10000} \u{10ffff}'));
        for (let cut = 1; cut < bytes.length; cut += 1) {
          const result = read(Buffer.concat([LINE.good, bytes.subarray(0, cut), Buffer.from(behind)]));
          expect(kinds(result)).toEqual([['torn', LINE.good.length, cut + behind.length, false]]);
        }
      },
    );

    test.each([[0xff], [0xc3, 0x28], [0xed, 0xa0], [0xf5, 0x80], [0xe0, 0x80], [0x80], [0xf0, 0x80, 0x80]])(
      'a torn line whose last bytes begin no character is not UTF-8: %j',
      (...last) => {
        expect(kinds(read(Buffer.concat([Buffer.from('{"id":"a'), Buffer.from(last)])))).toEqual([
          ['invalid_utf8', 0, 8 + last.length, false],
        ]);
      },
    );

    test('two whole records on one line are both read, the first without LF', () => {
      const result = read(`${episode('a')}${episode('b')}\n`);
      expect(result.records.map((record) => record.bytes.toString())).toEqual([episode('a'), `${episode('b')}\n`]);
      expect(kinds(result)).toEqual([['glued', 0, 0, true]]);
    });

    test('torn, whole, whole: each of the whole ones is read', () => {
      const torn = episode('t').slice(0, 50);
      const result = read(`${torn}${episode('a')} ${episode('b')}`);
      expect(result.records.map((record) => record.bytes.toString())).toEqual([`${episode('a')} `, episode('b')]);
      expect(kinds(result)).toEqual([['glued', 0, torn.length, true]]);
    });

    test('NUL bytes before a record, as a stale writer leaves them', () => {
      const result = read(`${'\0'.repeat(64)}${episode('a')}\n`);
      expect(kinds(result)).toEqual([['nul', 0, 64, true]]);
      expect(result.records).toHaveLength(1);
    });

    test.each([
      ['torn twice', `${episode('t').slice(0, 50)}${episode('a').slice(0, -1)}\n`],
      ['a record that only looks whole', `{"x":1 ${episode('a').replace('"ok":true', '"ok":01')}\n`],
      ['a record that is no episode', `{"x":1 {"id":"a","env":{},"nodes":[]}\n`],
      ['the pattern inside a string', `{"x":${JSON.stringify(episode('a'))}\n`],
      ['an id with a backslash', `{"x":1 {"id":"\\u0061","env":{},"traces":[]}\n`],
      ['an id over 128 bytes', `{"x":1 ${episode('i'.repeat(129))}\n`],
    ])('%s is not recovered', (_, text) => {
      const result = read(text);
      expect(result.records).toEqual([]);
      expect(result.damage).toHaveLength(1);
      expect(result.damage[0]?.recovered).toBe(false);
    });

    test('the 64th candidate is tried and the 65th is not', () => {
      const fake = '{"id":"f","env":';
      expect(read(`${fake.repeat(63)}${episode('a')}\n`).records).toHaveLength(1);
      expect(read(`${fake.repeat(64)}${episode('a')}\n`).records).toHaveLength(0);
    });

    test('lines of 64 MiB are not searched', () => {
      const filler = Buffer.alloc(67_108_864 - 16 - episode('a').length, 0x20);
      const atLimit = Buffer.concat([Buffer.from('{"x":"torn      '), filler, Buffer.from(`${episode('a')}\n`)]);
      expect(read(atLimit, false, 100_000_000).records).toHaveLength(0);
      expect(read(Buffer.concat([Buffer.from('{'), atLimit.subarray(2)]), false, 100_000_000).records).toHaveLength(1);
    });
  });

  test('a 3-byte character is kept whole wherever the line starts (R49)', () => {
    for (let shift = 0; shift < 64; shift += 1) {
      const text = `${episode('a', `${'x'.repeat(shift)}\u20ac`)}\n`;
      expect(read(text).records[0]?.bytes.toString()).toBe(text);
    }
  });
});
