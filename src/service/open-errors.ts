/** Why a data directory could not be opened, as an error a user can act on. */
import { messageOf, PrlError, type PrlErrorCode } from '../core/errors.js';
import { systemErrorCode } from '../io/run-fault.js';
import {
  SQLITE_CANTOPEN,
  SQLITE_CORRUPT,
  SQLITE_FULL,
  SQLITE_NOTADB,
  SQLITE_READONLY,
  sqliteCode,
} from './sqlite-codes.js';

type Explanation = { readonly code: PrlErrorCode; readonly reason: string; readonly hint: string };

const OTHER_DIRECTORY = 'name a directory that this user can write with --data or PRL_DATA_DIR';

/** The error itself when it is understood already, or by nobody; else what it means for the directory. */
export function openError(directory: string, error: unknown): unknown {
  if (error instanceof PrlError) return error;
  const known = bySystem(error) ?? byDatabase(error);
  if (known === null) return error;
  return new PrlError(known.code, `cannot use the data directory ${directory}: ${known.reason}`, {
    hint: known.hint,
    cause: error,
  });
}

function bySystem(error: unknown): Explanation | null {
  const reason = messageOf(error);
  switch (systemErrorCode(error)) {
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
    case 'ENOENT':
    case 'ENOTDIR':
    case 'EEXIST':
    case 'EISDIR':
      return { code: 'PRL_ERR_USAGE', reason, hint: OTHER_DIRECTORY };
    case 'ENOSPC':
    case 'EDQUOT':
      return { code: 'PRL_ERR_LIMIT', reason, hint: 'make room on that disk, or use another one with --data' };
    default:
      return null;
  }
}

function byDatabase(error: unknown): Explanation | null {
  const reason = messageOf(error);
  switch (sqliteCode(error)) {
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
      return { code: 'PRL_ERR_USAGE', reason, hint: OTHER_DIRECTORY };
    case SQLITE_FULL:
      return { code: 'PRL_ERR_LIMIT', reason, hint: 'make room on that disk, or use another one with --data' };
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return {
        code: 'PRL_ERR_INTEGRITY',
        reason: `its database is damaged: ${reason}`,
        hint: 'restore the directory from a copy, or start over an empty one with --data',
      };
    default:
      return null;
  }
}
