/** What the TypeScript walker promises beyond the contract of all walkers, which walkers.test.ts tests. */
import { describe, expect, test } from 'vitest';
import { FIELD, UNIT_KEYS } from '../../../src/core/scan/record-tape.js';
import { TextWalker } from '../../../src/core/scan/text-walker.js';
import { KeyTable, Place, RECORD_MEMBERS } from '../../../src/core/scan/text-walker-plan.js';
import { type ByteSource, LINE } from '../../../src/core/scan/walker.js';
import { TapeReader } from '../../helpers/tape-reader.js';

describe('TextWalker', () => {
  test.each([0, 4095, 4096.5, -1, Number.NaN, Number.POSITIVE_INFINITY])(
    'refuses a window of %d bytes',
    (windowBytes) => {
      expect(() => new TextWalker({ sink: new TapeReader(), windowBytes })).toThrow(RangeError);
    },
  );

  test('has nothing to read before it is reset', () => {
    expect(new TextWalker({ sink: new TapeReader() }).next()).toBe(LINE.END);
  });

  test('takes its window in one read and reads a line of 200 MB in the memory it had before', () => {
    const tape = new TapeReader();
    const walker = new TextWalker({ sink: tape });
    const asked = new Set<number>();
    const source = repeatedNodes(200_000_000, (bytes) => asked.add(bytes));
    const before = process.memoryUsage();
    walker.reset(source, 0);
    expect(walker.next()).toBe(LINE.RECORD);
    const after = process.memoryUsage();
    expect(walker.lineEnd).toBeGreaterThan(200_000_000);
    expect(tape.items.at(-1)).toBe('UNIT_KEYS traces');
    expect([...asked]).toEqual([1_048_576]);
    expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(1_000_000);
  });
});

/** A record of about that many bytes, most of them in nodes of 40 kB, made as it is read. */
function repeatedNodes(lineBytes: number, onRead: (targetBytes: number) => void): ByteSource {
  const tokens = `[${'151643, 27,'.repeat(2000)}1]`;
  const text = 'a line of text,\\n and a quote \\" '.repeat(300);
  const node = Buffer.from(`{"parent":0,"message":{"role":"user","content":"${text}"},"token_ids":${tokens}},`);
  const parts = [Buffer.from('{"id":"long","traces":[{"nodes":[')];
  const times = Math.ceil(lineBytes / node.length);
  for (let index = 0; index < times; index += 1) parts.push(node);
  parts.push(Buffer.from('{}]}]}\n'));
  let part = 0;
  let position = 0;
  return {
    read(target) {
      onRead(target.length);
      let filled = 0;
      for (let from = parts[part]; from !== undefined && filled < target.length; from = parts[part]) {
        const count = Math.min(target.length - filled, from.length - position);
        target.set(from.subarray(position, position + count), filled);
        filled += count;
        position += count;
        if (position < from.length) continue;
        part += 1;
        position = 0;
      }
      return filled;
    },
  };
}

describe('KeyTable', () => {
  const find = (table: KeyTable, key: string): string | undefined =>
    table.find(Buffer.from(`${key}"`), 0, key.length)?.name;

  test.each(UNIT_KEYS.map((key, bit) => ({ key, bit })))('knows $key as bit $bit of the unit', ({ key, bit }) => {
    expect(RECORD_MEMBERS.find(Buffer.from(`${key}"`), 0, key.length)?.unitBit).toBe(1 << bit);
  });

  test('finds every key also when all share a slot', () => {
    const names = ['ab0', 'ab1', 'ab2', 'ab3'];
    const table = new KeyTable(Object.fromEntries(names.map((name) => [name, new Place(FIELD.ID)])));
    expect(names.map((name) => find(table, name))).toEqual(names);
    expect(find(table, 'ab4')).toBeUndefined();
    expect(find(table, 'a')).toBeUndefined();
    expect(find(table, '')).toBeUndefined();
  });
});
