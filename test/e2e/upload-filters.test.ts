/** `prl upload` as built, with filters: exactly the selected episodes are stored, whatever kills it on the way (P5, F3, U1, U2). */
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { TracesReader } from '../../src/io/traces-reader.js';
import { NO_FAULTS } from '../../src/service/faults.js';
import type { ServiceOptions } from '../../src/service/server.js';
import { accessTo } from '../helpers/access.js';
import { FastClock } from '../helpers/clocks.js';
import { type EmbeddedService, startEmbedded } from '../helpers/embedded-service.js';
import { CALL_STRIDE } from '../helpers/every-call.js';
import { schemaComplaints } from '../helpers/json-schema.js';
import { tempFolder } from '../helpers/temp-folder.js';
import { documentOf, runPrl, startPrl, storedEpisodes, treeDigest } from '../helpers/upload-command.js';
import { type VariedEpisode, writeVariedRun } from '../helpers/varied-run.js';
import { HAS_STRACE } from './serve-child.js';

const RUN_ID = 'varied-run';

async function embedded(options: Partial<ServiceOptions> = {}): Promise<EmbeddedService> {
  const service = await startEmbedded(options);
  onTestFinished(() => service.close());
  return service;
}

/** The episodes of the run as the service lists them, each as often as it does. */
async function listed(service: EmbeddedService): Promise<string[]> {
  const access = { ...accessTo(service.url), apiKey: service.token };
  const reader = new TracesReader({ ...access, clock: new FastClock(0), random: () => 0 });
  const ids: string[] = [];
  try {
    for await (const { id } of reader.listEpisodes(RUN_ID, new AbortController().signal)) ids.push(id);
  } finally {
    await reader.close();
  }
  return ids.sort();
}

const FILTERS: readonly [string[], (one: VariedEpisode) => boolean][] = [
  [['--where', 'reward > 0.5 and turns < 10'], ({ reward, turns }) => reward !== null && reward > 0.5 && turns < 10],
  [['--kind', 'eval', '--env', 'math', '--env', 'web'], ({ kind, env }) => kind === 'eval' && env !== 'code'],
  [
    ['--step', '2-4', '--errors'],
    (one) => one.step !== null && one.step >= 2 && one.step <= 4 && (!one.ok || one.errors > 0),
  ],
];

test.each(FILTERS)(
  '%j: exactly these are read back; the rest goes with a later upload, each once',
  async (flags, holds) => {
    const home = tempFolder();
    const { root, episodes } = writeVariedRun(join(home, 'run'));
    const selected = episodes.filter(holds).map(({ id }) => id);
    expect(selected.length).toBeGreaterThan(0);
    const service = await embedded();
    const environment = { PRIME_API_KEY: service.token };
    const args = ['upload', root, '--url', service.url, '--json', '--batch', '4KB', '--verify'];
    const first = await runPrl([...args, ...flags], { home, environment });
    expect(first).toMatchObject({ status: 0, stderr: '' });
    const document = documentOf(first);
    expect(schemaComplaints(document, 'schemas/prl.upload-1.json')).toEqual([]);
    expect(document).toMatchObject({
      plan: { episodes: selected.length },
      sent: { episodes: selected.length },
      filter: {
        selected: { episodes: selected.length },
        left_out: { episodes: episodes.length - selected.length },
      },
      verified: { episodes: selected.length, ok: true },
      complete: false,
      partial: false,
    });
    expect(await listed(service)).toEqual(selected);
    const rest = documentOf(await runPrl(args, { home, environment }));
    expect(rest).toMatchObject({
      already: { episodes: selected.length },
      verified: { episodes: episodes.length, ok: true },
      complete: true,
    });
    expect(storedEpisodes(service, RUN_ID)).toEqual(episodes.map(({ id }) => id));
  },
);

test('a person is told how many of how many, before with --dry-run and after (P5, C11)', async () => {
  const home = tempFolder();
  const { root, episodes } = writeVariedRun(join(home, 'run'));
  const count = episodes.filter(({ kind }) => kind === 'eval').length;
  const before = treeDigest(root);
  const plan = await runPrl(['upload', root, '--local', '--dry-run', '--kind', 'eval'], { home });
  expect(plan).toMatchObject({ status: 0, stderr: '' });
  expect(plan.stdout).toMatch(new RegExp(`^ selected {2}${count} episodes, .* {3}--kind eval$`, 'm'));
  expect(plan.stdout).toMatch(new RegExp(`^ left out {2}${episodes.length - count} episodes, `, 'm'));
  expect(treeDigest(root)).toBe(before);
  const done = await runPrl(['upload', root, '--local', '--kind', 'eval'], { home });
  expect(done.stderr).toContain(
    ` filter    ${count} of ${episodes.length} episodes selected, ${episodes.length - count} left out   --kind eval\n`,
  );
  expect(done.stderr.trimEnd()).toMatch(/nothing left to send of what was selected$/);
});

