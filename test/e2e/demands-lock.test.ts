/**
 * Demands U19, R26 and U25 at the built command: whose lock stands and whose is broken in silence, with real processes and
 * a second host name; how old a lock is when a clock has jumped; and that without any lock nothing is stored twice.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { NO_FAULTS } from '../../src/service/faults.js';
import { type Ended, type Running, watchChild } from '../helpers/child.js';
import { type EmbeddedService, startEmbedded } from '../helpers/embedded-service.js';
import { tempFolder } from '../helpers/temp-folder.js';
import { runUnprivileged } from '../helpers/unprivileged.js';
import { documentOf, runPrl, startPrl, storedEpisodes } from '../helpers/upload-command.js';
import { writeVariedRun } from '../helpers/varied-run.js';

const CLOCK_JUMP = resolve('test/helpers/clock-jump.mjs');
const DAY_MS = 86_400_000;
const RUN_ID = 'varied-run';
const EPISODES = 60;
/** A name of its own for the machine takes the right to make a namespace. */
const CAN_RENAME_HOST = spawnSync('unshare', ['--uts', 'hostname', 'elsewhere']).status === 0;

let home = '';
let run = '';
let ids: readonly string[] = [];
let service: EmbeddedService;

beforeEach(async () => {
  home = tempFolder();
  const written = writeVariedRun(join(home, 'run'), { episodes: EPISODES });
  run = written.root;
  ids = written.episodes.map(({ id }) => id);
  service = await startEmbedded({ faults: { ...NO_FAULTS, latencyMs: 100 } });
  onTestFinished(() => service.close());
});

const lockFile = (): string => join(run, 'monitors/prl/lock');
const args = (batch: string, concurrency: number): string[] => [
  ...['upload', run, '--url', service.url, '--json', '--batch', batch, '--concurrency', String(concurrency)],
];
const environment = (): Record<string, string> => ({ PRIME_API_KEY: service.token });

async function untilLocked(): Promise<void> {
  while (!existsSync(lockFile()) || storedEpisodes(service, RUN_ID).length === 0) {
    await new Promise((done) => setTimeout(done, 10));
  }
}

/** An upload that has the lock and goes on for many seconds. */
async function startHolder(): Promise<Running> {
  const holder = startPrl(args('500', 1), { home, environment: environment() });
  onTestFinished(() => void holder.child.kill('SIGKILL'));
  await untilLocked();
  return holder;
}

/** Kills an upload on the spot and returns the lock that it left. */
async function killHolder(holder: Running): Promise<string> {
  const lock = readFileSync(lockFile(), 'utf8');
  holder.child.kill('SIGKILL');
  await holder.ended;
  expect(readFileSync(lockFile(), 'utf8')).toBe(lock);
  return lock;
}

/** With a larger batch, so that it is done soon; the cuts that were made are kept. */
const rerun = (): Promise<Ended> => runPrl(args('1MB', 8), { home, environment: environment() });

async function expectBrokenInSilence(): Promise<void> {
  const again = await rerun();
  expect({ status: again.status, stderr: again.stderr }).toEqual({ status: 0, stderr: '' });
  expect(documentOf(again)).toMatchObject({ complete: true, plan: { episodes: EPISODES } });
  expect(storedEpisodes(service, RUN_ID)).toEqual(ids);
  expect(existsSync(lockFile())).toBe(false);
}

function expectLocked({ status, stdout }: Ended, owner: RegExp): void {
  expect(status).toBe(9);
  const { error } = JSON.parse(stdout) as { error: { code: string; message: string; hint?: string } };
  expect(error).toMatchObject({ code: 'PRL_ERR_LOCKED', message: expect.stringMatching(owner) });
}

describe('a lock whose owner is gone is broken in silence', () => {
  test('R26: killed', async () => {
    await killHolder(await startHolder());
    await expectBrokenInSilence();
  });

  test('R26: killed, and its pid taken by another program since', async () => {
    const lock = await killHolder(await startHolder());
    const other = spawn('sleep', ['600'], { stdio: 'ignore' });
    onTestFinished(() => void other.kill('SIGKILL'));
    await once(other, 'spawn');
    writeFileSync(lockFile(), JSON.stringify({ ...JSON.parse(lock), pid: other.pid }));
    await expectBrokenInSilence();
    expect(other.exitCode).toBe(null);
  });

  test('locked before the machine was started', async () => {
    const holder = await startHolder();
    const lock = await killHolder(holder);
    // Its pid belongs to a process that lives, as low pids do after a start.
    const bootId = '01234567-89ab-cdef-0123-456789abcdef';
    writeFileSync(lockFile(), JSON.stringify({ ...JSON.parse(lock), pid: process.pid, bootId }));
    await expectBrokenInSilence();
  });
});

