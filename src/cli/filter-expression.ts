/**
 * The filter language of `upload` and `tail`: `reward > 0.5 and turns < 10` over the fields of an index row, compiled to
 * a function of a row. Pure. A comparison with a null is false unless it is == or !=, and so is one of a value that has
 * not the type of its field, as a foreign index may hold.
 */
import type { EpisodeRow } from '../core/index/episode-row.js';
import { parseFilter } from './filter-parser.js';
import type { Comparator, FilterTree, Literal, Operand } from './filter-tree.js';

export type RowPredicate = (row: EpisodeRow) => boolean;

/** The value of one side of a comparison. */
type Side = (row: EpisodeRow) => unknown;

/**
 * Compiles an expression. What it can say: docs/filters.md.
 *
 * @throws FilterError `PRL_ERR_USAGE` with the column of the first fault, an unknown field or types that do not go together
 */
export function compileFilter(text: string): RowPredicate {
  return compiled(parseFilter(text));
}

function compiled(tree: FilterTree): RowPredicate {
  switch (tree.kind) {
    case 'and': {
      const parts = tree.parts.map(compiled);
      return (row) => parts.every((holds) => holds(row));
    }
    case 'or': {
      const parts = tree.parts.map(compiled);
      return (row) => parts.some((holds) => holds(row));
    }
    case 'not': {
      const inner = compiled(tree.inner);
      return (row) => !inner(row);
    }
    case 'truth': {
      const value = sideOf(tree.operand);
      return (row) => value(row) === true;
    }
    case 'compare':
      return comparison(tree.comparator, sideOf(tree.left), sideOf(tree.right));
    case 'in': {
      const value = sideOf(tree.item);
      const list = new Set(tree.list);
      return (row) => list.has(value(row) as Literal);
    }
    case 'in-field': {
      const item = sideOf(tree.item);
      const { field } = tree;
      return (row) => {
        const list: unknown = row[field];
        return Array.isArray(list) && list.includes(item(row));
      };
    }
  }
}

/** A key that a row has not is null. */
function sideOf(operand: Operand): Side {
  if (operand.kind === 'field') return (row) => row[operand.field] ?? null;
  const { value } = operand;
  return () => value;
}

function comparison(comparator: Comparator, left: Side, right: Side): RowPredicate {
  switch (comparator) {
    case '==':
      return (row) => left(row) === right(row);
    case '!=':
      return (row) => left(row) !== right(row);
    case '<':
      return ordered(left, right, (order) => order < 0);
    case '<=':
      return ordered(left, right, (order) => order <= 0);
    case '>':
      return ordered(left, right, (order) => order > 0);
    case '>=':
      return ordered(left, right, (order) => order >= 0);
    case '~':
      return (row) => {
        const [text, part] = [left(row), right(row)];
        return typeof text === 'string' && typeof part === 'string' && text.includes(part);
      };
  }
}

/** Numbers by size, texts by their UTF-16 units; anything else has no order. */
function ordered(left: Side, right: Side, holds: (order: number) => boolean): RowPredicate {
  return (row) => {
    const [a, b] = [left(row), right(row)];
    const areNumbers = typeof a === 'number' && typeof b === 'number';
    const areTexts = typeof a === 'string' && typeof b === 'string';
    if (!areNumbers && !areTexts) return false;
    return holds(a < b ? -1 : a > b ? 1 : 0);
  };
}
