/** The built command as a person and a script meet it: help, mistakes, failures and their statuses (C1, C9, C13, C16). */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { CommandRoot } from '../helpers/command-root.js';
import { schemaComplaints } from '../helpers/json-schema.js';

let prl: CommandRoot;

beforeAll(() => {
  prl = new CommandRoot();
});

afterAll(() => {
  prl.remove();
});

describe('help and version', () => {
  test('--version', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(await prl.run(['--version'])).toMatchObject({
      status: 0,
      stderr: '',
      stdout: expect.stringContaining(`prl/${version} `),
    });
  });

  test.each([[['--help']], [[]]])('%j lists the commands', async (args) => {
    const { status, stdout, stderr } = await prl.run(args);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    for (const command of ['probe', 'serve', 'upload']) expect(stdout).toContain(`\n  ${command} `);
  });

  test.each(['--help', '-h'])(
    'probe %s: examples first, flags in groups with defaults, statuses last',
    async (flag) => {
      const { status, stdout } = await prl.run(['probe', flag]);
      expect(status).toBe(0);
      const headers = [...stdout.matchAll(/^[A-Z][A-Z ]+$/gm)].map(([header]) => header);
      expect(headers).toEqual(['EXAMPLES', 'USAGE', 'FLAGS', 'OUTPUT FLAGS', 'GLOBAL FLAGS', 'EXIT STATUS']);
      expect(stdout).toContain('--batch=<size>     [default: 30MiB] Bytes of a batch.');
      expect(stdout).toContain('[default: 90s] How long.');
      expect([...stdout.matchAll(/^ {2}(\d+) {2,}\S/gm)].map(([, exit]) => Number(exit))).toEqual([
        0, 1, 2, 3, 4, 130, 143,
      ]);
    },
  );

  test.each([
    [
      'upload',
      [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 130, 143],
      ['SERVICE FLAGS', 'RECORDS FLAGS', 'PRIME_API_KEY', 'PRIME_TEAM_ID'],
    ],
    ['serve', [0, 1, 2, 7, 8, 9, 130, 143], ['lost-response=1%', 'PRL_SERVE_TOKEN', 'PRL_DATA_DIR']],
  ])(
    '%s --help: no line broken but at the width, every status it can end in, what it takes from where',
    async (command, statuses, texts) => {
      const { stdout } = await prl.run([command, '--help']);
      expect([...stdout.matchAll(/^ {2}(\d+) {2,}\S/gm)].map(([, exit]) => Number(exit))).toEqual(statuses);
      for (const text of texts) expect(stdout).toContain(text);
      // The summary is on top and nowhere else; a paragraph runs on until it is wrapped.
      expect(stdout.split(stdout.slice(0, 40))).toHaveLength(2);
      const paragraph = stdout.slice(stdout.indexOf('DESCRIPTION\n') + 12).split('\n\n')[0] ?? '';
      for (const line of paragraph.split('\n').slice(0, -1)) expect(line.length).toBeGreaterThan(60);
    },
  );

  test.each([
    ['--version', ['--version']],
    ['--help', ['--help']],
    ['upload --help', ['upload', '--help']],
    ['a command without a view', ['probe', 'document', '--json']],
  ])('%s loads no ink, react, undici or stream-json', async (_name, args) => {
    const list = path.join(prl.folder, 'loaded.txt');
    const hook = path.join(prl.folder, 'list-loaded.mjs');
    writeFileSync(
      hook,
      `import { appendFileSync, writeFileSync } from 'node:fs'; import { registerHooks } from 'node:module';
       writeFileSync(${JSON.stringify(list)}, '');
       registerHooks({ load(url, context, next) { appendFileSync(${JSON.stringify(list)}, url + '\\n'); return next(url, context); } });`,
    );
    expect(await prl.run(args, { nodeFlags: ['--import', hook] })).toMatchObject({ status: 0 });
    const loaded = [...readFileSync(list, 'utf8').matchAll(/.*\/node_modules\/((?:@[^/\n]+\/)?[^/\n]+)/g)];
    const packages = new Set(loaded.map(([, name = '']) => name));
    // The hook does see packages: oclif is one.
    expect(packages).toContain('@oclif/core');
    const heavy = ['ink', 'react', 'react-reconciler', 'undici', 'stream-json', 'stream-chain'];
    expect(heavy.filter((name) => packages.has(name))).toEqual([]);
  });
});

