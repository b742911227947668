/** Builds and runs the paged queries: conditions from filters, one order, a page and the cursor to the next. */
import type { SQLInputValue } from 'node:sqlite';
import { type Position, readCursor, writeCursor } from './cursor.js';
import type { QueryValues } from './query-values.js';
import type { Store } from './store.js';

const DEFAULT_PAGE_ROWS = 50;
const MAX_PAGE_ROWS = 100;

/** Conditions joined by AND, with their values in order. */
export class Conditions {
  readonly #clauses: string[] = [];
  readonly values: SQLInputValue[] = [];

  add(clause: string, ...values: SQLInputValue[]): this {
    this.#clauses.push(clause);
    this.values.push(...values);
    return this;
  }

  /** Adds `clause` unless the filter is unset. */
  when(clause: string, value: SQLInputValue | boolean): this {
    return value === null ? this : this.add(clause, typeof value === 'boolean' ? Number(value) : value);
  }

  get sql(): string {
    return this.#clauses.join(' AND ');
  }

  /** Equal for equal filters: what a cursor is bound to. */
  get fingerprint(): string {
    return JSON.stringify([this.#clauses, this.values]);
  }
}

/** The filters `context.<key>`, on the uploads of the traces of alias `t`. */
export function addContexts(conditions: Conditions, query: QueryValues): void {
  const sql = 'EXISTS (SELECT 1 FROM contexts c WHERE c.upload_key = t.upload_key AND c.key = ? AND c.value = ?)';
  for (const [key, value] of query.context()) conditions.add(sql, key, value);
}

/** The filter `upload_id`, repeatable, on alias `u`: copies as those uploads stored them, else what `newest` selects. */
export function addCopies(conditions: Conditions, query: QueryValues, newest: string): void {
  const uploadIds = query.texts('upload_id');
  if (uploadIds.length === 0) conditions.add(newest);
  else conditions.add('u.digest IN (SELECT value FROM json_each(?))', JSON.stringify(uploadIds));
}

export type Page = { readonly limit: number; readonly cursor: string | null };

/** `limit` 1 to 100, default 50; an empty cursor is none. */
export function readPage(query: QueryValues): Page {
  const limit = query.integer('limit', { min: 1, max: MAX_PAGE_ROWS }) ?? DEFAULT_PAGE_ROWS;
  return { limit, cursor: query.text('cursor') || null };
}

export type Listing = {
  /** `SELECT … FROM …`, without WHERE. */
  readonly select: string;
  readonly conditions: Conditions;
  /** Columns of the order, both descending; nulls of the first come last, and only `reward` has any. */
  readonly sortColumn: string;
  readonly isSortNullable: boolean;
  readonly keyColumn: string;
  readonly page: Page;
};

export type ListedRows = { readonly rows: Record<string, unknown>[]; readonly nextCursor: string | null };

/**
 * Rows of one page. Selected rows must carry `sort_value` and `sort_key`.
 *
 * @throws Refusal 400 `invalid_cursor`.
 */
export function listRows(store: Store, listing: Listing): ListedRows {
  const { select, conditions, sortColumn, keyColumn, page } = listing;
  // Taken before the cursor adds conditions of its own.
  const filters = `${select}\n${sortColumn}\n${conditions.fingerprint}`;
  if (page.cursor !== null) continueBehind(listing, readCursor(page.cursor, filters));
  const sql = `${select} WHERE ${conditions.sql} ORDER BY ${sortColumn} DESC, ${keyColumn} DESC LIMIT ?`;
  const rows = store.all(sql, [...conditions.values, page.limit + 1]);
  const last = rows.length > page.limit ? rows[page.limit - 1] : undefined;
  const position = last && { value: last.sort_value as number | null, key: last.sort_key as number };
  return {
    rows: rows.slice(0, page.limit),
    nextCursor: position === undefined ? null : writeCursor(position, filters),
  };
}

function continueBehind(
  { conditions, sortColumn, keyColumn, isSortNullable }: Listing,
  { value, key }: Position,
): void {
  if (value === null) {
    conditions.add(`${sortColumn} IS NULL AND ${keyColumn} < ?`, key);
  } else if (isSortNullable) {
    conditions.add(`(${sortColumn} <= ? AND (${sortColumn} < ? OR ${keyColumn} < ?) OR ${sortColumn} IS NULL)`);
    conditions.values.push(value, value, key);
  } else {
    // The first comparison alone lets the index start where the last page ended.
    conditions.add(`${sortColumn} <= ? AND (${sortColumn} < ? OR ${keyColumn} < ?)`, value, value, key);
  }
}
