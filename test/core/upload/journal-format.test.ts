/** U5: whatever happens to the bytes of a journal, only facts that were written come out, and never a throw. */
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  decodeJournal,
  encodeEntry,
  encodeHeader,
  type JournalEntry,
} from '../../../src/core/upload/journal-format.js';

const entries: JournalEntry[] = [
  { kind: 'destination', to: 'k', destination: { baseUrl: 'http://h', teamId: null, context: { a: 'é' }, stamp: 'r' } },
  {
    kind: 'planned',
    to: 'k',
    range: {
      file: '0',
      start: 0,
      end: 10,
      physicalLines: 1,
      format: 'episode',
      lines: 1,
      sentBytes: 10,
      digest: 'd',
      tail: 'dGFpbA==',
      lineDigests: 'abcdefghijklmnop',
    },
  },
  {
    kind: 'stored',
    to: 'k',
    range: {
      file: '0',
      start: 10,
      end: 40,
      physicalLines: 3,
      format: 'trace',
      lines: 2,
      sentBytes: 20,
      digest: 'd',
      tail: 'dGFpbA==',
      lineDigests: 'abcdefghijklmnopabcdefghijklmnop',
      islands: [
        [10, 20, 1],
        [30, 40, 1],
      ],
    },
  },
  {
    kind: 'rejected',
    to: 'k',
    file: 'a/b.jsonl',
    line: {
      chunk: 0,
      offset: 10,
      length: 5,
      byteLength: 5,
      lineNumber: 2,
      id: null,
      code: 'c',
      message: 'why',
      digest: null,
    },
  },
  { kind: 'forgotten', to: 'k', file: '0' },
];
const parts = [encodeHeader(crc32), ...entries.map((entry) => encodeEntry(entry, crc32))];
const journal = Buffer.concat(parts);
/** Offsets at which a whole number of records ends. */
const boundaries = parts.map((_part, index) => Buffer.concat(parts.slice(0, index + 1)).length);

test('what was written is read back', () => {
  expect(decodeJournal(journal, crc32)).toEqual({ state: 'intact', entries, validBytes: journal.length, reason: '' });
});

test('cut at every offset: the whole records before it stand, the rest is a torn tail', () => {
  for (let length = 0; length <= journal.length; length += 1) {
    const decoded = decodeJournal(journal.subarray(0, length), crc32);
    const whole = boundaries.filter((boundary) => boundary <= length).length;
    expect(decoded.entries).toEqual(entries.slice(0, Math.max(0, whole - 1)));
    expect(decoded.validBytes).toBe(whole === 0 ? 0 : boundaries[whole - 1]);
    expect(decoded.state).toBe(length === 0 || boundaries.includes(length) ? 'intact' : 'torn');
  }
});

test('every byte flipped in every bit: a prefix stands, nothing false comes out', () => {
  for (let at = 0; at < journal.length; at += 1) {
    for (let bit = 0; bit < 8; bit += 1) {
      const damaged = Buffer.from(journal);
      damaged[at] = (damaged[at] ?? 0) ^ (1 << bit);
      const decoded = decodeJournal(damaged, crc32);
      const whole = boundaries.filter((boundary) => boundary <= at).length;
      expect(decoded.entries).toEqual(entries.slice(0, Math.max(0, whole - 1)));
      expect(decoded.state).not.toBe('intact');
    }
  }
});

test('a tail of zeros, as a power loss leaves it, is torn at every offset', () => {
  for (let length = 0; length <= journal.length; length += 7) {
    const padded = Buffer.concat([journal.subarray(0, length), Buffer.alloc(4096)]);
    const decoded = decodeJournal(padded, crc32);
    const whole = boundaries.filter((boundary) => boundary <= length).length;
    expect(decoded.entries).toEqual(entries.slice(0, Math.max(0, whole - 1)));
    expect(boundaries.includes(length) || length === 0 ? decoded.state : 'torn').toBe('torn');
  }
});

describe('not ours', () => {
  test.each([
    ['text', Buffer.from('hello, this is some other file altogether\n')],
    ['a later version', withVersion(2)],
    ['version 0', withVersion(0)],
  ])('%s is foreign', (_name, bytes) => {
    expect(decodeJournal(bytes, crc32)).toMatchObject({ state: 'foreign', entries: [], validBytes: 0 });
  });

  test('the version is named', () => {
    expect(decodeJournal(withVersion(2), crc32).reason).toBe('version 2, known is 1');
  });

  function withVersion(version: number): Buffer {
    const header = encodeHeader(crc32);
    header.writeUInt32LE(version, 8);
    header.writeUInt32LE(crc32(header.subarray(0, 12)), 12);
    return Buffer.concat([header, journal.subarray(16)]);
  }
});

test('no bytes make it throw or loop', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.boolean(), (noise, startsWell) => {
      const decoded = decodeJournal(
        Buffer.concat([startsWell ? journal.subarray(0, 16) : Buffer.alloc(0), noise]),
        crc32,
      );
      expect(decoded.validBytes).toBeLessThanOrEqual(noise.length + 16);
    }),
    { seed: 5, numRuns: 500 },
  );
});
