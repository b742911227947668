/** Memory of lines that is used again: never while somebody reads it, never more of it than was agreed. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LineClassifier } from '../../../src/core/scan/classify.js';
import { LineFramer } from '../../../src/core/scan/framing.js';
import { LineMemory } from '../../../src/core/scan/line-memory.js';

const KIB = 1024;

test('what was given back is used for the next line that it is long enough for, the shortest first', () => {
  const memory = new LineMemory(10_000 * KIB);
  const lines = [1000, 120, 100, 110].map((kib) => memory.allocate(kib * KIB));
  for (const { lease } of lines) lease?.release();
  const [large, , shortest] = lines;
  expect(memory.allocate(99 * KIB).bytes.buffer).toBe(shortest?.bytes.buffer);
  expect(memory.allocate(990 * KIB).bytes.buffer).toBe(large?.bytes.buffer);
});

test('a line is not put into much more memory than it needs', () => {
  const memory = new LineMemory(10_000 * KIB);
  const large = memory.allocate(1000 * KIB);
  large.lease?.release();
  expect(memory.allocate(700 * KIB).bytes.buffer).not.toBe(large.bytes.buffer);
});

test('a short line has memory of its own, and nothing to give back', () => {
  const { bytes, lease } = new LineMemory(1000 * KIB).allocate(1000);
  expect([bytes.length, lease]).toEqual([1000, null]);
});

test('whatever is taken and given back, once or twice: nothing is shared by two who hold it, and the rest is bounded', () => {
  const mostFreeBytes = 1000 * KIB;
  const step = fc.oneof(
    fc.record({ take: fc.integer({ min: 60 * KIB, max: 300 * KIB }) }),
    fc.record({ give: fc.nat({ max: 20 }), times: fc.constantFrom(1, 2) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const memory = new LineMemory(mostFreeBytes);
      const held: { line: ReturnType<LineMemory['allocate']>; mark: number }[] = [];
      let mark = 0;
      for (const one of steps) {
        if ('take' in one) {
          mark = (mark + 1) % 256;
          const line = memory.allocate(one.take);
          expect(line.bytes.length).toBe(one.take);
          line.bytes.fill(mark);
          held.push({ line, mark });
        } else {
          const [given] = held.splice(one.give, 1);
          for (let time = 0; time < one.times; time += 1) given?.line.lease?.release();
        }
        expect(memory.freeBytes).toBeLessThanOrEqual(mostFreeBytes);
        for (const { line, mark: own } of held) expect(line.bytes[0] === own && line.bytes.at(-1) === own).toBe(true);
      }
    }),
    { numRuns: 100, seed: 5 },
  );
});

describe('lines framed into it', () => {
  test('are those of any pieces, also where memory is used again at once', () => {
    const memory = new LineMemory(1000 * KIB);
    const text = Array.from({ length: 12 }, (_, index) => `${String(index).repeat((index % 4) * 50_000 + 1)}\n`).join(
      '',
    );
    const framer = new LineFramer({ startOffset: 0, startLineNumber: 1, maxLineBytes: 1e6, memory });
    let out = '';
    const buffers = new Set<ArrayBufferLike>();
    for (let at = 0; at < text.length; at += 70_001) {
      for (const line of framer.push(Buffer.from(text.slice(at, at + 70_001)))) {
        out += String(line.bytes);
        if (line.lease != null && line.bytes !== null) buffers.add(line.bytes.buffer);
        line.lease?.release();
      }
    }
    expect(out === text).toBe(true);
    // Six lines are long, of four lengths.
    expect(buffers.size).toBe(4);
  });

  test('keep their lease as records, unless another record lies in the same memory', () => {
    const memory = new LineMemory(1000 * KIB);
    const episode = (id: string): string =>
      `{"id":"${id}","env":{"id":"e"},"ok":true,"errors":[],"x":"${'y'.repeat(70_000)}","traces":[]}`;
    const leasesOf = (text: string): boolean[] => {
      const framer = new LineFramer({ startOffset: 0, startLineNumber: 1, maxLineBytes: 1e6, memory });
      const classifier = new LineClassifier({ file: 'f', chunk: 0, lenient: false, maxLineBytes: 1e6 });
      return [...framer.push(Buffer.from(text))].flatMap((line) => {
        expect(line.lease).not.toBeNull();
        return classifier.classify(line).records.map((record) => record.lease != null);
      });
    };
    expect(leasesOf(`${episode('a')}\n`)).toEqual([true]);
    expect(leasesOf(`${episode('a')}${episode('b')}\n`)).toEqual([false, false]);
  });
});
