/** A trace that is folded in steps of any size is the trace that is folded in one go. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ALL_ITEMS } from '../../../src/core/index/item-steps.js';
import { KeptText } from '../../../src/core/index/kept-text.js';
import { DEFAULT_ROW_OPTIONS, RecordFacts } from '../../../src/core/index/record-facts.js';
import { COUNT, NO_PARENT, TraceFacts } from '../../../src/core/index/trace-facts.js';
import { ValueReader } from '../../../src/core/index/value-reader.js';

type Graph = {
  /** Undefined: no parent. Text: a value that is no index. */
  readonly parents: readonly (number | string | null | undefined)[];
  readonly calls: readonly { readonly node: number; readonly tokens: number | null; readonly cost: number | bigint }[];
};

const graph: fc.Arbitrary<Graph> = fc.nat(12).chain((nodes) =>
  fc.record({
    parents: fc.array(
      fc.oneof(
        { weight: 9, arbitrary: fc.nat(nodes + 1) },
        { weight: 1, arbitrary: fc.constantFrom('0.5', '1', '"x', null, undefined) },
      ),
      { minLength: nodes, maxLength: nodes },
    ),
    calls: fc.array(
      fc.record({
        node: fc.nat(nodes + 1),
        tokens: fc.oneof(fc.nat(50), fc.constantFrom(null, Number.MAX_SAFE_INTEGER)),
        cost: fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constantFrom(2n ** 53n + 1n, 7n)),
      }),
      { maxLength: 15 },
    ),
  }),
);

function fill(trace: TraceFacts, { parents, calls }: Graph): void {
  trace.reset();
  for (const parent of parents) {
    trace.addNode();
    if (typeof parent === 'string') trace.setOddParent(parent);
    else if (parent !== undefined) trace.setParent(parent ?? NO_PARENT.NULL);
  }
  for (const [index, { node, tokens, cost }] of calls.entries()) {
    trace.addCall();
    trace.callNodes[index] = node;
    trace.setCost(Number(cost), typeof cost === 'bigint', typeof cost === 'bigint' ? cost : null);
    if (tokens === null) continue;
    trace.hasUsage[index] = 1;
    trace.setCount(COUNT.PROMPT, tokens, null);
    trace.setCount(COUNT.COMPLETION, tokens, null);
  }
}

test('10,000 random traces, in steps of 1 to 9 items', () => {
  const trace = new TraceFacts();
  const kept = new KeptText(new ValueReader());
  const whole = new RecordFacts(kept, DEFAULT_ROW_OPTIONS);
  const stepped = new RecordFacts(kept, DEFAULT_ROW_OPTIONS);
  fc.assert(
    fc.property(graph, fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }), (shape, sizes) => {
      fill(trace, shape);
      whole.reset();
      whole.fold(trace);
      stepped.reset();
      stepped.beginFold(trace);
      let left = 0;
      let taken = 0;
      for (let step = 0; left <= 0; step += 1) {
        const items = sizes[step % sizes.length] as number;
        left = stepped.foldSome(trace, items);
        taken += items - left;
        expect(left).toBeGreaterThanOrEqual(0);
        expect(left).toBeLessThanOrEqual(items);
      }
      // What is done is not done again.
      expect(stepped.foldSome(trace, 5)).toBe(5);
      expect(resultOf(stepped)).toEqual(resultOf(whole));
      stepped.reset();
      stepped.beginFold(trace);
      expect(ALL_ITEMS - stepped.foldSome(trace, ALL_ITEMS)).toBe(taken);
    }),
    { seed: 20261201, numRuns: 10_000 },
  );
});

function resultOf({ cost, branches, derivedInput, derivedOutput, notes }: RecordFacts): unknown {
  const numbers = [cost, derivedInput, derivedOutput].map(({ value, big, isInt, count }) => [value, big, isInt, count]);
  return { numbers, branches, notes };
}
