/** The flags that choose episodes: what each takes, and that all of them hold together. */
import { expect, test } from 'vitest';
import { compileFilter } from '../../src/cli/filter-expression.js';
import { type FilterChoices, filterOf, parseSteps } from '../../src/cli/filter-flags.js';
import type { EpisodeRow } from '../../src/core/index/episode-row.js';

const ROW = { kind: 'train', env: 'math', ok: true, num_errors: 0, reward: 0.75 } as EpisodeRow;

const where = (...texts: string[]): FilterChoices => ({
  where: texts.map((text) => ({ text, matches: compileFilter(text) })),
});

test.each<[string, FilterChoices, Partial<EpisodeRow>, number | null, boolean]>([
  ['the kind', { kind: 'train' }, {}, null, true],
  ['another kind', { kind: 'train' }, { kind: 'eval' }, null, false],
  ['one of the environments', { env: ['code', 'math'] }, {}, null, true],
  ['none of them', { env: ['code'] }, {}, null, false],
  ['no environment', { env: [''] }, { env: null }, null, false],
  ['a step', { step: [parseSteps('4')] }, {}, 4, true],
  ['one of the ranges', { step: [parseSteps('1'), parseSteps('3-5')] }, {}, 5, true],
  ['between the ranges', { step: [parseSteps('1'), parseSteps('3-5')] }, {}, 2, false],
  ['an open range', { step: [parseSteps('3-')] }, {}, 1_000_000, true],
  ['no step', { step: [parseSteps('0-')] }, {}, null, false],
  ['errors: not ok', { errors: true }, { ok: false }, null, true],
  ['errors: its own', { errors: true }, { num_errors: 1 }, null, true],
  ['errors: none', { errors: true }, {}, null, false],
  ['errors: unknown', { errors: true }, { ok: null }, null, false],
  ['an expression', where('reward > 0.5'), {}, null, true],
  ['two expressions', where('reward > 0.5', 'not ok'), {}, null, false],
  ['all of them', { kind: 'train', env: ['math'], step: [parseSteps('4')], ...where('ok') }, {}, 4, true],
  [
    'all but one',
    { kind: 'train', env: ['math'], step: [parseSteps('4')], errors: true, ...where('ok') },
    {},
    4,
    false,
  ],
])('%s', (_what, choices, change, arrivalStep, expected) => {
  expect(filterOf(choices)?.selects({ row: { ...ROW, ...change }, arrivalStep })).toBe(expected);
});

test('no flag is no filter; flags are told as they can be typed again', () => {
  expect(filterOf({})).toBeNull();
  expect(filterOf({ errors: false, env: [], step: [], where: [] })).toBeNull();
  const all = { kind: 'eval', env: ['a b'], step: [parseSteps('1-')], errors: true, ...where("env == 'x'") } as const;
  expect(filterOf(all)?.text).toBe("--kind eval --env 'a b' --step 1- --errors --where 'env == '\\''x'\\'''");
});

test.each([
  ['7', 7, 7],
  ['3-5', 3, 5],
  ['5-5', 5, 5],
  ['5-', 5, Number.POSITIVE_INFINITY],
  [' 0 ', 0, 0],
])('--step %j is %d to %d', (text, first, last) => {
  expect(parseSteps(text)).toMatchObject({ first, last });
});

test.each(['', 'x', '-3', '1..3', '1.5', '1-2-3', '9007199254740992', '0-9007199254740992', '٣'])(
  '--step %j is refused as usage, naming what was typed',
  (text) => {
    expect(() => parseSteps(text)).toThrowError(
      expect.objectContaining({ code: 'PRL_ERR_USAGE', message: expect.stringContaining(JSON.stringify(text)) }),
    );
  },
);

test('a range that ends before it begins is turned around in the hint', () => {
  expect(() => parseSteps('9-3')).toThrowError(expect.objectContaining({ hint: 'did you mean 3-9?' }));
});
