/** A process that does not listen for a while: what another one says last is on its way, and neither has heard the other. */
import { readFileSync } from 'node:fs';

/** Longest wait for something to happen; only a failing test takes so long. */
const PATIENCE_MS = 60_000;

/**
 * Blocks this process, its event loop with it, until another one has ended, as a long step of a training does.
 * @returns whether it has ended within `patienceMs`
 */
export function deafUntilEnded(pid: number | null, patienceMs: number = PATIENCE_MS): boolean {
  if (pid === null) throw new Error('there is no process');
  const cell = new Int32Array(new SharedArrayBuffer(4));
  const deadline = performance.now() + patienceMs;
  while (!hasEnded(pid)) {
    if (performance.now() > deadline) return false;
    Atomics.wait(cell, 0, 0, 5);
  }
  return true;
}

/** One that nobody has asked how it ended is still listed. */
function hasEnded(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return /^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch {
    return true; // gone
  }
}
