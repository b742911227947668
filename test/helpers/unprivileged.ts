/** The built `prl` without the super-user's right to read and write everything; whoever else runs the tests has no such right. */
import { spawn } from 'node:child_process';
import { type Ended, watchChild } from './child.js';

const RIGHTS = '-dac_override,-dac_read_search';

export function runUnprivileged(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<Ended> {
  const isRoot = process.getuid?.() === 0;
  const dropped = isRoot ? ['setpriv', `--bounding-set=${RIGHTS}`, `--inh-caps=${RIGHTS}`] : ['env'];
  const [program = '', ...words] = [...dropped, process.execPath, 'bin/run.js', ...args];
  const env = { PATH: process.env.PATH ?? '', LANG: 'C.UTF-8', ...environment };
  return watchChild(spawn(program, words, { env, stdio: ['ignore', 'pipe', 'pipe'] })).ended;
}
