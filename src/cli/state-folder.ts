/** Where prl keeps what belongs to no run: debug logs, and journals of runs that cannot be written. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from './colour.js';

/** `$PRL_STATE_DIR`, else `$XDG_STATE_HOME/prl`, else `~/.local/state/prl`. Not created here. */
export function stateFolder(environment: Environment): string {
  const { PRL_STATE_DIR, XDG_STATE_HOME } = environment;
  if (PRL_STATE_DIR) return PRL_STATE_DIR;
  return join(XDG_STATE_HOME || join(homedir(), '.local', 'state'), 'prl');
}