describe('a lock whose owner lives', () => {
  test('ends the second with 9, pid, host and age, and lets the first go on', async () => {
    const holder = await startHolder();
    expectLocked(await rerun(), new RegExp(`pid ${holder.child.pid} on ${hostname()}, for \\d{1,2} s$`));
    const text = await runPrl(['upload', run, '--url', service.url], { home, environment: environment() });
    expect({ status: text.status, stdout: text.stdout }).toEqual({ status: 9, stdout: '' });
    expect(text.stderr.trimEnd().split('\n').at(-1)).toContain(`remove ${lockFile()}`);
    expect(holder.child.exitCode).toBe(null);
    expect(JSON.parse(readFileSync(lockFile(), 'utf8'))).toMatchObject({ pid: holder.child.pid });
  });

  test.each([DAY_MS, -DAY_MS])('U25: its age is what has passed, though the clock was set by %d ms', async (jumpMs) => {
    const holder = await startHolder();
    // As if it had been taken 40 s earlier, by every clock.
    const lock = JSON.parse(readFileSync(lockFile(), 'utf8')) as { lockedAtMs: number; lockedAtUptimeSeconds: number };
    const earlier = { lockedAtMs: lock.lockedAtMs - 40_000, lockedAtUptimeSeconds: lock.lockedAtUptimeSeconds - 40 };
    writeFileSync(lockFile(), JSON.stringify({ ...lock, ...earlier }));
    const jumped = { NODE_OPTIONS: `--import=${CLOCK_JUMP}`, CLOCK_JUMP_MS: String(jumpMs) };
    const options = { home, environment: { ...environment(), ...jumped } };
    expectLocked(await runPrl(args('500', 1), options), new RegExp(`pid ${holder.child.pid} on .*, for [4-7]\\d s$`));
  });

  test.skipIf(!CAN_RENAME_HOST)(
    'on another machine that shares the directory stands even when its process is gone from here: the message says how to go on',
    async () => {
      const command = [process.execPath, 'bin/run.js', ...args('500', 1)];
      const child = spawn('unshare', ['--uts', 'sh', '-c', 'hostname elsewhere; exec "$@"', 'sh', ...command], {
        env: { PATH: process.env.PATH ?? '', HOME: home, PRL_STATE_DIR: join(home, 'state'), ...environment() },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const holder = watchChild(child);
      onTestFinished(() => void child.kill('SIGKILL'));
      await untilLocked();
      expectLocked(await rerun(), new RegExp(`pid ${child.pid} on elsewhere, for \\d{1,2} s$`));
      await killHolder(holder);
      expectLocked(await rerun(), / on elsewhere, for /);
      unlinkSync(lockFile());
      await expectBrokenInSilence();
    },
  );
});

test('U19, U20, U2: where no lock can be kept two uploads at once store each episode once', async () => {
  for (const directory of ['', 'monitors']) chmodSync(join(run, directory), 0o555);
  onTestFinished(() => {
    for (const directory of ['', 'monitors']) chmodSync(join(run, directory), 0o755);
  });
  // Each with a state directory of its own, as on two machines.
  const both = await Promise.all(
    ['one', 'two'].map((name) => {
      const own = { HOME: home, PRL_STATE_DIR: join(home, name) };
      return runUnprivileged(args('2KB', 4), { ...environment(), ...own });
    }),
  );
  for (const ended of both) {
    expect({ status: ended.status, stderr: ended.stderr }).toEqual({ status: 0, stderr: '' });
    expect(documentOf(ended)).toMatchObject({ complete: true, plan: { episodes: EPISODES } });
  }
  expect(storedEpisodes(service, RUN_ID)).toEqual(ids);
  expect(existsSync(join(run, 'monitors/prl'))).toBe(false);
});
