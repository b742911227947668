/** The uploader in virtual time, over a scripted sender: order, bounds, splitting, waiting, stopping. */
import { describe, expect, test } from 'vitest';
import type { Attempt, Batch, PackedBatch } from '../../../src/core/upload/types.js';
import {
  type SettledBatch,
  Uploader,
  type UploaderOptions,
  type UploadResult,
} from '../../../src/core/upload/uploader.js';
import { VirtualClock } from '../../helpers/clocks.js';
import { batchOf, textOf } from '../../helpers/lines.js';
import { MemoryJournal } from '../../helpers/memory-journal.js';
import { refused, retryLater, type Script, ScriptedSender, STORED } from '../../helpers/scripted-sender.js';

type Setup = {
  readonly script?: Script;
  readonly latencyMs?: (text: string) => number;
  readonly options?: Partial<UploaderOptions>;
};

type Ran = {
  readonly result: UploadResult;
  readonly sender: ScriptedSender;
  readonly clock: VirtualClock;
  readonly journal: MemoryJournal;
  readonly settled: SettledBatch[];
  readonly uploader: Uploader;
};

/** Packs a batch as its own text, so that a script can tell batches apart by what they hold. */
async function packText(batch: Batch): Promise<PackedBatch> {
  const body = batch.lines.flatMap((line) => line.parts);
  return {
    digest: textOf(batch).replaceAll('\n', ''),
    format: batch.format,
    contentType: '',
    body,
    bodyBytes: batch.batchBytes,
    lineDigests: batch.lines.map((line) => `digest-${line.id}`),
  };
}

async function run(
  batches: Iterable<Batch> | AsyncIterable<Batch>,
  setup: Setup = {},
  signal = new AbortController().signal,
): Promise<Ran> {
  const clock = new VirtualClock();
  const sender = new ScriptedSender(clock, setup.script ?? (() => STORED), setup.latencyMs);
  const journal = new MemoryJournal();
  const settled: SettledBatch[] = [];
  const uploader = new Uploader({
    sender,
    journal,
    clock,
    pack: packText,
    random: () => 0,
    concurrency: 2,
    onSettled: (batch) => void settled.push(batch),
    ...setup.options,
  });
  const result = await uploader.run(iterate(batches), signal);
  return { result, sender, clock, journal, settled, uploader };
}

async function* iterate<T>(items: Iterable<T> | AsyncIterable<T>): AsyncGenerator<T> {
  yield* items;
}

const single = (name: string, offset = 0): Batch => batchOf([name], { offset });
const several = (count: number): Batch[] =>
  Array.from({ length: count }, (_, index) => single(`b${index}`, index * 10));

