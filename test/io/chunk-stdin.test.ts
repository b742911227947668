import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { ChunkSource } from '../../src/io/chunk-source.js';
import { openStdin } from '../../src/io/chunk-stdin.js';
import { seal } from '../helpers/seal.js';

const CONTENT = Buffer.from(Array.from({ length: 500 }, (_, index) => `{"n":${index},"s":"\u20ac"}\n`).join(''));

/** A stream that hands over `bytes` in parts of `partBytes`, as a pipe may. */
function inParts(bytes: Buffer, partBytes: number): Readable {
  const count = Math.ceil(bytes.length / partBytes);
  return Readable.from(
    Array.from({ length: count }, (_, index) => bytes.subarray(index * partBytes, (index + 1) * partBytes)),
    { objectMode: false },
  );
}

async function collect(source: ChunkSource, start = 0, end = Number.POSITIVE_INFINITY): Promise<Buffer> {
  const parts: Buffer[] = [];
  let expected = start;
  for await (const piece of source.pieces(start, end)) {
    if (piece.kind !== 'bytes') throw new Error(piece.reason);
    expect(piece.offset).toBe(expected);
    expected += piece.bytes.length;
    parts.push(Buffer.from(piece.bytes));
  }
  return Buffer.concat(parts);
}

// A temporary directory of its own: other tests spool into the common one at the same time.
const folder = mkdtempSync(join(tmpdir(), 'prl-test-'));
beforeAll(() => {
  vi.stubEnv('TMPDIR', folder);
});
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

function spooled(): string[] {
  return readdirSync(folder);
}

describe('openStdin', () => {
  test.each([
    ['nothing has come', ''],
    ['half a line has come', '{"id":'],
  ])('an abort ends the wait for more when %s', async (_name, text) => {
    const controller = new AbortController();
    const input = new PassThrough();
    input.write(text);
    const reading = (async () => {
      const source = await openStdin(input, controller.signal);
      for await (const _piece of source.pieces(0, Number.POSITIVE_INFINITY, controller.signal));
    })();
    await new Promise((resolve) => setImmediate(resolve));
    const reason = new Error('stopped');
    controller.abort(reason);
    await expect(reading).rejects.toBe(reason);
    expect(input.destroyed).toBe(true);
  });

  test.each([1, 2, 3, 5, 4_096])('plain input in parts of %i bytes comes out as it went in', async (partBytes) => {
    const source = await openStdin(inParts(CONTENT, partBytes));
    expect(source.uncompressedBytes).toBeNull();
    expect((await collect(source)).equals(CONTENT)).toBe(true);
    await source.close();
  });

  test('a range of plain input', async () => {
    const source = await openStdin(inParts(CONTENT, 100));
    expect((await collect(source, 250, 1_001)).equals(CONTENT.subarray(250, 1_001))).toBe(true);
    await source.close();
  });

  test.each([
    ['with a seek table', true, CONTENT.length],
    ['without one', false, null],
  ])('compressed input %s is spooled, read frame by frame, and cleaned up', async (_, hasTable, uncompressedBytes) => {
    const before = spooled();
    const source = await openStdin(inParts(seal(CONTENT, { frameBytes: 1_000, hasTable }), 7));
    expect(source.uncompressedBytes).toBe(uncompressedBytes);
    expect(spooled()).toHaveLength(before.length + 1);
    expect((await collect(source)).equals(CONTENT)).toBe(true);
    await source.close();
    expect(spooled()).toEqual(before);
  });

  test.each(['', '\n', '{}'])('input of %j, shorter than a magic number, is plain', async (text) => {
    const source = await openStdin(inParts(Buffer.from(text), 10));
    expect((await collect(source)).toString()).toBe(text);
    await source.close();
  });

  test('an abort ends the reading', async () => {
    const source = await openStdin(inParts(CONTENT, 10));
    const controller = new AbortController();
    const reading = (async () => {
      for await (const _ of source.pieces(0, Number.POSITIVE_INFINITY, controller.signal))
        controller.abort(new Error('stop'));
    })();
    await expect(reading).rejects.toThrow('stop');
    await source.close();
  });

  test('a spool that fails leaves nothing behind', async () => {
    const before = spooled();
    const failing = Readable.from(
      (async function* () {
        yield seal(CONTENT).subarray(0, 50);
        throw new Error('the pipe broke');
      })(),
      { objectMode: false },
    );
    await expect(openStdin(failing)).rejects.toThrow('the pipe broke');
    expect(spooled()).toEqual(before);
  });
});
