/** Says in one clause why a file could not be read, without its path: the caller says which file. */
import { messageOf } from '../core/errors.js';

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
  ENOENT: 'it no longer exists',
  ENOTDIR: 'a part of its path is no directory',
  EISDIR: 'it is a directory',
  ELOOP: 'its symbolic links form a loop',
  EIO: 'the device reported a read error',
  EMFILE: 'too many open files in this process',
  ENFILE: 'too many open files on this machine',
  ENAMETOOLONG: 'its name is too long',
  ESTALE: 'the network file system lost it',
};

/** What a full disk, quota or file size limit is called. */
const NO_ROOM = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** The system's error code, or null when the error is none of the system's. */
export function systemErrorCode(error: unknown): string | null {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return typeof code === 'string' ? code : null;
}

/** Why reading failed, for a message; known codes in plain words, others by code and text. */
export function describeReadError(error: unknown): string {
  const code = systemErrorCode(error);
  const known = code === null ? undefined : REASONS[code];
  if (known !== undefined) return known;
  return messageOf(error);
}

/** Whether a write failed for want of room. */
export function isNoRoom(error: unknown): boolean {
  return NO_ROOM.has(systemErrorCode(error) ?? '');
}
