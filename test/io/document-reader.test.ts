import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { none } from 'stream-chain/defs.js';
import { describe, expect, test } from 'vitest';
import { readChunkRange } from '../../src/io/chunk-range.js';
import { openRun } from '../../src/io/run.js';
import type { ChunkFile } from '../../src/io/run-types.js';
import { readRun, textOf } from '../helpers/read-run.js';
import { tempFolder } from '../helpers/temp-folder.js';

const REAL = readFileSync(join(import.meta.dirname, '../../fixtures/runs/verifiers-eval/traces.jsonl')).toString();
const LINES = REAL.split(/(?<=\n)/).filter((line) => line.length > 0);

/** Respells a JSON text over many lines without touching a token, whatever its numbers and escapes. */
function prettyPrint(text: string): string {
  let depth = 0;
  return text.trimEnd().replace(/"(?:[^"\\]|\\.)*"|[{}[\],:]/g, (token) => {
    if (token.startsWith('"')) return token;
    if (token === '{' || token === '[') depth += 1;
    if (token === '}' || token === ']') depth -= 1;
    const indent = `\n${'  '.repeat(depth)}`;
    if (token === ':') return ' : ';
    return token === '}' || token === ']' ? indent + token : token + indent;
  });
}

async function read(content: string | Buffer, maxLineBytes?: number) {
  const path = join(tempFolder(), 'x.json');
  writeFileSync(path, content);
  const result = await readRun(path, maxLineBytes === undefined ? {} : { maxLineBytes });
  return { ...result, form: result.run.files[0]?.form, bytes: Buffer.from(content) };
}