describe('sending', () => {
  test('nothing to send is a success', async () => {
    const { result } = await run([]);
    expect(result).toMatchObject({ sent: { episodes: 0, requests: 0 }, stopped: null, interrupted: false });
  });

  test.each([1, 2, 5])('never more than %d requests in flight, and that many', async (concurrency) => {
    const { sender } = await run(several(12), { options: { concurrency } });
    expect(sender.peakInFlight).toBe(concurrency);
  });

  test('the source is read two batches ahead of the requests in flight, and no further', async () => {
    let taken = 0;
    let mostAhead = 0;
    let stored = 0;
    const countStored = (): void => {
      stored += 1;
    };
    async function* source(): AsyncGenerator<Batch> {
      for (const batch of several(20)) {
        taken += 1;
        mostAhead = Math.max(mostAhead, taken - stored);
        yield batch;
      }
    }
    await run(source(), { options: { concurrency: 3, onStored: countStored } });
    expect(mostAhead).toBe(3 + 2);
  });

  test('reports come in order although later batches finish first; the journal does not wait', async () => {
    const latencyMs = (text: string): number => (text === 'b0' ? 10_000 : 10);
    const { settled, journal } = await run(several(4), { latencyMs });
    expect(settled.map(({ stored }) => stored[0]?.range.digest)).toEqual(['b0', 'b1', 'b2', 'b3']);
    expect(journal.storedRanges.map((range) => range.digest)).toEqual(['b1', 'b2', 'b3', 'b0']);
  });

  test('the cut is in the journal before the first attempt, and the receipt before the journal', async () => {
    const journal = new MemoryJournal();
    const seen: [boolean, number][] = [];
    const script: Script = (text) => {
      seen.push([journal.plannedRanges.some(({ digest }) => digest === text), journal.storedRanges.length]);
      return STORED;
    };
    await run(several(2), { script, options: { journal, concurrency: 1 } });
    expect(seen).toEqual([
      [true, 0],
      [true, 1],
    ]);
  });

  test('totals count lines, bytes and every attempt', async () => {
    const script: Script = (_text, attempt) => (attempt === 1 ? retryLater(null) : STORED);
    const { result, uploader } = await run([batchOf(['ab', 'cd'])], { script });
    expect(result).toMatchObject({ sent: { episodes: 2, bytes: 6, wireBytes: 12, requests: 2 }, retries: 1 });
    expect(uploader.snapshot()).toMatchObject({
      phase: 'done',
      inFlight: { requests: 0, bytes: 0 },
      waiting: null,
      queued: { episodes: 0 },
    });
  });

  test('a receipt that names something else is reported and stored', async () => {
    const script: Script = () => ({
      outcome: 'stored',
      receipt: { uploadId: 'x', status: 'committed', mismatch: 'other' },
    });
    const { result, journal } = await run([single('a')], { script });
    expect(result.mismatches).toEqual(['other']);
    expect(journal.storedRanges).toHaveLength(1);
  });
});

test('A46: a request above what gateways take is announced, with its place, and sent', async () => {
  const notices: string[] = [];
  const pack = async (batch: Batch): Promise<PackedBatch> => {
    const isLarge = textOf(batch).startsWith('b1');
    return { ...(await packText(batch)), bodyBytes: isLarge ? 33_554_433 : 33_554_432 };
  };
  const { result } = await run(several(3), { options: { pack, onNotice: (message) => void notices.push(message) } });
  expect(notices).toEqual([expect.stringMatching(/33554433 bytes.*chunk 0, bytes 10 to 13/)]);
  expect(result.sent.episodes).toBe(3);
});

