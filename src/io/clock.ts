/** Monotonic time for the uploader: jumps of the wall clock move nothing (U25). */
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../core/upload/types.js';

export const monotonicClock: Clock = {
  nowMs: () => performance.now(),
  sleep: (ms, signal) => delay(ms, undefined, { signal }),
};
