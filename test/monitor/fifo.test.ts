/** A queue against an array. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Fifo } from '../../src/monitor/fifo.js';

test('gives what it took, in order, however much of it waits', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -2000, max: 2000 }), { maxLength: 20 }), (moves) => {
      const queue = new Fifo<number>();
      const expected: number[] = [];
      let next = 0;
      for (const move of moves) {
        for (let count = 0; count < move; count += 1) {
          queue.push(next);
          expected.push(next);
          next += 1;
        }
        const left = Array.from({ length: Math.max(0, -move) }, () => queue.shift());
        const gone = expected.splice(0, left.length);
        expect(left.filter((item) => item !== undefined)).toEqual(gone);
        expect([queue.length, queue.first]).toEqual([expected.length, expected[0]]);
      }
    }),
    { seed: 20261130, numRuns: 50 },
  );
});
