/** Episodes that arrived at an earlier step than one before them (I12), however the rows come in. */
import { describe, expect, test } from 'vitest';
import { NO_STEPS, StepOrder } from '../../../src/core/index/step-order.js';

const NONE = Number.NaN;
const STEPS = [3, NONE, 3, 5, 4, NONE, 5, 7, 0, 6, 7, -1, 8];
const ROWS = STEPS.map((_, row) => row);
const FOUND = {
  count: 4,
  first: [
    { line: 5, step: 4, after: 5 },
    { line: 9, step: 0, after: 7 },
    { line: 10, step: 6, after: 7 },
    { line: 12, step: -1, after: 7 },
  ],
};

/** The steps in batches of `size` rows, with an empty batch behind each. */
function ordered(steps: readonly number[], size = steps.length, mostListed = 1000): StepOrder {
  const order = new StepOrder(mostListed);
  for (let row = 0; row < steps.length; row += size) {
    order.add(Float64Array.from(steps.slice(row, row + size)), row + 1);
    order.add(new Float64Array(0), row + 1 + size);
  }
  return order;
}

describe('StepOrder', () => {
  test.each([1, 2, 3, 5, 13])('finds the same in batches of %i', (size) => {
    const order = ordered(STEPS, size);
    expect(order.found).toEqual(FOUND);
    expect(order.soFar).toEqual({ largestStep: 8, outOfOrder: 4 });
    expect(order.beforeLast).toEqual({ largestStep: 7, outOfOrder: 4 });
  });

  test('counts what it does not list', () => {
    expect(ordered(STEPS, 4, 2).found).toEqual({ count: 4, first: FOUND.first.slice(0, 2) });
  });

  test.each([
    ['no row', []],
    ['no step', [NONE, NONE]],
    ['one row', [4]],
    ['equal steps', [2, 2, 2]],
    ['steps left out', [1, NONE, 5, 9]],
    ['below zero', [-5, -4, 0]],
  ])('%s is in order', (_name, steps) => {
    expect(ordered(steps).found).toEqual({ count: 0, first: [] });
  });

  test('knows nothing of a largest step until a row says one', () => {
    expect(ordered([NONE]).soFar).toEqual(NO_STEPS);
    expect(ordered([4]).beforeLast).toEqual(NO_STEPS);
  });

  test.each(ROWS)('goes on behind row %i', (rows) => {
    const before = ordered(STEPS.slice(0, rows));
    const order = new StepOrder(1000);
    order.restore(before.soFar, before.found.first);
    order.add(Float64Array.from(STEPS.slice(rows)), rows + 1);
    expect(order.found).toEqual(FOUND);
  });

  test.each(ROWS.slice(1))('without the last of %i rows it is what it was before', (rows) => {
    const order = ordered(STEPS.slice(0, rows));
    expect(order.beforeLast).toEqual(ordered(STEPS.slice(0, rows - 1)).soFar);
  });
});
