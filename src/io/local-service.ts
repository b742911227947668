/**
 * Starts the embedded traces service as a child process for the length of one command (`--local`).
 *
 * A process of its own, because its database is synchronous and its work must not share the event loop of whoever
 * uploads. It holds a pipe of ours as standard input and ends at its end, so it cannot outlive us, whatever kills us.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { dataDirectory } from '../core/environment.js';
import { PrlError, type PrlErrorCode } from '../core/errors.js';

/** A running service: `url` is its base URL on loopback, `token` the bearer token it was started with. */
export type LocalService = {
  readonly url: string;
  readonly token: string;
  /** Names the data directory for as long as it lives; a new one, or one that was emptied, has another name. */
  readonly name: string;
  /** Ends the service and waits until its last transaction is closed. */
  close(): Promise<void>;
};

const NAME_FILE = 'service-name';
const READY_BUDGET_MS = 20_000;
const CLOSE_BUDGET_MS = 10_000;
const LAUNCHER = fileURLToPath(new URL('../../bin/run.js', import.meta.url));

/** The directory of the service that `--local` and a plain `prl serve` mean. */
export function usualDataDirectory(): string {
  return dataDirectory(process.env, homedir());
}

/**
 * Starts the service over `directory` on a free loopback port and waits until it accepts requests.
 *
 * @throws PrlError PRL_ERR_LOCKED when another service owns the directory, PRL_ERR_BUG when it does not come up.
 */
export async function startLocalService(directory = usualDataDirectory()): Promise<LocalService> {
  const token = randomBytes(24).toString('hex');
  const child = spawn(
    process.execPath,
    [LAUNCHER, 'serve', '--port', '0', '--data', directory, '--json', '--exit-with-parent'],
    {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, PRL_SERVE_TOKEN: token },
      // A Ctrl-C in the terminal is ours to handle: the service has to live until the last receipt is read.
      detached: true,
    },
  );
  const url = await ready(child, directory);
  return { url, token, name: await nameOf(directory), close: () => close(child) };
}

/** The name of the service over `directory`, for a dry run, which starts none; empty when there is none yet. */
export async function localServiceName(directory = usualDataDirectory()): Promise<string> {
  const name = await readFile(path.join(directory, NAME_FILE), 'utf8').catch(() => ''); // never started
  return name.trim();
}

/**
 * A journal that remembers what this service has confirmed must not outlive its data: the name lies beside the data
 * and goes with it.
 */
async function nameOf(directory: string): Promise<string> {
  const name = `local:${randomBytes(12).toString('hex')}\n`;
  await writeFile(path.join(directory, NAME_FILE), name, { flag: 'wx' }).catch((error) => {
    if (error.code !== 'EEXIST') throw error; // named by an earlier start
  });
  return localServiceName(directory);
}

/** What `prl serve --json` writes on one line: where it listens, or why it does not. */
type Announcement = {
  readonly url?: string;
  readonly error?: { readonly message: string; readonly hint: string | null };
};

function ready(child: ChildProcess, directory: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let out = '';
    let err = '';
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new PrlError('PRL_ERR_BUG', `the embedded service did not start within ${READY_BUDGET_MS / 1000} s`));
    }, READY_BUDGET_MS);
    const settle = (action: () => void): void => {
      clearTimeout(timer);
      child.removeAllListeners('close');
      action();
    };
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      out = (out + text).slice(-65_536);
      const { url } = announcementIn(out);
      if (url !== undefined) settle(() => resolve(url));
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      err = (err + text).slice(-4096);
    });
    child.once('error', (error) => settle(() => reject(startError('PRL_ERR_BUG', directory, error.message, null))));
    // `close`, not `exit`: by then everything it wrote has been read.
    child.once('close', (status) => {
      const { error } = announcementIn(out);
      const detail = error?.message ?? (err.trim() || 'it ended');
      settle(() => reject(startError(codeOf(status), directory, detail, error?.hint ?? null)));
    });
  });
}

/** Nothing as long as the line is not whole. */
function announcementIn(out: string): Announcement {
  const end = out.indexOf('\n');
  if (end === -1) return {};
  try {
    return JSON.parse(out.slice(0, end));
  } catch {
    return {}; // not ours: the exit status tells
  }
}

function codeOf(status: number | null): PrlErrorCode {
  const codes: Readonly<Record<number, PrlErrorCode>> = {
    2: 'PRL_ERR_USAGE',
    7: 'PRL_ERR_INTEGRITY',
    8: 'PRL_ERR_LIMIT',
    9: 'PRL_ERR_LOCKED',
  };
  return codes[status ?? -1] ?? 'PRL_ERR_BUG';
}

/** Why the service over a directory did not start, and what a user of `--local` can do. */
export function startError(code: PrlErrorCode, directory: string, detail: string, hint: string | null): PrlError {
  // Whoever called us has no --data to give.
  const ours = hint?.replace('--data or PRL_DATA_DIR', 'PRL_DATA_DIR').replaceAll('--data', 'PRL_DATA_DIR');
  return new PrlError(code, `the embedded service over ${directory} did not start: ${detail}`, {
    hint:
      code === 'PRL_ERR_LOCKED' || ours === undefined
        ? 'give it a directory of its own with PRL_DATA_DIR, or end the other prl that uses this one'
        : ours,
  });
}

function close(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(() => child.kill('SIGKILL'), CLOSE_BUDGET_MS);
    child.removeAllListeners('close');
    child.once('close', () => {
      clearTimeout(timer);
      resolve();
    });
    child.stdin?.end();
  });
}
