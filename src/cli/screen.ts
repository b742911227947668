/**
 * How a command shows progress: the live view, plain lines, or nothing (demands C4, D8). Decided once, from the stream the
 * view would be drawn on; nothing ever fails for lack of a terminal.
 */
import type { Environment } from '../core/environment.js';

/** `live`: redraw in place. `lines`: one line now and then. `silent`: `--json`, whose reader wants stderr empty. */
export type Screen = 'live' | 'lines' | 'silent';

export type ScreenOptions = {
  /** `--tui` true, `--no-tui` false, neither undefined. */
  readonly tui: boolean | undefined;
  readonly json: boolean;
  /** Whether the stream of the view, stderr for all but tail, is a terminal. */
  readonly isTerminal: boolean;
  readonly environment: Environment;
};

/** True in a continuous-integration job, by the variables that the common ones set. */
function isCi(environment: Environment): boolean {
  const { CI, CONTINUOUS_INTEGRATION } = environment;
  return [CI, CONTINUOUS_INTEGRATION].some((value) => value !== undefined && !['', '0', 'false'].includes(value));
}

/** `--tui` overrules what the environment suggests, but cannot make a terminal of a pipe. */
export function decideScreen(options: ScreenOptions): Screen {
  const { tui, json, isTerminal, environment } = options;
  if (json) return 'silent';
  if (!isTerminal || tui === false) return 'lines';
  if (tui === true) return 'live';
  // A screen reader reads a redrawn frame from the top each time; plain lines are what it needs.
  const suitsLines = environment.TERM === 'dumb' || environment.INK_SCREEN_READER === 'true' || isCi(environment);
  return suitsLines ? 'lines' : 'live';
}

/** True when the locale's characters are UTF-8; without one (the C locale) only ASCII can be relied on. */
export function isUtf8Locale(environment: Environment): boolean {
  const { LC_ALL, LC_CTYPE, LANG } = environment;
  return /utf-?8/i.test(LC_ALL || LC_CTYPE || LANG || '');
}
