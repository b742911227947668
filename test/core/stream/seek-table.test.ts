import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FrameMap } from '../../../src/core/stream/frame-map.js';
import {
  encodeSeekTable,
  parseSeekFooter,
  parseSeekTable,
  SEEK_FOOTER_BYTES,
} from '../../../src/core/stream/seek-table.js';
import { seekTable } from '../../helpers/seal.js';

const SEED = 20_264;
const SIZES = [
  { compressedBytes: 10, bytes: 100 },
  { compressedBytes: 20, bytes: 0 },
  { compressedBytes: 30, bytes: 50 },
];
const FRAMES_BYTES = 60;

function edited(change: (table: Buffer) => void, descriptor = 0): Buffer {
  const table = seekTable(SIZES, descriptor);
  change(table);
  return table;
}

describe('parseSeekTable', () => {
  test.each([
    ['8-byte entries', 0x00, 17 + 24],
    ['12-byte entries', 0x80, 17 + 36],
    ['bits that mean nothing are ignored', 0x03, 17 + 24],
  ])('vector 6: %s (descriptor %i)', (_, descriptor, tableBytes) => {
    const table = seekTable(SIZES, descriptor);
    const fileBytes = FRAMES_BYTES + table.length;
    expect(parseSeekFooter(table.subarray(-SEEK_FOOTER_BYTES), fileBytes)).toMatchObject({ ok: true, tableBytes });
    const parsed = parseSeekTable(table, fileBytes);
    if (!parsed.ok) throw new Error(parsed.reason);
    expect(parsed.frames.uncompressedBytes).toBe(150);
    expect([0, 1, 2].map((index) => parsed.frames.at(index))).toMatchObject([
      { compressedOffset: 0, compressedBytes: 10, offset: 0, bytes: 100 },
      { compressedOffset: 10, compressedBytes: 20, offset: 100, bytes: 0 },
      { compressedOffset: 30, compressedBytes: 30, offset: 100, bytes: 50 },
    ]);
    expect(parsed.frames.at(2).checksum).toBe(descriptor === 0x80 ? 3 : null);
  });

  test('vector 6: n = 0, the smallest file there is', () => {
    const parsed = parseSeekTable(seekTable([]), 17);
    if (!parsed.ok) throw new Error(parsed.reason);
    expect([parsed.frames.count, parsed.frames.uncompressedBytes, parsed.frames.find(0)]).toEqual([0, 0, null]);
  });

  test.each([0x04, 0x08, 0x10, 0x20, 0x40, 0x84])('vector 6: reserved bits of 0x%x refuse the table', (descriptor) => {
    const table = seekTable(SIZES, descriptor);
    expect(parseSeekTable(table, FRAMES_BYTES + table.length)).toMatchObject({ ok: false });
    expect(parseSeekFooter(table.subarray(-9), FRAMES_BYTES + table.length)).toEqual({
      ok: false,
      reason: `reserved bits set in descriptor 0x${descriptor.toString(16)}`,
    });
  });

  test.each([
    ['another seekable magic', edited((table) => table.writeUInt8(0, table.length - 1)), 'no seek table'],
    ['another skippable magic', edited((table) => table.writeUInt8(0x5d, 0)), 'magic 0x184d2a5d'],
    ['a frame size that is not its own', edited((table) => table.writeUInt32LE(34, 4)), 'frame size of 34'],
    ['a frame of no compressed bytes', edited((table) => table.writeUInt32LE(0, 16)), 'frame 1 of 0 compressed'],
    ['a frame over 1 GiB', edited((table) => table.writeUInt32LE(0x40000001, 12)), 'over the limit of 1073741824'],
    ['sizes that do not add up', edited((table) => table.writeUInt32LE(11, 8)), 'frames of 61 bytes'],
  ])('%s refuses the table', (_, table, reason) => {
    const parsed = parseSeekTable(table, FRAMES_BYTES + table.length);
    expect(parsed.ok).toBe(false);
    expect(!parsed.ok && parsed.reason).toContain(reason);
  });

  test.each([
    ['more frames than the file has room for', 1_000, 100, 'a table of 8017 bytes'],
    ['more frames than the format allows', 0x8000001, 2 ** 40, 'over the limit of 134217728'],
  ])('%s refuses the footer', (_, frames, fileBytes, reason) => {
    const footer = seekTable([]).subarray(-9);
    footer.writeUInt32LE(frames, 0);
    const parsed = parseSeekFooter(footer, fileBytes);
    expect(!parsed.ok && parsed.reason).toContain(reason);
  });

  test('a file shorter than a footer has none', () => {
    expect(parseSeekFooter(Buffer.alloc(8), 8)).toMatchObject({ ok: false });
  });

  test('one flipped bit never gives other frames than those of the file, silently', () => {
    const table = seekTable(SIZES, 0x80);
    const fileBytes = FRAMES_BYTES + table.length;
    for (let bit = 0; bit < table.length * 8; bit += 1) {
      const flipped = Buffer.from(table);
      flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7));
      const footer = parseSeekFooter(flipped.subarray(-9), fileBytes);
      const parsed = footer.ok && parseSeekTable(flipped.subarray(-footer.tableBytes), fileBytes);
      // What a table alone cannot tell is a wrong uncompressed size or checksum; the frame itself tells that.
      if (parsed !== false && parsed.ok) expect(parsed.frames.compressedBytes).toBe(FRAMES_BYTES);
    }
  });
});

