/**
 * `prl upload` with standard streams of every kind, and with readers that leave (demands C1, C3, C4, C5): what is on which
 * stream depends on that stream alone, and the status on none.
 */
import { execFile } from 'node:child_process';
import { basename, join } from 'node:path';
import { promisify, stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type EmbeddedService, startEmbedded } from '../helpers/embedded-service.js';
import {
  runWithStreams,
  STREAM_KINDS,
  type StreamKind,
  type Streams,
  type StreamsResult,
} from '../helpers/stream-kinds.js';
import { tempFolder } from '../helpers/temp-folder.js';
import { HAS_PYTHON } from '../helpers/terminal.js';
import { copyOfRun, documentOf, runPrl } from '../helpers/upload-command.js';

const runFile = promisify(execFile);

let service: EmbeddedService;

beforeAll(async () => {
  service = await startEmbedded();
});

afterAll(() => service.close());

type Setup = { readonly run: string; readonly home: string; readonly environment: Readonly<Record<string, string>> };

/** A run that nobody has sent, and an environment in which nothing decides about views and colours. */
function setUp(): Setup {
  const home = tempFolder();
  // What one team has stored another one sends.
  const environment = { PRIME_API_KEY: service.token, PRIME_TRACES_URL: service.url, PRIME_TEAM_ID: basename(home) };
  return { run: copyOfRun('verifiers-eval', home), home, environment };
}

/** Each kind of stdout with each of stderr; stdin is such that each pair with it is there as well. */
const COMBINATIONS = STREAM_KINDS.flatMap((stdout, row) =>
  STREAM_KINDS.map((stderr, column): readonly [string, Streams] => {
    const stdin = STREAM_KINDS[(row + column) % STREAM_KINDS.length] as StreamKind;
    return [`stdin ${stdin}, stdout ${stdout}, stderr ${stderr}`, { stdin, stdout, stderr }];
  }),
);

function upload(streams: Streams, ...flags: string[]): Promise<StreamsResult> {
  const { run, home, environment } = setUp();
  const env = { PATH: process.env.PATH ?? '', HOME: home, TERM: 'xterm-256color', LANG: 'C.UTF-8', ...environment };
  return runWithStreams(streams, [process.execPath, 'bin/run.js', 'upload', run, ...flags], env);
}

const REPORT = / uploaded 16 episodes, [\s\S]*nothing left to send\n$/;

describe.skipIf(!HAS_PYTHON)(
  'a person is told on stderr alone, with view and colour on a terminal only (needs python3)',
  () => {
    test.each(COMBINATIONS)('%s', async (_name, streams) => {
      const { terminal, stdout, stderr } = await upload(streams);
      expect(terminal).toMatchObject({ status: 0, restored: true });
      expect(stdout ?? '').toBe('');
      if (streams.stderr === 'terminal') {
        expect(terminal.output).toContain('\u001b[?25l');
        expect(terminal.output).toMatch(/\[[\d;]+m/);
        expect(stripVTControlCharacters(terminal.output)).toMatch(REPORT);
        return;
      }
      expect(terminal.output).toBe('');
      if (stderr === null) return;
      expect(stderr).toMatch(/^uploading verifiers-eval to /);
      expect(stderr).toMatch(REPORT);
      expect(stderr).not.toMatch(/\p{Cc}(?<!\n)/u);
    });
  },
);

describe.skipIf(!HAS_PYTHON)('--json is one document on stdout, and not a byte anywhere else (needs python3)', () => {
  test.each(COMBINATIONS)('%s', async (_name, streams) => {
    const { terminal, stdout, stderr } = await upload(streams, '--json');
    expect(terminal).toMatchObject({ status: 0, restored: true });
    expect(stderr ?? '').toBe('');
    const [document, elsewhere] = streams.stdout === 'terminal' ? [terminal.output, ''] : [stdout, terminal.output];
    expect(elsewhere).toBe('');
    if (document === null) return;
    expect(document).toMatch(/^[^\n]*\n$/);
    expect(JSON.parse(document)).toMatchObject({ schema: 'prl.upload/1', sent: { episodes: 16 }, complete: true });
  });
});

/** Runs a shell line in which `prl` is the built command, with the status of the first part of a pipeline at the end. */
async function shell(line: string, { run, home, environment }: Setup): Promise<{ stdout: string; stderr: string }> {
  const script = `prl() { "$NODE" bin/run.js "$@"; }; ${line}; echo "[\${PIPESTATUS[0]}]"`;
  const env = { PATH: process.env.PATH, HOME: home, NODE: process.execPath, RUN: run, ...environment };
  return runFile('bash', ['-c', script], { env });
}

describe('a reader that leaves (C3)', () => {
  test.each([
    ['of the document', 'prl upload "$RUN" --json | true'],
    ['of the notices', 'prl upload "$RUN" 2>&1 >/dev/null | true'],
    ['of both', 'prl upload "$RUN" --progress-interval 1ms 2>&1 | true'],
  ])('%s stops no upload: everything is stored, and the journal knows', async (_name, line) => {
    const setup = setUp();
    expect(await shell(line, setup)).toEqual({ stdout: '[0]\n', stderr: '' });
    expect(documentOf(await runPrl(['upload', setup.run, '--json'], setup))).toMatchObject({
      already: { episodes: 16 },
      sent: { requests: 0 },
      complete: true,
    });
  });

  test('does not hide that something was damaged (status 3)', async () => {
    const setup = { ...setUp(), run: 'fixtures/damaged/torn-tail.jsonl' };
    expect(await shell('prl upload "$RUN" --run-id r --json | true', setup)).toEqual({ stdout: '[3]\n', stderr: '' });
  });

  test('of a plan ends it with 0 and without a word', async () => {
    expect(await shell('prl upload "$RUN" --dry-run | true', setUp())).toEqual({ stdout: '[0]\n', stderr: '' });
  });
});

test('--json with 2>&1 is one document still (C1)', async () => {
  const setup = setUp();
  const { stdout } = await shell(`prl upload "$RUN" --json >"${join(setup.home, 'all')}" 2>&1; cat "$HOME/all"`, setup);
  const [document = '', ...rest] = stdout.split('\n');
  expect(rest).toEqual(['[0]', '']);
  expect(JSON.parse(document)).toMatchObject({ complete: true });
});
