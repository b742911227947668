/** Rows of episodes in memory, made in steps: what may happen between the steps, and how long each is. */
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { indexRecord, RecordIndexer } from '../../../src/core/index/index-record.js';
import { STEP_ITEMS } from '../../../src/core/index/item-steps.js';
import { oracleRow } from '../../helpers/row-oracle.js';
import { largeEpisode } from './large-episodes.js';

const SEED = 20261201;
const TIMEOUT_MS = 300_000;
const PLACE = { line: 3, offset: 77, chunk: 1 } as const;

/** Runs all steps; `between` runs after each but the last. */
function rowOf(steps: Generator<void, Uint8Array>, between: () => void = () => {}): string {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return Buffer.from(step.value).toString();
    between();
  }
}

describe('rows in steps (R-IDX-1, R-IDX-2)', () => {
  test.each([
    ['compat', 'auto'],
    ['exact', 'derived'],
  ] as const)(
    'are the same whatever the caller does between them: %s, %s',
    (mode, tokens) => {
      const indexer = new RecordIndexer({ mode, tokens });
      const other = new RecordIndexer({ mode, tokens });
      fc.assert(
        fc.property(largeEpisode, largeEpisode, fc.nat(40), (episode, neighbor, given) => {
          const expected = `${oracleRow(Buffer.from(JSON.stringify(episode)), { ...PLACE, mode, tokens })}\n`;
          // An episode that is given up on the way, without a word.
          const givenUp = indexer.steps(neighbor, PLACE);
          for (let step = 0; step < given; step += 1) givenUp.next();
          let rest = other.steps(neighbor, PLACE);
          const between = (): void => {
            indexRecord({ id: 'between', traces: [{}] }, PLACE);
            if (rest.next().done === true) rest = other.steps(neighbor, PLACE);
          };
          expect(rowOf(indexer.steps(episode, PLACE), between)).toBe(expected);
          expect(Buffer.from(indexRecord(episode, { ...PLACE, mode, tokens })).toString()).toBe(expected);
        }),
        { seed: SEED, numRuns: 80 },
      );
    },
    TIMEOUT_MS,
  );

  test('an episode that another took the place of cannot go on, nor spoil the other', () => {
    const many = { traces: [{ nodes: Array.from({ length: 1000 }, () => ({})) }] };
    const indexer = new RecordIndexer();
    const givenUp = indexer.steps(many, PLACE);
    const ended = indexer.steps(many, PLACE);
    givenUp.next();
    ended.next();
    const steps = indexer.steps(many, PLACE);
    steps.next();
    expect(() => givenUp.next()).toThrow('another episode is being indexed');
    ended.return(new Uint8Array());
    expect(rowOf(steps)).toBe(Buffer.from(indexRecord(many, PLACE)).toString());
  });

  test('nothing of an episode is held once its row is made or given up', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const indexer = new RecordIndexer();
    const begin = (): WeakRef<object> => {
      const nodes = Array.from({ length: 1000 }, () => ({}));
      const trace = { nodes, calls: [{}], rewards: { a: {} }, timing: { a: {} } };
      rowOf(indexer.steps({ traces: [trace] }, PLACE));
      const givenUp = indexer.steps({ traces: [trace] }, PLACE);
      givenUp.next();
      givenUp.return(new Uint8Array());
      return new WeakRef(nodes);
    };
    const held = begin();
    await setImmediate();
    collect();
    expect(held.deref()).toBeUndefined();
  });
});

describe(`at most ${STEP_ITEMS} items between two stops`, () => {
  /** Runs an episode whose elements say when they are read; returns the most between two stops, and the stops. */
  function mostTaken(make: (take: () => void) => object): { most: number; stops: number } {
    let taken = 0;
    let most = 0;
    let stops = 0;
    const episode = make(() => {
      taken += 1;
    });
    rowOf(new RecordIndexer().steps(episode, PLACE), () => {
      most = Math.max(most, taken);
      taken = 0;
      stops += 1;
    });
    return { most: Math.max(most, taken), stops };
  }

  /** An element that tells when `key` is read. */
  function telling(take: () => void, key: string, value: unknown): object {
    return Object.defineProperty({}, key, {
      enumerable: true,
      get() {
        take();
        return value;
      },
    });
  }

  const COUNT = 2500;
  const indexes = Array.from({ length: COUNT }, (_, index) => index);

  test.each<[string, number, (take: () => void) => object]>([
    // Each node is taken, passed over for branches, and for token counts copied, its leaves counted, summed up. Each
    // call is taken, its cost added, and looked up.
    [
      'nodes and calls',
      (5 * COUNT + 3 * COUNT) / STEP_ITEMS,
      (take) => ({
        nodes: indexes.map((index) => telling(take, 'parent', index - 1)),
        calls: indexes.map((index) => telling(take, 'node', index)),
      }),
    ],
    // Four times more where parents come later: marked, looked at, walked up, walked down.
    [
      'nodes before their parents',
      (9 * COUNT + 3 * COUNT) / STEP_ITEMS,
      (take) => ({
        nodes: indexes.map((index) => telling(take, 'parent', index + 1)),
        calls: indexes.map((index) => telling(take, 'node', index)),
      }),
    ],
    // Once more where parents are no nodes; without calls no leaves are counted and nothing is summed up.
    [
      'odd parents',
      (4 * COUNT) / STEP_ITEMS,
      (take) => ({ nodes: indexes.map((index) => telling(take, 'parent', index + 0.5)) }),
    ],
    [
      'rewards',
      COUNT / STEP_ITEMS,
      (take) => ({
        rewards: Object.fromEntries(indexes.map((index) => [`r${index}`, telling(take, 'score', index)])),
      }),
    ],
    // Each is taken, and then summed up.
    [
      'phases',
      (2 * COUNT) / STEP_ITEMS,
      (take) => ({
        timing: Object.fromEntries(indexes.map((index) => [`p${index}`, telling(take, 'duration', index)])),
      }),
    ],
  ])('%s', (_, leastStops, make) => {
    const { most, stops } = mostTaken((take) => ({ traces: [make(take)] }));
    expect(most).toBe(STEP_ITEMS);
    expect(stops).toBeGreaterThanOrEqual(Math.floor(leastStops));
  });

  test('trace ids', () => {
    const { stops } = mostTaken(() => ({ traces: indexes.map((index) => ({ id: `t${index}` })) }));
    expect(stops).toBe(COUNT + Math.ceil(COUNT / STEP_ITEMS) - 1);
  });

  test('fewer do not stop inside their trace', () => {
    const nodes = indexes.slice(0, 20).map((index) => ({ parent: index - 1 }));
    const calls = indexes.slice(0, 10).map((node) => ({ node, usage: { prompt_tokens: 1 } }));
    const { stops } = mostTaken(() => ({ traces: [{ nodes, calls }, { nodes }] }));
    expect(stops).toBe(2);
  });
});
