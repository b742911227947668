/** The most memory that this process ever had. */
import { readFileSync } from 'node:fs';

/**
 * Resident bytes at their peak. Linux counts whoever started a program into its `ru_maxrss`, so that a small child of a
 * large process tells the size of its parent; the figure of the memory itself begins anew with the program.
 */
export function peakMemoryBytes(): number {
  const kibibytes = /^VmHWM:\s+(\d+) kB$/m.exec(ownStatus())?.[1];
  return (kibibytes === undefined ? process.resourceUsage().maxRSS : Number(kibibytes)) * 1024;
}

function ownStatus(): string {
  try {
    return readFileSync('/proc/self/status', 'utf8');
  } catch {
    return ''; // no Linux
  }
}