describe('what cannot be read is told before anything is looked at (F3)', () => {
  test.each([
    [['--where', 'turms < 10'], '--where: column 1: turms is no field', 'did you mean turns?'],
    [['--where', 'reward > 0.5 and'], '--where: column 17: the expression ends', 'write it as in'],
    [['--where', ''], '--where: column 1: the expression is empty', 'write it as in'],
    [['--step', '4-2'], '--step: the range of steps 4-2', 'did you mean 2-4?'],
    [['--kind', 'test'], '--kind=test', 'see prl upload --help'],
    [['--env', ''], '--env: it is empty', 'give it a value'],
  ])('%j', async (flags, what, hint) => {
    const home = tempFolder();
    const nowhere = join(home, 'no-run');
    const { status, stdout, stderr } = await runPrl(['upload', nowhere, ...flags], { home });
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(what);
    expect(stderr).toContain(`next: ${hint}`);
    const json = await runPrl(['upload', nowhere, '--json', ...flags], { home });
    expect(json).toMatchObject({ status: 2, stderr: '' });
    expect(JSON.parse(json.stdout)).toMatchObject({ error: { code: 'PRL_ERR_USAGE' } });
  });

  test('the caret stands below the word', async () => {
    const home = tempFolder();
    const { stderr } = await runPrl(['upload', '--where', 'reward > 0.5 and turms < 10'], { home });
    expect(stderr.split('\n').slice(1, 3)).toEqual(['  | reward > 0.5 and turms < 10', '  |                  ^']);
  });
});

describe('killed under a filter', () => {
  test.each([1, 2])(
    'SIGKILL at a moment, seed %i: the same filter goes on, none sends the rest, each once',
    async (seed) => {
      const home = tempFolder();
      const { root, episodes } = writeVariedRun(join(home, 'run'), { episodes: 120, seed });
      const selected = episodes.filter(({ kind }) => kind === 'train').map(({ id }) => id);
      const service = await embedded({ faults: { ...NO_FAULTS, latencyMs: 15 } });
      const environment = { PRIME_API_KEY: service.token };
      const args = ['upload', root, '--url', service.url, '--json', '--batch', '4KB', '--concurrency', '3'];
      for (let round = 1; round <= 2; round += 1) {
        const { child, ended } = startPrl([...args, '--kind', 'train'], { home, environment });
        while (storedEpisodes(service, RUN_ID).length < round * 10) await new Promise((done) => setTimeout(done, 5));
        child.kill('SIGKILL');
        await ended;
      }
      // One goes on under the filter, the other takes up what was in flight without it.
      if (seed === 1) {
        const filtered = documentOf(await runPrl([...args, '--kind', 'train', '--verify'], { home, environment }));
        expect(filtered).toMatchObject({ plan: { episodes: selected.length }, verified: { ok: true } });
        expect(storedEpisodes(service, RUN_ID)).toEqual(selected);
      }
      const rest = documentOf(await runPrl([...args, '--verify'], { home, environment }));
      expect(rest).toMatchObject({ verified: { episodes: episodes.length, ok: true }, complete: true });
      expect(storedEpisodes(service, RUN_ID)).toEqual(episodes.map(({ id }) => id));
    },
  );

  test.skipIf(!HAS_STRACE)(
    'at every fdatasync and at every request in turn, then taken up without the filter: nothing lost, nothing twice',
    { timeout: 120_000 },
    async () => {
      const service = await embedded();
      for (const call of ['fdatasync', 'writev']) {
        let kills = 0;
        for (let when = 1; when < 30; when += CALL_STRIDE) {
          const home = tempFolder();
          const runId = `${call}-${when}`;
          const root = writeAlternating(join(home, 'run'), runId);
          const isKilled = await killedAt(root, home, service, { call, when });
          const rest = await runPrl(['upload', root, '--url', service.url, '--json'], {
            home,
            environment: { PRIME_API_KEY: service.token },
          });
          expect(documentOf(rest)).toMatchObject({ plan: { episodes: 6 }, complete: true });
          expect(storedEpisodes(service, runId)).toEqual(['a', 'b', 'c', 'd', 'e', 'f'].map((id) => `${id}-${runId}`));
          if (!isKilled) break;
          kills += 1;
        }
        expect(kills).toBeGreaterThanOrEqual(2 / CALL_STRIDE);
      }
    },
  );
});

/** Six records of two environments, turn by turn. */
function writeAlternating(root: string, runId: string): string {
  const stream = join(root, 'monitors/file/traces/stream');
  mkdirSync(stream, { recursive: true });
  const lines = ['a', 'b', 'c', 'd', 'e', 'f'].map((letter, index) => {
    const run = { type: 'eval', id: runId };
    const traces = [{ id: `t-${letter}-${runId}`, run, nodes: [], info: {} }];
    const env = { id: index % 2 === 0 ? 'even' : 'odd' };
    return `${JSON.stringify({ id: `${letter}-${runId}`, env, run, ok: true, errors: [], traces })}\n`;
  });
  writeFileSync(join(stream, '00000.jsonl'), lines.join(''));
  return root;
}

/** Uploads the even ones in two requests, killed at the n-th call; false when it came to its end. */
async function killedAt(
  root: string,
  home: string,
  service: EmbeddedService,
  { call, when }: { readonly call: string; readonly when: number },
): Promise<boolean> {
  const prl = [process.execPath, resolve('bin/run.js'), 'upload', root, '--url', service.url, '--json'];
  const inject = `inject=${call}:signal=SIGKILL:when=${when}`;
  const args = ['-f', '-qq', '-o', '/dev/null', '-e', `trace=${call}`, '-e', inject, ...prl];
  const child = spawn('strace', [...args, '--env', 'even', '--batch', '400'], {
    env: {
      PATH: process.env.PATH ?? '',
      HOME: home,
      PRL_STATE_DIR: join(home, 'state'),
      PRIME_API_KEY: service.token,
      UV_THREADPOOL_SIZE: '1',
    },
    stdio: 'ignore',
  });
  const [status, signal] = await new Promise<[number | null, string | null]>((done) =>
    child.once('close', (code, by) => done([code, by])),
  );
  if (status !== 0) expect([status, signal]).toEqual([null, 'SIGKILL']);
  return status !== 0;
}
