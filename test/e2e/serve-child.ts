/** The built `prl serve` as a child process, alone or under strace with a fault injected at one system call. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { watchChild } from '../helpers/child.js';
import { onTestEnd } from '../service/service-fixture.js';

const LAUNCHER = path.resolve('bin/run.js');

export type ServeChild = {
  readonly child: ChildProcess;
  /** The port it listens on, null when it ended before it did. */
  readonly port: number | null;
  /** Sends a signal to the service itself, not to the strace around it. */
  readonly kill: (signal: NodeJS.Signals) => void;
  readonly ended: Promise<{ status: number | null; signal: NodeJS.Signals | null }>;
  readonly output: () => { stdout: string; stderr: string };
};

export const HAS_STRACE = spawnSync('strace', ['-V']).status === 0;

/** strace that is told to end leaves its child running, so the signal goes to the process that the directory names. */
function signalHolder(dataDir: string | null, child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    const { pid } = JSON.parse(readFileSync(path.join(dataDir ?? '', 'owner.json'), 'utf8')) as { pid: number };
    process.kill(pid, signal);
  } catch {
    // It has not got so far, or is gone already; then only its parent can be there.
    child.kill(signal);
  }
}

export type ServeOptions = {
  readonly args?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** What stdout says when it listens; for the forms that say it otherwise. */
  readonly until?: RegExp;
  /** Arguments of strace, such as `-e`, `inject=…`; the service then runs under it. */
  readonly strace?: readonly string[];
  /** Where strace writes what it saw; default nowhere. */
  readonly log?: string;
};

/** Starts the command and waits until it listens or has ended. `dataDir` null gives no --data. */
export async function serveChild(dataDir: string | null, options: ServeOptions = {}): Promise<ServeChild> {
  const data = dataDir === null ? [] : ['--data', dataDir];
  const args = options.args ?? [];
  const port = args.includes('--port') ? [] : ['--port', '0'];
  const command = [process.execPath, LAUNCHER, 'serve', ...port, ...data, ...args];
  const [program = '', ...programArgs] =
    options.strace === undefined
      ? command
      : ['strace', '-f', '-qq', '-o', options.log ?? '/dev/null', ...options.strace, ...command];
  const child = spawn(program, programArgs, {
    stdio: ['pipe', 'pipe', 'pipe'],
    // One thread for file work, so that the n-th call of a kind is the same call in every run.
    env: { ...process.env, UV_THREADPOOL_SIZE: '1', PRL_SERVE_TOKEN: '', ...options.env },
  });
  const { stdout, stderr, ended: closed } = watchChild(child);
  const ended = closed.then(({ status, signal }) => ({ status, signal }));
  const kill = (signal: NodeJS.Signals): void => signalHolder(dataDir, child, signal);
  onTestEnd(async () => {
    if (child.exitCode === null && child.signalCode === null) kill('SIGKILL');
    await ended;
  });
  const listening = new Promise<number>((resolve) => {
    child.stdout.on('data', () => {
      const match = (options.until ?? /^listening on http:\/\/\S+:(\d+)\n/m).exec(stdout());
      if (match !== null) resolve(Number(match[1]));
    });
  });
  const listeningPort = await Promise.race([listening, ended.then(() => null)]);
  return { child, port: listeningPort, kill, ended, output: () => ({ stdout: stdout(), stderr: stderr() }) };
}
