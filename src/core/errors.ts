/**
 * The one error class of prl. Callers branch on `code`, never on the message; `cli/exit-codes.ts` maps codes to
 * numbers (docs/errors.md holds the same table).
 */

/** What went wrong, as a stable name. Each maps to exactly one exit status of the command line contract. */
export type PrlErrorCode =
  | 'PRL_ERR_BUG'
  | 'PRL_ERR_USAGE'
  | 'PRL_ERR_DAMAGED'
  | 'PRL_ERR_REJECTED'
  | 'PRL_ERR_NOT_FOUND'
  | 'PRL_ERR_TEMPORARY'
  | 'PRL_ERR_AUTH'
  | 'PRL_ERR_INTEGRITY'
  | 'PRL_ERR_LIMIT'
  | 'PRL_ERR_LOCKED'
  | 'PRL_ERR_THRESHOLD';

export type PrlErrorOptions = {
  /** What the user can do next, printed as `next: …`: one clause, lower case, without a full stop. */
  readonly hint?: string;
  /** The error underneath, kept for the debug log. */
  readonly cause?: unknown;
};

/** An expected failure: `message` is one line saying what, where, the value seen and the value allowed. */
export class PrlError extends Error {
  readonly code: PrlErrorCode;
  readonly hint: string | undefined;

  constructor(code: PrlErrorCode, message: string, options: PrlErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'PrlError';
    this.code = code;
    this.hint = options.hint;
  }
}

/** What a thrown value says, whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
