/**
 * The exit statuses of the command line contract (cli.md, "exit"). Scripts rely on them: a number changes only in a
 * major version. docs/errors.md holds the same table, and a test compares the two.
 */
import type { PrlErrorCode } from '../core/errors.js';

/** Done, nothing lost, every threshold met. */
export const EXIT_DONE = 0;

/** The status of each error code; every code has exactly one. */
export const EXIT_STATUS: Readonly<Record<PrlErrorCode, number>> = {
  PRL_ERR_BUG: 1,
  PRL_ERR_USAGE: 2,
  PRL_ERR_DAMAGED: 3,
  PRL_ERR_REJECTED: 3,
  PRL_ERR_NOT_FOUND: 4,
  PRL_ERR_TEMPORARY: 5,
  PRL_ERR_AUTH: 6,
  PRL_ERR_INTEGRITY: 7,
  PRL_ERR_LIMIT: 8,
  PRL_ERR_LOCKED: 9,
  PRL_ERR_THRESHOLD: 99,
};

/** Statuses of the runs of one command, the gravest first: what needs a person before what another run may mend. */
const GRAVEST_FIRST = [1, 7, 8, 6, 2, 4, 9, 5, 3];

/** The status of a command that did several things, from that of each. A signal's own status goes before it. */
export function gravestStatus(statuses: readonly number[]): number {
  return GRAVEST_FIRST.find((status) => statuses.includes(status)) ?? EXIT_DONE;
}

/** The signals that end a command. SIGHUP is the terminal going away: it terminates like SIGTERM. */
export type InterruptSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

/** The status after a signal, whatever else happened: a signal never yields 0. */
export const SIGNAL_STATUS: Readonly<Record<InterruptSignal, number>> = {
  SIGINT: 130,
  SIGTERM: 143,
  SIGHUP: 143,
};

/** Every status there is, in the words of cli.md; shown in the help of each command. */
export const STATUS_MEANING: Readonly<Record<number, string>> = {
  0: 'done, nothing lost, every threshold met',
  1: 'unexpected failure; names the debug log',
  2: 'wrong usage or configuration',
  3: 'finished, but some records or files were rejected, damaged or unreadable',
  4: 'no such run or file',
  5: 'temporary: gave up waiting; running it again continues',
  6: 'the service refused the credentials',
  7: 'integrity: a check or a read-back disagrees',
  8: 'a limit set by the user, or the disk, was reached',
  9: 'another prl owns this run',
  99: 'a threshold failed',
  130: 'interrupted; state saved',
  143: 'terminated; state saved',
};
