/** The rate of an indexing, its remaining time, and the plain lines made of them (demands X1, C6, C7). */
import { describe, expect, test } from 'vitest';
import { terminalFormat } from '../../src/cli/format.js';
import { indexIntro, indexLine } from '../../src/cli/index-lines.js';
import { IndexMeter } from '../../src/cli/index-meter.js';
import type { IndexSnapshot } from '../../src/core/snapshot.js';
import { indexProgressWith, indexSnapshotWith } from '../helpers/index-outcome.js';

const MIB = 2 ** 20;

function setUp(first: Partial<IndexSnapshot> = {}) {
  const state = { nowMs: 5000, snapshot: indexSnapshotWith({ bytes: 0, totalBytes: 100 * MIB, ...first }) };
  const meter = new IndexMeter({
    read: () => state.snapshot,
    nowMs: () => state.nowMs,
    wallMs: () => 1_000_000 + state.nowMs,
  });
  return (nowMs: number, change: Partial<IndexSnapshot>) => {
    state.nowMs = nowMs;
    state.snapshot = { ...state.snapshot, ...change };
    return meter.progress();
  };
}

describe('IndexMeter', () => {
  test('nothing read, nothing known', () => {
    expect(setUp()(6000, {})).toMatchObject({
      bytesPerSecond: null,
      remainingMs: null,
      elapsedMs: 1000,
      takenAtMs: 1_006_000,
    });
  });

  test('the first figure grows from the beginning', () => {
    const progress = setUp()(7000, { bytes: 20 * MIB });
    expect(progress.bytesPerSecond).toBeCloseTo(10 * MIB, 5);
    expect(progress.remainingMs).toBeCloseTo(8000, 5);
  });

  test('the same rate however often it is asked', () => {
    const often = setUp();
    for (let nowMs = 5000; nowMs < 15_000; nowMs += 100) often(nowMs, { bytes: ((nowMs - 5000) / 1000) * MIB });
    for (const at of [often, setUp()]) {
      expect(at(15_000, { bytes: 10 * MIB }).bytesPerSecond).toBeCloseTo(MIB, 5);
    }
  });

  test('without a total the end is not known, and what grew past it is at its end', () => {
    expect(setUp({ totalBytes: null })(7000, { bytes: MIB }).remainingMs).toBeNull();
    expect(setUp()(7000, { bytes: 101 * MIB }).remainingMs).toBe(0);
  });

  test('a stall shows as a falling rate, and after a minute as none', () => {
    const at = setUp();
    at(6000, { bytes: 60 * MIB });
    expect(at(35_000, {}).bytesPerSecond).toBeCloseTo((60 * MIB) / 30, 5);
    for (let nowMs = 36_000; nowMs <= 70_000; nowMs += 1000) at(nowMs, {});
    expect(at(71_000, {}).bytesPerSecond).toBeNull();
  });
});

describe('plain lines', () => {
  const format = terminalFormat({ ascii: true });

  test('the same figures as the view', () => {
    expect(indexLine(indexProgressWith({ damaged: 3 }), format)).toBe(
      '12:03:40 index  1.42 GiB/2.31 GiB  612 MiB/s  789 records  damaged 3  2 threads  eta 0:02',
    );
  });

  test('what is not known is not shown', () => {
    const unknown = { totalBytes: null, bytesPerSecond: null, remainingMs: null, threads: 1, episodes: 1 };
    expect(indexLine(indexProgressWith({ ...unknown, work: 'rows' }), format)).toBe(
      '12:03:40 rows  1.42 GiB  -  1 record  damaged 0  1 thread  eta -',
    );
  });

  test.each([
    ['index', null, 'indexing a\\nb: 5 MiB in 2 chunks'],
    ['index', 'x\u001b.idx', 'indexing a\\nb into x\\u001b.idx: 5 MiB in 2 chunks'],
    ['check', null, 'checking the index of a\\nb: 5 MiB in 2 chunks'],
    ['check', 'x.idx', 'checking x.idx against a\\nb: 5 MiB in 2 chunks'],
    ['rows', null, 'writing the rows of a\\nb: 5 MiB in 2 chunks'],
  ] as const)('the first line says what is about to be done: %s, %s', (work, out, text) => {
    expect(indexIntro({ work, run: 'a\nb', chunks: 2, bytes: 5 * MIB, out }, format)).toBe(text);
  });

  test('a size that only reading tells is not made up', () => {
    expect(indexIntro({ work: 'rows', run: 'standard input', chunks: 1, bytes: null, out: null }, format)).toBe(
      'writing the rows of standard input: 1 chunk of unknown size',
    );
  });
});
