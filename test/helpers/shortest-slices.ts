/** Time for tests of what is done between two turns of the event loop. */
import type { Pace } from '../../src/core/encode/types.js';

/** A pace whose slices are over at every look: between two turns is done what lies between two looks. */
export function shortestSlices(): { readonly pace: Pace; turns(): number } {
  let turns = 0;
  let now = 0;
  return {
    turns: () => turns,
    pace: {
      sliceMs: 1,
      nowMs: () => {
        now += 1;
        return now;
      },
      giveBack: () => {
        turns += 1;
        return new Promise((resolve) => setImmediate(resolve));
      },
    },
  };
}
