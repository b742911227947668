import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { decodeFrame, describeFrameError, streamFrame } from '../../src/io/chunk-decode.js';
import { type WalkedFrame, walkFrames } from '../../src/io/chunk-frames.js';
import { compressFrames, seal, seekTable } from '../helpers/seal.js';
import { tempFolder } from '../helpers/temp-folder.js';

const CONTENT = Buffer.from('0123456789abcdef'.repeat(1_000));
const FRAMES = compressFrames(CONTENT, { frameBytes: 4_000 });

async function withFile<T>(bytes: Buffer, use: (handle: Awaited<ReturnType<typeof open>>) => Promise<T>): Promise<T> {
  const path = join(tempFolder(), 'c.zst');
  writeFileSync(path, bytes);
  const handle = await open(path, 'r');
  try {
    return await use(handle);
  } finally {
    await handle.close();
  }
}

async function walk(bytes: Buffer, fileBytes = bytes.length): Promise<WalkedFrame[]> {
  return withFile(bytes, async (handle) => {
    const frames: WalkedFrame[] = [];
    for await (const frame of walkFrames(handle, fileBytes)) frames.push(frame);
    return frames;
  });
}

describe('walkFrames (vector 7)', () => {
  const [first, second] = FRAMES as [Buffer, Buffer];
  const skippable = Buffer.from([0x51, 0x2a, 0x4d, 0x18, 5, 0, 0, 0, 1, 2, 3, 4, 5]);

  test('finds every frame, skippable ones and a seek table passed over', async () => {
    const found = await walk(Buffer.concat([skippable, first, skippable, skippable, second, seekTable([])]));
    expect(found).toEqual([
      { kind: 'frame', compressedOffset: 13, compressedBytes: first.length, bytes: 4_000 },
      { kind: 'frame', compressedOffset: 39 + first.length, compressedBytes: second.length, bytes: 4_000 },
    ]);
  });

  test('an empty file and one of skippable frames hold none', async () => {
    expect(await walk(Buffer.alloc(0))).toEqual([]);
    expect(await walk(Buffer.concat([skippable, skippable]))).toEqual([]);
  });

  test.each([
    ['garbage', Buffer.from('garbage behind the frame'), 'where a zstd frame begins'],
    ['three bytes', Buffer.from([0x28, 0xb5, 0x2f]), 'the file ends inside a frame header'],
    ['a header without blocks', second.subarray(0, 7), 'the file ends inside a frame'],
    ['a frame cut short', second.subarray(0, -1), 'the file ends inside a frame'],
    ['a skippable frame cut short', skippable.subarray(0, -1), 'the file ends inside a frame header'],
    ['a block of the reserved type', Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0x58, 0x07, 0, 0]), 'reserved type'],
  ])('%s ends the walk with its reason, behind the frames that are whole', async (_, tail, reason) => {
    const [frame, broken] = await walk(Buffer.concat([first, tail]));
    expect(frame).toMatchObject({ kind: 'frame', compressedBytes: first.length });
    expect(broken).toMatchObject({ kind: 'broken', compressedOffset: first.length });
    expect(broken?.kind === 'broken' && broken.reason).toContain(reason);
  });

  test('a file that shrank under the walk ends it', async () => {
    const found = await walk(first, first.length + 100);
    expect(found[1]).toMatchObject({ kind: 'broken', reason: '0x00000000 where a zstd frame begins' });
  });
});

describe('one frame', () => {
  const frame = (compressedBytes: number, compressedOffset = 0) => ({ compressedOffset, compressedBytes });

  async function streamed(bytes: Buffer, range: ReturnType<typeof frame>, expected: number | null): Promise<Buffer> {
    return withFile(bytes, async (handle) => {
      const parts: Buffer[] = [];
      for await (const part of streamFrame(handle, range, expected)) parts.push(part);
      return Buffer.concat(parts);
    });
  }

  test('a frame larger than every buffer on its way is streamed with back-pressure', async () => {
    const content = randomBytes(9_000_000);
    const sealed = seal(content, { frameBytes: content.length, hasTable: false });
    expect((await streamed(sealed, frame(sealed.length), content.length)).equals(content)).toBe(true);
    expect((await streamed(sealed, frame(sealed.length), null)).equals(content)).toBe(true);
  });

  test('left early, it stops reading and closes', async () => {
    const content = randomBytes(9_000_000);
    const sealed = seal(content, { frameBytes: content.length, hasTable: false });
    await withFile(sealed, async (handle) => {
      for await (const part of streamFrame(handle, frame(sealed.length), null)) {
        expect(part.equals(content.subarray(0, part.length))).toBe(true);
        break;
      }
    });
  });

  test.each([
    ['cut short', (bytes: Buffer) => bytes.subarray(0, -20), 4_000, /cut short/],
    ['more than announced', (bytes: Buffer) => bytes, 3_999, /it holds 4000 bytes where 3999 are announced/],
    ['far more than announced', (bytes: Buffer) => bytes, 10, /it holds more bytes than announced/],
    ['less than announced', (bytes: Buffer) => bytes, 4_001, /it holds 4000 bytes where 4001 are announced/],
    ['no frame', () => Buffer.from('this is not zstd at all'), 10, /ZSTD_error_prefix_unknown/],
  ])('%s is refused with its reason', async (_, damage, expectedBytes, reason) => {
    const bytes = damage(FRAMES[0] as Buffer);
    await withFile(bytes, async (handle) => {
      const failure: unknown = await decodeFrame(handle, frame(bytes.length), expectedBytes).catch(
        (error: unknown) => error,
      );
      expect(describeFrameError(failure)).toMatch(reason);
    });
  });

  test('beyond the end of the file', async () => {
    const bytes = FRAMES[0] as Buffer;
    const range = frame(bytes.length, 50);
    const reason = 'the file ends inside the frame';
    await withFile(bytes, (handle) => expect(decodeFrame(handle, range, 4_000)).rejects.toThrow(reason));
    await expect(streamed(bytes, frame(10, bytes.length), null)).rejects.toThrow(reason);
  });

  test('only its own bytes are read: what follows a frame changes nothing', async () => {
    const [first, second] = FRAMES as [Buffer, Buffer];
    const bytes = Buffer.concat([first, second]);
    expect((await streamed(bytes, frame(first.length), 4_000)).equals(CONTENT.subarray(0, 4_000))).toBe(true);
    await withFile(bytes, async (handle) => {
      const content = await decodeFrame(handle, frame(second.length, first.length), 4_000);
      expect(content.equals(CONTENT.subarray(4_000, 8_000))).toBe(true);
    });
  });
});
