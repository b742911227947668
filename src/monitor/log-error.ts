/** Why a call of `log` or `logAnnotations` did not write all it was given, and what it wrote. */
import { PrlError, type PrlErrorCode } from '../core/errors.js';
import type { LogReceipt, RefusedRecord } from './monitor-types.js';

/** Records that a message names. */
const MAX_NAMED = 3;

export type LogErrorFacts = {
  /** Records the call was given. */
  readonly records: number;
  readonly refused: readonly RefusedRecord[];
  readonly receipt: LogReceipt;
};

/**
 * `PRL_ERR_REJECTED` with `refused`: those have no JSON form, all others are written. Otherwise the code is that of the
 * cause: a failed write, after which no more records are tried, or a row that could not be made or saved. Whatever the
 * code, what is in `receipt` is in the stream, and nothing else of the call.
 */
export class LogError extends PrlError {
  readonly refused: readonly RefusedRecord[];
  readonly receipt: LogReceipt;

  private constructor(code: PrlErrorCode, message: string, more: LogErrorFacts & { hint?: string; cause?: unknown }) {
    super(code, message, {
      ...(more.hint === undefined ? {} : { hint: more.hint }),
      ...(more.cause === undefined ? {} : { cause: more.cause }),
    });
    this.refused = more.refused;
    this.receipt = more.receipt;
  }

  /** Records were refused, and nothing else went wrong. @param hint of the first refusal */
  static ofRefusals(facts: LogErrorFacts, hint: string | undefined): LogError {
    const { records, refused } = facts;
    const named = refused
      .slice(0, MAX_NAMED)
      .map(({ index, id, message }) => `${index} (id ${id ?? 'none'}): ${message}`);
    const more = refused.length > MAX_NAMED ? `; and ${refused.length - MAX_NAMED} more` : '';
    const message = `${refused.length} of ${records} records were not written, ${named.join('; ')}${more}`;
    return new LogError('PRL_ERR_REJECTED', message, { ...facts, ...(hint === undefined ? {} : { hint }) });
  }

  /** A write failed. @param cause what failed first */
  static ofFailure(facts: LogErrorFacts, cause: PrlError): LogError {
    const { records, receipt } = facts;
    const message = `${cause.message}; ${receipt.records.length} of ${records} records were written`;
    const { hint } = cause;
    return new LogError(cause.code, message, { ...facts, cause, ...(hint === undefined ? {} : { hint }) });
  }
}
