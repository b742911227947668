/** How many sockets this process may open and still have descriptors for its files (U22). */
import { readdirSync, readFileSync } from 'node:fs';

/** For the journal, the chunk that is read, a directory that is synced, and whatever a library opens for a moment. */
const FILES = 6;

/** At least 1; infinite where the system does not tell, as outside Linux. */
export function spareDescriptors(): number {
  try {
    const limit = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    if (limit === undefined) return Number.POSITIVE_INFINITY;
    return Math.max(1, Number(limit) - readdirSync('/proc/self/fd').length - FILES);
  } catch {
    return Number.POSITIVE_INFINITY; // no /proc
  }
}
