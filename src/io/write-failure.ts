/** What a failed write to a stream means: a disk that is full, a place nobody may write, or something that may pass. */
import { PrlError, type PrlErrorCode } from '../core/errors.js';
import { describeReadError, isNoRoom, systemErrorCode } from './run-fault.js';

const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: 'no room is left on the device',
  EDQUOT: 'the quota is used up',
  EFBIG: 'the file may not grow any further',
  EIO: 'the device reported an error',
  EROFS: 'the file system is read-only',
};

/** Trying again helps only when somebody changes something. */
const LASTING = new Set(['EROFS', 'EACCES', 'EPERM', 'ENOTDIR', 'EISDIR', 'ELOOP', 'ENAMETOOLONG']);

/** Why something could not be written, in one clause. */
export function describeWriteError(error: unknown): string {
  const code = systemErrorCode(error);
  const known = code === null ? undefined : REASONS[code];
  return known === undefined ? describeReadError(error) : `${known} (${code})`;
}

/**
 * `PRL_ERR_LIMIT` without room, `PRL_ERR_USAGE` where nothing may be written, else `PRL_ERR_TEMPORARY`.
 * @param what the failed action with its place, as `write /run/stream/00000.jsonl at byte 5`
 * @param consequence a clause that says what is there now; null when nothing was begun
 */
export function writeFailure(what: string, cause: unknown, consequence: string | null): PrlError {
  const end = consequence === null ? '' : `; ${consequence}`;
  const message = `cannot ${what}: ${describeWriteError(cause)}${end}`;
  const code = codeOf(cause);
  return code === 'PRL_ERR_LIMIT'
    ? new PrlError(code, message, { hint: 'make room; what is written afterwards goes on behind what is there', cause })
    : new PrlError(code, message, { cause });
}

function codeOf(cause: unknown): PrlErrorCode {
  if (cause instanceof PrlError) return cause.code;
  if (isNoRoom(cause)) return 'PRL_ERR_LIMIT';
  return LASTING.has(systemErrorCode(cause) ?? '') ? 'PRL_ERR_USAGE' : 'PRL_ERR_TEMPORARY';
}