describe('documents of --json conform to the schema that ships', () => {
  test.each([
    ['upload', ['upload', 'fixtures/runs/verifiers-eval', '--local', '--dry-run', '--json']],
    ['upload', ['upload', 'fixtures/runs/prime-rl-stream', '--local', '--dry-run', '--json']],
    ['error', ['upload', 'fixtures/runs/v0-results', '--local', '--json']],
    ['error', ['upload', 'no/such/run', '--local', '--json']],
  ])('%s: prl %j', async (schema, args) => {
    const { stdout, stderr } = await prl.run(args);
    expect(stderr).toBe('');
    expect(schemaComplaints(JSON.parse(stdout), `schemas/prl.${schema}-1.json`)).toEqual([]);
  });

  test('serve', async () => {
    const { child, stdout, ended } = prl.start(['serve', '--port', '0', '--json']);
    await vi.waitFor(() => expect(stdout()).toContain('\n'), { timeout: 20_000 });
    child.kill('SIGTERM');
    expect(await ended).toMatchObject({ status: 143, stderr: '' });
    expect(schemaComplaints(JSON.parse(stdout()), 'schemas/prl.serve-1.json')).toEqual([]);
  });
});

describe('wrong usage', () => {
  test.each([
    ['a misspelt command', ['prob'], 'prl: no such command: prob\n  next: did you mean prl probe?\n'],
    ['a help command', ['help', 'upload'], 'prl: no such command: help upload\n  next: see prl upload --help\n'],
    ['an unknown command', ['xyzzy'], 'prl: no such command: xyzzy\n  next: see prl --help\n'],
    [
      'a misspelt flag',
      ['probe', 'document', '--btach', '3'],
      'prl probe: Nonexistent flag: --btach\n  next: did you mean --batch?\n',
    ],
    [
      'a bad value',
      ['probe', 'document', '--batch', '3M'],
      expect.stringMatching(/^prl probe: --batch: "3M" is not a size: .*\n {2}next: see prl probe --help\n$/),
    ],
    [
      'an empty value, as of an unset variable',
      ['upload', '--url', ''],
      'prl upload: --url: it is empty\n  next: give it a value or leave the flag out\n',
    ],
    [
      'two flags that exclude each other',
      ['upload', '--local', '--url', 'http://127.0.0.1'],
      'prl upload: --local cannot also be provided when using --url\n  next: see prl upload --help\n',
    ],
    [
      'a value out of range',
      ['probe', 'document', '--batch', '0'],
      'prl probe: --batch: 0 is out of range: at least 1\n  next: see prl probe --help\n',
    ],
    ['too many arguments', ['probe', 'document', 'more'], expect.stringContaining('Unexpected argument: more')],
    ['a missing argument', ['probe'], expect.stringContaining('Missing 1 required arg')],
  ])('%s: status 2, nothing on stdout, one suggestion', async (_name, args, stderr) => {
    expect(await prl.run(args)).toEqual({ status: 2, signal: null, stdout: '', stderr });
  });

  test.each([
    ['command', ['prob', '--json']],
    ['flag', ['probe', 'document', '--json', '--btach', '3']],
  ])('a misspelt %s with --json is one document', async (_name, args) => {
    const { status, stdout, stderr } = await prl.run(args);
    expect({ status, stderr }).toEqual({ status: 2, stderr: '' });
    const document = JSON.parse(stdout);
    expect(schemaComplaints(document, 'schemas/prl.error-1.json')).toEqual([]);
    expect(document.error).toMatchObject({ code: 'PRL_ERR_USAGE', hint: expect.stringContaining('did you mean') });
  });
});

