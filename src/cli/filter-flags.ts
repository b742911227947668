/**
 * The flags that choose episodes, the same in `upload` and `tail` (demands F3, P5): all that are given must hold. A flag
 * that is given again widens it (`--env`, `--step`) or narrows it (`--where`).
 */
import { boolean, custom, option } from '@oclif/core/flags';
import { PrlError } from '../core/errors.js';
import type { RowSelector } from '../core/index/episode-row.js';
import type { HelpList } from './base-command.js';
import { compileFilter, type RowPredicate } from './filter-expression.js';
import { FIELD_NAMES } from './filter-fields.js';
import { textFlag } from './flags.js';
import { shellLine } from './shell-words.js';

/** Steps from the first to the last, both included; `last` is Infinity for an open range. */
type StepRange = { readonly first: number; readonly last: number; readonly text: string };

type Where = { readonly matches: RowPredicate; readonly text: string };

const HELP_GROUP = 'FILTERS';

export const filterFlags = {
  kind: option({ options: ['train', 'eval'] as const })({
    helpGroup: HELP_GROUP,
    summary: 'Only episodes of this kind.',
  }),
  env: textFlag({
    helpValue: '<name>',
    helpGroup: HELP_GROUP,
    multiple: true,
    multipleNonGreedy: true,
    summary: 'Only episodes of this environment, repeatable.',
  }),
  step: custom<StepRange>({ parse: async (text) => parseSteps(text) })({
    helpValue: '<n|a-b>',
    helpGroup: HELP_GROUP,
    multiple: true,
    multipleNonGreedy: true,
    summary: 'Only episodes that arrived at these steps, repeatable; A- has no end.',
  }),
  errors: boolean({
    helpGroup: HELP_GROUP,
    summary: 'Only episodes with errors: not ok, or with an error of their own.',
  }),
  where: custom<Where>({ parse: async (text) => ({ matches: compileFilter(text), text }) })({
    helpValue: '<expr>',
    helpGroup: HELP_GROUP,
    multiple: true,
    multipleNonGreedy: true,
    summary: "Only episodes whose index row fits, repeatable, e.g. 'reward > 0.5 and turns < 10'.",
  }),
};

/** The language of `--where` in the help of a command that takes it. */
export const filterHelp = {
  header: 'FILTER EXPRESSIONS',
  entries: [
    ['fields', FIELD_NAMES.join(', ')],
    ['comparisons', '== != < <= > >= with a number, quoted text, true, false, null or another field'],
    ['text', `env ~ "math" for a part of it; env in ["math", "code"], not in; "id" in trace_ids`],
    ['together', 'and, or, not and brackets, as in: kind == "eval" and (reward == null or not ok)'],
    ['null', 'equal to null alone, neither above nor below anything'],
  ],
} satisfies HelpList;

/** What the flags of a command hold; absent ones choose nothing. */
export type FilterChoices = {
  readonly kind?: 'train' | 'eval' | undefined;
  readonly env?: readonly string[] | undefined;
  readonly step?: readonly StepRange[] | undefined;
  readonly errors?: boolean | undefined;
  readonly where?: readonly Where[] | undefined;
};

/** One flag: its words, and what it asks of an episode. */
type Part = { readonly words: readonly string[]; readonly holds: RowSelector };

export type Filter = {
  readonly selects: RowSelector;
  /** The flags as they can be typed again. */
  readonly text: string;
};

/** The filter that the flags make together; null when none was given. */
export function filterOf({ kind, env = [], step = [], errors = false, where = [] }: FilterChoices): Filter | null {
  const parts: Part[] = [];
  if (kind !== undefined) parts.push({ words: ['--kind', kind], holds: ({ row }) => row.kind === kind });
  if (env.length > 0) {
    const words = env.flatMap((name) => ['--env', name]);
    parts.push({ words, holds: ({ row }) => row.env !== null && env.includes(row.env) });
  }
  if (step.length > 0) {
    const words = step.flatMap(({ text }) => ['--step', text]);
    const isOneOf = (at: number): boolean => step.some(({ first, last }) => at >= first && at <= last);
    parts.push({ words, holds: ({ arrivalStep }) => arrivalStep !== null && isOneOf(arrivalStep) });
  }
  if (errors) parts.push({ words: ['--errors'], holds: ({ row }) => row.ok === false || row.num_errors > 0 });
  for (const { text, matches } of where) parts.push({ words: ['--where', text], holds: ({ row }) => matches(row) });
  if (parts.length === 0) return null;
  const text = shellLine(parts.flatMap(({ words }) => words));
  return { selects: (facts) => parts.every(({ holds }) => holds(facts)), text };
}

/** @throws PrlError `PRL_ERR_USAGE` for anything but `N`, `A-B` and `A-` */
export function parseSteps(text: string): StepRange {
  const [, from, isRange, to] = /^(\d+)(?:(-)(\d*))?$/.exec(text.trim()) ?? [];
  const first = Number(from);
  const last = isRange === undefined ? first : to === '' ? Number.POSITIVE_INFINITY : Number(to);
  const isSafe = Number.isSafeInteger(first) && (Number.isSafeInteger(last) || to === '');
  if (from === undefined || !isSafe) {
    throw new PrlError('PRL_ERR_USAGE', `${JSON.stringify(text)} is neither a step nor a range of steps`, {
      hint: 'give N, A-B or A-, as in --step 10-20',
    });
  }
  if (last < first) {
    throw new PrlError('PRL_ERR_USAGE', `the range of steps ${text} ends before it begins`, {
      hint: `did you mean ${to}-${from}?`,
    });
  }
  return { first, last, text: text.trim() };
}
