/**
 * Spec 07 section 5.4 as properties of what a prime monitor keeps without a stream to follow: the real queue, pump, encoder
 * and spool on real files, whatever is logged, flushed, settled, given up and closed in whatever order, over several lives.
 */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { CountedAs } from '../../src/core/upload/strikes.js';
import type { ChunkSettlement } from '../../src/io/settlement.js';
import type { StreamEnd } from '../../src/io/upload-messages.js';
import { primeSettingsOf } from '../../src/monitor/prime-settings.js';
import { SpoolSource } from '../../src/monitor/spool-source.js';
import { accessTo } from '../helpers/access.js';
import { episodeOf } from '../helpers/monitored-run.js';
import { tempFolder } from '../helpers/temp-folder.js';

const TRAIN = { step: 5, kind: 'train' } as const;
/** A chunk takes two or three episodes, a small spool two chunks. */
const CHUNK_BYTES = 2_500;
const SMALL_SPOOL_BYTES = 6_000;
/** For the end of a life, however busy the machine is. */
const PATIENCE_MS = 30_000;

type Step =
  | { readonly kind: 'log'; readonly records: number; readonly bad: number }
  | { readonly kind: 'turns'; readonly turns: number }
  | { readonly kind: 'give_up'; readonly as: 'failed' | 'skipped' }
  | { readonly kind: 'saved' | 'settle' | 'free' | 'close' };

type LifePlan = {
  readonly maxQueuedRecords: number;
  readonly spoolBytes: number;
  /** Something has the place of the spool until a step frees it. */
  readonly isBlocked: boolean;
  readonly steps: readonly Step[];
};

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant('log' as const), records: fc.nat(4), bad: fc.nat(9) }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('turns' as const), turns: fc.nat(30) }) },
  { weight: 3, arbitrary: fc.constant({ kind: 'settle' as const }) },
  { weight: 2, arbitrary: fc.constantFrom({ kind: 'saved' as const }, { kind: 'free' as const }) },
  {
    weight: 1,
    arbitrary: fc.oneof(
      fc.constant({ kind: 'close' as const }),
      fc.record({ kind: fc.constant('give_up' as const), as: fc.constantFrom('failed' as const, 'skipped' as const) }),
    ),
  },
);
const lifePlan: fc.Arbitrary<LifePlan> = fc.record({
  maxQueuedRecords: fc.constantFrom(3, 1000),
  spoolBytes: fc.constantFrom(SMALL_SPOOL_BYTES, Number.POSITIVE_INFINITY),
  isBlocked: fc.boolean(),
  steps: fc.array(step, { maxLength: 30, size: 'max' }),
});

/** The disk as an upload sees it: what was ever in the stream, in order, though chunks come and go. */
class Disk {
  readonly directory = join(tempFolder(), 'state/spool');
  readonly ids: string[] = [];
  /** How far each chunk was read. */
  #read = new Map<string, number>();

