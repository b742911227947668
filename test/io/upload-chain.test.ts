/** Batcher, pack, sender and uploader together against a real server. */
import { afterEach, expect, test } from 'vitest';
import type { Batch } from '../../src/core/upload/types.js';
import { Uploader } from '../../src/core/upload/uploader.js';
import { monotonicClock } from '../../src/io/clock.js';
import { packBatch } from '../../src/io/pack.js';
import { createSender } from '../../src/io/sender.js';
import { startFaultyServer } from '../helpers/faulty-server.js';
import { batchOf, textOf } from '../helpers/lines.js';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

test('three batches arrive byte for byte, with receipts in order', async () => {
  const server = await startFaultyServer();
  closers.push(server.close);
  const sender = createSender({ baseUrl: server.url, apiKey: '', teamId: null, version: '0' });
  closers.push(() => sender.close());
  const batches = [
    batchOf(['{"id":"a"}', '{"id":"b"}']),
    batchOf(['{"id":"c"}'], { offset: 22 }),
    batchOf(['{"id":"d"}'], { chunk: 1 }),
  ];
  const uploader = new Uploader({
    sender,
    pack: (batch) => packBatch(batch),
    journal: { planned: async () => {}, stored: async () => {}, rejected: async () => {} },
    clock: monotonicClock,
    random: () => 0,
    concurrency: 2,
  });
  async function* source(): AsyncGenerator<Batch> {
    yield* batches;
  }
  const result = await uploader.run(source(), new AbortController().signal);
  expect(result.stopped).toBeNull();
  expect(result.sent).toMatchObject({ episodes: 4, requests: 3 });
  expect([...server.stored.values()].map(String).sort()).toEqual(batches.map(textOf).sort());
});
