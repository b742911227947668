/** `prl upload RUN RUN…` as built: one after the other, one that fails stops no other, a signal ends them all. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import type { UploadRunsDocument } from '../../src/cli/upload-runs.js';
import { NO_FAULTS } from '../../src/service/faults.js';
import type { ServiceOptions } from '../../src/service/server.js';
import { type EmbeddedService, startEmbedded } from '../helpers/embedded-service.js';
import { schemaComplaints } from '../helpers/json-schema.js';
import { writeTree } from '../helpers/temp-folder.js';
import { HAS_PYTHON, runOnTerminal } from '../helpers/terminal.js';
import { documentOf, runPrl, startPrl, storedEpisodes } from '../helpers/upload-command.js';
import { writeVariedRun } from '../helpers/varied-run.js';

type Scene = {
  readonly home: string;
  readonly service: EmbeddedService;
  readonly environment: Readonly<Record<string, string>>;
  /** Paths of two runs of 20 episodes each. */
  readonly a: string;
  readonly b: string;
};

async function scene(options: Partial<ServiceOptions> = {}): Promise<Scene> {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'prl-runs-')));
  const service = await startEmbedded(options);
  onTestFinished(async () => {
    await service.close();
    rmSync(home, { recursive: true, force: true });
  });
  const [a, b] = ['a', 'b'].map((runId, seed) => writeVariedRun(join(home, runId), { episodes: 20, runId, seed }).root);
  return { home, service, environment: { PRIME_API_KEY: service.token }, a: a as string, b: b as string };
}

const runsOf = (ended: Parameters<typeof documentOf>[0]): UploadRunsDocument => documentOf(ended) as UploadRunsDocument;

