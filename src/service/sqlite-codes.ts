/** Result codes of SQLite that decide something here (https://sqlite.org/rescode.html). */

export const SQLITE_BUSY = 5;
export const SQLITE_READONLY = 8;
export const SQLITE_IOERR = 10;
export const SQLITE_CORRUPT = 11;
export const SQLITE_FULL = 13;
export const SQLITE_CANTOPEN = 14;
export const SQLITE_NOTADB = 26;

/** The primary result code of an error of node:sqlite, null for any other error. */
export function sqliteCode(error: unknown): number | null {
  const { errcode } = (error ?? {}) as { errcode?: unknown };
  return typeof errcode === 'number' ? errcode & 0xff : null;
}
