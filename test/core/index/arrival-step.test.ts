/** The step that the row builder says a record arrived at: that of its first trace, an integer literal or none. */
import { describe, expect, test } from 'vitest';
import { RowBuilder } from '../../../src/core/index/row-builder.js';
import { buildRows } from './built-rows.js';

/** A record of one trace with these members. */
const traced = (members: string): string => `{"id":"x","traces":[{${members}}]}`;

describe('the step at which the record at hand arrived', () => {
  const stepOf = (record: string): number | null => {
    const builder = new RowBuilder();
    const [built] = buildRows(record, {}, 0, builder);
    expect(built?.row).not.toBeNull();
    return builder.arrivalStep;
  };
  const arrived = (arrival: string): string => traced(`"info":{"arrival":${arrival}}`);

  test.each([
    ['0', 0],
    ['7', 7],
    ['999999999', 999_999_999],
    ['1000000000', 1_000_000_000],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
    ['-3', -3],
    ['9007199254740993', null],
    ['18446744073709551616', null],
    ['7.0', null],
    ['7e0', null],
    ['1e999', null],
    ['NaN', null],
    ['null', null],
    ['true', null],
    ['"7"', null],
    ['{"step":7}', null],
    ['[7]', null],
    [`"${'x'.repeat(1_048_577)}"`, null],
    ['9'.repeat(1_048_577), null],
  ])('%.30s is %s', (text, step) => {
    expect(stepOf(arrived(`{"time":1,"step":${text}}`))).toBe(step);
  });

  test.each([
    ['no trace', '{"id":"x","traces":[]}', null],
    ['no stamp', traced('"info":{"dispatch":{"step":4}}'), null],
    ['the first trace alone says it', '{"traces":[{},{"info":{"arrival":{"step":4}}}]}', null],
    ['of two traces', '{"traces":[{"info":{"arrival":{"step":4}}},{"info":{"arrival":{"step":9}}}]}', 4],
    ['a bare trace', '{"id":"t","nodes":[],"calls":[],"info":{"arrival":{"step":4}}}', 4],
    ['a stamp beside the traces', '{"info":{"arrival":{"step":4}},"traces":[{"info":{"arrival":{"step":5}}}]}', 5],
    ['twice', arrived('{"step":4,"step":5}'), 5],
    ['twice, null last', arrived('{"step":4,"step":null}'), null],
    ['an arrival anew', arrived('{"step":4},"arrival":{"time":1}'), null],
    ['an arrival anew, null', arrived('{"step":4},"arrival":null'), null],
    ['an info anew', traced('"info":{"arrival":{"step":4}},"info":{}'), null],
    ['traces anew', '{"traces":[{"info":{"arrival":{"step":4}}}],"traces":[{"id":"t"}]}', null],
  ])('%s', (_name, record, step) => {
    expect(stepOf(record)).toBe(step);
  });

  test('is forgotten with the record', () => {
    const builder = new RowBuilder();
    buildRows(`${arrived('{"step":4}')}\n{"traces":[]}`, {}, 0, builder);
    expect(builder.arrivalStep).toBeNull();
    buildRows(`${arrived('{"step":4}')}\n${arrived('{}')}`, {}, 0, builder);
    expect(builder.arrivalStep).toBeNull();
  });
});
