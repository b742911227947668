/**
 * Demand U23 at the built command: a file that may not be read, that a device refuses or that is deleted meanwhile costs
 * itself alone. All others are stored, the status is 3, and the next upload sends what was missing. A directory that may
 * not be read ends it, with cause, place and next step (demand C9).
 */
import { spawn } from 'node:child_process';
import { chmodSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Ended, watchChild } from '../helpers/child.js';
import { type FaultyServer, startFaultyServer } from '../helpers/faulty-server.js';
import { tempFolder, writeTree } from '../helpers/temp-folder.js';
import { runUnprivileged } from '../helpers/unprivileged.js';
import { documentOf, runPrl } from '../helpers/upload-command.js';
import { HAS_STRACE } from './serve-child.js';

const STREAM = 'monitors/file/traces/stream';

/** So many that the next chunk is not open yet when the first line is sent: two batches are read ahead. */
const LINES = 6;

/** By the number of their chunk. */
function linesOf(chunk: number): string {
  const run = { type: 'eval', id: 'r' };
  return Array.from({ length: LINES }, (_, index) => index + 1)
    .map((number) => {
      const id = `${chunk}-${number}`;
      const traces = [{ id: `t-${id}`, run, nodes: [] }];
      return `${JSON.stringify({ id, env: { id: 'e' }, run, ok: true, errors: [], traces })}\n`;
    })
    .join('');
}

type Setup = {
  readonly home: string;
  readonly run: string;
  /** The one in the middle, which is hurt. */
  readonly chunk: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly server: FaultyServer;
  /** A batch for each line, one request at a time. */
  readonly args: readonly string[];
};

/** @param onRequest called with the number of each request, before it is stored */
async function setUp(onRequest: (index: number, chunk: string) => void = () => {}): Promise<Setup> {
  const home = tempFolder();
  const names = [0, 1, 2].map((chunk) => [`${STREAM}/0000${chunk}.jsonl`, linesOf(chunk)] as const);
  const run = writeTree(join(home, 'run'), Object.fromEntries(names));
  const chunk = join(run, STREAM, '00001.jsonl');
  const server = await startFaultyServer((index) => {
    onRequest(index, chunk);
    return undefined;
  });
  onTestFinished(() => server.close());
  const environment = { HOME: home, PRL_STATE_DIR: join(home, 'state'), PRIME_API_KEY: 'a-key' };
  const args = ['upload', run, '--url', server.url, '--batch', '1', '--concurrency', '1', '--json'];
  return { home, run, chunk, environment, server, args };
}

type Loss = { readonly message: string; readonly mend: (chunk: string) => void };

/** The lines of the hurt chunk are reported and missing; once it is mended they are sent, and nothing else is. */
async function expectOneLost(setup: Setup, first: Ended, loss: Loss): Promise<void> {
  const { home, args, chunk, environment, server } = setup;
  expect({ status: first.status, stderr: first.stderr }).toEqual({ status: 3, stderr: '' });
  expect(documentOf(first)).toMatchObject({
    plan: { episodes: 2 * LINES },
    sent: { episodes: 2 * LINES, requests: 2 * LINES },
    damaged: [
      {
        file: `${STREAM}/00001.jsonl`,
        chunk: 1,
        offset: 0,
        bytes: linesOf(1).length,
        kind: 'unreadable',
        recovered: false,
        message: loss.message,
      },
    ],
  });
  const stored = (): string => [...server.stored.values()].map(String).join('');
  expect(stored()).toBe(linesOf(0) + linesOf(2));
  loss.mend(chunk);
  const second = await runPrl(args, { home, environment });
  expect(second.status).toBe(0);
  expect(documentOf(second)).toMatchObject({
    plan: { episodes: 3 * LINES },
    already: { episodes: 2 * LINES },
    sent: { episodes: LINES, requests: LINES },
    damaged: [],
  });
  expect(stored()).toBe(linesOf(0) + linesOf(2) + linesOf(1));
}

describe('U23: one file of three', () => {
  test('that may not be read', async () => {
    const setup = await setUp();
    chmodSync(setup.chunk, 0o000);
    const first = await runUnprivileged(setup.args, setup.environment);
    await expectOneLost(setup, first, { message: 'permission denied', mend: (chunk) => chmodSync(chunk, 0o644) });
  });

  test('that is deleted while the one before it is sent', async () => {
    const setup = await setUp((index, chunk) => {
      if (index === 0) renameSync(chunk, `${chunk}.gone`);
    });
    const first = await runPrl(setup.args, setup);
    await expectOneLost(setup, first, {
      message: 'it no longer exists',
      mend: (chunk) => renameSync(`${chunk}.gone`, chunk),
    });
  });

  test.skipIf(!HAS_STRACE)('whose reads the device refuses (needs strace)', async () => {
    const setup = await setUp();
    const inject = ['-e', 'trace=pread64', '-e', 'inject=pread64:error=EIO:when=1+'];
    const strace = ['-f', '-qq', '-o', '/dev/null', '-P', setup.chunk, ...inject];
    const child = spawn('strace', [...strace, process.execPath, 'bin/run.js', ...setup.args], {
      env: { PATH: process.env.PATH ?? '', LANG: 'C.UTF-8', ...setup.environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const first = await watchChild(child).ended;
    await expectOneLost(setup, first, { message: 'the device reported a read error', mend: () => {} });
  });
});

describe('a directory that may not be read', () => {
  test.each(['', STREAM])(
    '%j: status 3, cause, place and next step in this order, and no request (C9)',
    async (inside) => {
      const { run, args, environment, server } = await setUp();
      const directory = join(run, inside);
      chmodSync(directory, 0o000);
      onTestFinished(() => chmodSync(directory, 0o755));
      const text = await runUnprivileged(
        args.filter((word) => word !== '--json'),
        environment,
      );
      expect({ status: text.status, stdout: text.stdout }).toEqual({ status: 3, stdout: '' });
      const [first, ...rest] = text.stderr.trimEnd().split('\n');
      expect(first).toMatch(/^prl upload: cannot read .*: permission denied$/);
      expect(first).toContain(run);
      expect(rest).toEqual([
        expect.stringMatching(/^ {2}because EACCES: permission denied, /),
        '  next: check the owner and mode of the directory and of those above it',
      ]);
      const json = await runUnprivileged(args, environment);
      expect({ status: json.status, stderr: json.stderr }).toEqual({ status: 3, stderr: '' });
      expect(JSON.parse(json.stdout)).toMatchObject({ schema: 'prl.error/1', error: { code: 'PRL_ERR_DAMAGED' } });
      expect(server.requests).toHaveLength(0);
    },
  );
});
