/**
 * Spec 07 section 5.4 through the prime monitor itself: processes that upload and are killed, a service that fails in
 * every way, calls, flushes and ends in random order, life after life of one run. The account holds at every moment; a
 * flush that says so is right; what one life leaves the next sends; in the end the service has each record once.
 */
import { symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import type { FinishReport } from '../../src/monitor/prime-types.js';
import type { Fault, FaultyServer } from '../helpers/faulty-server.js';
import { seededRandom } from '../helpers/generated-run.js';
import { episodeOf } from '../helpers/monitored-run.js';
import { childrenBy, FINAL, LOSING, liveRandomly, PASSING, REFUSING } from '../helpers/prime-lives.js';
import { expectAccount, Primed, serve, storedIds } from '../helpers/primed.js';
import { tempFolder } from '../helpers/temp-folder.js';

const TRAIN = { step: 5, kind: 'train' } as const;
const CHILD = resolve('dist/io/upload-child.js');
/** Beside each other, since most of their time is waiting for processes and back-offs. */
const RUNS = 6;
const LIVES = 3;
const STEPS = 16;
/** In which `finish` lets go of what is left, and what a busy machine makes of it. */
const LET_GO_MS = 4_000 + 16_000;
/** A process that took longer than this to end may have been killed before it told everything. */
const TOLD_MS = 1_500;

type Kind = 'good' | 'bad' | 'poison';
type Logged = { readonly id: string; readonly kind: Kind };

/** One run: a service and a disk that stay, while monitors come and go. */
class LongRun {
  readonly state = tempFolder();
  /** Its processes are known by this name. */
  readonly child = join(this.state, 'child.js');
  readonly hasRefusals: boolean;
  readonly #random: () => number;
  fault: Fault | undefined;
  #logged = 0;
  /** What came into the stream, in order. */
  readonly inStream: Logged[] = [];
  /** Was being written when a life had no more time: told as lost, it may be in the stream all the same. */
  readonly perhaps: string[] = [];
  readonly sums = { stored: 0, rejected: 0 };
  /** Whether no process was killed before it could tell what is settled. */
  isAllTold = true;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
    this.hasRefusals = seed % 2 === 1;
    symlinkSync(CHILD, this.child);
  }

  random(bound = 1): number {
    return this.#random() * bound;
  }

  pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.random(from.length))] as T;
  }

  newRecord(): Logged {
    const kinds: readonly Kind[] = ['good', 'good', 'good', 'good', 'bad', this.hasRefusals ? 'poison' : 'good'];
    const kind = this.pick(kinds);
    this.#logged += 1;
    return { id: `${kind}${this.#logged}`, kind };
  }

  ofKind(kind: Kind): string[] {
    return this.inStream.flatMap((one) => (one.kind === kind ? [one.id] : []));
  }

  killProcesses(): void {
    for (const pid of childrenBy(this.child)) {
      this.isAllTold = false;
      process.kill(pid, 'SIGKILL');
    }
  }
}

class Life {
  readonly #run: LongRun;
  readonly #server: FaultyServer;
  readonly #primed: Primed;
  readonly #admitted: Logged[] = [];
  readonly #flushes: Promise<void>[] = [];
  readonly #expected = { submitted: 0, dropped: 0, afterClose: 0 };
  #isClosed = false;

  private constructor(run: LongRun, server: FaultyServer, primed: Primed) {
    this.#run = run;
    this.#server = server;
    this.#primed = primed;
  }

  static async begin(run: LongRun, server: FaultyServer): Promise<Life> {
    const primed = await Primed.open({
      ...{ url: server.url, environment: { PRL_STATE_DIR: run.state }, childUrl: pathToFileURL(run.child) },
      ...{ chunkBytes: 2_500, batchBytes: 3_000, concurrency: 2 },
      maxQueuedRecords: run.pick([5, 1000]),
      spoolBytes: run.pick([8_000, Number.POSITIVE_INFINITY]),
    });
    return new Life(run, server, primed);
  }

  async step(): Promise<void> {
    const run = this.#run;
    const dice = run.random();
    if (dice < 0.45) this.#log();
    else if (dice < 0.65) await new Promise((done) => setTimeout(done, run.random(60)));
    else if (dice < 0.75) this.#flushes.push(this.#flush(run.pick([0, 40, 60_000])));
    else if (dice < 0.81) run.fault = run.pick(run.hasRefusals ? PASSING : LOSING);
    else if (dice < 0.83) run.fault = run.pick(FINAL);
    else if (dice < 0.96) run.fault = undefined;
    else run.killProcesses();
    this.#check();
  }

