import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LineFramer } from '../../../src/core/scan/framing.js';
import type { FramedLine } from '../../../src/core/scan/types.js';

const SEED = 20_263;

type Seen = { offset: number; length: number; terminated: boolean; lineNumber: number; text: string | null };

function seen({ offset, length, terminated, lineNumber, bytes }: FramedLine): Seen {
  return { offset, length, terminated, lineNumber, text: bytes === null ? null : bytes.toString('latin1') };
}

/** Frames `input` cut into pieces that end at `cuts`; every piece is overwritten after its use, as a reader does. */
function frame(input: Buffer, cuts: readonly number[], maxLineBytes = 1_000_000): Seen[] {
  const framer = new LineFramer({ startOffset: 0, startLineNumber: 1, maxLineBytes });
  const lines: FramedLine[] = [];
  let start = 0;
  for (const end of [...cuts, input.length]) {
    const piece = Buffer.from(input.subarray(start, end));
    for (const line of framer.push(piece)) lines.push(line);
    piece.fill(0x23);
    start = end;
  }
  const last = framer.finish();
  return (last === null ? lines : [...lines, last]).map(seen);
}

/** The slow way: split at every LF and keep it. */
function expected(input: Buffer, maxLineBytes = 1_000_000): Seen[] {
  const lines: Seen[] = [];
  let offset = 0;
  for (const text of input.toString('latin1').split(/(?<=\n)/)) {
    if (text.length === 0) continue;
    const terminated = text.endsWith('\n');
    const isTooLong = text.length - (terminated ? 1 : 0) > maxLineBytes;
    lines.push({
      offset,
      length: text.length,
      terminated,
      lineNumber: lines.length + 1,
      text: isTooLong ? null : text,
    });
    offset += text.length;
  }
  return lines;
}

function cutsEvery(size: number, length: number): number[] {
  return Array.from({ length: Math.max(0, Math.ceil(length / size) - 1) }, (_, index) => (index + 1) * size);
}

const INPUTS: readonly (readonly [string, string])[] = [
  ['nothing', ''],
  ['one line', '{"a":1}\n'],
  ['no LF at the end', '{"a":1}\n{"b":2}'],
  ['only LFs', '\n\n\n'],
  ['CR is data', 'a\r\nb\rc\r\n\r'],
  ['multi-byte characters', '\u20ac\u00e9\u{1F600}\n\u20ac\n'],
  ['NUL and control bytes', '\0\0\n\u0001\u000b\u000c\u2028\n'],
  ['lines of many lengths', Array.from({ length: 40 }, (_, size) => 'x'.repeat(size * 7)).join('\n')],
  ['a line over the first buffer', `${'y'.repeat(200_000)}\nz\n${'w'.repeat(70_000)}`],
];

describe('LineFramer', () => {
  test.each(INPUTS)('frames %s alike in pieces of 1, 2, 3, 5 bytes and 64 KiB', (_, text) => {
    const input = Buffer.from(text);
    const whole = expected(input);
    expect(frame(input, [])).toEqual(whole);
    for (const size of [1, 2, 3, 5, 65_536]) expect(frame(input, cutsEvery(size, input.length))).toEqual(whole);
  });

  test.each(INPUTS.filter(([, text]) => text.length < 1_000))('frames %s alike when cut at each byte', (_, text) => {
    const input = Buffer.from(text);
    for (let cut = 0; cut <= input.length; cut += 1) expect(frame(input, [cut])).toEqual(expected(input));
  });

  test.each([
    ['at the cap', 4, 'abcd\nx\n', ['abcd\n', 'x\n']],
    ['CR counts', 4, 'abcd\r\nx\n', [null, 'x\n']],
    ['at the cap without LF', 4, 'x\nabcd', ['x\n', 'abcd']],
    ['over the cap without LF', 4, 'x\nabcde', ['x\n', null]],
    ['over the cap in the middle', 4, 'a\nbbbbbbbbb\nc\n', ['a\n', null, 'c\n']],
    ['over the cap first', 3, 'aaaa\nb\ncccc', [null, 'b\n', null]],
  ])('a line %s (cap %i) is told apart and costs its neighbours nothing', (_, cap, text, texts) => {
    const input = Buffer.from(text);
    for (const size of [1, 2, 3, 5, 65_536]) {
      const lines = frame(input, cutsEvery(size, input.length), cap);
      expect(lines.map((line) => line.text)).toEqual(texts);
      expect(lines).toEqual(expected(input, cap));
    }
  });

  test('holds no more than the cap of a line without end', () => {
    const framer = new LineFramer({ startOffset: 0, startLineNumber: 1, maxLineBytes: 1_000 });
    const piece = Buffer.alloc(1_048_576, 0x78);
    const before = process.memoryUsage().arrayBuffers;
    for (let count = 0; count < 512; count += 1) expect([...framer.push(piece)]).toEqual([]);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(4_000_000);
    const lines = [...framer.push(Buffer.from('\nnext\n'))].map(seen);
    expect(lines).toMatchObject([
      { offset: 0, length: 512 * 1_048_576 + 1, text: null },
      { offset: 512 * 1_048_576 + 1, lineNumber: 2, text: 'next\n' },
    ]);
  });

  test('the time for one line does not grow with the number of its pieces', () => {
    const framer = new LineFramer({ startOffset: 0, startLineNumber: 1, maxLineBytes: 67_108_864 });
    const piece = Buffer.alloc(64, 0x78);
    for (let count = 0; count < 500_000; count += 1) for (const line of framer.push(piece)) throw new Error(`${line}`);
    const line = framer.finish();
    expect(line?.length).toBe(32_000_000);
    expect(line?.bytes?.every((byte) => byte === 0x78)).toBe(true);
  });

  test('restarts behind what was given up, and counts it as a line', () => {
    const framer = new LineFramer({ startOffset: 0, startLineNumber: 1, maxLineBytes: 100 });
    expect([...framer.push(Buffer.from('a\nhalf'))].map(seen)).toMatchObject([{ offset: 0, text: 'a\n' }]);
    expect([framer.lineOffset, framer.offset, framer.lineNumber]).toEqual([2, 6, 2]);
    framer.restart(1_000);
    expect([...framer.push(Buffer.from('b\n'))].map(seen)).toMatchObject([
      { offset: 1_000, lineNumber: 3, text: 'b\n' },
    ]);
    framer.restart(framer.offset);
    expect(framer.lineNumber).toBe(4);
    framer.restart(5_000, 77);
    expect([...framer.push(Buffer.from('c\n'))].map(seen)).toMatchObject([{ offset: 5_000, lineNumber: 77 }]);
    expect(framer.finish()).toBeNull();
  });

  test('equals the slow split for random bytes and random cuts', () => {
    const bytes = fc
      .uint8Array({ maxLength: 200 })
      .map((array) => Buffer.from(array.map((byte) => (byte < 64 ? 10 : byte))));
    fc.assert(
      fc.property(bytes, fc.array(fc.nat(200), { maxLength: 8 }), fc.integer({ min: 1, max: 30 }), (input, at, cap) => {
        const cuts = at.map((cut) => Math.min(cut, input.length)).sort((a, b) => a - b);
        expect(frame(input, cuts, cap)).toEqual(expected(input, cap));
      }),
      { seed: SEED, numRuns: 1_000 },
    );
  });
});
