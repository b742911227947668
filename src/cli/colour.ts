/**
 * Whether a stream gets colour (demand C5): the flag first, then NO_COLOR, FORCE_COLOR, TERM, and last whether the stream
 * is a terminal. Decided for each stream alone: stdout into a file and stderr on a terminal is the common case.
 */
import chalk, { Chalk, type ChalkInstance } from 'chalk';
import type { Environment } from '../core/environment.js';

/** True when escape sequences for colour may be written to the stream. */
export function wantsColour(options: {
  readonly noColourFlag: boolean;
  readonly environment: Environment;
  readonly isTerminal: boolean;
}): boolean {
  const { NO_COLOR, FORCE_COLOR, TERM } = options.environment;
  if (options.noColourFlag) return false;
  // no-color.org: present and not empty, whatever the value.
  if (NO_COLOR !== undefined && NO_COLOR !== '') return false;
  if (FORCE_COLOR !== undefined) return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false';
  if (TERM === 'dumb') return false;
  return options.isTerminal;
}

/** A painter of its own for one stream. The sixteen basic colours follow the user's theme, so no more are used. */
export function painter(coloured: boolean): ChalkInstance {
  return new Chalk({ level: coloured ? 1 : 0 });
}

/** Ink paints with chalk's shared instance, which asks about stdout only; a view on stderr needs its own answer. */
export function paintViews(coloured: boolean): void {
  chalk.level = coloured ? 1 : 0;
}
