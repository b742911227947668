/** Demand R33 at the built command: of three runs the middle one cannot be uploaded, for whatever reason; the others are. */
import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { UploadRunsDocument } from '../../src/cli/upload-runs.js';
import { startEmbedded } from '../helpers/embedded-service.js';
import { tempFolder, writeTree } from '../helpers/temp-folder.js';
import { runUnprivileged } from '../helpers/unprivileged.js';
import { documentOf, storedEpisodes } from '../helpers/upload-command.js';
import { writeVariedRun } from '../helpers/varied-run.js';

const EPISODES = 12;

/** Makes a directory what nobody but its owner's right may read, until the test ends. */
function forbid(directory: string): void {
  chmodSync(directory, 0o000);
  onTestFinished(() => chmodSync(directory, 0o755));
}

/** Locks a run for a process that lives. */
function lock(run: string): void {
  const holder = spawn('sleep', ['600'], { stdio: 'ignore' });
  onTestFinished(() => void holder.kill('SIGKILL'));
  const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  const owner = { pid: holder.pid, host: hostname(), bootId, processStart: null, lockedAtMs: Date.now(), token: 't' };
  mkdirSync(join(run, 'monitors/prl'), { recursive: true });
  writeFileSync(join(run, 'monitors/prl/lock'), JSON.stringify(owner));
}

/** What becomes of the run in the middle, the status of the command, and what is told of it. */
const TROUBLES: readonly [string, (run: string) => void, number, RegExp][] = [
  ['its directory may not be read', forbid, 3, /permission denied/],
  [
    'the directory of its stream may not be read',
    (run) => forbid(join(run, 'monitors/file/traces/stream')),
    3,
    /permission denied/,
  ],
  ['another prl owns it', lock, 9, /another prl owns this run/],
  ['it is no run', (run) => void writeTree(run, { 'monitors/file/traces': '' }), 2, /./],
];

test.each(TROUBLES)('R33: %s', async (what, spoil, status, said) => {
  const home = tempFolder();
  const service = await startEmbedded();
  onTestFinished(() => service.close());
  const [a, c] = ['a', 'c'].map((runId) => writeVariedRun(join(home, runId), { episodes: EPISODES, runId }).root) as [
    string,
    string,
  ];
  const b = join(home, 'b');
  if (what !== 'it is no run') writeVariedRun(b, { episodes: EPISODES, runId: 'b' });
  spoil(b);
  const environment = { HOME: home, PRL_STATE_DIR: join(home, 'state'), PRIME_API_KEY: service.token };
  const args = ['upload', a, b, c, '--url', service.url];
  const told = await runUnprivileged([...args, '--json'], environment);
  expect(told.status).toBe(status);
  expect(documentOf(told) as UploadRunsDocument).toMatchObject({
    complete: false,
    partial: false,
    sent: { episodes: 2 * EPISODES },
    runs: [
      { run: a, complete: true },
      { run: b, error: { message: expect.stringMatching(said) } },
      { run: c, complete: true },
    ],
  });
  for (const runId of ['a', 'c']) expect(storedEpisodes(service, runId)).toHaveLength(EPISODES);
  expect(storedEpisodes(service, 'b')).toEqual([]);
  const text = await runUnprivileged(args, environment);
  expect({ status: text.status, stdout: text.stdout }).toEqual({ status, stdout: '' });
  expect(text.stderr).toMatch(said);
  expect(text.stderr.trimEnd().split('\n').at(-1)).toMatch(
    new RegExp(`^ runs {6}2 of 3 done; ${b} ended in ${status} `),
  );
});
