// Runs prl on the Node that `npm ci` brings as a package: npm puts it on PATH, a direct call of bin/run.js does not.
// The child is the command; this process passes signals on, waits, and ends with the child's status.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

const BUNDLED_NODE = fileURLToPath(new URL('../node_modules/.bin/node', import.meta.url));
const RUN = fileURLToPath(new URL('./run.js', import.meta.url));

/** SIGUSR1 asks for a progress line; without a listener an old Node would open a debugger instead. */
const PASSED_ON = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1'];

/** The number of the pipe whose end tells the child that this process is gone, however it went. */
const LIFELINE_FD = 3;

/** Starts the child; `needed` is the least Node version, for the message when there is none. */
export function relaunch(needed) {
  if (!existsSync(BUNDLED_NODE) || process.env.PRL_LIFELINE_FD !== undefined) {
    process.stderr.write(
      `prl needs Node ${needed} or newer; this is ${process.versions.node} (${process.execPath}).\n` +
        '  next: install a newer Node, or run "npm ci" in the folder of prl, which brings one\n',
    );
    process.exitCode = 2;
    return;
  }
  const child = spawn(BUNDLED_NODE, [RUN, ...process.argv.slice(2)], {
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    env: { ...process.env, PRL_LIFELINE_FD: String(LIFELINE_FD) },
  });
  // A terminal signals the whole group, so the child may get a signal twice; it takes two within 100 ms for one.
  for (const signal of PASSED_ON) process.on(signal, () => child.kill(signal));
  // The lifeline says nothing; the child closing its end is no failure.
  child.stdio[LIFELINE_FD].on('error', () => {});
  child.on('error', (error) => {
    process.stderr.write(
      `prl: cannot run ${BUNDLED_NODE}: ${error.message}\n  next: run "npm ci" in the folder of prl\n`,
    );
    process.exitCode = 2;
  });
  child.on('exit', (status, signal) => {
    process.exit(signal === null ? status : 128 + constants.signals[signal]);
  });
}