  #log(): void {
    const records = Array.from({ length: Math.floor(this.#run.random(6)) }, () => this.#run.newRecord());
    const episodes = records.map(({ id, kind }) =>
      kind === 'bad' ? { ...episodeOf(id), task: { data: '\ud800' } } : episodeOf(id),
    );
    const isTaken = this.#primed.monitor.log(episodes, TRAIN);
    this.#expected.submitted += records.length;
    if (isTaken) this.#admitted.push(...records);
    else if (this.#isClosed) this.#expected.afterClose += records.length;
    else this.#expected.dropped += records.length;
  }

  /** R-Q-6: true says that all that was logged before is at the service or was refused, but for what came too late. */
  async #flush(timeoutMs: number): Promise<void> {
    const before = [...this.#admitted];
    if (!(await this.#primed.monitor.flush(timeoutMs))) return;
    const { failed, skipped } = this.#primed.monitor.snapshot();
    const stored = new Set(storedIds(this.#server));
    const missing = before.filter(({ id, kind }) => kind === 'good' && !stored.has(id));
    expect(missing.length).toBeLessThanOrEqual(failed + skipped);
  }

  #check(): void {
    const snapshot = this.#primed.monitor.snapshot();
    expectAccount(snapshot);
    const { submitted, dropped, afterClose, admitted } = snapshot;
    expect({ submitted, dropped, afterClose, admitted }).toEqual({
      ...this.#expected,
      admitted: this.#admitted.length,
    });
  }

  /** Its report is the truth of the disk, and of the service as far as it was told. */
  async end(timeoutMs: number): Promise<FinishReport> {
    const run = this.#run;
    const startMs = performance.now();
    const finishing = this.#primed.finish(timeoutMs);
    this.#isClosed = true;
    this.#log();
    const report = await finishing;
    const tookMs = performance.now() - startMs;
    expect(tookMs).toBeLessThan(timeoutMs + LET_GO_MS);
    if (tookMs > timeoutMs + TOLD_MS) run.isAllTold = false;
    await Promise.all(this.#flushes);
    this.#check();
    this.#checkNotices(report);
    const { failed, skipped, stored, rejected } = report.counts;
    const taken = this.#admitted.slice(0, this.#admitted.length - failed - skipped - report.lost);
    const written = taken.filter(({ kind }) => kind !== 'bad');
    run.inStream.push(...written);
    const [cutOff] = report.lost > 0 ? this.#admitted.slice(-report.lost) : [];
    if (cutOff !== undefined) run.perhaps.push(cutOff.id);
    run.sums.stored += stored;
    run.sums.rejected += rejected - (taken.length - written.length);
    return report;
  }

  #checkNotices({ counts, left, lost }: FinishReport): void {
    const sumOf = (kind: 'dropped' | 'refused' | 'rejected'): number =>
      this.#primed.told(kind).reduce((sum, message) => sum + Number(/^\d+/.exec(message)), 0);
    expect(sumOf('dropped')).toBe(counts.dropped);
    expect(sumOf('refused') + sumOf('rejected')).toBe(counts.rejected);
    expect(this.#primed.told('left')).toHaveLength((left === null ? 0 : 1) + (lost === 0 ? 0 : 1));
  }
}

async function liveThrough(seed: number): Promise<void> {
  const run = new LongRun(seed);
  const server = await serve(() => run.fault ?? REFUSING);
  const pickMs = (choices: readonly number[]): number => run.pick(choices);
  await liveRandomly(() => Life.begin(run, server), { lives: LIVES, steps: STEPS, pickMs });
  run.fault = undefined;
  const last = await Life.begin(run, server);
  expect(await last.end(100_000)).toMatchObject({ isComplete: true, left: null, lost: 0 });
  const stored = storedIds(server).sort();
  expect(stored.filter((id) => !run.perhaps.includes(id))).toEqual(run.ofKind('good').sort());
  expect(stored).toEqual([...new Set(stored)]);
  // Over all lives each record is counted once, but for what a life that was cut off did not hear of.
  const poisoned = run.ofKind('poison').length;
  if (run.isAllTold) expect(run.sums.stored).toBe(stored.length);
  if (run.isAllTold && run.perhaps.length === 0) expect(run.sums.rejected).toBe(poisoned);
  expect(run.sums.stored).toBeLessThanOrEqual(stored.length);
  expect(run.sums.rejected).toBeLessThanOrEqual(poisoned + run.perhaps.length);
}

test('5.4, R-Q-6, R-Q-7: over random lives of a run each record is counted once and stored once', async () => {
  const lived = await Promise.allSettled(Array.from({ length: RUNS }, (_, seed) => liveThrough(seed)));
  // All of them to their end first: a run that fails must not leave others running into the next test.
  expect(lived.flatMap((one, seed) => (one.status === 'rejected' ? [[seed, one.reason]] : []))).toEqual([]);
});
