/** What of a budget is for batches: the threads that pack take their part of it (U7). */
import { expect, test } from 'vitest';
import { packingThreads, UploadMemory } from '../../../src/core/upload/upload-memory.js';

const MIB = 2 ** 20;

test.each([
  [16, 8, 1],
  [64, 8, 1],
  [128, 8, 2],
  [192, 8, 3],
  [256, 1, 1],
  [256, 2, 2],
  [256, 64, 4],
  [4096, 64, 4],
])('a budget of %d MiB on %d cores: %d threads', (budgetMib, cores, threads) => {
  expect(packingThreads(budgetMib * MIB, cores)).toBe(threads);
});

test.each([
  [1, 0],
  [2, 0],
  [3, 26],
  [4, 52],
])('%d threads leave all but %d MiB to batches, and the budget is told whole', (threads, takenMib) => {
  const budgetBytes = 256 * MIB;
  const of = (packingThreads: number): UploadMemory =>
    new UploadMemory({ budgetBytes, sharesLines: false, packingThreads });
  const takenBytes = takenMib * MIB;
  expect(of(threads).usage).toEqual({ usedBytes: takenBytes, budgetBytes, peakBytes: takenBytes });
  // A batch and a body as large as it must fit beside them.
  const mostOf = (memory: UploadMemory): number => memory.fitBatch(budgetBytes, () => {});
  expect(mostOf(of(1)) - mostOf(of(threads))).toBeCloseTo(takenBytes / 2.001, -1);
});