describe('JSON documents', () => {
  test.each([
    ['an array on one line', `[${LINES.map((line) => line.trimEnd()).join(',')}]`],
    ['an array, each record on its line', `[\n${LINES.map((line) => line.trimEnd()).join(',\n')}\n]\n`],
    ['a pretty-printed array', `[\n${LINES.map(prettyPrint).join(',\n')}\n]\n`],
    ['pretty-printed objects one after another', LINES.map(prettyPrint).join('\n')],
    ['pretty-printed objects without white space between', LINES.map(prettyPrint).join('')],
    ['CR LF line ends', `[\n${LINES.map(prettyPrint).join(',\n')}\n]\n`.replaceAll('\n', '\r\n')],
  ])('%s gives the records of the real file byte for byte', async (_, content) => {
    const { records, damage, form, bytes } = await read(content);
    expect(form).toBe('document');
    expect(damage).toEqual([]);
    expect(textOf(records)).toBe(REAL);
    expect(records.map((record) => record.lineNumber)).toEqual(LINES.map((_, index) => index + 1));
    for (const [index, { offset, length }] of records.entries()) {
      const source = bytes.subarray(offset, offset + length).toString();
      expect(source.startsWith('{') && source.endsWith('}')).toBe(true);
      expect(JSON.parse(source)).toEqual(JSON.parse(LINES[index] as string));
    }
  });

  test('one pretty-printed episode', async () => {
    const { records, form } = await read(prettyPrint(LINES[0] as string));
    expect([form, textOf(records)]).toEqual(['document', LINES[0]]);
  });

  test('number text, escapes, key order and duplicate keys stay as they are', async () => {
    const record = String.raw`{"traces":[],"n":[1.0,1e-05,-0.0,123456789012345678901234567890,1E+2],"s":"\u00e9\/\ud83d\ude00 } { \" \\","s":2}`;
    const { records } = await read(`[ ${record.replaceAll(',', ' ,\n ').replaceAll(':', '\t:\t')} ]`);
    expect(textOf(records)).toBe(`${record}\n`);
  });

  test('white space inside strings is kept', async () => {
    const { records } = await read('[ { "traces" : [ ] , "s" : "a  b\\n \\" c" } ]');
    expect(textOf(records)).toBe('{"traces":[],"s":"a  b\\n \\" c"}\n');
  });

  test.each([
    ['an empty array', '[]', 0],
    ['an empty array with white space', ' [ \n ] \n', 0],
    ['nothing but white space', ' \n ', 0],
  ])('%s holds no records and no damage', async (_, content) => {
    const { records, damage } = await read(content);
    expect([records, damage]).toEqual([[], []]);
  });

  test('what is no object is damage between records that are read', async () => {
    const { records, damage, bytes } = await read('[1,{"traces":[]},[{"traces":[]}],"x",{"traces":[],"b":1},null]');
    expect(records.map((record) => record.offset)).toEqual([3, 37]);
    expect(
      damage.map(({ kind, offset, bytes: length }) => [kind, bytes.subarray(offset, offset + length).toString()]),
    ).toEqual([
      ['wrong_unit', '[1,'],
      ['wrong_unit', ',[{"traces":[]}],"x",'],
      ['wrong_unit', ',null]'],
    ]);
  });

  test('an object that is no episode is damage of its own', async () => {
    const { records, damage } = await read('[{"traces":[]},\n{"episodes":[{"traces":[]}]}]');
    expect(records).toHaveLength(1);
    expect(damage).toMatchObject([{ kind: 'wrong_unit', offset: 16, bytes: 28 }]);
  });

  test.each([
    ['a record cut short', '[{"traces":[]},{"traces":[', 'torn', 14],
    ['an array without its end', '[{"traces":[]}', 'torn', 14],
    ['a syntax error', '[{"traces":[]},{"traces":[}]},{"traces":[]}]', 'invalid_json', 14],
    ['a bad literal', '[{"traces":[]},{"traces":[],"x":nope}]', 'invalid_json', 14],
    ['garbage behind the array', '[{"traces":[]}] trailing', 'invalid_json', 14],
  ])('%s: what came before is read, the rest is one loss', async (_, content, kind, offset) => {
    const { records, damage } = await read(content);
    expect(records).toHaveLength(1);
    const settled = damage[0]?.offset ?? 0;
    expect(damage).toMatchObject([{ kind, bytes: content.length - settled }]);
    expect(settled).toBeGreaterThanOrEqual(offset);
  });

  test('a byte order mark is passed over and named', async () => {
    const { records, damage } = await read('\ufeff[{"traces":[]}]');
    expect(records).toMatchObject([{ offset: 4, length: 13 }]);
    expect(damage).toMatchObject([{ kind: 'bom', offset: 0, bytes: 3 }]);
  });

  test('invalid UTF-8 costs the record it stands in', async () => {
    const content = Buffer.concat([
      Buffer.from('[{"traces":[],"s":"'),
      Buffer.from([0xff]),
      Buffer.from('"},{"traces":[]}]'),
    ]);
    const { records, damage } = await read(content);
    expect(records).toHaveLength(1);
    expect(damage).toMatchObject([{ kind: 'invalid_utf8', offset: 1 }]);
  });

  test('a record over the cap costs itself; the cap counts it without white space', async () => {
    const fits = `{"traces":[],"s":"${'x'.repeat(80)}"}`;
    const tooLong = `{"traces":[],"s":"${'x'.repeat(81)}"}`;
    const { records, damage } = await read(`[${prettyPrint(fits)},${tooLong},${prettyPrint(fits)}]`, fits.length);
    expect(textOf(records)).toBe(`${fits}\n${fits}\n`);
    expect(damage).toMatchObject([{ kind: 'line_too_large' }]);
  });

  test('a document of two megabytes, records over many reads', async () => {
    const record = `{"traces":[],"s":"${'{}[] \\" \u20ac '.repeat(20_000)}"}`;
    const { records, damage } = await read(`[\n${Array(6).fill(record).join(' ,\n')}\n]`);
    expect(damage).toEqual([]);
    expect(records).toHaveLength(6);
    expect(records.every((one) => one.bytes.toString() === `${record}\n`)).toBe(true);
  });
});

describe('a record that was read can be found again (U18)', () => {
  test('by its end, while the document stays as it was', async () => {
    const { run, records } = await read(`[\n${LINES.map(prettyPrint).join(',\n')}\n]\n`);
    const [file] = run.files as [ChunkFile];
    for (const { offset, length, bytes } of records.slice(0, 5)) {
      const end = offset + length;
      expect((await readChunkRange(file, end - 64, end))?.equals(bytes.subarray(-64))).toBe(true);
      expect(await readChunkRange(file, end - 65, end - 1)).toHaveLength(0);
    }
    writeFileSync(file.path, '[{"traces":[]}]');
    const [rewritten] = (await openRun(file.path)).files as [ChunkFile];
    expect(await readChunkRange(rewritten, 100, 164)).toHaveLength(0);
    rmSync(file.path);
    expect(await readChunkRange(file, 100, 164)).toBeNull();
  });

  test('settled ranges change nothing in how a document is read', async () => {
    const skip = () => [{ start: 0, end: 14, lines: 1 }];
    const path = join(tempFolder(), 'x.json');
    writeFileSync(path, '[{"traces":[]},{"traces":[]}]');
    expect((await readRun(path, { skip })).records).toHaveLength(2);
  });
});

test('stream-json ends its input with `none`, as the cutter relies on', async () => {
  const { jsonParser } = await import('stream-json/core/parser.js');
  const parse = jsonParser({ jsonStreaming: true });
  parse('{"a":');
  expect(() => parse(none as never)).toThrow();
});
