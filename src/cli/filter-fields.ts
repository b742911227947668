/** The names of a filter expression: the keys of an index row and no others (spec 04 section 2), with what each holds. */
import type { EpisodeRow } from '../core/index/episode-row.js';
import { FilterError } from './filter-error.js';
import { nearest } from './suggest.js';

/** What a field holds beside null. `list` is a list of texts. */
export type FieldType = 'number' | 'text' | 'truth' | 'list';

export type FieldName = keyof EpisodeRow;

const FIELD_TYPES: Readonly<Record<FieldName, FieldType>> = {
  cost: 'number',
  line: 'number',
  offset: 'number',
  id: 'text',
  kind: 'text',
  trace_ids: 'list',
  env: 'text',
  group: 'text',
  ok: 'truth',
  num_errors: 'number',
  reward: 'number',
  advantage: 'number',
  input_tokens: 'number',
  output_tokens: 'number',
  turns: 'number',
  branches: 'number',
  stop_condition: 'text',
  truncated: 'truth',
  dispatch: 'number',
  arrival: 'number',
  duration: 'number',
  chunk: 'number',
};

/** Words with a meaning of their own, which a misspelt word may have been meant for. */
export const KEYWORDS = ['and', 'or', 'not', 'in', 'true', 'false', 'null'] as const;

/** Every field, in the order of a row. */
export const FIELD_NAMES = Object.keys(FIELD_TYPES) as FieldName[];

export function isFieldName(name: string): name is FieldName {
  return Object.hasOwn(FIELD_TYPES, name);
}

export function fieldType(name: FieldName): FieldType {
  return FIELD_TYPES[name];
}

/** Why a word is no field, with what may have been meant. `at` is where it begins. */
export function unknownField(word: string, text: string, at: number): FilterError {
  const known = nearest(word, [...FIELD_NAMES, ...KEYWORDS]);
  const isStep = word.toLowerCase() === 'step';
  const hint = isStep
    ? 'a row has no step: give --step N or --step A-B'
    : known === null
      ? `the fields are ${FIELD_NAMES.join(', ')}`
      : `did you mean ${known}?`;
  return new FilterError(`${word} is no field of an index row`, { text, at, hint });
}
