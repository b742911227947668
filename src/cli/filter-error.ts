/** Why a filter expression cannot be used: what, the column, the expression with a caret below, and what to do. */
import { PrlError } from '../core/errors.js';
import { visible } from './text.js';
import { textWidth } from './width.js';

/** Characters of the expression shown on each side of the fault. */
const SHOWN_CHARACTERS = 40;

export type FilterErrorOptions = {
  /** The whole expression. */
  readonly text: string;
  /** UTF-16 units before the fault. */
  readonly at: number;
  /** As in PrlError: one clause, lower case. */
  readonly hint: string;
};

/** `PRL_ERR_USAGE`. Its message has three lines. */
export class FilterError extends PrlError {
  /** Characters of the expression up to the fault, counted from 1. */
  readonly column: number;

  constructor(what: string, { text, at, hint }: FilterErrorOptions) {
    const column = [...text.slice(0, at)].length + 1;
    super('PRL_ERR_USAGE', `column ${column}: ${visible(what)}\n${pointedAt(text, at)}`, { hint });
    this.column = column;
  }
}

/** The bar keeps the columns of both lines where whoever prints them takes white space away. */
function pointedAt(text: string, at: number): string {
  const before = [...text.slice(0, at)];
  const after = [...text.slice(at)];
  const left = before.length > SHOWN_CHARACTERS ? ['…', ...before.slice(1 - SHOWN_CHARACTERS)] : before;
  const right = after.length > SHOWN_CHARACTERS ? [...after.slice(0, SHOWN_CHARACTERS - 1), '…'] : after;
  const shownLeft = onOneLine(left.join(''));
  return `| ${shownLeft}${onOneLine(right.join(''))}\n| ${' '.repeat(textWidth(shownLeft))}^`;
}

function onOneLine(text: string): string {
  return visible(text.replace(/[\t\r\n]/g, ' '));
}
