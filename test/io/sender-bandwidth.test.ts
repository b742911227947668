/** The bandwidth limit over real sockets: all requests share it, and waiting for it is no stall (U13, aws-cli #5762). */
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { Attempt, PackedBatch } from '../../src/core/upload/types.js';
import { packBatch } from '../../src/io/pack.js';
import { createSender, type HttpSender, type ServiceAccess } from '../../src/io/sender.js';
import { accessTo } from '../helpers/access.js';
import { type Fault, type FaultyServer, startFaultyServer } from '../helpers/faulty-server.js';
import { batchOf } from '../helpers/lines.js';

const never = new AbortController().signal;
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function serve(script?: (index: number) => Fault | undefined): Promise<FaultyServer> {
  const server = await startFaultyServer(script);
  closers.push(server.close);
  return server;
}

function senderTo(url: string, options: Partial<ServiceAccess>): HttpSender {
  const sender = createSender(accessTo(url, options));
  closers.push(() => sender.close());
  return sender;
}

/** Bodies of about so many bytes, no two alike. */
function bodies(count: number, bytes: number): Promise<PackedBatch[]> {
  return Promise.all(
    Array.from({ length: count }, (_, index) =>
      packBatch(batchOf([`${index}`.padEnd(bytes, 'y')]), { compress: 'none' }),
    ),
  );
}

const outcomesOf = (attempts: readonly Attempt[]): string[] => attempts.map(({ outcome }) => outcome);

test.each([
  [50_000, 4, 30_000],
  [2_000_000, 4, 600_000],
])('%d bytes a second for %d requests together: never faster', async (bytesPerSecond, count, bytes) => {
  const server = await serve();
  const sender = senderTo(server.url, { bytesPerSecond });
  const packed = await bodies(count, bytes);
  const total = packed.reduce((sum, { bodyBytes }) => sum + bodyBytes, 0);
  const startedMs = performance.now();
  expect(outcomesOf(await Promise.all(packed.map((one) => sender.send(one, never))))).toEqual(
    Array.from({ length: count }, () => 'stored'),
  );
  const seconds = (performance.now() - startedMs) / 1000;
  expect(server.peakOpen()).toBe(count);
  // A tenth of a second of burst, and a slice of each that leaves at once.
  expect(total / (seconds + 0.1)).toBeLessThan(bytesPerSecond * 1.1);
  expect(server.stored.size).toBe(count);
});

describe('whose waiting it is', () => {
  test('U13: waits of ours that are eight times the progress timeout trip nothing', async () => {
    const server = await serve();
    const sender = senderTo(server.url, { bytesPerSecond: 5000, progressTimeoutMs: 100 });
    const attempts = await Promise.all((await bodies(4, 2500)).map((one) => sender.send(one, never)));
    expect(outcomesOf(attempts)).toEqual(['stored', 'stored', 'stored', 'stored']);
  });

  test.each([
    ['in the middle of the body', 1],
    ['after its last byte', 200_000],
  ])('a peer that stops %s is found out all the same', async (_where, afterBytes) => {
    const server = await serve(() => ({ kind: 'stall', afterBytes }));
    const sender = senderTo(server.url, { bytesPerSecond: 20_000_000, progressTimeoutMs: 200 });
    const [small, large] = [await bodies(1, 200_000), await bodies(1, 20_000_000)];
    const attempt = await sender.send((afterBytes === 1 ? large : small)[0] as PackedBatch, never);
    expect(attempt).toMatchObject({ outcome: 'retry', code: 'stalled' });
  });

  test('a stop, and an early answer, end the wait', async () => {
    const server = await serve((index) => (index === 1 ? { kind: 'early', status: 503 } : undefined));
    const sender = senderTo(server.url, { bytesPerSecond: 1024 });
    const [one, other] = (await bodies(2, 100_000)) as [PackedBatch, PackedBatch];
    const stop = new AbortController();
    const sending = sender.send(one, stop.signal);
    await vi.waitFor(() => expect(sender.wireBytes).toBeGreaterThan(0));
    stop.abort(new Error('stop'));
    expect(await sending).toMatchObject({ code: 'aborted' });
    expect(await sender.send(other, never)).toMatchObject({ outcome: 'retry', status: 503 });
    expect(sender.wireBytes).toBeLessThan(10_000);
  });
});
