/** The shape of a filter expression once it was read: what it says, with nothing left that could be wrong. No logic. */
import type { FieldName } from './filter-fields.js';

export type Literal = string | number | boolean | null;

/** A side of a comparison. */
export type Operand =
  | { readonly kind: 'field'; readonly field: FieldName }
  | { readonly kind: 'literal'; readonly value: Literal };

/** `~`: the text on the left has the one on the right in it. */
export type Comparator = '==' | '!=' | '<' | '<=' | '>' | '>=' | '~';

export type FilterTree =
  /** Two parts or more, as many as were written in a row: an expression may have thousands. */
  | { readonly kind: 'and' | 'or'; readonly parts: readonly FilterTree[] }
  | { readonly kind: 'not'; readonly inner: FilterTree }
  /** A value that is true or false by itself; null counts as false. */
  | { readonly kind: 'truth'; readonly operand: Operand }
  | { readonly kind: 'compare'; readonly comparator: Comparator; readonly left: Operand; readonly right: Operand }
  /** The value of `item` is one of the list. */
  | { readonly kind: 'in'; readonly item: Operand; readonly list: readonly Literal[] }
  /** The text of `item` is one of those that the field of lists holds. */
  | { readonly kind: 'in-field'; readonly item: Operand; readonly field: FieldName };
