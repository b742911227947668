/** The filter language: what it selects, and what it says of what it cannot read (F3, P5). */
import { describe, expect, test } from 'vitest';
import { FilterError } from '../../src/cli/filter-error.js';
import { compileFilter } from '../../src/cli/filter-expression.js';
import { FIELD_NAMES } from '../../src/cli/filter-fields.js';
import { textWidth } from '../../src/cli/width.js';
import type { EpisodeRow } from '../../src/core/index/episode-row.js';
import { ROW_KEYS } from '../../src/core/index/row-text.js';

const ROW: EpisodeRow = {
  ...{ cost: null, line: 3, offset: 100, id: 'e1', kind: 'train', trace_ids: ['t1', 't2'], env: 'math', group: null },
  ...{ ok: true, num_errors: 0, reward: 0.75, advantage: -0.5, input_tokens: 12, output_tokens: 3, turns: 4 },
  ...{ branches: 1, stop_condition: null, truncated: false, dispatch: 99, arrival: 103.5, duration: 4.5, chunk: 0 },
};

function faultOf(text: string): FilterError {
  try {
    compileFilter(text);
  } catch (error) {
    if (error instanceof FilterError) return error;
    throw error;
  }
  throw new Error(`no fault in ${text}`);
}

test('the fields are the keys of a row, in its order, and no others (spec 04 section 2)', () => {
  expect(FIELD_NAMES).toEqual(ROW_KEYS.filter((key) => key !== 'trace_id' && key !== 'info'));
});

describe('what it selects', () => {
  test.each([
    ['reward > 0.5 and turns < 10', true],
    ['env == "math" or not ok', true],
    ["env == 'math'", true],
    ['stop_condition == null', true],
    ['stop_condition != null', false],
    ['num_errors >= 1', false],
    ['num_errors <= 0', true],
    ['reward == .75', true],
    ['reward == 7.5e-1', true],
    ['advantage < -0.25', true],
    ['advantage>-0.25', false],
    ['0.5 < reward', true],
    ['input_tokens > output_tokens', true],
    ['kind in ["train", "eval"]', true],
    ['kind in []', false],
    ['env not in ["code"]', true],
    ['not env in ["code"]', true],
    ['group in ["g7", null]', true],
    ['"t2" in trace_ids', true],
    ['"t3" in trace_ids', false],
    ['group in trace_ids', false],
    ['env ~ "at"', true],
    ['env ~ "AT"', false],
    ['id >= "e1" and id < "e2"', true],
    ['ok', true],
    ['truncated', false],
    ['ok == true and truncated == false', true],
    ['true', true],
    ['not (ok and truncated)', true],
    ['not not ok', true],
    // `and` binds before `or`, `not` before both.
    ['ok or ok and truncated', true],
    ['(ok or ok) and truncated', false],
    ['not truncated and ok', true],
    ['not truncated or truncated and truncated', true],
    ['\tok\n and\r\nok ', true],
    ['env == "m\\u0061th"', true],
    ['"a\\"b\'c\\\\" == \'a"b\\\'c\\\\\'', true],
  ])('%s is %s', (text, expected) => {
    expect(compileFilter(text)(ROW)).toBe(expected);
  });

  test.each(['<', '<=', '>', '>='])('a null is neither above nor below anything: %s', (sign) => {
    for (const text of [
      `cost ${sign} 0`,
      `0 ${sign} cost`,
      `cost ${sign} cost`,
      `reward ${sign} null`,
      `group ${sign} ""`,
    ]) {
      expect(compileFilter(text)(ROW)).toBe(false);
    }
  });

  test('a null is equal to null alone, and contains nothing', () => {
    const answers = ['cost == 0', 'cost != 0', 'cost == null', 'cost == advantage', 'group ~ ""', 'not group ~ ""'];
    expect(answers.map((text) => compileFilter(text)(ROW))).toEqual([false, true, true, false, false, true]);
  });

  test('an unknown truth is false by itself, and so is its opposite by ==', () => {
    const row = { ...ROW, ok: null };
    const answers = ['ok', 'not ok', 'ok == false', 'ok == null'];
    expect(answers.map((text) => compileFilter(text)(row))).toEqual([false, true, false, true]);
  });

  test('a row of another writer, with keys missing or of other types, is compared and never throws', () => {
    const foreign = { reward: '0.9', turns: null, trace_ids: 'none', ok: 1 } as unknown as EpisodeRow;
    const answers = ['reward > 0.5', 'turns < 10', 'env == null', '"t" in trace_ids', 'ok', 'chunk == 0'];
    expect(answers.map((text) => compileFilter(text)(foreign))).toEqual([false, false, true, false, false, false]);
  });
});

