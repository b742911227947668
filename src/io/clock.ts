/** Monotonic time for the uploader: jumps of the wall clock move nothing (U25). */
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../core/upload/types.js';

/** Longest delay a Node timer takes; a longer one would fire at once. Who waits longer looks at the clock again. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export const monotonicClock: Clock = {
  nowMs: () => performance.now(),
  sleep: (ms, signal) => delay(Math.min(ms, MAX_TIMER_MS), undefined, { signal }),
};
