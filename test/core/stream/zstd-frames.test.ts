import { constants, zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import {
  BLOCK_HEADER_BYTES,
  isZstd,
  parseBlockHeader,
  parseFrameHeader,
} from '../../../src/core/stream/zstd-frames.js';
import { seekTable } from '../../helpers/seal.js';

const MAGIC = [0x28, 0xb5, 0x2f, 0xfd];

/** Length of the frame that begins `bytes`, by the headers alone. */
function frameBytes(bytes: Buffer): number {
  const header = parseFrameHeader(bytes);
  if (header.kind !== 'zstd') throw new Error(header.kind);
  let at = header.headerBytes;
  for (;;) {
    const block = parseBlockHeader(bytes.subarray(at));
    if (!block.ok) throw new Error(block.reason);
    at += BLOCK_HEADER_BYTES + block.bodyBytes;
    if (block.isLast) return at + (header.hasChecksum ? 4 : 0);
  }
}

const random = Buffer.from(Array.from({ length: 300_000 }, (_, index) => (index * 2_654_435_761) >>> 11));

describe('zstd frames', () => {
  test.each([
    ['empty', Buffer.alloc(0)],
    ['one byte', Buffer.from('x')],
    ['255 bytes, one-byte size', Buffer.alloc(255, 'ab')],
    ['256 bytes, two-byte size counted from 256', Buffer.alloc(256, 'ab')],
    ['65 792 bytes, four-byte size', Buffer.alloc(65_792, 'ab')],
    ['many blocks', Buffer.alloc(700_000, 'abcdefg')],
    ['a run, RLE blocks', Buffer.alloc(700_000)],
    ['incompressible, raw blocks', random],
  ])('the headers give the exact length and content size of a real frame: %s', (_, content) => {
    for (const checksum of [0, 1]) {
      for (const sizeFlag of [0, 1]) {
        const params = { [constants.ZSTD_c_checksumFlag]: checksum, [constants.ZSTD_c_contentSizeFlag]: sizeFlag };
        const frame = zstdCompressSync(content, { params });
        const header = parseFrameHeader(frame);
        expect(header).toMatchObject({ kind: 'zstd', hasChecksum: checksum === 1 });
        if (header.kind === 'zstd') expect(header.contentBytes).toBe(sizeFlag === 1 ? content.length : null);
        expect(frameBytes(Buffer.concat([frame, Buffer.from('behind')]))).toBe(frame.length);
      }
    }
  });

  test.each([
    ['eight-byte content size', [...MAGIC, 0xc0, 0x58, 1, 0, 0, 0, 1, 0, 0, 0], 2 ** 32 + 1, 14],
    ['single segment, one-byte size', [...MAGIC, 0x20, 7], 7, 6],
    ['a one-byte dictionary id', [...MAGIC, 0x21, 9, 7], 7, 7],
    ['a four-byte dictionary id', [...MAGIC, 0x03, 0x58, 1, 2, 3, 4], null, 10],
  ])('header forms: %s', (_, bytes, contentBytes, headerBytes) => {
    expect(parseFrameHeader(Buffer.from(bytes))).toEqual({
      kind: 'zstd',
      headerBytes,
      contentBytes,
      hasChecksum: false,
    });
    for (let cut = 0; cut < headerBytes; cut += 1) {
      expect(parseFrameHeader(Buffer.from(bytes.slice(0, cut)))).toEqual({ kind: 'short' });
    }
  });

  test.each([0x50, 0x57, 0x5e, 0x5f])('a skippable frame of magic 0x184d2a%x is passed over', (low) => {
    const frame = Buffer.from([low, 0x2a, 0x4d, 0x18, 0x0a, 0, 0, 0]);
    expect(parseFrameHeader(frame)).toEqual({ kind: 'skippable', frameBytes: 18 });
    expect(parseFrameHeader(frame.subarray(0, 7))).toEqual({ kind: 'short' });
    expect(isZstd(frame)).toBe(true);
  });

  test.each([
    ['JSON', Buffer.from('{"a":1}\n')],
    ['a magic one off', Buffer.from([0x60, 0x2a, 0x4d, 0x18, 0, 0, 0, 0])],
    ['the reserved header bit', Buffer.from([...MAGIC, 0x08, 0x58, 0, 0])],
  ])('%s is no frame', (_, bytes) => {
    expect(parseFrameHeader(bytes)).toMatchObject({ kind: 'invalid' });
  });

  test('block headers: reserved type refused, RLE has one byte of body', () => {
    expect(parseBlockHeader(Buffer.from([0x07, 0, 0]))).toMatchObject({ ok: false });
    expect(parseBlockHeader(Buffer.from([0x03, 0x10, 0]))).toEqual({ ok: true, isLast: true, bodyBytes: 1 });
    expect(parseBlockHeader(Buffer.from([0x04, 0x10, 0]))).toEqual({ ok: true, isLast: false, bodyBytes: 512 });
  });

  test('content tells zstd from text', () => {
    expect(isZstd(zstdCompressSync(Buffer.from('x')))).toBe(true);
    expect(isZstd(seekTable([]))).toBe(true);
    for (const text of ['', '{"a', '{"a":1}']) expect(isZstd(Buffer.from(text))).toBe(false);
  });
});