describe('what it cannot read is PRL_ERR_USAGE with the column and what to do', () => {
  test.each([
    ['rewrd > 0.5', 1, 'rewrd is no field of an index row', 'did you mean reward?'],
    ['reward > 0.5 and turms < 3', 18, 'turms is no field', 'did you mean turns?'],
    ['REWARD > 1', 1, 'REWARD is no field', 'did you mean reward?'],
    ['ok == True', 7, 'True is no field', 'did you mean true?'],
    ['step > 3', 1, 'step is no field', 'a row has no step: give --step N or --step A-B'],
    ['perplexity > 3', 1, 'perplexity is no field', 'the fields are cost, line, offset,'],
    ['env == math', 8, 'math is no field', 'if it is text, quote it: "math"'],
    ['', 1, 'the expression is empty', 'write it as in reward > 0.5'],
    ['  ', 3, 'the expression is empty', 'write it as in'],
    ['ok and', 7, 'the expression ends where a field or a value belongs', 'write it as in'],
    ['reward >', 9, 'the expression ends', 'write it as in'],
    ['and ok', 1, 'found and where a field or a value belongs', 'write it as in'],
    ['ok AND ok', 4, 'found AND where and, or, or the end belongs', 'did you mean and?'],
    ['env is "x"', 5, 'found is where an operator belongs', 'did you mean in?'],
    ['(ok', 1, 'the bracket that opens here is never closed', 'close it with )'],
    ['(ok turns', 5, 'found turns where', 'write it as in'],
    ['ok)', 3, 'no bracket was opened for this one', 'take it away'],
    ['0 < reward < 1', 12, 'comparisons do not chain', 'join them'],
    ['env = "x"', 5, '= is no operator', 'did you mean ==?'],
    ['env === "x"', 5, '=== is no operator', 'did you mean ==?'],
    ['ok && ok', 4, '&& is no operator', 'did you mean and?'],
    ['ok || ok', 4, '|| is no operator', 'did you mean or?'],
    ['!ok', 1, '! is no operator', 'did you mean not?'],
    ['reward <> 1', 8, '<> is no operator', 'did you mean !=?'],
    ["env == 'a", 8, 'the text that begins here has no end', "close it with '"],
    ['env == "\\q"', 9, '\\q is no escape', 'a backslash itself is \\\\'],
    ['reward > 10x', 12, '"10x" begins like a number', 'without a unit'],
    ['reward > - 1', 10, '"-" has no meaning', 'write numbers as'],
    ['reward > 1,000', 11, 'found , where', 'write it as in'],
    ['reward', 1, 'reward is a number, which is neither true nor false', 'compare it, as in reward > 0'],
    ['trace_ids', 1, 'trace_ids is a list', '"…" in trace_ids'],
    ['env > 5', 7, 'env is text and 5 is a number: they are never equal', 'compare env == "…"'],
    ['5 == ok', 6, '5 is a number and ok is true or false', 'compare reward > 0'],
    ['ok < true', 4, 'true and false have no order for <', 'use == or !='],
    ['trace_ids == "x"', 11, 'a list cannot be compared', '"…" in trace_ids'],
    ['5 in trace_ids', 1, 'trace_ids holds texts, and 5 is a number', 'quote it'],
    ['trace_ids in ["x"]', 14, 'trace_ids is a list itself', '"…" in trace_ids'],
    ['reward in 5', 11, 'found 5 where a list belongs', 'env in ["math", "code"]'],
    ['env in ["a", 5]', 14, 'env is text and 5 is a number', 'compare env == "…"'],
    ['env in ["a" "b"]', 13, 'found "b" where a comma or ] belongs', 'write it as in'],
    ['env in ["a"', 12, 'the expression ends where a comma or ] belongs', 'write it as in'],
    ['env in [group]', 9, 'a list holds literals', 'quote it: "group"'],
    ['env ~ 5', 7, '~ takes text on both sides, and 5 is a number', 'it looks for text in text'],
    ['env == "日本" or 漢', 16, '"漢" has no meaning outside quotes', 'quote text'],
    [`${'('.repeat(101)}ok`, 102, 'more than 100 levels', 'fewer brackets'],
  ])('%j: column %i', (text, column, what, hint) => {
    const fault = faultOf(text);
    expect(fault).toMatchObject({ code: 'PRL_ERR_USAGE', column });
    const [first] = fault.message.split('\n');
    expect(first).toContain(`column ${column}: `);
    expect(first).toContain(what);
    expect(fault.hint).toContain(hint);
  });

  test('the caret stands below the fault, wide characters and long expressions counted in', () => {
    for (const text of [
      'env == "日本🙂" or rewrd > 1',
      `${'ok or '.repeat(50)}rewrd > 1 ${'or ok '.repeat(50)}`,
      '\n\trewrd',
    ]) {
      const [, shown = '', caret = ''] = faultOf(text).message.split('\n');
      expect(caret).toMatch(/^\| *\^$/);
      const before = shown.slice(0, shown.indexOf('rewrd'));
      expect(textWidth(before)).toBe(caret.indexOf('^'));
      expect(textWidth(shown)).toBeLessThan(90);
    }
  });

  test('nothing in an expression reaches a terminal raw (C19)', () => {
    const { message } = faultOf('env == "\u001b[2J" and rewrd\u202e');
    for (const raw of ['\u001b', '\u202e']) expect(message).not.toContain(raw);
    expect(message).toContain('\\u001b[2J');
  });
});
