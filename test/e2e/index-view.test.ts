/** `prl index` on a real terminal: view, keys, signals, and the terminal afterwards (demands X1, C4, C6, C8, D2, D3, D7). */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CommandRoot } from '../helpers/command-root.js';
import { writeGeneratedRun } from '../helpers/generated-run.js';
import { age } from '../helpers/index-command.js';
import { HAS_PYTHON, runOnTerminal, type TerminalJob, type TerminalResult } from '../helpers/terminal.js';

const TERMINAL = { TERM: 'xterm-256color', LANG: 'C.UTF-8' };

/** With the view from the start, on work that takes a while. */
const VIEWED = ['--check', '--strict', '--tui'];

let prl: CommandRoot;
let folder: string;

/** A run that takes a second, so that there is a middle to look at. */
let big: string;

beforeAll(() => {
  prl = new CommandRoot();
  folder = mkdtempSync(path.join(tmpdir(), 'prl-index-view-'));
  big = path.join(folder, 'big');
  writeGeneratedRun(big, { episodes: 256, episodeBytes: 2_000_000 });
  age(big);
});

afterAll(() => {
  prl.remove();
  rmSync(folder, { recursive: true });
});

type Options = Omit<Partial<TerminalJob>, 'command' | 'env'> & {
  readonly run?: string;
  readonly env?: Record<string, string>;
  readonly args?: readonly string[];
};

