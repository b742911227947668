/**
 * What a person and a script are told when a command fails (demand C9): the cause and its place, what lies beneath it, and
 * last what to do. Also the mapping of whatever was thrown to a code of the contract.
 */
import { CLIError } from '@oclif/core/errors';
import { PrlError, type PrlErrorCode } from '../core/errors.js';
import { EXIT_STATUS } from './exit-codes.js';
import { nearest } from './suggest.js';
import { visible } from './text.js';

/** The code of a failure document: an error code, or the one for a command that a signal cut short. */
export type FailureCode = PrlErrorCode | 'PRL_ERR_INTERRUPTED';

/** A failure, ready to print. */
export type Failure = {
  readonly code: FailureCode;
  /** Exit status 1 to 143. */
  readonly status: number;
  /** What, where, the value seen and the value allowed; may have several lines. */
  readonly message: string;
  /** What to do next. */
  readonly hint: string | null;
  /** The error as thrown; its stack is shown with `--debug` only. */
  readonly error: unknown;
};

/** What is known about the command when it fails. */
export type FailureContext = {
  /** As typed, e.g. `prl upload`. */
  readonly command: string;
  /** Long flags without dashes, for a suggestion. */
  readonly flags: readonly string[];
};

function failureOf(code: PrlErrorCode, message: string, hint: string | null, error: unknown): Failure {
  return { code, status: EXIT_STATUS[code], message, hint, error };
}

/** Takes off what oclif's parser puts around a message: its pointer to `--help`, and `Parsing --flag`. */
function parserMessage(message: string): string {
  return message
    .replace(/\n?See more help with --help\s*$/, '')
    .replace(/^The following errors? occurred:\s*/, '')
    .replace(/(--[\w-]+)=true\b/g, '$1')
    .replace(/^Parsing (--\S+)\s+/, '$1: ')
    .trim();
}

/** The hint for wrong usage: the nearest flag when one was misspelt, else the help. */
function usageHint(error: Error, context: FailureContext): string {
  const typed = 'flags' in error && Array.isArray(error.flags) ? String(error.flags[0]) : '';
  const suggestion = typed.startsWith('--') ? nearest(typed.slice(2), context.flags) : null;
  return suggestion === null ? `see ${context.command} --help` : `did you mean --${suggestion}?`;
}

function isDiskFull(error: Error): boolean {
  return 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT');
}

/** Maps whatever a command threw. An error nobody foresaw is PRL_ERR_BUG. */
export function describeFailure(error: unknown, context: FailureContext): Failure {
  if (error instanceof PrlError) {
    const hint = error.hint ?? (error.code === 'PRL_ERR_USAGE' ? usageHint(error, context) : null);
    return failureOf(error.code, parserMessage(error.message), hint, error);
  }
  if (error instanceof CLIError && error.oclif.exit === EXIT_STATUS.PRL_ERR_USAGE) {
    return failureOf('PRL_ERR_USAGE', parserMessage(error.message), usageHint(error, context), error);
  }
  if (error instanceof Error && isDiskFull(error)) {
    return failureOf('PRL_ERR_LIMIT', error.message, 'make room on the disk and run the same command again', error);
  }
  const message = error instanceof Error ? error.message || error.name : String(error);
  return failureOf('PRL_ERR_BUG', `unexpected: ${message}`, null, error);
}

/** The document of `--json`; schemas/prl.error-1.json. */
export function failureDocument(failure: Failure): {
  readonly schema: 'prl.error/1';
  readonly error: { readonly code: FailureCode; readonly message: string; readonly hint: string | null };
} {
  const { code, message, hint } = failure;
  return { schema: 'prl.error/1', error: { code, message, hint } };
}

/** Messages of the errors beneath, outermost first, without those that the message repeats already. */
function causesOf(failure: Failure): string[] {
  const causes: string[] = [];
  let beneath = failure.error instanceof Error ? failure.error.cause : undefined;
  // A chain longer than this is a loop.
  for (let depth = 0; depth < 8 && beneath instanceof Error; depth += 1) {
    if (beneath.message !== '' && !failure.message.includes(beneath.message)) causes.push(beneath.message);
    beneath = beneath.cause;
  }
  return causes;
}

/** The lines for a person, without colour: cause and object, causes beneath, next step last. */
export function failureLines(failure: Failure, program: string): string[] {
  const [first = '', ...rest] = failure.message.split('\n');
  return [
    `${program}: ${visible(first)}`,
    ...rest.map((line) => `  ${visible(line.trim())}`),
    ...causesOf(failure).map((cause) => `  because ${visible(cause)}`),
    ...(failure.hint === null ? [] : [`  next: ${visible(failure.hint)}`]),
  ];
}
