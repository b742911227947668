import { describe, expect, test } from 'vitest';
import { planResume } from '../../../src/core/stream/resume-plan.js';

const plain = (chunk: number) => ({ chunk, name: `${String(chunk).padStart(5, '0')}.jsonl` });

describe('where a writer goes on (spec 03 section 3)', () => {
  test.each([
    ['nothing', [], { live: null, next: 0, unsealed: [] }],
    ['the highest is plain', ['00000.jsonl.zst', '00001.jsonl'], { live: plain(1), next: 2, unsealed: [] }],
    ['the highest is plain and sealed', ['00001.jsonl', '00001.jsonl.zst'], { live: plain(1), next: 2, unsealed: [] }],
    ['the highest is sealed', ['00000.jsonl.zst', '00001.jsonl.zst'], { live: null, next: 2, unsealed: [] }],
    [
      'B04: the highest is a leftover',
      ['00000.jsonl', '00001.jsonl.zst.tmp'],
      { live: null, next: 2, unsealed: [plain(0)] },
    ],
    [
      'a leftover of the highest plain one',
      ['00001.jsonl', '00001.jsonl.zst.tmp'],
      { live: plain(1), next: 2, unsealed: [] },
    ],
    [
      'vector 4: lower ones that were not sealed',
      ['00000.jsonl', '00000.jsonl.zst', '00001.jsonl.zst.tmp', '00002.jsonl'],
      { live: plain(2), next: 3, unsealed: [plain(0)] },
    ],
    [
      'B05: names that are no chunks',
      ['notes.jsonl', '00007.jsonl.bak', '.DS_Store'],
      { live: null, next: 0, unsealed: [] },
    ],
    [
      'number order, not name order',
      ['100000.jsonl', '99999.jsonl'],
      { live: plain(100_000), next: 100_001, unsealed: [plain(99_999)] },
    ],
    ['a number that is spelled short', ['3.jsonl'], { live: { chunk: 3, name: '3.jsonl' }, next: 4, unsealed: [] }],
  ])('%s', (_, names, plan) => {
    expect(planResume(names)).toEqual(plan);
  });
});
