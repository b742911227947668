/** What a child process writes while it runs, and how it ends. */
import type { ChildProcess } from 'node:child_process';

/** How a child ended, and everything it wrote. */
export type Ended = {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
};

export type Running = {
  readonly child: ChildProcess;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Rejects when the child could not be started. */
  readonly ended: Promise<Ended>;
};

/** Gathers what a child just started writes to its pipes; whole parts, so that no character is cut in two. */
export function watchChild(child: ChildProcess): Running {
  const stdout = gather(child.stdout);
  const stderr = gather(child.stderr);
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status, signal) => resolve({ status, signal, stdout: stdout(), stderr: stderr() }));
  });
  return { child, stdout, stderr, ended };
}

function gather(stream: NodeJS.ReadableStream | null): () => string {
  const parts: Buffer[] = [];
  stream?.on('data', (part: Buffer) => parts.push(part));
  return () => Buffer.concat(parts).toString('utf8');
}
