/** What every monitor asks of a call that logs episodes. */
import { PrlError } from '../core/errors.js';
import type { LogOptions } from './monitor-types.js';

/** Why a call cannot be taken; null when it can. */
export function wrongOptions({ step, kind }: LogOptions): PrlError | null {
  if (!Number.isSafeInteger(step)) return new PrlError('PRL_ERR_USAGE', `step ${step}; it must be a whole number`);
  if (kind === 'train' || kind === 'eval') return null;
  return new PrlError('PRL_ERR_USAGE', `kind ${JSON.stringify(kind)}; it is "train" or "eval"`);
}
