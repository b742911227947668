/**
 * One data directory, one process. The lock is an exclusive transaction on a small SQLite file, so it is the kernel's:
 * it ends with its process whatever kills that, and neither a stale file nor a reused process id can keep it.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { PrlError } from '../core/errors.js';
import { SQLITE_BUSY, sqliteCode } from './sqlite-codes.js';

/** Holds the directory until `release`. */
export type DirectoryLock = { release(): void };

/**
 * Takes the directory, which must exist.
 *
 * @throws PrlError PRL_ERR_LOCKED naming the process that holds it.
 */
export function lockDirectory(directory: string): DirectoryLock {
  const database = new DatabaseSync(path.join(directory, 'lock.sqlite'), { timeout: 0 });
  const note = path.join(directory, 'owner.json');
  try {
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (sqliteCode(error) !== SQLITE_BUSY) throw error;
    throw new PrlError('PRL_ERR_LOCKED', `${directory} is in use by ${holder(note)}`, {
      hint: 'stop that process, or give this one a directory of its own with --data',
      cause: error,
    });
  }
  // Only to name the holder in messages; nothing decides by it.
  writeFileSync(note, `${JSON.stringify({ pid: process.pid, started_at: new Date().toISOString() })}\n`);
  return {
    release() {
      rmSync(note, { force: true });
      database.close();
    },
  };
}

function holder(note: string): string {
  try {
    const { pid, started_at: startedAt } = JSON.parse(readFileSync(note, 'utf8')) as Record<string, unknown>;
    return `process ${String(pid)}, a prl serve that started at ${String(startedAt)}`;
  } catch {
    // The holder is between taking the lock and writing its note.
    return 'another prl serve';
  }
}