test('two runs: one document with both, the sums on top (C1)', async () => {
  const { home, service, environment, a, b } = await scene();
  const args = ['upload', a, b, '--url', service.url, '--json', '--verify'];
  const ended = await runPrl(args, { home, environment });
  expect(ended).toMatchObject({ status: 0, stderr: '' });
  const document = runsOf(ended);
  expect(schemaComplaints(document, 'schemas/prl.upload-1.json')).toEqual([]);
  expect(ended.stdout).toMatch(/^\{"schema":"prl\.upload\/1",/);
  expect(document).toMatchObject({
    run_id: null,
    plan: { episodes: 40 },
    sent: { episodes: 40 },
    verified: { episodes: 40, ok: true },
    complete: true,
    runs: [
      { run: a, run_id: 'a', sent: { episodes: 20 }, complete: true },
      { run: b, run_id: 'b', sent: { episodes: 20 }, complete: true },
    ],
  });
  expect([storedEpisodes(service, 'a').length, storedEpisodes(service, 'b').length]).toEqual([20, 20]);
  expect(runsOf(await runPrl(args, { home, environment }))).toMatchObject({ sent: { requests: 0 }, complete: true });
});

test('a run that is not there stops no other; the gravest status is told', async () => {
  const { home, service, environment, a, b } = await scene();
  const damaged = writeTree(join(home, 'damaged'), { 'traces.jsonl': '{"id":"x","traces":[]}\n{"id":"torn\n' });
  const missing = join(home, 'missing');
  const args = ['upload', a, missing, damaged, b, '--url', service.url, '--run-id', 'r'];
  const told = await runPrl([...args, '--json'], { home, environment });
  expect(told.status).toBe(4);
  const document = runsOf(told);
  expect(schemaComplaints(document, 'schemas/prl.upload-1.json')).toEqual([]);
  expect(document).toMatchObject({
    sent: { episodes: 41 },
    damaged: [{ run: damaged, kind: 'torn' }],
    complete: false,
    partial: false,
    runs: [
      { run: a, complete: true },
      { run: missing, error: { code: 'PRL_ERR_NOT_FOUND' } },
      { run: damaged },
      { run: b },
    ],
  });
  expect(
    told.stderr
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toMatchObject([{ schema: 'prl.error/1', error: { code: 'PRL_ERR_NOT_FOUND' } }]);
  const text = await runPrl(args, { home, environment });
  expect({ status: text.status, stdout: text.stdout }).toEqual({ status: 4, stdout: '' });
  expect(text.stderr.match(/^ uploaded /gm)).toHaveLength(3);
  expect(text.stderr).toMatch(/^prl upload: no .*missing.*\n {2}next: /m);
  expect(text.stderr.trimEnd().split('\n').at(-1)).toBe(
    ` runs      2 of 4 done; ${missing} ended in 4 (no such run or file); ${damaged} ended in 3 (finished, but some records or files were rejected, damaged or unreadable)`,
  );
});

test('a signal ends them all: the first is partial, the second never began, and the same command goes on', async () => {
  const { home, service, environment, a, b } = await scene({ faults: { ...NO_FAULTS, latencyMs: 150 } });
  const args = ['upload', a, b, '--url', service.url, '--json', '--batch', '1KB', '--concurrency', '1'];
  const { child, ended } = startPrl(args, { home, environment });
  while (storedEpisodes(service, 'a').length === 0) await new Promise((done) => setTimeout(done, 5));
  child.kill('SIGINT');
  const stopped = await ended;
  expect(stopped).toMatchObject({ status: 130, stderr: '' });
  expect(runsOf(stopped)).toMatchObject({
    complete: false,
    partial: true,
    runs: [
      { run: a, partial: true, error: { code: 'PRL_ERR_INTERRUPTED' } },
      { run: b, error: { code: 'PRL_ERR_INTERRUPTED', message: 'stopped by SIGINT' } },
    ],
  });
  expect(storedEpisodes(service, 'b')).toEqual([]);
  const rest = runsOf(await runPrl(args, { home, environment }));
  expect(rest).toMatchObject({ plan: { episodes: 40 }, complete: true });
  expect(storedEpisodes(service, 'a')).toHaveLength(20);
  expect(new Set(storedEpisodes(service, 'a')).size).toBe(20);
});

test('--dry-run plans each; filters hold for all; the embedded service serves all', async () => {
  const { home, a, b } = await scene();
  const plan = await runPrl(['upload', a, b, '--local', '--dry-run', '--kind', 'eval'], { home });
  expect(plan.status).toBe(0);
  expect(plan.stdout.match(/^ selected /gm)).toHaveLength(2);
  const json = runsOf(await runPrl(['upload', a, b, '--local', '--dry-run', '--json', '--kind', 'eval'], { home }));
  const done = runsOf(await runPrl(['upload', a, b, '--local', '--json', '--kind', 'eval'], { home }));
  expect(json.dry_run?.episodes).toBeGreaterThan(0);
  expect(json.filter).toEqual(done.filter);
  expect(json.dry_run).toMatchObject({ episodes: done.sent.episodes, requests: done.sent.requests });
});

test('standard input twice is refused before anything is read', async () => {
  const { home, a } = await scene();
  const { status, stderr } = await runPrl(['upload', '-', a, '-', '--local'], { home, input: Buffer.from('') });
  expect(status).toBe(2);
  expect(stderr).toContain('standard input is named twice');
});

test.skipIf(!HAS_PYTHON)('on a terminal each run has its view and its report', async () => {
  const { home, service, environment, a, b } = await scene();
  const command = [process.execPath, 'bin/run.js', 'upload', a, b, '--url', service.url];
  const env = {
    PATH: process.env.PATH ?? '',
    ...{ HOME: home, PRL_STATE_DIR: join(home, 'state'), TERM: 'xterm-256color', LANG: 'C.UTF-8' },
    ...environment,
  };
  const result = await runOnTerminal({ command, env });
  expect(result).toMatchObject({ status: 0, failed: null, restored: true });
  const plain = stripVTControlCharacters(result.output).replaceAll('\r', '');
  expect(plain.match(/^ uploaded 20 episodes/gm)).toHaveLength(2);
  expect(plain.trimEnd()).toMatch(/\n runs {6}2 of 2 done$/);
  expect(result.output.lastIndexOf('\u001b[?25h')).toBeGreaterThan(result.output.lastIndexOf('\u001b[?25l'));
});
