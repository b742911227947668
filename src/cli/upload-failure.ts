/** What an upload fails with once its report is printed, and the exit status of what it had to leave behind. */
import { PrlError } from '../core/errors.js';
import type { UploadOutcome } from '../core/upload/outcome.js';
import { EXIT_DONE, EXIT_STATUS } from './exit-codes.js';

/** Why the report is not the whole story; null when it is. `command`: what was typed, to be typed again. */
export function uploadFailure({ stopped, verified, journal }: UploadOutcome, command: string): PrlError | null {
  if (stopped !== null) {
    const continues = journal === null ? 'what is stored is not stored twice' : 'it continues where this stopped';
    const hint = stopped.hint === null ? `run it again, ${continues}: ${command}` : `${stopped.hint}, then: ${command}`;
    return new PrlError(stopped.errorCode, stopped.message, { hint });
  }
  if (verified === null || verified.ok) return null;
  const [first] = verified.differences;
  return new PrlError(
    'PRL_ERR_INTEGRITY',
    `${verified.differences.length} differences between the run and what the service gives back; the first: ${first?.message}`,
    { hint: 'the run on disk is the truth: remove its journal (monitors/prl) and upload it again' },
  );
}

/** The status of an upload or a plan that came to its end. */
export function finishedStatus({ rejected, damaged }: Pick<UploadOutcome, 'rejected' | 'damaged'>): number {
  if (rejected.length > 0) return EXIT_STATUS.PRL_ERR_REJECTED;
  return damaged.length > 0 ? EXIT_STATUS.PRL_ERR_DAMAGED : EXIT_DONE;
}