describe('failures', () => {
  test('one that was foreseen: cause, then the next step, no stack', async () => {
    expect(await prl.run(['probe', 'fail'])).toEqual({
      status: 4,
      signal: null,
      stdout: '',
      stderr: 'prl probe: no run at ./x\n  next: give a run\n',
    });
  });

  test('--debug shows the stack', async () => {
    const { status, stderr } = await prl.run(['probe', 'fail', '--debug']);
    expect(status).toBe(4);
    expect(stderr).toMatch(/PrlError: no run at \.\/x\n\s+at /);
  });

  test('after data on stdout the document of the failure goes to stderr', async () => {
    const { status, stdout, stderr } = await prl.run(['probe', 'late', '--json']);
    expect(status).toBe(7);
    expect(JSON.parse(stdout)).toEqual({ schema: 'prl.probe/1' });
    expect(JSON.parse(stderr).error.code).toBe('PRL_ERR_INTEGRITY');
  });

  test('a bug: status 1, the log is named, and no secret is anywhere', async () => {
    const environment = { PRIME_API_KEY: 'pk-of-the-environment' };
    const { status, stdout, stderr } = await prl.run(['probe', 'bug', '--debug'], { environment });
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    const log = /the debug log is (\S+)/.exec(stderr)?.[1] ?? '';
    expect(readFileSync(log, 'utf8')).toContain('TypeError: cannot use [secret] or [secret]');
    const written = readdirSync(path.dirname(log)).map((name) =>
      readFileSync(path.join(path.dirname(log), name), 'utf8'),
    );
    expect([stderr, ...written].join('\n')).not.toMatch(/pk-of-the-/);
  });

  test.each([
    ['crash', 'thrown in a timer'],
    ['reject', 'a promise nobody awaits'],
  ])('an error outside of the command (%s) ends it like any other bug', async (deed, message) => {
    const { status, stderr } = await prl.run(['probe', deed]);
    expect(status).toBe(1);
    expect(stderr).toMatch(
      new RegExp(`^prl probe: unexpected: ${message}\\n {2}next: this is a bug in prl, .*the debug log is \\S+\\n$`),
    );
    const { stdout } = await prl.run(['probe', deed, '--json']);
    expect(JSON.parse(stdout).error).toMatchObject({ code: 'PRL_ERR_BUG' });
  });

  test('a success with --json leaves stderr empty', async () => {
    const { status, stdout, stderr } = await prl.run([
      'probe',
      'document',
      '--json',
      '--batch',
      '1.5MiB',
      '--wait',
      '2h',
    ]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(JSON.parse(stdout)).toEqual({ schema: 'prl.probe/1', batch: 1_572_864, wait: 7_200_000 });
  });

  test('many notices of a kind are one line', async () => {
    const { stderr } = await prl.run(['probe', 'notices', '--count', '100000']);
    expect(stderr).toBe('! notice 0\ncounted 100000\n');
  });

  test.each([
    ['probe', 'fail'],
    ['--help', ''],
    ['probe', '--help'],
    ['prob', ''],
  ])('no escape byte in a pipe, unless forced: %s %s', async (...args) => {
    const words = args.filter(Boolean);
    const { stdout, stderr } = await prl.run(words);
    expect(stdout + stderr).not.toContain('\u001b');
  });

  test('FORCE_COLOR paints the failure, --no-color takes it back', async () => {
    const environment = { FORCE_COLOR: '1' };
    expect((await prl.run(['probe', 'fail'], { environment })).stderr).toContain('\u001b[31m');
    expect((await prl.run(['probe', 'fail', '--no-color'], { environment })).stderr).not.toContain('\u001b');
  });
});
