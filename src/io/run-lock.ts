/**
 * One prl writes the state of a run, or a stream, at a time (U19). The lock is a small file that names its owner so
 * exactly that a dead process, an earlier boot or a reused pid is recognised and broken in silence.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { link, readdir, readFile, stat, unlink, writeFile } from 'node:fs/promises';
import { hostname, uptime } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PrlError } from '../core/errors.js';
import { systemErrorCode } from './run-fault.js';

export type RunLock = { release(): Promise<void> };

type Owner = {
  readonly pid: number;
  readonly host: string;
  /** Null where the system does not tell; then the pid alone decides. */
  readonly bootId: string | null;
  /** Start of the process in clock ticks since boot, as in /proc. */
  readonly processStart: string | null;
  readonly lockedAtMs: number;
  /** The same in seconds since boot, which no jump of the clock changes (U25); absent in locks of an older prl. */
  readonly lockedAtUptimeSeconds?: number;
  /** Tells this lock from another of the same process. */
  readonly token: string;
};

const FILE_NAME = 'lock';
const MAX_ROUNDS = 50;
/** A wait for whoever breaks the lock at the moment. */
const TURN_MS = 10;
/** An unfinished draft belongs to somebody who is writing it, for as long as that may take. */
const DRAFT_MAX_AGE_MS = 60_000;

/**
 * Locks the state of a run. Where no lock can be written the upload goes on: correctness rests on idempotent requests,
 * the lock only saves double work.
 * @param directory the writable directory of `findPlaces`; null takes no lock
 * @throws PrlError `PRL_ERR_LOCKED` naming pid, host and age of a live owner
 */
export async function lockRun(directory: string | null): Promise<RunLock> {
  const lock = directory === null ? null : await lockFile(join(directory, FILE_NAME), 'this run');
  return lock ?? { release: async () => {} };
}

/**
 * Takes the lock that is the file at `path`. Null where the file system lets no lock be written.
 * @param what what the lock is for, as a message names it
 * @throws PrlError `PRL_ERR_LOCKED` naming pid, host and age of a live owner, this process included
 */
export async function lockFile(path: string, what: string): Promise<RunLock | null> {
  const self = await describeSelf();
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const outcome = await tryCreate(path, self);
    if (outcome === 'created') {
      await sweep(path, self);
      return { release: () => release(path, self) };
    }
    if (outcome === 'impossible') return null;
    const text = await readFile(path, 'utf8').catch(() => null); // released meanwhile: the next round takes it
    if (text === null) continue;
    const owner = parseOwner(text);
    if (owner !== null && (await isAlive(owner, self)))
      throw lockedBy(owner, { path, what, ageSeconds: ageOf(owner, self) });
    await breakLock(path, text, self);
  }
  throw new PrlError('PRL_ERR_LOCKED', `the lock ${path} changes hands faster than it can be taken`);
}

async function tryCreate(path: string, self: Owner): Promise<'created' | 'taken' | 'impossible'> {
  const draft = `${path}.${self.token}`;
  try {
    await writeFile(draft, JSON.stringify(self), { flag: 'wx' });
    // A link appears with its content, so nobody reads half a lock.
    await link(draft, path);
    return 'created';
  } catch (error) {
    return systemErrorCode(error) === 'EEXIST' ? 'taken' : 'impossible';
  } finally {
    await unlink(draft).catch(() => {}); // not written, or already gone
  }
}

/**
 * Takes a dead lock away. One breaker at a time: a slow one would take away what somebody has locked since. A lock that
 * is dead stays so until its breaker acts, for nobody else removes one that is not their own.
 */
async function breakLock(path: string, expected: string, self: Owner): Promise<void> {
  const turn = `${path}.breaking`;
  try {
    await writeFile(turn, JSON.stringify(self), { flag: 'wx' });
  } catch {
    await clearDead(turn, self);
    await sleep(TURN_MS);
    return;
  }
  const text = await readFile(path, 'utf8').catch(() => null); // gone already
  if (text === expected) await unlink(path).catch(() => {}); // a race lost is fine
  await unlink(turn).catch(() => {});
}

