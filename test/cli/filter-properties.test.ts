/** The filter language against a slow reading of its trees, and against any text (F3, P5). */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FilterError } from '../../src/cli/filter-error.js';
import { compileFilter } from '../../src/cli/filter-expression.js';
import { FIELD_NAMES, type FieldName, fieldType } from '../../src/cli/filter-fields.js';
import type { FilterTree, Literal, Operand } from '../../src/cli/filter-tree.js';
import type { EpisodeRow } from '../../src/core/index/episode-row.js';

const SEED = { seed: 20_261_130, numRuns: 1000 };
const name = (type: string): fc.Arbitrary<FieldName> =>
  fc.constantFrom(...FIELD_NAMES.filter((field) => fieldType(field) === type));
const number = fc.oneof(
  fc.constantFrom(0, -0.5, 0.75, 3, 1e-7, 1e21),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);
const string = fc.oneof(fc.constantFrom('', 'math', 'a"b\'c\\', '\n\t'), fc.string({ unit: 'binary', maxLength: 5 }));
const field = (type: string): fc.Arbitrary<Operand> => name(type).map((one) => ({ kind: 'field', field: one }));
const literal = (value: fc.Arbitrary<Literal>): fc.Arbitrary<Operand> =>
  value.map((one) => ({ kind: 'literal', value: one }));
const nothing = fc.constant(null);
const numberSide = fc.oneof(field('number'), literal(number), literal(nothing));
const textSide = fc.oneof(field('text'), literal(string), literal(nothing));
const truthSide = fc.oneof(field('truth'), literal(fc.boolean()), literal(nothing));
const compared = (side: fc.Arbitrary<Operand>, ...signs: string[]): fc.Arbitrary<FilterTree> =>
  fc.record({
    kind: fc.constant('compare'),
    comparator: fc.constantFrom(...signs),
    left: side,
    right: side,
  }) as never;
const among = (item: fc.Arbitrary<Operand>, value: fc.Arbitrary<Literal>): fc.Arbitrary<FilterTree> =>
  fc.record({ kind: fc.constant('in' as const), item, list: fc.array(fc.oneof(value, nothing), { maxLength: 3 }) });
const plainText = fc.oneof(field('text'), literal(string));
const { tree } = fc.letrec<{ tree: FilterTree; leaf: FilterTree }>((tie) => ({
  leaf: fc.oneof(
    compared(numberSide, '==', '!=', '<', '<=', '>', '>='),
    compared(textSide, '==', '!=', '<', '<=', '>', '>='),
    compared(plainText, '~'),
    compared(truthSide, '==', '!='),
    among(field('number'), number),
    among(field('text'), string),
    fc.record({ kind: fc.constant('in-field' as const), item: plainText, field: name('list') }),
    fc.record({ kind: fc.constant('truth' as const), operand: fc.oneof(field('truth'), literal(fc.boolean())) }),
  ),
  tree: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    tie('leaf'),
    fc.record({ kind: fc.constant('not' as const), inner: tie('tree') }),
    fc.record({
      kind: fc.constantFrom('and' as const, 'or' as const),
      parts: fc.array(tie('tree'), { minLength: 2, maxLength: 3 }),
    }),
  ),
}));

const rowValue: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  number: fc.oneof(number, nothing),
  text: fc.oneof(string, nothing),
  truth: fc.oneof(fc.boolean(), nothing),
  list: fc.array(string, { maxLength: 3 }),
};
const row = fc.record(
  Object.fromEntries(FIELD_NAMES.map((one) => [one, rowValue[fieldType(one)] as fc.Arbitrary<unknown>])),
) as unknown as fc.Arbitrary<EpisodeRow>;

