import { describe, expect, test } from 'vitest';
import { annotationRow } from '../../../src/core/index/annotation-row.js';

function rowOf(line: string | Uint8Array, place: { chunk: number | null; offset: number } = { chunk: 0, offset: 0 }) {
  const row = annotationRow(Buffer.from(line), place);
  return row instanceof Uint8Array ? Buffer.from(row).toString() : row;
}

describe('rows of annotation updates (spec 04 section 7)', () => {
  test('the example of the specification', () => {
    const info = '{"effective":true,"ship":{"step":5,"time":110.0}}';
    const update = `{"trace_id":"t1","version":1,"branches":[],"info":${info}}\n`;
    expect(rowOf(update)).toBe(`{"trace_id":"t1","chunk":0,"offset":0,"info":${info}}\n`);
    expect(rowOf(update, { chunk: null, offset: 12 })).toBe(`{"trace_id":"t1","offset":12,"info":${info}}\n`);
  });

  test.each([
    ['{"trace_id":"t"}', '{"trace_id":"t","chunk":3,"offset":9,"info":{}}'],
    ['{"trace_id":"t","info":null}', '{"trace_id":"t","chunk":3,"offset":9,"info":{}}'],
    ['{"info":{}}', '{"trace_id":null,"chunk":3,"offset":9,"info":{}}'],
    ['{"trace_id":"\\u0074\\/","info":{}}', '{"trace_id":"t/","chunk":3,"offset":9,"info":{}}'],
  ])('%s gives %s', (line, expected) => {
    expect(rowOf(line, { chunk: 3, offset: 9 })).toBe(`${expected}\n`);
  });

  test.each([
    ['{ "a" : [ 1 , 2.50 , -0 , 1e2 , 1E16 ] , "b" : { } , "c" : [ ] }', '{"a":[1,2.5,0,100.0,1e+16],"b":{},"c":[]}'],
    ['{"a":18446744073709551615,"b":18446744073709551616}', '{"a":18446744073709551615,"b":1.8446744073709552e+19}'],
    ['{"a":1,"b":2,"a":{"c":3,"c":4}}', '{"a":{"c":4},"b":2}'],
    ['{"\\u0061":1,"a":[[],[{}],[true,false,null]]}', '{"a":[[],[{}],[true,false,null]]}'],
    ['{"10":1,"9":2,"__proto__":3}', '{"10":1,"9":2,"__proto__":3}'],
    ['{"s":"\\u00e9\\n\\/\\u2028\\ud83d\\ude42"}', '{"s":"é\\n/\u2028🙂"}'],
    ['{"s":"\\uD83D"}', '{"s":"\\ud83d"}'],
    ['{"n":NaN,"m":[-Infinity]}', '{"n":null,"m":[null]}'],
  ])('info %s is printed as %s', (info, expected) => {
    expect(rowOf(`{"trace_id":"t","info":${info}}`)).toBe(`{"trace_id":"t","chunk":0,"offset":0,"info":${expected}}\n`);
  });

  test('an info of brackets alone, 200,000 deep', () => {
    const info = `{"deep":${'['.repeat(200_000)}${']'.repeat(200_000)}}`;
    expect(rowOf(`{"trace_id":"t","info":${info}}`)).toContain(`"info":${info}}`);
  });

  test.each([
    ['{"trace_id":"t","info":{"a":01}}', 'invalid_json', 'a number with a leading zero'],
    ['{"trace_id":"t","info":{"a":[1 2]}}', 'invalid_json', 'no comma or closing bracket where one belongs'],
    ['{"trace_id":"t"', 'invalid_json', 'no comma or closing brace after a member'],
    ['[1]', 'invalid_json', 'no object where a record begins'],
  ])('%s is none', (line, kind, reason) => {
    expect(rowOf(line)).toEqual({ kind, reason });
  });

  test('bytes that are not UTF-8 are named by their place', () => {
    const line = Buffer.concat([Buffer.from('{"trace_id":"'), Buffer.from([0xff]), Buffer.from('"}')]);
    expect(rowOf(line, { chunk: 0, offset: 100 })).toEqual({
      kind: 'invalid_utf8',
      reason: 'bytes that are not UTF-8 at byte 113',
    });
  });
});
