/** The uploader within its limits, in virtual time: requests that adapt, memory that is bounded, both with a service that fails. */
import { describe, expect, test } from 'vitest';
import { batchesOf } from '../../../src/core/upload/batches.js';
import type { Attempt, Batch, PackedBatch } from '../../../src/core/upload/types.js';
import { UploadMemory } from '../../../src/core/upload/upload-memory.js';
import { Uploader, type UploaderOptions, type UploadResult } from '../../../src/core/upload/uploader.js';
import { VirtualClock } from '../../helpers/clocks.js';
import { batchOf, recordsOf } from '../../helpers/lines.js';
import { MemoryJournal } from '../../helpers/memory-journal.js';
import { refused, retryLater, type Script, ScriptedSender, STORED } from '../../helpers/scripted-sender.js';

/** A body of its own, a quarter of its lines; its digest is its first line. */
async function packQuarter(batch: Batch): Promise<PackedBatch> {
  const digest = String(batch.lines[0]?.parts[0]).trim();
  const bodyBytes = Math.ceil(batch.batchBytes / 4);
  return { digest, format: batch.format, contentType: '', body: [], bodyBytes, lineDigests: [] };
}

type Setup = {
  readonly script?: Script;
  readonly latencyMs?: number;
  readonly clock?: VirtualClock;
  readonly options?: Partial<UploaderOptions>;
};
type Ran = { readonly result: UploadResult; readonly sender: ScriptedSender; readonly clock: VirtualClock };

async function run(batches: AsyncIterable<Batch>, setup: Setup = {}): Promise<Ran> {
  const { script = () => STORED, latencyMs = 2000, clock = new VirtualClock() } = setup;
  const sender = new ScriptedSender(clock, script, () => latencyMs);
  const uploader = new Uploader({
    sender,
    journal: new MemoryJournal(),
    clock,
    pack: packQuarter,
    random: () => 0,
    concurrency: 'adaptive',
    maxAttempts: 100,
    ...setup.options,
  });
  return { result: await uploader.run(batches, new AbortController().signal), sender, clock };
}

async function* several(count: number): AsyncGenerator<Batch> {
  for (let index = 0; index < count; index += 1) yield batchOf([`b${index}`], { offset: index * 10 });
}

