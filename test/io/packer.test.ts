/** Batches packed in threads: the same digests as in this one, a body that any reader of gzip takes, and no thread left. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { PACK_WINDOW_BYTES } from '../../src/core/upload/limits.js';
import type { Batch, PackedBatch } from '../../src/core/upload/types.js';
import { packBatch } from '../../src/io/pack.js';
import type { PackWindow, PackWindows } from '../../src/io/pack-messages.js';
import { Packer } from '../../src/io/packer.js';
import { splitParts } from '../helpers/faulty-server.js';
import { seededRandom } from '../helpers/generated-run.js';
import { batchOf } from '../helpers/lines.js';

const WORKER = new URL('../helpers/pack-worker.mjs', import.meta.url);
const packers: Packer[] = [];
const packer = (threads = 1, workerUrl = WORKER): Packer => {
  const made = new Packer({ threads, workerUrl });
  packers.push(made);
  return made;
};
afterEach(() => Promise.all(packers.splice(0).map((made) => made.close())));

function contentOf({ body, contentType }: PackedBatch): Buffer {
  const boundary = contentType.replace('multipart/form-data; boundary=', '');
  return splitParts(Buffer.concat(body), boundary)[1]?.content ?? Buffer.alloc(0);
}

const bytesOf = ({ lines }: Batch): Buffer => Buffer.concat(lines.flatMap(({ parts }) => parts));

/** A text that compresses about as an episode does. */
function textOf(bytes: number, seed = 1): string {
  const random = seededRandom(seed);
  const words = Array.from({ length: 2_000 }, () => Math.floor(random() * 150_000));
  let text = '';
  while (text.length < bytes) text += `${words[Math.floor(random() * words.length)]},`;
  return text.slice(0, bytes);
}

/** The same batch with every line in parts of random lengths, as a stamp makes them. */
function inParts(batch: Batch, random: () => number): Batch {
  return {
    ...batch,
    lines: batch.lines.map((line) => {
      const whole = Buffer.concat(line.parts);
      const cuts = [0, ...Array.from({ length: 3 }, () => Math.floor(random() * whole.length)), whole.length].sort(
        (a, b) => a - b,
      );
      return { ...line, parts: cuts.slice(1).map((cut, index) => whole.subarray(cuts[index], cut)) };
    }),
  };
}

describe('the same as in this thread', () => {
  test.each(['gzip', 'none'] as const)(
    'any lines around the borders of windows, %s',
    { timeout: 60_000 },
    async (compress) => {
      const one = packer();
      const length = fc.oneof(
        fc.integer({ min: 0, max: 200 }),
        fc.integer({ min: PACK_WINDOW_BYTES - 300, max: PACK_WINDOW_BYTES + 300 }),
        fc.integer({ min: 1, max: 3 * PACK_WINDOW_BYTES }),
      );
      await fc.assert(
        fc.asyncProperty(fc.array(length, { minLength: 1, maxLength: 6 }), fc.integer(), async (lengths, seed) => {
          const random = seededRandom(seed);
          const filler = PACK_WINDOW_BYTES - Math.floor(random() * 40);
          const batch = inParts(batchOf([filler, ...lengths].map((bytes, index) => textOf(bytes, index + 1))), random);
          const [there, here] = [await one.pack(batch, { compress }), await packBatch(batch, { compress })];
          const { digest, lineDigests, format } = here;
          expect(there).toMatchObject({ digest, lineDigests, format });
          const content = compress === 'gzip' ? gunzipSync(contentOf(there)) : contentOf(there);
          expect(content.equals(bytesOf(batch))).toBe(true);
          expect(there.bodyBytes).toBe(Buffer.concat(there.body).length);
        }),
        { numRuns: 15, seed: 7 },
      );
    },
  );

  test('one member of gzip, hardly larger than what one run of zlib makes of the same lines', async () => {
    const batch = batchOf(Array.from({ length: 8 }, (_, index) => textOf(700_000, index)));
    const there = contentOf(await packer().pack(batch));
    const here = contentOf(await packBatch(batch));
    // A second member would begin with the same four bytes and the same flags.
    expect(there.indexOf(there.subarray(0, 10), 10)).toBe(-1);
    expect(there.length).toBeLessThan(here.length * 1.005);
    expect(there.equals(contentOf(await packer().pack(batch)))).toBe(true);
  });
});

test('several batches at once, each with its own digest', async () => {
  const two = packer(2);
  const batches = Array.from({ length: 6 }, (_, index) =>
    batchOf([textOf(PACK_WINDOW_BYTES * (1 + index / 3), index)]),
  );
  const packed = await Promise.all(batches.map((batch) => two.pack(batch)));
  expect(packed.map(({ digest }) => digest)).toEqual(
    batches.map((batch) => createHash('sha256').update(bytesOf(batch)).digest('hex')),
  );
});

test('threads that start in one moment all start', { timeout: 60_000 }, async () => {
  const starting = Array.from({ length: 8 }, () => {
    const windows: PackWindows = [new SharedArrayBuffer(PACK_WINDOW_BYTES)];
    return new Worker(WORKER, { workerData: windows });
  });
  onTestFinished(async () => void (await Promise.all(starting.map((worker) => worker.terminate()))));
  const window: PackWindow = { index: 0, length: 10, lineEnds: [10], isLast: true, level: 1 };
  for (const worker of starting) worker.postMessage(window);
  const answers = await Promise.all(starting.map((worker) => once(worker, 'message')));
  expect(new Set(answers.map(([{ digests }]) => digests.digest)).size).toBe(1);
});

test('an abort ends the packing at once, and the next batch is packed all the same', async () => {
  const one = packer();
  const abort = new AbortController();
  const large = batchOf([textOf(30 * PACK_WINDOW_BYTES)]);
  const packing = one.pack(large, { signal: abort.signal, level: 9 });
  setTimeout(() => abort.abort(new Error('enough')), 50);
  await expect(packing).rejects.toThrow('enough');
  const batch = batchOf([textOf(2 * PACK_WINDOW_BYTES)]);
  expect((await one.pack(batch)).digest).toBe((await packBatch(batch)).digest);
});

test.each([
  ['that is not there', new URL('./no-such-thread.js', import.meta.url)],
  [
    'that ends in the middle',
    new URL(
      'data:text/javascript,import{parentPort}from"node:worker_threads";parentPort.once("message",()=>process.exit(3))',
    ),
  ],
  [
    'that throws',
    new URL(
      'data:text/javascript,import{parentPort}from"node:worker_threads";parentPort.once("message",()=>{throw new Error("no")})',
    ),
  ],
])('with a thread %s the lines are packed in this one', async (_, url) => {
  const batch = batchOf([textOf(8 * PACK_WINDOW_BYTES)]);
  const one = packer(1, url);
  for (let round = 0; round < 2; round += 1) {
    expect((await one.pack(batch)).digest).toBe((await packBatch(batch)).digest);
  }
});
