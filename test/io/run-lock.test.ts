/** U19: a live owner is named, a dead one is broken in silence, and two breakers get one lock. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { lockRun, processExists } from '../../src/io/run-lock.js';

let folder = '';
let children: ChildProcess[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'prl-lock-'));
});
afterEach(async () => {
  for (const child of children) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  children = [];
  rmSync(folder, { recursive: true });
});

const lockFile = (): string => join(folder, 'lock');

/** A real process that does nothing until it is killed. */
async function sleeper(): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000); console.log("up")'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  children.push(child);
  if (child.stdout !== null) await once(child.stdout, 'data');
  return child;
}

function ownerOf(pid: number, changes: Record<string, unknown> = {}): string {
  const stat = existsSync(`/proc/${pid}/stat`) ? readFileSync(`/proc/${pid}/stat`, 'utf8') : null;
  const processStart = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  return JSON.stringify({
    pid,
    host: hostname(),
    bootId,
    processStart,
    lockedAtMs: Date.now() - 90_000,
    token: 't',
    ...changes,
  });
}

test('a lock is a file with its owner, and gone after release', async () => {
  const lock = await lockRun(folder);
  expect(JSON.parse(readFileSync(lockFile(), 'utf8'))).toMatchObject({ pid: process.pid, host: hostname() });
  await lock.release();
  expect(readdirSync(folder)).toEqual([]);
});

test('a second owner is refused with pid, host and age', async () => {
  const child = await sleeper();
  writeFileSync(lockFile(), ownerOf(child.pid ?? 0));
  await expect(lockRun(folder)).rejects.toMatchObject({
    code: 'PRL_ERR_LOCKED',
    message: expect.stringMatching(new RegExp(`pid ${child.pid} on ${hostname()}, for (89|90|91) s`)),
  });
  expect(readdirSync(folder)).toEqual(['lock']);
});

describe('broken in silence', () => {
  test('a killed process', async () => {
    const child = await sleeper();
    writeFileSync(lockFile(), ownerOf(child.pid ?? 0));
    child.kill('SIGKILL');
    await once(child, 'exit');
    await (await lockRun(folder)).release();
  });

  test('a killed process whose parent has not asked for it yet', async () => {
    // The shell becomes a program that knows nothing of the shell's child.
    const parent = spawn('sh', ['-c', 'sleep 60 & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'ignore'] });
    children.push(parent);
    const [pid] = await once(parent.stdout, 'data');
    writeFileSync(lockFile(), ownerOf(Number(pid)));
    await expect(lockRun(folder)).rejects.toMatchObject({ code: 'PRL_ERR_LOCKED' });
    process.kill(Number(pid), 'SIGKILL');
    while (!/\) Z /.test(readFileSync(`/proc/${Number(pid)}/stat`, 'utf8'))) await new Promise(setImmediate);
    expect(processExists(Number(pid))).toBe(false);
    await (await lockRun(folder)).release();
  });

  test.each<[string, Record<string, unknown>]>([
    ['an earlier boot', { bootId: '00000000-0000-0000-0000-000000000000' }],
    ['a reused pid', { processStart: '1' }],
  ])('%s', async (_why, changes) => {
    const child = await sleeper();
    writeFileSync(lockFile(), ownerOf(child.pid ?? 0, changes));
    const lock = await lockRun(folder);
    expect(JSON.parse(readFileSync(lockFile(), 'utf8'))).toMatchObject({ pid: process.pid });
    await lock.release();
  });

  test.each(['', 'garbage', '{}', '[1]', 'null', '{"pid":"x"}'])('a file that names no owner: %j', async (text) => {
    writeFileSync(lockFile(), text);
    await (await lockRun(folder)).release();
    expect(readdirSync(folder)).toEqual([]);
  });
});

test('a lock of another machine stands, and the message says which file to remove', async () => {
  writeFileSync(lockFile(), ownerOf(1, { host: 'elsewhere' }));
  await expect(lockRun(folder)).rejects.toMatchObject({
    code: 'PRL_ERR_LOCKED',
    hint: expect.stringContaining(lockFile()),
  });
});

test('what killed processes left on their way to a lock goes with the next lock; what a live one left stays', async () => {
  writeFileSync(`${lockFile()}.dead`, ownerOf(4_000_000));
  writeFileSync(`${lockFile()}.breaking`, ownerOf(4_000_001));
  writeFileSync(`${lockFile()}.live`, ownerOf(process.pid));
  writeFileSync(`${lockFile()}.half`, '{"pi');
  writeFileSync(`${lockFile()}.old`, '');
  utimesSync(`${lockFile()}.old`, 1, 1);
  writeFileSync(lockFile(), ownerOf(4_000_002));
  const lock = await lockRun(folder);
  expect(readdirSync(folder).sort()).toEqual(['lock', 'lock.half', 'lock.live']);
  await lock.release();
});

test('of many that break one dead lock at the same time exactly one gets it', async () => {
  for (let round = 0; round < 20; round += 1) {
    writeFileSync(lockFile(), ownerOf(4_000_000 + round));
    const results = await Promise.allSettled(Array.from({ length: 6 }, () => lockRun(folder)));
    const won = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    expect(won).toHaveLength(1);
    await won[0]?.release();
    expect(readdirSync(folder)).toEqual([]);
  }
});

test('release leaves a lock that is somebody else’s', async () => {
  const lock = await lockRun(folder);
  const other = ownerOf(process.pid, { token: 'other' });
  writeFileSync(lockFile(), other);
  await lock.release();
  expect(readFileSync(lockFile(), 'utf8')).toBe(other);
});

test('where nothing can be written the upload goes on without', async () => {
  await (await lockRun(null)).release();
  await (await lockRun(join(folder, 'absent'))).release();
  expect(readdirSync(folder)).toEqual([]);
});
