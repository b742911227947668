/** `prl upload` on a real terminal: view, keys, signals, and the terminal afterwards (demands C4, C6, C8, D2, D3, D7, P2). */
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Running } from '../helpers/child.js';
import { CommandRoot } from '../helpers/command-root.js';
import { HAS_PYTHON, runOnTerminal, type TerminalJob, type TerminalResult } from '../helpers/terminal.js';

const TERMINAL = { TERM: 'xterm-256color', LANG: 'C.UTF-8' };

let prl: CommandRoot;
let folder: string;
const services: Running[] = [];

/** A service that answers, and one that reads nothing and answers nothing from the first upload on. */
const urls = { answering: '', slow: '' };

async function serve(name: keyof typeof urls, ...args: string[]): Promise<void> {
  const running = prl.start(['serve', '--port', '0', '--data', path.join(folder, name), ...args]);
  services.push(running);
  await vi.waitFor(() => expect(running.stdout()).toContain('listening on'), { timeout: 20_000 });
  urls[name] = /listening on (\S+)/.exec(running.stdout())?.[1] ?? '';
}

beforeAll(async () => {
  prl = new CommandRoot();
  folder = mkdtempSync(path.join(tmpdir(), 'prl-upload-view-'));
  await serve('answering');
  await serve('slow', '--fault', 'bandwidth=100B/s');
});

afterAll(async () => {
  for (const { child } of services) child.kill('SIGTERM');
  await Promise.all(services.map(({ ended }) => ended));
  prl.remove();
  rmSync(folder, { recursive: true });
});

beforeEach(() => {
  rmSync(path.join(folder, 'run'), { recursive: true, force: true });
  cpSync('fixtures/runs/verifiers-eval', path.join(folder, 'run'), { recursive: true, verbatimSymlinks: true });
});

type Options = Omit<Partial<TerminalJob>, 'command' | 'env'> & {
  readonly env?: Record<string, string>;
  readonly args?: string[];
};

function upload(service: keyof typeof urls, { env = {}, args = [], ...job }: Options = {}): Promise<TerminalResult> {
  return runOnTerminal({
    ...job,
    command: [process.execPath, prl.launcher, 'upload', path.join(folder, 'run'), '--url', urls[service], ...args],
    env: { ...prl.environment, ...TERMINAL, PRIME_API_KEY: 'pk-for-the-tests', ...env },
  });
}

function plain({ output }: TerminalResult): string {
  // A line that is written over starts at its beginning again.
  return stripVTControlCharacters(output).replaceAll('\r\n', '\n').replaceAll('\r', '');
}

/** The terminal is as it was: settings, cursor, and nothing erased that was above. */
function expectRestored(result: TerminalResult): void {
  expect(result.restored).toBe(true);
  expect(result.output.lastIndexOf('\u001b[?25h')).toBeGreaterThanOrEqual(result.output.lastIndexOf('\u001b[?25l'));
  expect(result.output).not.toContain('\u001b[3J');
  expect(result.output).not.toContain('\u001b[?1049h');
}

describe.skipIf(!HAS_PYTHON)('prl upload on a terminal (needs python3)', () => {
  test('shows the view, ends by itself, and leaves the report as the last thing', async () => {
    const result = await upload('answering', { args: ['--verify'] });
    expect(result).toMatchObject({ status: 0, failed: null });
    expect(result.output).toContain('\u001b[?25l');
    expect(plain(result)).toMatch(/ uploaded 16 episodes, .*\n(?: .*\n)* journal {3}\S+ {3}nothing left to send\n$/);
    expectRestored(result);
  });

  test.each([
    ['q', { send: 'q' }, 130],
    ['Ctrl-C', { send: '\u0003' }, 130],
    ['SIGTERM', { signal: 'SIGTERM' }, 143],
    ['SIGHUP', { signal: 'SIGHUP' }, 143],
  ] as const)('%s stops it with a partial report and the terminal as it was', async (_name, deed, status) => {
    const result = await upload('slow', { steps: [{ expect: 'in flight 1', ...deed }] });
    expect(result).toMatchObject({ status, failed: null });
    expect(plain(result)).toContain('saving the journal of what is stored; a second signal leaves at once\n');
    expect(plain(result)).toMatch(
      / partial: uploaded 0 episodes[\s\S]*16 episodes left to send\n next {6}prl upload \S+ --url \S+ {3}\(continues/,
    );
    expectRestored(result);
  });

  test('? shows the help, a resize redraws, and the view never says more than the window holds', async () => {
    const steps = [
      { expect: 'in flight 1', send: '?' },
      { expect: 'the same command continues later', resize: [60, 6] as const },
      { expect: 'send', resize: [120, 40] as const },
      { expect: 'prl 0.', send: 'q' },
    ];
    const result = await upload('slow', { steps });
    expect(result).toMatchObject({ status: 130, failed: null });
    expectRestored(result);
  });

  test.each([
    ['--no-tui', { args: ['--no-tui'] }],
    ['CI', { env: { CI: 'true' } }],
    ['TERM=dumb', { env: { TERM: 'dumb' } }],
    ['a screen reader', { env: { INK_SCREEN_READER: 'true' } }],
  ])('%s: plain lines, first what goes where, last the summary', async (_name, options) => {
    const result = await upload('answering', options);
    expect(result.status).toBe(0);
    const lines = plain(result).trimEnd().split('\n');
    expect(lines[0]).toMatch(/^uploading run to http:\S+ as /);
    expect(lines.at(-1)).toMatch(/^ journal /);
    expect(result.output).not.toMatch(/\[(?:\?25|\d*[A-HJK])/);
    expect(result.output.replaceAll('\r\n', '')).not.toContain('\r');
  });

  test('SIGUSR1 asks for a line at once', async () => {
    const steps = [
      { expect: 'uploading run', signal: 'SIGUSR1' },
      { expect: ' upload  ', signal: 'SIGINT' },
    ] as const;
    const result = await upload('slow', { args: ['--no-tui', '--progress-interval', '0'], steps });
    expect(result).toMatchObject({ status: 130, failed: null });
    expect(plain(result).match(/^\d\d:\d\d:\d\d upload {2}.*$/gm)).toHaveLength(1);
  });

  test('--json: one document in the file that takes stdout, not a byte on the terminal', async () => {
    const file = path.join(folder, 'result.json');
    const result = await upload('answering', { args: ['--json'], stdout: file });
    expect(result).toMatchObject({ status: 0, output: '', restored: true });
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ schema: 'prl.upload/1', complete: true });
  });

  test('NO_COLOR leaves the view and takes the colour', async () => {
    const result = await upload('answering', { env: { NO_COLOR: '1' } });
    expect(result.output).toContain('\u001b[?25l');
    expect(result.output).not.toMatch(/\[[\d;]+m/);
    expect((await upload('answering')).output).toMatch(/\[[\d;]+m/);
  });

  test('a locale without UTF-8 gets ASCII only', async () => {
    const result = await upload('slow', { env: { LANG: 'C' }, steps: [{ expect: 'in flight 1', send: 'q' }] });
    expect(result).toMatchObject({ status: 130, failed: null });
    expect(plain(result)).toMatch(/^[\x20-\x7e\n]*$/);
  });
});
