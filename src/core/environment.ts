/** The environment of a process, and the directories of the user that it names. Pure: the home directory is handed in. */

/** Variables by name, as a process has them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Where prl keeps what belongs to no run, debug logs and the journals of runs that cannot be written: `$PRL_STATE_DIR`,
 * else `$XDG_STATE_HOME/prl`, else `~/.local/state/prl`. Not created here.
 *
 * @param home the home directory as the system tells it, for an environment without `$HOME`
 */
export function stateDirectory(environment: Environment, home: string): string {
  return environment.PRL_STATE_DIR || inBase(environment.XDG_STATE_HOME, `${environment.HOME || home}/.local/state`);
}

/** Where the embedded service keeps its data: `$PRL_DATA_DIR`, else `$XDG_DATA_HOME/prl`, else `~/.local/share/prl`. */
export function dataDirectory(environment: Environment, home: string): string {
  return environment.PRL_DATA_DIR || inBase(environment.XDG_DATA_HOME, `${environment.HOME || home}/.local/share`);
}

/** The XDG specification has a base that is no absolute path ignored. */
function inBase(given: string | undefined, usual: string): string {
  return `${given?.startsWith('/') ? given : usual}/prl`;
}