describe('requests in flight', () => {
  test('a service that takes 2 s a request gets eight at once; it takes a fourth of the time of one by one', async () => {
    const adaptive = await run(several(77));
    expect(adaptive.sender.peakInFlight).toBe(8);
    const oneByOne = await run(several(77), { options: { concurrency: 1 } });
    expect(oneByOne.clock.nowMs() / adaptive.clock.nowMs()).toBeGreaterThan(4);
  });

  test.each([1, 3, 32])('--concurrency %d stays as it is while the service fails', async (concurrency) => {
    const script: Script = (_text, attempt) => (attempt === 1 ? retryLater(null) : STORED);
    const { sender, result } = await run(several(100), { script, options: { concurrency } });
    expect(sender.peakInFlight).toBe(concurrency);
    expect(result.sent.episodes).toBe(100);
  });

  test('U10, R20: in a storm the gate lets one probe through a window, and after it few come at once', async () => {
    const clock = new VirtualClock();
    const [stormMs, calmMs] = [30_000, 30 * 60_000];
    const script: Script = () => (clock.nowMs() >= stormMs && clock.nowMs() < calmMs ? retryLater(60_000) : STORED);
    const { sender, result } = await run(several(200), { script, clock });
    expect(result).toMatchObject({ stopped: null, sent: { episodes: 200 } });
    const refusals = sender.sent.filter(({ attempt }) => attempt.outcome === 'retry').map(({ startMs }) => startMs);
    const windowMs = (refusals[0] ?? 0) + 2000;
    const probes = refusals.filter((startMs) => startMs > windowMs);
    expect(probes.length).toBeGreaterThan(20);
    const gaps = probes.slice(1).map((startMs, index) => startMs - (probes[index] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(60_000);
    // What was eight at once before is one by one when the service is back, and grows again.
    const after = sender.sent.filter(({ startMs }) => startMs >= calmMs);
    const atOnce = (atMs: number): number => after.filter((one) => one.startMs <= atMs && one.endMs > atMs).length;
    const [first = Number.NaN] = after.map(({ startMs }) => startMs);
    expect(atOnce(first + 1)).toBe(1);
    expect(atOnce(first + 2001)).toBe(2);
    expect(Math.max(...after.map(({ startMs }) => atOnce(startMs)))).toBe(8);
  });

  test('U12, R09: through an outage of a day order is kept, and everything arrives, the oldest first', async () => {
    const clock = new VirtualClock();
    const script: Script = () => (clock.nowMs() < 86_400_000 ? retryLater(null, 'connection_refused') : STORED);
    const { sender, result } = await run(several(50), { script, clock, options: { maxAttempts: 1e6 } });
    expect(result).toMatchObject({ stopped: null, sent: { episodes: 50 } });
    const stored = sender.sent.filter(({ attempt }) => attempt.outcome === 'stored').map(({ text }) => text);
    expect(new Set(stored).size).toBe(50);
    // Batches that were under way come in the order of their own back-offs, and all others in the order of the source.
    expect(stored.indexOf('b0')).toBeLessThan(10);
    const others = stored.filter((text) => Number(text.slice(1)) >= 10);
    expect(others).toEqual(Array.from({ length: 40 }, (_, index) => `b${index + 10}`));
  });

  test.each([
    ['refuses connections', retryLater(null, 'connection_refused')],
    ['declines and names a time', retryLater(60_000)],
    ['declines and names none', retryLater(null, 'http_503')],
  ])(
    'U12: a service that has stored something and then %s for a day is waited for, left to itself',
    async (_, away) => {
      const clock = new VirtualClock();
      const options = { maxAttempts: undefined };
      const isAway = (): boolean => clock.nowMs() >= 1000 && clock.nowMs() < 86_400_000;
      const { result } = await run(several(50), { script: () => (isAway() ? away : STORED), clock, options });
      expect(result).toMatchObject({ stopped: null, sent: { episodes: 50 } });
      expect(clock.nowMs()).toBeGreaterThanOrEqual(86_400_000);
    },
  );

  test('a service that has answered nothing yet may not be there: five attempts', async () => {
    const script: Script = () => retryLater(null, 'connection_refused');
    const { sender, result } = await run(several(3), { script, options: { maxAttempts: undefined, concurrency: 1 } });
    expect(result.stopped).toMatchObject({
      errorCode: 'PRL_ERR_TEMPORARY',
      message: expect.stringContaining('5 attempts'),
    });
    expect(sender.sent.filter(({ text }) => text === 'b0')).toHaveLength(5);
  });

  test('a number of attempts that was asked for holds, whatever the service has stored', async () => {
    const script: Script = (text) => (text === 'b0' ? STORED : retryLater(null, 'connection_refused'));
    const { sender, result } = await run(several(3), { script, options: { maxAttempts: 3, concurrency: 1 } });
    expect(result.stopped).toMatchObject({ message: expect.stringContaining('3 attempts') });
    expect(sender.sent.filter(({ text }) => text === 'b1')).toHaveLength(3);
  });
});

test.each([1, 2, 8])(
  'U3: of %d requests at once no more are stored and not remembered, however slow the disk',
  async (most) => {
    const clock = new VirtualClock();
    const never = new AbortController().signal;
    const journal = new MemoryJournal();
    const remember = journal.stored.bind(journal);
    journal.stored = (range) => clock.sleep(5_000, never).then(() => remember(range));
    const lost: number[] = [];
    let begun = 0;
    const script: Script = () => {
      begun += 1;
      // What a kill would cost at this moment.
      lost.push(begun - journal.storedRanges.length);
      return STORED;
    };
    const { result } = await run(several(40), { script, clock, latencyMs: 1, options: { journal, concurrency: most } });
    expect(result).toMatchObject({ stopped: null, sent: { episodes: 40 } });
    expect(Math.max(...lost)).toBe(most);
  },
);

test('requests start in the order of the source, however long packing takes', async () => {
  const slow = (text: string): boolean => Number(text.slice(1)) % 3 === 0;
  const pack = async (batch: Batch): Promise<PackedBatch> => {
    const packed = await packQuarter(batch);
    for (let turns = slow(packed.digest) ? 20 : 1; turns > 0; turns -= 1) await new Promise(setImmediate);
    return packed;
  };
  const { sender } = await run(several(30), { options: { pack, concurrency: 4 } });
  const started = [...sender.sent].sort((a, b) => a.startMs - b.startMs).map(({ text }) => Number(text.slice(1)));
  expect(started).toEqual([...started].sort((a, b) => a - b));
});

describe('memory', () => {
  const MIB = 2 ** 20;
  const BUDGET_BYTES = 24 * MIB;

  /** Lines of random sizes in batches of about 2 MiB, read under the budget; `peak` is the most that was held. */
  async function upload(
    setup: Setup & { lineBytes: (index: number) => number; lines: number; sharesLines?: boolean },
  ): Promise<{
    readonly ran: Ran;
    readonly memory: UploadMemory;
  }> {
    const memory = new UploadMemory({ budgetBytes: BUDGET_BYTES, sharesLines: setup.sharesLines ?? false });
    const signal = new AbortController().signal;
    async function* records(): AsyncGenerator<ReturnType<typeof recordsOf>[number]> {
      let offset = 0;
      for (let index = 0; index < setup.lines; index += 1) {
        const line = `{"id":"${index}","traces":[]}`.padEnd(setup.lineBytes(index) - 1);
        const [record] = recordsOf(`${line}\n`);
        if (record === undefined) throw new Error('no record');
        yield { ...record, offset, lineNumber: index + 1 };
        offset += record.length;
      }
    }
    const batches = batchesOf(records(), {
      stamp: null,
      onRejected: () => {},
      targetBytes: 2 * MIB,
      hold: (open, lineBytes) => memory.hold(open, lineBytes, signal),
    });
    const ran = await run(batches, { ...setup, options: { memory, ...setup.options } });
    return { ran, memory };
  }

  test.each([
    ['compressed', 32, false],
    ['as they are', 32, true],
    ['one by one', 1, false],
  ])(
    'U7, R14, R15: bodies %s, concurrency %d: never above the budget, and all of it comes back',
    async (_how, concurrency, sharesLines) => {
      const lineBytes = (index: number): number => 1000 + ((index * 7919) % 900_000);
      const { ran, memory } = await upload({ lines: 160, lineBytes, sharesLines, options: { concurrency } });
      expect(ran.result).toMatchObject({ sent: { episodes: 160 }, stopped: null });
      expect(memory.usage.peakBytes).toBeLessThanOrEqual(BUDGET_BYTES);
      if (concurrency > 1) expect(memory.usage.peakBytes).toBeGreaterThan(BUDGET_BYTES * 0.75);
      memory.endReading();
      expect(memory.usage.usedBytes).toBe(0);
    },
  );

  test('a service that does not answer for an hour: reading stops at the budget, nothing is lost', async () => {
    const { ran, memory } = await upload({
      lines: 100,
      lineBytes: () => MIB,
      latencyMs: 3_600_000,
      options: { concurrency: 32 },
    });
    expect(memory.usage.peakBytes).toBeLessThanOrEqual(BUDGET_BYTES);
    expect(ran.sender.peakInFlight).toBeGreaterThan(2);
    expect(ran.sender.peakInFlight).toBeLessThan(12);
    expect(ran.result.sent.episodes).toBe(100);
  });

  test('U8, R05: a line above the budget goes alone, its neighbours before and after it', async () => {
    const lineBytes = (index: number): number => (index === 5 ? 30 * MIB : MIB);
    const { ran, memory } = await upload({ lines: 12, lineBytes, options: { concurrency: 8 } });
    expect(ran.result.sent.episodes).toBe(12);
    expect(memory.usage.peakBytes).toBeGreaterThan(60 * MIB);
    expect(memory.usage.peakBytes).toBeLessThan(70 * MIB);
    const large = ran.sender.sent.find(({ text }) => text.startsWith('{"id":"5"'));
    const beside = ran.sender.sent.filter(
      (one) => one.startMs < (large?.endMs ?? 0) && one.endMs > (large?.startMs ?? 0),
    );
    expect(beside).toEqual([large]);
  });

  test('refused batches are halved within what they hold', async () => {
    const script: Script = (text, attempt): Attempt => {
      return attempt === 1 && Number(/\d+/.exec(text)?.[0]) % 3 === 0 ? refused(400, 'invalid_trace') : STORED;
    };
    const { ran, memory } = await upload({ lines: 200, lineBytes: () => 300_000, script, options: { concurrency: 8 } });
    expect(ran.result.sent.episodes).toBeGreaterThan(150);
    expect(memory.usage.peakBytes).toBeLessThanOrEqual(BUDGET_BYTES);
    memory.endReading();
    expect(memory.usage.usedBytes).toBe(0);
  });
});