/** The text of a tree with brackets everywhere, or only where the grammar needs them. */
function written(one: FilterTree, isBare: boolean): string {
  const side = (operand: Operand): string => (operand.kind === 'field' ? operand.field : value(operand.value));
  const value = (of: Literal): string => (typeof of === 'string' ? quoted(of) : Object.is(of, -0) ? '-0' : String(of));
  const inner = (child: FilterTree, needs: readonly string[]): string =>
    isBare && !needs.includes(child.kind) ? written(child, isBare) : `(${written(child, isBare)})`;
  switch (one.kind) {
    case 'and':
      return one.parts.map((part) => inner(part, ['or', 'and'])).join(' and ');
    case 'or':
      return one.parts.map((part) => inner(part, ['or'])).join(' or ');
    case 'not':
      return `not ${inner(one.inner, ['and', 'or'])}`;
    case 'truth':
      return side(one.operand);
    case 'compare':
      return `${side(one.left)}${one.comparator}${side(one.right)}`;
    case 'in':
      return `${side(one.item)} in [${one.list.map(value).join(',')}]`;
    case 'in-field':
      return `${side(one.item)} in ${one.field}`;
  }
}

function quoted(text: string): string {
  const isSingle = text.length % 2 === 0;
  const body = text.replaceAll('\\', '\\\\').replaceAll(isSingle ? "'" : '"', (mark) => `\\${mark}`);
  return isSingle ? `'${body}'` : `"${body}"`;
}

/** The meaning of a tree, said once more without a compiler. */
function holds(one: FilterTree, of: EpisodeRow): boolean {
  const get = (operand: Operand): unknown => (operand.kind === 'field' ? of[operand.field] : operand.value);
  if ('parts' in one) {
    const count = one.parts.filter((part) => holds(part, of)).length;
    return one.kind === 'and' ? count === one.parts.length : count > 0;
  }
  if (one.kind === 'not') return !holds(one.inner, of);
  if (one.kind === 'truth') return get(one.operand) === true;
  if (one.kind === 'in') return one.list.some((value) => value === get(one.item));
  if (one.kind === 'in-field') return (of[one.field] as unknown[]).some((value) => value === get(one.item));
  const [left, right] = [get(one.left), get(one.right)] as [never, never];
  if (one.comparator === '==') return left === right;
  if (one.comparator === '!=') return left !== right;
  if (left === null || right === null) return false;
  if (one.comparator === '~') return (left as string).indexOf(right) >= 0;
  if (one.comparator === '<') return left < right;
  if (one.comparator === '<=') return left <= right;
  return one.comparator === '>' ? left > right : left >= right;
}

test('every expression means what its tree means, however it is bracketed', () => {
  let agreed = { yes: 0, no: 0 };
  fc.assert(
    fc.property(tree, row, (one, of) => {
      const expected = holds(one, of);
      agreed = expected ? { ...agreed, yes: agreed.yes + 1 } : { ...agreed, no: agreed.no + 1 };
      for (const isBare of [true, false]) expect(compileFilter(written(one, isBare))(of)).toBe(expected);
    }),
    SEED,
  );
  expect(Math.min(agreed.yes, agreed.no)).toBeGreaterThan(100);
});

test('any text compiles or is a usage error with a column inside it; nothing else is thrown', () => {
  const piece = fc.oneof(
    fc.constantFrom('reward', 'env', 'trace_ids', 'ok', 'and', 'or', 'not', 'in', 'null', '==', '<', '~', '(', ')'),
    fc.constantFrom('[', ']', ',', '0.5', '-1', '"a"', "'", '\\', ' ', '\n', '漢'),
    fc.string({ unit: 'binary', maxLength: 3 }),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const text = pieces.join(' ');
      try {
        expect(typeof compileFilter(text)({} as EpisodeRow)).toBe('boolean');
      } catch (error) {
        if (!(error instanceof FilterError)) throw error;
        expect(error.code).toBe('PRL_ERR_USAGE');
        expect(error.column).toBeGreaterThan(0);
        expect(error.column).toBeLessThanOrEqual([...text].length + 1);
        expect(error.hint).toBeTruthy();
      }
    }),
    { ...SEED, numRuns: 3000 },
  );
});

test('an expression of ten thousand parts is compiled and answered', () => {
  const parts = Array.from({ length: 10_000 }, () => 'ok and not truncated');
  const row = { ok: true, truncated: false } as EpisodeRow;
  expect(compileFilter(parts.join(' and '))(row)).toBe(true);
  expect(compileFilter(`${parts.join(' or ')} or ok`)({ ...row, ok: false })).toBe(false);
});
