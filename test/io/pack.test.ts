/** The request body: digest, gzip, multipart framing (spec 06 section 2), and what it costs in copies. */
import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type PackOptions, packBatch } from '../../src/io/pack.js';
import { splitParts } from '../helpers/faulty-server.js';
import { batchOf, textOf } from '../helpers/lines.js';

async function pack(lines: readonly string[], options: PackOptions = {}) {
  const batch = batchOf(lines);
  const packed = await packBatch(batch, options);
  const boundary = packed.contentType.replace('multipart/form-data; boundary=', '');
  const parts = splitParts(Buffer.concat(packed.body), boundary);
  return { batch, packed, boundary, parts };
}

describe('parts', () => {
  test('metadata first, without a file name; traces second, gzip as a header of the part', async () => {
    const { parts, batch } = await pack(['{"id":"é"}', '{}']);
    expect(parts).toHaveLength(2);
    expect(parts[0]?.head.split('\r\n')).toEqual([
      'Content-Disposition: form-data; name="metadata"',
      'Content-Type: application/json',
    ]);
    expect(JSON.parse(String(parts[0]?.content))).toEqual({ schema_version: 1 });
    expect(parts[1]?.head.split('\r\n')).toEqual([
      'Content-Disposition: form-data; name="traces"; filename="traces.jsonl"',
      'Content-Type: application/x-ndjson',
      'Content-Encoding: gzip',
    ]);
    expect(gunzipSync(parts[1]?.content ?? '').toString()).toBe(textOf(batch));
  });

  test('a context travels in the metadata and changes no digest', async () => {
    const plain = await pack(['{}']);
    const { parts, packed } = await pack(['{}'], { context: { site: 'é"', step: '7' } });
    expect(JSON.parse(String(parts[0]?.content))).toEqual({ schema_version: 1, context: { site: 'é"', step: '7' } });
    expect(packed.digest).toBe(plain.packed.digest);
  });

  test('without compression there is no encoding header, and the lines themselves are the body', async () => {
    const { parts, packed, batch } = await pack(['{"id":"a"}'], { compress: 'none' });
    expect(parts[1]?.head).not.toContain('Content-Encoding');
    expect(parts[1]?.content.toString()).toBe(textOf(batch));
    expect(packed.body.some((slice) => slice.buffer === batch.lines[0]?.parts[0]?.buffer)).toBe(true);
  });

  test('gzip has mtime 0 and repeats to the byte; every boundary is new and has 192 bits', async () => {
    const [first, second] = [await pack(['{"id":"a"}']), await pack(['{"id":"a"}'])];
    expect(first.parts[1]?.content.subarray(4, 8)).toEqual(Buffer.alloc(4));
    expect(first.parts[1]?.content).toEqual(second.parts[1]?.content);
    expect(first.boundary).not.toBe(second.boundary);
    expect(first.boundary).toMatch(/^prl-[0-9a-f]{48}$/);
  });
});

test('digest and length are those of the exact bytes, for any lines and either encoding', async () => {
  const line = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ minLength: 300_000, maxLength: 600_000 }));
  await fc.assert(
    fc.asyncProperty(
      fc.array(line, { minLength: 1, maxLength: 5 }),
      fc.constantFrom('gzip', 'none'),
      async (lines, compress) => {
        const { packed, batch } = await pack(lines, { compress });
        expect(packed.digest).toBe(createHash('sha256').update(textOf(batch)).digest('hex'));
        expect(packed.bodyBytes).toBe(Buffer.concat(packed.body).length);
        expect(packed.format).toBe('episode');
      },
    ),
    { seed: 2, numRuns: 25 },
  );
});

test('the loop stays free while a large batch is packed', async () => {
  const line = `{"text":"${Buffer.alloc(1_500_000).fill('abc defg hij ').toString()}"}`;
  const batch = batchOf(Array.from({ length: 10 }, () => line));
  let ticks = 0;
  let isPacking = true;
  const tick = (): void => {
    ticks += 1;
    if (isPacking) setImmediate(tick);
  };
  setImmediate(tick);
  await packBatch(batch);
  isPacking = false;
  // 15 MB in slices of 256 KiB: other work gets its turn at least once a slice.
  expect(ticks).toBeGreaterThan(40);
});