describe('retrying', () => {
  test('own back-off doubles; the same batch is tried at most maxAttempts times, then the upload ends with exit 5', async () => {
    const { result, sender } = await run([single('a')], {
      script: () => retryLater(null),
      options: { maxAttempts: 4 },
    });
    expect(sender.sent.map(({ startMs }) => startMs)).toEqual([0, 1010, 3020, 7030]);
    expect(result.stopped).toMatchObject({ errorCode: 'PRL_ERR_TEMPORARY' });
    expect(result.stopped?.message).toMatch(/4 attempts.*chunk 0, bytes 0 to 2 \(1 line\)/);
    expect(result.unsent).toEqual([{ chunk: 0, start: 0, end: 2, lines: 1 }]);
  });

  test('a batch that fails five times and then works is stored once, and no other batch is sent again (R27)', async () => {
    const script: Script = (text, attempt) => (text === 'b1' && attempt <= 5 ? retryLater(null) : STORED);
    const { result, sender } = await run(several(4), { script, options: { maxAttempts: 6 } });
    expect(result.stopped).toBeNull();
    expect(
      sender.sent
        .filter(({ text }) => text !== 'b1')
        .map(({ text }) => text)
        .sort(),
    ).toEqual(['b0', 'b2', 'b3']);
  });

  test('U10: nobody starts before the time the service named, however long, and one probe goes first', async () => {
    const script: Script = (_text, _attempt, index) => (index === 0 ? retryLater(600_000) : STORED);
    const { sender } = await run(several(6), { script, options: { concurrency: 4 } });
    const [refusal] = sender.sent.filter(({ attempt }) => attempt.outcome === 'retry');
    const closedAtMs = refusal?.endMs ?? Number.NaN;
    const later = sender.sent.filter(({ startMs }) => startMs >= closedAtMs);
    const firstMs = Math.min(...later.map(({ startMs }) => startMs));
    expect(firstMs).toBeGreaterThanOrEqual(closedAtMs + 600_000);
    expect(later.filter(({ startMs }) => startMs === firstMs)).toHaveLength(1);
    const probe = later.find(({ startMs }) => startMs === firstMs);
    const others = later.filter((sent) => sent !== probe);
    expect(others.length).toBeGreaterThan(0);
    expect(Math.min(...others.map(({ startMs }) => startMs))).toBeGreaterThanOrEqual(probe?.endMs ?? Number.NaN);
  });

  test('U10: in a storm there is one request a window across all connections', async () => {
    const calmMs = 10 * 60_000;
    const clock = new VirtualClock();
    const script: Script = () => (clock.nowMs() < calmMs ? retryLater(60_000) : STORED);
    const sender = new ScriptedSender(clock, script);
    const options = { sender, clock, concurrency: 8, maxAttempts: 100 };
    const { result } = await run(several(20), { options });
    expect(result.sent.episodes).toBe(20);
    const inStorm = sender.sent.filter(({ attempt }) => attempt.outcome === 'retry').map(({ startMs }) => startMs);
    const probes = inStorm.filter((startMs) => startMs > 0);
    expect(probes.length).toBeGreaterThan(5);
    const gaps = probes.slice(1).map((startMs, index) => startMs - (probes[index] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(60_000);
  });

  test.each([0, null])('a time that is past, or none, is no wish: own back-off (%s)', async (retryAfterMs) => {
    const script: Script = (_text, attempt) => (attempt === 1 ? retryLater(retryAfterMs) : STORED);
    const { sender } = await run([single('a')], { script });
    expect(sender.sent[1]?.startMs).toBe(1010);
  });

  test('a wait beyond --max-wait ends the upload at once, with the number', async () => {
    const { result, sender } = await run([single('a')], {
      script: () => retryLater(901_000),
      options: { maxWaitMs: 900_000 },
    });
    expect(sender.sent).toHaveLength(1);
    expect(result.stopped?.errorCode).toBe('PRL_ERR_TEMPORARY');
    expect(result.stopped?.message).toContain('901 s');
  });
});

describe('refused batches', () => {
  const refuse = (bad: readonly string[], status = 400, code = 'invalid_trace'): Script => {
    return (text): Attempt => (bad.some((name) => text.includes(name)) ? refused(status, code) : STORED);
  };
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

  test.each([
    [['c'], 400],
    [['a'], 413],
    [['h'], 422],
    [['a', 'd', 'h'], 400],
    [names, 400],
  ])('U9, R17: %j refused with %d stand alone, neighbours are stored in order', async (bad, status) => {
    const { result, journal } = await run([batchOf(names)], { script: refuse(bad, status) });
    expect(result.rejected.map((line) => names[line.lineNumber - 1])).toEqual(bad);
    expect(result.rejected[0]).toMatchObject({ code: 'invalid_trace', message: 'about invalid_trace' });
    const stored = journal.storedRanges.map((range) => range.digest).join('');
    expect(stored).toBe(names.filter((name) => !bad.includes(name)).join(''));
    expect(journal.rejectedLines).toEqual(result.rejected);
    expect(result.stopped).toBeNull();
  });

  test('one bad line among 1,024 costs 2 log2 n requests', async () => {
    const lines = Array.from({ length: 1024 }, (_, index) => `<${index}>`);
    const { sender, result } = await run([batchOf(lines)], { script: refuse(['<700>']) });
    expect(result.rejected).toHaveLength(1);
    expect(sender.sent.length).toBeLessThanOrEqual(1 + 2 * 10);
  });

  test('409 rejects every line without a further request', async () => {
    const { result, sender } = await run([batchOf(['a', 'b'])], { script: () => refused(409, 'line_format_conflict') });
    expect(sender.sent).toHaveLength(1);
    expect(result.rejected.map((line) => line.code)).toEqual(['line_format_conflict', 'line_format_conflict']);
  });

  test('a bad receipt is not retried, not split and not remembered', async () => {
    const { result, sender, journal } = await run([batchOf(['a', 'b'])], { script: () => refused(201, 'bad_receipt') });
    expect(sender.sent).toHaveLength(1);
    expect(result.rejected).toHaveLength(2);
    expect(journal.rejectedLines).toEqual([]);
  });

  test('a refusal of one batch does not stop the others', async () => {
    const { result } = await run(several(5), { script: refuse(['b2']) });
    expect(result.sent.episodes).toBe(4);
  });
});

describe('stopping', () => {
  const stop: Attempt = {
    outcome: 'stop',
    status: 401,
    code: 'unauthenticated',
    message: 'bad key',
    errorCode: 'PRL_ERR_AUTH',
  };

  test('U11, R29: after 401 nothing new starts; requests in flight finish and count', async () => {
    const script: Script = (text) => (text === 'b1' ? stop : STORED);
    const latencyMs = (text: string): number => (text === 'b1' ? 10 : 500);
    const { result, sender } = await run(several(50), { script, latencyMs, options: { concurrency: 3 } });
    expect(result.stopped).toEqual({
      errorCode: 'PRL_ERR_AUTH',
      message: 'bad key',
      hint: null,
      code: 'unauthenticated',
    });
    expect(sender.sent.length).toBeLessThanOrEqual(3);
    expect(result.sent.episodes).toBe(2);
    expect(result.unsent).toContainEqual({ chunk: 0, start: 10, end: 13, lines: 1 });
  });

  test('a stop ends the waiting of others', async () => {
    const script: Script = (text) => (text === 'b0' ? retryLater(null) : stop);
    const latencyMs = (text: string): number => (text === 'b0' ? 10 : 100);
    const { result, clock } = await run(several(2), { script, latencyMs });
    expect(result.unsent).toHaveLength(2);
    expect(clock.nowMs()).toBeLessThan(1000);
  });

  test('the signal ends requests, waits and reading; what was not settled is named', async () => {
    const controller = new AbortController();
    const script: Script = (text) => {
      if (text === 'b3') controller.abort(new Error('SIGINT'));
      return STORED;
    };
    const { result } = await run(several(50), { script, options: { concurrency: 1 } }, controller.signal);
    expect(result.interrupted).toBe(true);
    expect(result.sent.episodes).toBe(3);
    // The one in flight, and what was read ahead of it.
    expect(result.unsent.map(({ start }) => start)).toEqual([30, 40, 50].slice(0, result.unsent.length));
    expect(result.unsent[0]).toEqual({ chunk: 0, start: 30, end: 33, lines: 1 });
  });

  test('a source that waits for ever does not hold up a stop', async () => {
    async function* source(): AsyncGenerator<Batch> {
      yield single('a');
      await new Promise(() => {});
    }
    const { result } = await run(source(), { script: () => stop });
    expect(result.stopped?.errorCode).toBe('PRL_ERR_AUTH');
  });

  test('what the source throws comes out after the requests in flight have ended', async () => {
    const sent: string[] = [];
    async function* source(): AsyncGenerator<Batch> {
      yield single('a');
      throw new Error('disk');
    }
    const upload = run(source(), { options: { onStored: (batch) => void sent.push(textOf(batch)) } });
    await expect(upload).rejects.toThrow('disk');
    expect(sent).toEqual(['a\n']);
  });

  test('what a report throws stops the upload and comes out', async () => {
    const onSettled = (): void => {
      throw new Error('report');
    };
    await expect(run(several(50), { options: { onSettled } })).rejects.toThrow('report');
  });

  test('a source is told that it is no longer read', async () => {
    let isClosed = false;
    async function* source(): AsyncGenerator<Batch> {
      try {
        for (const batch of several(50)) yield batch;
      } finally {
        isClosed = true;
      }
    }
    await run(source(), { script: () => stop });
    expect(isClosed).toBe(true);
  });
});
