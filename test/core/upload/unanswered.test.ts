/** Lines that may be stored although nobody said so: spec 07 section 5.2, "unknown". */
import { expect, test } from 'vitest';
import type { Attempt, Batch, PackedBatch } from '../../../src/core/upload/types.js';
import { Uploader } from '../../../src/core/upload/uploader.js';
import { VirtualClock } from '../../helpers/clocks.js';
import { batchOf, textOf } from '../../helpers/lines.js';
import { MemoryJournal } from '../../helpers/memory-journal.js';
import { refused, retryLater, type Script, ScriptedSender, STORED } from '../../helpers/scripted-sender.js';

const LATENCY_MS = 100;
const STOP: Attempt = { outcome: 'stop', status: 401, code: 'no', message: 'no', errorCode: 'PRL_ERR_AUTH' };

async function pack(batch: Batch): Promise<PackedBatch> {
  const body = batch.lines.flatMap((line) => line.parts);
  const lineDigests = batch.lines.map(({ id }) => `digest-${id}`);
  const { format, batchBytes: bodyBytes } = batch;
  return { digest: textOf(batch), format, contentType: '', body, bodyBytes, lineDigests };
}

/** Two batches, of three and of two lines, both under way at once; two attempts each. */
function upload(script: Script): { readonly uploader: Uploader; readonly clock: VirtualClock } {
  const clock = new VirtualClock();
  const sender = new ScriptedSender(clock, script, () => LATENCY_MS);
  const journal = new MemoryJournal();
  const uploader = new Uploader({ sender, journal, clock, pack, random: () => 0, concurrency: 2, maxAttempts: 2 });
  return { uploader, clock };
}

const batches = (): Batch[] => [batchOf(['a', 'b', 'c'], { offset: 0 }), batchOf(['d', 'e'], { offset: 100 })];

test.each<[string, Script, number]>([
  ['stored', () => STORED, 0],
  ['refused, one line at last', (text) => (text.includes('b') ? refused(400, 'bad') : STORED), 0],
  ['stopped for good', () => STOP, 0],
  ['given up: an answer may have been lost', (text) => (text.startsWith('a') ? retryLater(null) : STORED), 3],
])('%s', async (_what, script, unanswered) => {
  const { uploader } = upload(script);
  await uploader.run(asSource(batches()), new AbortController().signal);
  expect(uploader.snapshot().unanswered).toBe(unanswered);
});

test('aborted: what was in flight, and nothing that was stored before', async () => {
  const ending = new AbortController();
  const { uploader } = upload((text, attempt) => {
    if (text.startsWith('a')) return STORED;
    if (attempt === 2) ending.abort();
    return retryLater(null);
  });
  const { sent, unsent } = await uploader.run(asSource(batches()), ending.signal);
  expect([sent.episodes, uploader.snapshot().unanswered]).toEqual([3, 2]);
  expect(unsent).toMatchObject([{ lines: 2 }]);
});

test('counted while they are in flight', async () => {
  const seen: number[] = [];
  const { uploader } = upload(() => {
    seen.push(uploader.snapshot().unanswered);
    return STORED;
  });
  await uploader.run(asSource(batches()), new AbortController().signal);
  expect(Math.max(...seen)).toBe(5);
});

async function* asSource(all: readonly Batch[]): AsyncGenerator<Batch> {
  yield* all;
}
