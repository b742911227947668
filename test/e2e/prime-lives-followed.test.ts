/**
 * Random lives of a run whose stream a file monitor writes and a prime monitor follows: chunks roll, are sealed and go on
 * after a restart, uploads are killed, the service fails, either monitor ends first. What is in the stream is stored once,
 * and a flush that says so is right.
 */
import { symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import type { FileMonitor } from '../../src/monitor/file-monitor.js';
import type { Fault, FaultyServer } from '../helpers/faulty-server.js';
import { seededRandom } from '../helpers/generated-run.js';
import { episodeOf, idsOf, openMonitor } from '../helpers/monitored-run.js';
import { childrenBy, LOSING, liveRandomly, PASSING, REFUSING } from '../helpers/prime-lives.js';
import { expectAccount, Primed, serve, storedIds } from '../helpers/primed.js';
import { tempFolder } from '../helpers/temp-folder.js';

const TRAIN = { step: 5, kind: 'train' } as const;
const CHILD = resolve('dist/io/upload-child.js');
const SEALER = pathToFileURL(resolve('dist/io/seal-worker.js'));
/** Beside each other, since most of their time is waiting for processes and back-offs. */
const RUNS = 4;
const LIVES = 3;
const STEPS = 14;

class FollowedRun {
  readonly root = tempFolder();
  readonly directory = join(this.root, 'run');
  readonly child = join(this.root, 'child.js');
  readonly hasRefusals: boolean;
  readonly random: () => number;
  fault: Fault | undefined;
  logged = 0;

  constructor(seed: number) {
    this.random = seededRandom(seed);
    this.hasRefusals = seed % 2 === 1;
    symlinkSync(CHILD, this.child);
  }

  pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.random() * from.length)] as T;
  }
}

class Life {
  readonly #run: FollowedRun;
  readonly #server: FaultyServer;
  readonly #file: FileMonitor;
  readonly primed: Primed;
  readonly #logged: string[] = [];
  readonly #flushes: Promise<void>[] = [];

  private constructor(run: FollowedRun, server: FaultyServer, file: FileMonitor, primed: Primed) {
    this.#run = run;
    this.#server = server;
    this.#file = file;
    this.primed = primed;
  }

  static async begin(run: FollowedRun, server: FaultyServer): Promise<Life> {
    const { monitor: file } = await openMonitor({ chunkBytes: 6_000, workerUrl: SEALER }, run.directory);
    const primed = await Primed.open({
      ...{ url: server.url, file, childUrl: pathToFileURL(run.child), environment: { PRL_STATE_DIR: run.root } },
      ...{ batchBytes: 3_000, concurrency: 2 },
    });
    return new Life(run, server, file, primed);
  }

  async step(): Promise<void> {
    const run = this.#run;
    const dice = run.random();
    if (dice < 0.45) this.#log();
    else if (dice < 0.65) await new Promise((done) => setTimeout(done, run.random() * 60));
    else if (dice < 0.78) this.#flushes.push(this.#flush(run.pick([0, 40, 60_000])));
    else if (dice < 0.84) run.fault = run.pick(run.hasRefusals ? PASSING : LOSING);
    else if (dice < 0.96) run.fault = undefined;
    else for (const pid of childrenBy(run.child)) process.kill(pid, 'SIGKILL');
    expectAccount(this.primed.monitor.snapshot());
  }

  #log(): void {
    const run = this.#run;
    for (let records = Math.floor(run.random() * 6); records > 0; records -= 1) {
      run.logged += 1;
      const id = `${run.hasRefusals && run.random() < 0.2 ? 'poison' : 'good'}${run.logged}`;
      void this.#file.log(episodeOf(id), TRAIN);
      expect(this.primed.monitor.log(episodeOf(id), TRAIN)).toBe(true);
      this.#logged.push(id);
    }
  }

  async #flush(timeoutMs: number): Promise<void> {
    const before = this.#logged.filter((id) => id.startsWith('good'));
    if (await this.primed.monitor.flush(timeoutMs)) {
      expect(storedIds(this.#server)).toEqual(expect.arrayContaining(before));
    }
  }

  /** Either monitor ends first. */
  async end(timeoutMs: number): Promise<void> {
    const isFileFirst = this.#run.random() < 0.5;
    if (isFileFirst) await this.#file.finalize();
    const { counts, missing, lost, isComplete } = await this.primed.finish(timeoutMs);
    expect([missing, lost]).toEqual([0, 0]);
    // What its monitor had not written yet is in no counter, and then the end is not complete.
    if (isFileFirst || isComplete) expect(counts.admitted).toBe(this.#logged.length);
    await Promise.all(this.#flushes);
    if (!isFileFirst) await this.#file.finalize();
  }
}

async function liveThrough(seed: number): Promise<void> {
  const run = new FollowedRun(seed);
  const server = await serve(() => run.fault ?? REFUSING);
  const pickMs = (choices: readonly number[]): number => run.pick(choices);
  await liveRandomly(() => Life.begin(run, server), { lives: LIVES, steps: STEPS, pickMs });
  run.fault = undefined;
  const last = await Life.begin(run, server);
  await last.end(100_000);
  expect(await last.primed.finish()).toMatchObject({ isComplete: true, left: null });
  const inStream = await idsOf(run.directory);
  expect(inStream).toHaveLength(run.logged);
  expect(storedIds(server).sort()).toEqual(inStream.filter((id) => id.startsWith('good')).sort());
}

test('5.4, R-Q-6: over random lives of a run that is followed, what is in the stream is stored once', async () => {
  const lived = await Promise.allSettled(Array.from({ length: RUNS }, (_, seed) => liveThrough(seed)));
  // All of them to their end first: a run that fails must not leave others running into the next test.
  expect(lived.flatMap((one, seed) => (one.status === 'rejected' ? [[seed, one.reason]] : []))).toEqual([]);
});
