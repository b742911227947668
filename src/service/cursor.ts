/**
 * Opaque cursors: the place of the last row of a page, bound to the filters that made it. A page goes on behind that
 * row by value, so rows that arrive meanwhile neither repeat nor hide others.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { rejected } from './refusal.js';

/** Where a page ended: the sort column's value in its last row (null sorts last), and that row's key. */
export type Position = { readonly value: number | null; readonly key: number };

const SEAL_BYTES = 16;

/** `filters`: everything that decides which rows there are and in which order, as text. */
export function writeCursor(position: Position, filters: string): string {
  const place = JSON.stringify([position.value, position.key]);
  return Buffer.concat([seal(place, filters), Buffer.from(place)]).toString('base64url');
}

/** @throws Refusal 400 `invalid_cursor` for anything but a cursor made with exactly these filters. */
export function readCursor(cursor: string, filters: string): Position {
  const bytes = Buffer.from(cursor, 'base64url');
  const place = bytes.subarray(SEAL_BYTES).toString('latin1');
  const isOurs = bytes.length > SEAL_BYTES && timingSafeEqual(bytes.subarray(0, SEAL_BYTES), seal(place, filters));
  if (!isOurs) throw rejected('invalid_cursor', 'the cursor was not made by this query: start again without it');
  const [value, key] = JSON.parse(place) as [number | null, number];
  return { value, key };
}

function seal(place: string, filters: string): Buffer {
  return createHash('sha256').update(`${filters}\n${place}`).digest().subarray(0, SEAL_BYTES);
}