function index({ run = big, env = {}, args = ['--check', '--strict'], ...job }: Options = {}): Promise<TerminalResult> {
  return runOnTerminal({
    ...job,
    command: [process.execPath, prl.launcher, 'index', run, '--jobs', '1', ...args],
    env: { ...prl.environment, ...TERMINAL, ...env },
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

describe.skipIf(!HAS_PYTHON)('prl index on a terminal (needs python3)', () => {
  test('what is over at once draws no view: one line, then the report in its place', async () => {
    const out = path.join(folder, 'rows');
    const result = await index({ run: 'fixtures/runs/verifiers-eval', args: ['--out', out] });
    expect(result).toMatchObject({ status: 0, restored: true });
    expect(result.output).not.toContain('\u001b[?25l');
    expect(plain(result)).toMatch(/^indexing verifiers-eval into \S+: 226 KiB in 1 chunk indexed 16 episodes, .*\n/);
  });

  test('a notice stands above the line that says what is done', async () => {
    const out = path.join(folder, 'rows');
    const steps = [{ expect: 'indexing standard input', signal: 'SIGINT' }] as const;
    const result = await index({ run: '-', args: ['--out', out], steps });
    expect(result).toMatchObject({ status: 130, failed: null, restored: true });
    expect(plain(result)).toMatch(
      /stopping; what is on disk stays as it was; a second signal leaves at once\nindexing /,
    );
    expect(plain(result)).toMatch(/ partial: indexed 0 episodes, /);
  });

  test('shows the view, ends by itself, and leaves the report as the last thing', async () => {
    const out = path.join(folder, 'rows');
    const result = await index({ args: ['--out', out, '--tui'] });
    expect(result).toMatchObject({ status: 0, failed: null });
    expect(result.output).toContain('\u001b[?25l');
    expect(plain(result)).toMatch(
      / indexed 256 episodes, .*\n index {5}\S+ {3}written, 256 rows\n took {6}1 thread, .*\n$/,
    );
    expect(readFileSync(out, 'utf8').split('\n')).toHaveLength(257);
    expectRestored(result);
  });

  test.each([
    ['q', { send: 'q' }, 130],
    ['Ctrl-C', { send: '\u0003' }, 130],
    ['SIGTERM', { signal: 'SIGTERM' }, 143],
    ['SIGHUP', { signal: 'SIGHUP' }, 143],
  ] as const)('%s stops it with a partial report and the terminal as it was', async (_name, deed, status) => {
    const result = await index({ args: VIEWED, steps: [{ expect: ' records', ...deed }] });
    expect(result).toMatchObject({ status, failed: null });
    expect(plain(result)).toContain('stopping; what is on disk stays as it was; a second signal leaves at once\n');
    expect(plain(result)).toMatch(
      / partial: checked [\s\S]*not compared; stopped before the end\n[\s\S]* next {6}prl index \S+ /,
    );
    expectRestored(result);
  });

  test.each([
    ['--no-tui', { args: ['--check', '--no-tui'] }],
    ['CI', { env: { CI: 'true' } }],
    ['TERM=dumb', { env: { TERM: 'dumb' } }],
    ['a screen reader', { env: { INK_SCREEN_READER: 'true' } }],
  ])('%s: plain lines, first what is to be done, last the summary', async (_name, options) => {
    const result = await index(options);
    expect(result.status).toBe(7);
    const lines = plain(result).trimEnd().split('\n');
    expect(lines[0]).toMatch(/^checking the index of big: \d+ MiB in 1 chunk$/);
    expect(lines.at(-1)).toMatch(/^ {2}next: rebuild it: /);
    expect(result.output).not.toMatch(/\[(?:\?25|\d*[A-HJK])/);
    expect(result.output.replaceAll('\r\n', '')).not.toContain('\r');
  });

  test('SIGUSR1 asks for a line at once', async () => {
    const steps = [
      { expect: 'checking the index', signal: 'SIGUSR1' },
      { expect: ' check  ', signal: 'SIGINT' },
    ] as const;
    const result = await index({ args: ['--check', '--strict', '--no-tui', '--progress-interval', '0'], steps });
    expect(result).toMatchObject({ status: 130, failed: null });
    expect(plain(result).match(/^\d\d:\d\d:\d\d check {2}.*\/\d+ MiB .* 1 thread {2}eta .*$/gm)).toHaveLength(1);
  });

  test('--json: one document in the file that takes stdout, not a byte on the terminal', async () => {
    const file = path.join(folder, 'result.json');
    const out = path.join(folder, 'rows');
    const result = await index({ args: ['--out', out, '--json'], stdout: file });
    expect(result).toMatchObject({ status: 0, output: '', restored: true });
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ schema: 'prl.index/1', partial: false });
  });

  test('--rows into a file: the view is on the terminal, and every row in the file', async () => {
    const file = path.join(folder, 'rows.jsonl');
    const result = await index({ args: ['--rows', '--tui'], stdout: file });
    expect(result).toMatchObject({ status: 0, failed: null });
    expect(result.output).toContain('\u001b[?25l');
    expect(plain(result)).toMatch(/ wrote the rows of 256 episodes, .*\n rows {6}256 rows of \S+ to stdout\n/);
    expect(readFileSync(file, 'utf8').split('\n')).toHaveLength(257);
    expectRestored(result);
  });

  test('--rows onto the terminal itself: rows and the summary, no view between them', async () => {
    const run = path.join(folder, 'small.jsonl');
    writeFileSync(run, '{"id":"\u202ea","env":{"id":"e"},"task":{},"ok":true,"errors":[],"traces":[]}\n');
    const result = await index({ run, args: ['--rows'] });
    expect(result.status).toBe(0);
    expect(result.output).not.toContain('\u001b[?25l');
    expect(result.output).not.toContain('\u202e');
    expect(plain(result)).toMatch(
      /^\{"prl_index":1.*\n\{"cost":.*"id":"\\u202ea".*\n wrote the rows of 1 episode, .*\n/,
    );
  });

  test('NO_COLOR leaves the view and takes the colour', async () => {
    const out = path.join(folder, 'rows');
    const result = await index({ args: ['--out', out, '--tui'], env: { NO_COLOR: '1' } });
    expect(result.output).toContain('\u001b[?25l');
    expect(result.output).not.toMatch(/\[[\d;]+m/);
    expect((await index({ args: ['--out', out, '--tui'] })).output).toMatch(/\[[\d;]+m/);
  });

  test('a locale without UTF-8 gets ASCII only', async () => {
    const result = await index({ args: VIEWED, env: { LANG: 'C' }, steps: [{ expect: ' records', send: 'q' }] });
    expect(result).toMatchObject({ status: 130, failed: null });
    expect(plain(result)).toMatch(/^[\x20-\x7e\n]*$/);
  });
});
