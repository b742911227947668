/** Slices of work on the event loop: the clock and the turn that core/encode is handed. */
import type { Pace } from '../core/encode/types.js';

/** Longest work at a stretch, ms. Shorter slices cost no throughput that could be measured, longer ones stall. */
export const DEFAULT_SLICE_MS = 1;

/** @param sliceMs above 0 */
export function eventLoopPace(sliceMs: number = DEFAULT_SLICE_MS): Pace {
  if (!(sliceMs > 0)) throw new RangeError(`a slice of ${sliceMs} ms; it must be above 0`);
  return {
    sliceMs,
    nowMs: () => performance.now(),
    giveBack: () => new Promise((resolve) => setImmediate(resolve)),
  };
}
