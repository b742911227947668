/** Runs a command on a pseudo-terminal, through Python, whose standard library has them; Node's has not. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';

export const HAS_PYTHON = spawnSync('python3', ['-c', 'import pty, termios']).status === 0;

/** Waits until the text was written since the step before, then does one thing. */
export type TerminalStep = {
  readonly expect: string;
  readonly send?: string;
  readonly signal?: 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'SIGUSR1';
  /** Columns and rows. */
  readonly resize?: readonly [number, number];
};

export type TerminalJob = {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly steps?: readonly TerminalStep[];
  readonly columns?: number;
  readonly rows?: number;
  /** A file that takes standard output in place of the terminal. */
  readonly stdout?: string;
  /** Seconds after which the command is killed. */
  readonly seconds?: number;
};

export type TerminalResult = {
  readonly status: number | null;
  readonly signal: number | null;
  readonly output: string;
  /** The terminal's settings are as they were before. */
  readonly restored: boolean;
  /** What a step waited for in vain, null when every step was done. */
  readonly failed: string | null;
};

export async function runOnTerminal(job: TerminalJob): Promise<TerminalResult> {
  const child = spawn('python3', ['test/helpers/terminal.py'], { stdio: ['pipe', 'pipe', 'inherit'] });
  let result = '';
  child.stdout.on('data', (part) => {
    result += part;
  });
  child.stdin.end(JSON.stringify({ columns: 100, rows: 30, steps: [], seconds: 40, ...job }));
  await once(child, 'close');
  return JSON.parse(result);
}
