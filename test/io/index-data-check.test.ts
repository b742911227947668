/** A byte that is no longer what was indexed is found by `--check`, wherever it is (I6). */
import { mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { BLOCK_BYTES, BlockDigester, ChunkDigests } from '../../src/core/index/block-digests.js';
import { cutSegments } from '../../src/core/index/segments.js';
import type { ByteSource } from '../../src/core/scan/walker.js';
import { WasmWalker } from '../../src/core/scan/wasm-walker.js';
import { openRun } from '../../src/io/run.js';
import { type IndexTarget, RunIndex } from '../../src/io/run-index.js';
import { wasmModule } from '../../src/io/wasm-modules.js';
import { seededRandom } from '../helpers/generated-run.js';
import { seal } from '../helpers/seal.js';
import { shapeLines } from '../helpers/shapes.js';
import { tempFolder } from '../helpers/temp-folder.js';

const CONTENT = Buffer.concat([...shapeLines('C', 2.6 * BLOCK_BYTES)]);
let root = '';
let chunk = '';

beforeEach(() => {
  root = tempFolder();
  const stream = join(root, 'monitors/file/traces/stream');
  mkdirSync(stream, { recursive: true });
  chunk = join(stream, '00000.jsonl');
  writeFileSync(chunk, CONTENT);
  // A whole second, which can be set again exactly.
  utimesSync(chunk, 1_760_000_000, 1_760_000_000);
});

async function index(target: IndexTarget, startsOver = false) {
  const work = new RunIndex({
    run: await openRun(root),
    target,
    jobs: 1,
    tokens: 'auto',
    mode: null,
    isStrict: false,
    subset: 'all',
    startsOver,
    environment: { HOME: root },
    onNotice: () => {},
  });
  const { streams } = await work.run(new AbortController().signal);
  return streams[0];
}

const inPlace = () => index({ kind: 'in-place', isForced: true });
const check = async () => (await index({ kind: 'check', path: null }))?.check;

/** Flips a bit of a letter inside a text that no row reads, at or behind an offset. The time stamp stays. */
function flip(from: number): number {
  const bytes = readFileSync(chunk);
  const at = bytes.indexOf('"content":"', from) + '"content":"'.length + 2;
  bytes[at] = (bytes[at] as number) ^ 1;
  const { mtime } = statSync(chunk);
  writeFileSync(chunk, bytes);
  utimesSync(chunk, mtime, mtime);
  return at;
}

test('what is as it was has no difference', async () => {
  await inPlace();
  expect(await check()).toMatchObject({ ok: true, counts: {} });
});

test.each([0, 1_000_000, BLOCK_BYTES - 5000, BLOCK_BYTES, 2 * BLOCK_BYTES, 2.5 * BLOCK_BYTES])(
  'a bit flipped in a payload behind byte %i is found in its block',
  async (from) => {
    await inPlace();
    const block = Math.floor(flip(from) / BLOCK_BYTES) * BLOCK_BYTES;
    expect(await check()).toMatchObject({
      ok: false,
      counts: { changed_data: 1 },
      differences: [{ kind: 'changed_data', chunk: 0, offset: block }],
    });
  },
);

test('a chunk that grew or was sealed since is compared as far as it was indexed', async () => {
  writeFileSync(chunk, CONTENT.subarray(0, CONTENT.lastIndexOf(0x0a, 2.2 * BLOCK_BYTES) + 1));
  await inPlace();
  writeFileSync(chunk, CONTENT);
  expect((await check())?.counts.changed_data).toBeUndefined();
  // The rest is taken over from a mark in the middle of a block.
  expect((await inPlace())?.resumedBytes).toBeGreaterThan(2 * BLOCK_BYTES);
  flip(2.1 * BLOCK_BYTES);
  const changed = readFileSync(chunk);
  expect((await check())?.counts).toEqual({ changed_data: 1 });
  writeFileSync(`${chunk}.zst`, seal(changed));
  rmSync(chunk);
  expect((await check())?.counts).toEqual({ changed_data: 1 });
  writeFileSync(`${chunk}.zst`, seal(CONTENT));
  expect(await check()).toMatchObject({ ok: true });
});

test('what has changed is taken as it is by an indexing that starts over, and by no other', async () => {
  await inPlace();
  flip(BLOCK_BYTES);
  expect((await inPlace())?.resumedBytes).toBe(CONTENT.length);
  expect((await check())?.counts).toEqual({ changed_data: 1 });
  const over = await index({ kind: 'in-place', isForced: true }, true);
  expect(over).toMatchObject({ resumedBytes: 0, changed: false });
  expect(await check()).toMatchObject({ ok: true });
});

test('a run that was never indexed in place has no digests, and none are made for it', async () => {
  flip(0);
  expect((await check())?.counts.changed_data).toBeUndefined();
});

describe('digests of blocks', () => {
  const bytes = Buffer.from(Array.from({ length: 300_000 }, seededRandom(7)).map((value) => value * 256));
  const content = Buffer.concat(Array.from({ length: 45 }, () => bytes));

  /** Pulls segments of a chunk through a walker in pieces of changing length. */
  function digestsOf(data: Buffer, segmentBytes: number, seed: number): ChunkDigests {
    const digests = new ChunkDigests();
    const random = seededRandom(seed);
    for (const segment of cutSegments(data.length, segmentBytes)) {
      let at = segment.start;
      let digester: BlockDigester | null = null;
      const source: ByteSource = {
        read(target) {
          const read = Math.min(1 + Math.floor(random() * target.length), target.length, data.length - at);
          target.set(data.subarray(at, at + read));
          if (read > 0) digester?.add(target.subarray(0, read), at);
          at += read;
          return read;
        },
      };
      const walker = new WasmWalker(wasmModule('walker'), { sink: { beginRecord() {}, take() {} } });
      digester = new BlockDigester(walker.digest, segment, data.length);
      walker.reset(source, at);
      while (at < data.length) walker.skipLine();
      digests.add(digester.take());
    }
    return digests;
  }

  const whole = digestsOf(content, Number.POSITIVE_INFINITY, 1);

  test.each([BLOCK_BYTES, 2 * BLOCK_BYTES])('are the same in segments of %i bytes and pieces of any length', (size) => {
    for (let seed = 2; seed < 5; seed += 1) {
      expect(digestsOf(content, size, seed).text(content.length)).toBe(whole.text(content.length));
    }
  });

  test('differ for every single bit, for exchanged bytes and for moved ones', () => {
    const random = seededRandom(3);
    for (let round = 0; round < 40; round += 1) {
      const other = Buffer.from(content.subarray(0, BLOCK_BYTES));
      const at = Math.floor(random() * (BLOCK_BYTES - 200));
      if (round % 4 === 0) other.copyWithin(at, at + 64, at + 128);
      else if (round % 4 === 1)
        other.set(
          other.subarray(at + 64, at + 128).map((byte) => byte ^ 255),
          at,
        );
      else other[at] = (other[at] as number) ^ (1 << (round % 8));
      expect(digestsOf(other, Number.POSITIVE_INFINITY, 9).get(0)).not.toBe(whole.get(0));
    }
  });

  test('come back from their text', () => {
    const text = whole.text(content.length);
    expect(ChunkDigests.of(text).changedSince(whole, content.length, content.length)).toEqual([]);
    expect(ChunkDigests.of(text).text(content.length)).toBe(text);
  });
});