  get #stream(): string {
    return join(this.directory, 'monitors/file/traces/stream');
  }

  block(): void {
    writeFileSync(dirname(this.directory), '');
  }

  free(): void {
    if (existsSync(dirname(this.directory))) rmSync(dirname(this.directory), { recursive: true });
  }

  /** Reads what is new, and says up to where it has been read. */
  look(): Map<number, ChunkSettlement> {
    const chunks = new Map<number, ChunkSettlement>();
    if (!existsSync(this.#stream))
      this.#read.clear(); // the next spool numbers anew
    else for (const name of readdirSync(this.#stream).sort()) this.#lookAt(name, chunks);
    return chunks;
  }

  #lookAt(name: string, chunks: Map<number, ChunkSettlement>): void {
    const text = this.#readChunk(name);
    if (text === null) return;
    const endBytes = text.lastIndexOf('\n') + 1;
    const lines = String(text.subarray(this.#read.get(name) ?? 0, endBytes))
      .split('\n')
      .slice(0, -1);
    this.ids.push(...lines.map((line) => (JSON.parse(line) as { id: string }).id));
    this.#read.set(name, endBytes);
    const chunk = Number.parseInt(name, 10);
    chunks.set(chunk, { chunk, stored: 0, rejected: 0, endBytes });
  }

  /** Null for one that is being removed at this moment: it was settled to its end, which is how far it was read. */
  #readChunk(name: string): Buffer | null {
    try {
      return readFileSync(join(this.#stream, name));
    } catch (error) {
      if (!this.#read.has(name)) throw error;
      return null;
    }
  }
}

type Logged = { readonly id: string; readonly isBad: boolean };

/** One process, as its spool sees it. */
class Life {
  readonly #plan: LifePlan;
  readonly #disk: Disk;
  readonly #source: SpoolSource;
  readonly #admitted: Logged[] = [];
  readonly #saved: Promise<void>[] = [];
  readonly #dropWarnings: number[];
  readonly #expected = { submitted: 0, dropped: 0, afterClose: 0 };
  #passed: CountedAs | null = null;
  #isClosed = false;

  private constructor(
    plan: LifePlan,
    disk: Disk,
    make: (passesBy: () => CountedAs | null) => SpoolSource,
    warnings: number[],
  ) {
    this.#plan = plan;
    this.#disk = disk;
    this.#source = make(() => this.#passed);
    this.#dropWarnings = warnings;
  }

  static async begin(plan: LifePlan, disk: Disk): Promise<Life> {
    const { maxQueuedRecords, spoolBytes, isBlocked } = plan;
    const warnings: number[] = [];
    let nowMs = 0;
    const { baseUrl: url, apiKey } = accessTo('http://127.0.0.1:1');
    const settings = await primeSettingsOf({
      ...{ access: { url, apiKey }, run: { id: 'r1' }, spoolDirectory: disk.directory, environment: {} },
      ...{ chunkBytes: CHUNK_BYTES, maxQueuedRecords, spoolBytes, nowS: () => 1_790_000_000 },
      nowMs: () => {
        nowMs += 1_000;
        return nowMs;
      },
      onNotice: ({ kind, message }) => {
        if (kind === 'dropped') warnings.push(Number(/^\d+/.exec(message)));
      },
    });
    if (isBlocked && !existsSync(dirname(disk.directory))) disk.block();
    const life = new Life(plan, disk, (passesBy) => new SpoolSource(settings, passesBy), warnings);
    await life.#source.open(() => {});
    return life;
  }

  async live(nextId: () => string): Promise<void> {
    for (const one of this.#plan.steps) {
      await this.#do(one, nextId);
      this.#check();
    }
  }

  async #do(one: Step, nextId: () => string): Promise<void> {
    switch (one.kind) {
      case 'log':
        return this.#log(Array.from({ length: one.records }, (_, at) => ({ id: nextId(), isBad: at === one.bad })));
      case 'turns':
        for (let turn = 0; turn < one.turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        return;
      case 'give_up':
        this.#passed ??= one.as;
        return;
      case 'saved':
        this.#saved.push(this.#save());
        return;
      case 'settle':
        return this.#source.settled(this.#disk.look());
      case 'free':
        if (!existsSync(this.#disk.directory)) this.#disk.free();
        return;
      case 'close':
        this.#source.close();
        this.#isClosed = true;
    }
  }

  /** R-Q-6: told once all that was logged before is on the disk, refused or given up; null when it never will be. */
  async #save(): Promise<void> {
    const before = this.#admitted.length;
    const end: StreamEnd | null = await this.#source.saved();
    const { admitted, waiting } = this.#source.counts();
    if (end === null) expect(admitted - waiting).toBeLessThan(before);
    else expect(admitted - waiting).toBeGreaterThanOrEqual(before);
  }

  #log(records: readonly Logged[]): void {
    const episodes = records.map(({ id, isBad }) =>
      isBad ? { ...episodeOf(id), task: { data: '\ud800' } } : episodeOf(id),
    );
    const isTaken = this.#source.log(episodes, TRAIN);
    this.#expected.submitted += records.length;
    if (isTaken) this.#admitted.push(...records);
    else if (this.#isClosed) this.#expected.afterClose += records.length;
    else this.#expected.dropped += records.length;
  }

  #check(): void {
    const counts = this.#source.counts();
    const { submitted, admitted, dropped, afterClose, inStream, waiting, refused, failed, skipped } = counts;
    expect({ submitted, dropped, afterClose }).toEqual(this.#expected);
    expect(submitted).toBe(admitted + dropped + afterClose);
    expect(admitted).toBe(this.#admitted.length);
    expect(admitted).toBe(inStream + waiting + refused + failed + skipped);
  }

  /** Ends it; the ids that must be in the stream now, in order. */
  async end(): Promise<string[]> {
    this.#source.close();
    this.#isClosed = true;
    await this.#source.end(new Map(), PATIENCE_MS);
    this.#check();
    const { waiting, refused, failed, skipped, inStream, dropped } = this.#source.counts();
    const taken = this.#admitted.slice(0, this.#admitted.length - waiting - failed - skipped);
    expect(refused).toBe(taken.filter(({ isBad }) => isBad).length);
    expect(inStream).toBe(taken.length - refused);
    expect(this.#dropWarnings.reduce((sum, records) => sum + records, 0)).toBe(dropped);
    // Only a disk that takes nothing keeps anything in memory.
    if (!this.#plan.isBlocked && this.#plan.spoolBytes === Number.POSITIVE_INFINITY) expect(waiting).toBe(0);
    await Promise.all(this.#saved);
    return taken.flatMap(({ id, isBad }) => (isBad ? [] : [id]));
  }
}

test('5.4, R-Q-6, R-Q-8: every record is on the disk once and in order, or in one other counter; what is saved is said to be', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(lifePlan, { minLength: 1, maxLength: 3 }), async (plans) => {
      const disk = new Disk();
      const expected: string[] = [];
      let logged = 0;
      for (const plan of plans) {
        const life = await Life.begin(plan, disk);
        await life.live(() => `e${logged++}`);
        expected.push(...(await life.end()));
        disk.look();
        expect(disk.ids).toEqual(expected);
        if (!existsSync(disk.directory)) disk.free();
      }
    }),
    // What happens between two turns is not in the seed, so there is nothing to shrink.
    { seed: 54, numRuns: 60, endOnFailure: true },
  );
}, 60_000);
