/** Opens a run that may not have begun: whoever follows a training may be there before its first file. */
import type { Clock } from '../core/upload/types.js';
import { isBlankDirectory, openRun } from './run.js';
import type { Run } from './run-types.js';

export type AwaitRunOptions = {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Told once, when there is something to wait for. */
  readonly onWaiting: () => void;
};

/** Time between two looks. */
const LOOK_MS = 500;

/**
 * As `openRun`, but in a directory that is there and holds nothing of a run it waits for one to begin.
 *
 * @throws PrlError as `openRun`, for a path that does not exist as well; the signal's reason
 */
export async function awaitRun(path: string, { signal, clock, onWaiting }: AwaitRunOptions): Promise<Run> {
  for (let looks = 0; await isBlankDirectory(path); looks += 1) {
    if (looks === 0) onWaiting();
    await clock.sleep(LOOK_MS, signal);
  }
  return openRun(path);
}
