import { describe, expect, test } from 'vitest';
import { chunkName, listChunks, parseChunkName } from '../../../src/core/stream/chunk-names.js';

describe('parseChunkName', () => {
  test.each([
    ['00000.jsonl', { chunk: 0, isSealed: false }],
    ['00012.jsonl.zst', { chunk: 12, isSealed: true }],
    ['100000.jsonl', { chunk: 100_000, isSealed: false }],
    ['7.jsonl', { chunk: 7, isSealed: false }],
    ['9007199254740991.jsonl', { chunk: Number.MAX_SAFE_INTEGER, isSealed: false }],
    ['9007199254740993.jsonl', null],
    ['00001.jsonl.zst.tmp', null],
    ['notes.jsonl', null],
    ['00001.json', null],
    ['a00001.jsonl', null],
    ['00001.jsonl.gz', null],
    ['-1.jsonl', null],
    ['1.5.jsonl', null],
    ['.jsonl', null],
    ['00001.jsonl\n', null],
    ['٣.jsonl', null],
  ])('%j', (name, parsed) => {
    expect(parseChunkName(name)).toEqual(parsed);
  });
});

describe('listChunks', () => {
  test('sorts by number, not by name', () => {
    const { chunks } = listChunks(['100000.jsonl', '99999.jsonl.zst', '00002.jsonl', '00010.jsonl']);
    expect(chunks.map(({ chunk }) => chunk)).toEqual([2, 10, 99_999, 100_000]);
  });

  test('vector 4: plain and sealed, a lone leftover, a live chunk', () => {
    expect(listChunks(['00000.jsonl', '00000.jsonl.zst', '00001.jsonl.zst.tmp', '00002.jsonl'])).toEqual({
      chunks: [
        { chunk: 0, plain: '00000.jsonl', sealed: '00000.jsonl.zst' },
        { chunk: 2, plain: '00002.jsonl', sealed: null },
      ],
      holes: [{ first: 1, last: 1 }],
      leftovers: ['00001.jsonl.zst.tmp'],
      foreign: [],
      highest: 2,
    });
  });

  test('a leftover beyond all numbers counts for nothing', () => {
    expect(listChunks(['00000.jsonl', '99999999999999999999.jsonl.zst.tmp'])).toMatchObject({ highest: 0, holes: [] });
  });

  test.each([
    ['nothing', [], []],
    ['no gap', ['00000.jsonl', '00001.jsonl'], []],
    ['the first is missing', ['00001.jsonl'], [{ first: 0, last: 0 }]],
    ['several in a row', ['00000.jsonl', '00005.jsonl'], [{ first: 1, last: 4 }]],
    [
      'two gaps',
      ['00001.jsonl.zst', '00003.jsonl'],
      [
        { first: 0, last: 0 },
        { first: 2, last: 2 },
      ],
    ],
    ['a leftover above all chunks', ['00000.jsonl.zst', '00001.jsonl.zst.tmp'], [{ first: 1, last: 1 }]],
    ['a leftover beside its plain chunk', ['00000.jsonl', '00000.jsonl.zst.tmp'], []],
    ['a gap of a billion costs no memory', ['1000000000.jsonl'], [{ first: 0, last: 999_999_999 }]],
  ])('holes: %s', (_, names, holes) => {
    expect(listChunks(names).holes).toEqual(holes);
  });

  test('foreign names are set apart, and so is a second spelling of a number', () => {
    const listing = listChunks(['1.jsonl', '00001.jsonl', 'notes.jsonl', '.DS_Store', '00000.jsonl']);
    expect(listing.chunks).toEqual([
      { chunk: 0, plain: '00000.jsonl', sealed: null },
      { chunk: 1, plain: '00001.jsonl', sealed: null },
    ]);
    expect(listing.foreign).toEqual(['.DS_Store', '1.jsonl', 'notes.jsonl']);
  });
});

test.each([
  [0, '00000.jsonl'],
  [99_999, '99999.jsonl'],
  [100_000, '100000.jsonl'],
  [2 ** 53 - 1, '9007199254740991.jsonl'],
])('R-CHK-4: chunk %i is called %s', (chunk, name) => {
  expect(chunkName(chunk)).toBe(name);
  expect(parseChunkName(name)).toEqual({ chunk, isSealed: false });
});