describe('FrameMap', () => {
  test('finds the frame of every offset, empty frames passed over', () => {
    const sizes = fc.array(fc.record({ compressedBytes: fc.integer({ min: 1, max: 9 }), bytes: fc.nat(6) }), {
      maxLength: 12,
    });
    fc.assert(
      fc.property(sizes, (entries) => {
        const map = new FrameMap(entries.length, (index) => ({
          ...(entries[index] as (typeof entries)[0]),
          checksum: null,
        }));
        let offset = 0;
        entries.forEach(({ bytes }, index) => {
          for (let end = offset + bytes; offset < end; offset += 1) expect(map.find(offset)).toBe(index);
        });
        expect(map.uncompressedBytes).toBe(offset);
        expect([map.find(offset), map.find(-1)]).toEqual([null, null]);
      }),
      { seed: SEED, numRuns: 300 },
    );
  });

  test('offsets beyond 4 GiB stay exact', () => {
    const map = new FrameMap(10, () => ({ compressedBytes: 0xfffffff0, bytes: 0x3fffffff, checksum: null }));
    expect(map.at(9).compressedOffset).toBe(9 * 0xfffffff0);
    expect(map.find(9 * 0x3fffffff)).toBe(9);
    expect(map.find(9 * 0x3fffffff - 1)).toBe(8);
  });

  test.each([-1, 3, 1.5])('frame %d of 3 is refused', (index) => {
    const map = new FrameMap(3, () => ({ compressedBytes: 1, bytes: 1, checksum: null }));
    expect(() => map.at(index)).toThrow(RangeError);
  });
});

describe('encodeSeekTable', () => {
  test('writes the bytes of spec 03 section 5', () => {
    for (const sizes of [[], SIZES]) expect(encodeSeekTable(sizes)).toEqual(seekTable(sizes));
  });

  test('what it writes is read back', () => {
    const sizes = fc.array(
      fc.record({ compressedBytes: fc.integer({ min: 1, max: 2 ** 32 - 1 }), bytes: fc.nat(2 ** 30) }),
      { maxLength: 20 },
    );
    fc.assert(
      fc.property(sizes, (frames) => {
        const table = encodeSeekTable(frames);
        const compressed = frames.reduce((sum, { compressedBytes }) => sum + compressedBytes, 0);
        const parsed = parseSeekTable(table, compressed + table.length);
        if (!parsed.ok) throw new Error(parsed.reason);
        expect(frames.map((_, index) => parsed.frames.at(index))).toMatchObject(frames);
      }),
      { seed: SEED },
    );
  });
});