/** Takes away what killed processes left of their way to a lock. What a live one is about to link stays. */
async function sweep(path: string, self: Owner): Promise<void> {
  const directory = dirname(path);
  const names = await readdir(directory).catch(() => []); // nothing to tidy, then
  for (const name of names) {
    if (!name.startsWith(`${basename(path)}.`)) continue;
    await clearDead(join(directory, name), self);
  }
}

async function clearDead(path: string, self: Owner): Promise<void> {
  const owner = parseOwner(await readFile(path, 'utf8').catch(() => ''));
  const isDead = owner === null ? await isOlderThan(path, DRAFT_MAX_AGE_MS) : !(await isAlive(owner, self));
  if (isDead) await unlink(path).catch(() => {}); // somebody else was faster
}

async function isOlderThan(path: string, ageMs: number): Promise<boolean> {
  const stats = await stat(path).catch(() => null); // gone meanwhile
  return stats !== null && Date.now() - stats.mtimeMs > ageMs;
}

async function release(path: string, self: Owner): Promise<void> {
  const text = await readFile(path, 'utf8').catch(() => null); // gone already
  if (text !== null && parseOwner(text)?.token === self.token) await unlink(path).catch(() => {}); // a race lost is fine
}

async function describeSelf(): Promise<Owner> {
  return {
    pid: process.pid,
    host: hostname(),
    bootId: await bootId(),
    processStart: await processStart(process.pid),
    lockedAtMs: Date.now(),
    lockedAtUptimeSeconds: uptime(),
    token: randomBytes(8).toString('hex'),
  };
}

async function isAlive(owner: Owner, self: Owner): Promise<boolean> {
  // Another machine's processes cannot be looked at; its lock stands.
  if (owner.host !== self.host) return true;
  if (owner.bootId !== null && self.bootId !== null && owner.bootId !== self.bootId) return false;
  if (!processExists(owner.pid)) return false;
  const start = await processStart(owner.pid);
  return owner.processStart === null || start === null || owner.processStart === start;
}

/** Whether a process of this machine has the pid now. One that ended and whose parent never asked how does not count. */
export function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return systemErrorCode(error) === 'EPERM'; // it lives, under another user
  }
  try {
    const [state] = statFields(readFileSync(`/proc/${pid}/stat`, 'utf8'));
    return state !== 'Z' && state !== 'X';
  } catch {
    return true; // not Linux, or gone this moment
  }
}

async function bootId(): Promise<string | null> {
  const text = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => null); // not Linux
  return text === null ? null : text.trim();
}

/** Field 22 of /proc/<pid>/stat; the command name before it may hold spaces and brackets. */
async function processStart(pid: number): Promise<string | null> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null); // not Linux, or gone
  return text === null ? null : (statFields(text)[19] ?? null);
}

/** The fields of /proc/<pid>/stat from the third on, which is the state. */
function statFields(text: string): string[] {
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

function parseOwner(text: string): Owner | null {
  try {
    const value: unknown = JSON.parse(text);
    const owner = value as Owner;
    const isOwner =
      typeof owner === 'object' && owner !== null && Number.isInteger(owner.pid) && typeof owner.host === 'string';
    return isOwner ? owner : null;
  } catch {
    return null; // not a lock prl wrote: broken like a dead one
  }
}

/** Seconds, by the clock of the boot that both share; of another machine only its own wall clock is known. */
function ageOf(owner: Owner, self: Owner): number {
  const isSameBoot = owner.host === self.host && owner.bootId !== null && owner.bootId === self.bootId;
  const isTimed = isSameBoot && typeof owner.lockedAtUptimeSeconds === 'number';
  const seconds = isTimed ? uptime() - (owner.lockedAtUptimeSeconds ?? 0) : (Date.now() - owner.lockedAtMs) / 1000;
  return Math.max(0, Math.round(seconds));
}

type LockedBy = { readonly path: string; readonly what: string; readonly ageSeconds: number };

function lockedBy(owner: Owner, { path, what, ageSeconds }: LockedBy): PrlError {
  return new PrlError(
    'PRL_ERR_LOCKED',
    `another prl owns ${what}: pid ${owner.pid} on ${owner.host}, for ${ageSeconds} s`,
    {
      hint: `wait for it or stop it; if it cannot be alive any more, remove ${path}`,
    },
  );
}
