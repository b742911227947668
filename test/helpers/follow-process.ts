/** A process that follows a run, and what it has printed so far. */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';

type Printed = { readonly type: string; readonly bytes?: number; readonly peakBytes?: number } & Readonly<
  Record<string, unknown>
>;

const HELPERS = ['typescript-hooks.mjs', 'follow-child.ts'].map((name) => join(import.meta.dirname, name));
const NODE = ['--no-warnings', '--import', ...HELPERS];

export class FollowProcess {
  readonly printed: Printed[] = [];
  readonly #child: ChildProcess;
  readonly #closed: Promise<void>;
  #wake: () => void = () => {};
  #isClosed = false;

  /** `wrapper`: a command that runs the process, such as strace with its options. */
  constructor(path: string, options: object = {}, wrapper: readonly string[] = []) {
    const [command = '', ...args] = [...wrapper, process.execPath, ...NODE, path, JSON.stringify(options)];
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#child = child;
    const lines = createInterface({ input: child.stdout });
    lines.on('line', (line) => {
      this.printed.push(JSON.parse(line) as Printed);
      this.#wake();
    });
    this.#closed = new Promise((resolve) => {
      lines.on('close', () => {
        this.#isClosed = true;
        this.#wake();
        resolve();
      });
    });
    onTestFinished(() => {
      child.kill('SIGKILL');
    });
  }

  all(type: string): Printed[] {
    return this.printed.filter((event) => event.type === type);
  }

  get ids(): unknown[] {
    return this.all('record').map(({ id }) => id);
  }

  async until(condition: (process: this) => boolean): Promise<void> {
    while (!condition(this)) {
      if (this.#isClosed) throw new Error(`ended before ${condition}: ${JSON.stringify(this.printed.slice(-8))}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** What is given to its standard input is followed by its end, upon which it leaves; returns its peak memory. */
  async end(input: string | Buffer = ''): Promise<number> {
    this.#child.stdin?.end(input);
    await this.#closed;
    return this.all('end')[0]?.peakBytes ?? 0;
  }
}
