import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../helpers/generated-run.js';
import { buildRows, rowOf } from './built-rows.js';

type Usage = { readonly prompt: number; readonly completion: number; readonly cached?: number };
type Graph = {
  /** Parent of each node; null leaves the key out. */
  readonly parents: readonly (number | null)[];
  /** Calls: the node they name, and their usage; null for none. */
  readonly calls: readonly (readonly [number, Usage | null])[];
};

function recordOf({ parents, calls }: Graph): string {
  const nodes = parents.map((parent) => (parent === null ? {} : { parent }));
  const texts = calls.map(([node, usage]) => ({
    node,
    ...(usage === null
      ? {}
      : {
          usage: {
            prompt_tokens: usage.prompt,
            completion_tokens: usage.completion,
            ...(usage.cached === undefined ? {} : { cached_input_tokens: usage.cached }),
          },
        }),
  }));
  return JSON.stringify({ traces: [{ nodes, calls: texts }] });
}

function countsOf(graph: Graph): { input: number; output: number; branches: number } {
  const row = JSON.parse(rowOf(recordOf(graph))) as Record<string, number>;
  return { input: row.input_tokens ?? -1, output: row.output_tokens ?? -1, branches: row.branches ?? -1 };
}

/** Spec 02 section 5 as it is written: every branch walked by itself. */
function walkedCounts({ parents, calls }: Graph): { input: number; output: number } {
  const valid = parents.map((parent) => (parent !== null && parent >= 0 && parent < parents.length ? parent : null));
  const counted = new Set<number>();
  let input = 0;
  let output = 0;
  for (let leaf = 0; leaf < parents.length; leaf += 1) {
    if (valid.includes(leaf)) continue;
    const path: number[] = [];
    for (let node: number | null = leaf; node !== null && !path.includes(node); node = valid[node] ?? null) {
      path.unshift(node);
    }
    let previous = 0;
    for (const node of path) {
      const index = calls.findLastIndex(([named]) => named === node);
      const usage = calls[index]?.[1] ?? null;
      if (usage === null) continue;
      const own = usage.prompt + (usage.cached ?? 0);
      if (!counted.has(index)) input += Math.max(0, own - previous);
      counted.add(index);
      output += usage.completion;
      previous = own + usage.completion;
    }
  }
  return { input, output };
}

const use = (prompt: number, completion: number, cached?: number): Usage =>
  cached === undefined ? { prompt, completion } : { prompt, completion, cached };

describe('token counts from branches (spec 02 section 5)', () => {
  test.each<[string, Graph, { input: number; output: number; branches: number }]>([
    ['no nodes', { parents: [], calls: [[0, use(1, 1)]] }, { input: 0, output: 0, branches: 0 }],
    ['no calls', { parents: [null, 0], calls: [] }, { input: 0, output: 0, branches: 1 }],
    [
      'a call without usage is passed over (A20)',
      {
        parents: [null, 0, 1],
        calls: [
          [0, use(3, 1)],
          [1, null],
          [2, use(9, 2)],
        ],
      },
      { input: 8, output: 3, branches: 1 },
    ],
    [
      'fewer tokens than before add nothing (A19)',
      {
        parents: [null, 0],
        calls: [
          [0, use(10, 5)],
          [1, use(4, 2)],
        ],
      },
      { input: 10, output: 7, branches: 1 },
    ],
    [
      'the last call that names a node counts, also when it has no usage',
      {
        parents: [null, 0],
        calls: [
          [0, use(1, 1)],
          [0, use(5, 2)],
          [1, use(9, 1)],
          [1, null],
        ],
      },
      { input: 5, output: 2, branches: 1 },
    ],
    [
      'a shared call counts once in input and once a branch in output (B11)',
      {
        parents: [null, 0, 0, 0],
        calls: [
          [0, use(2, 1)],
          [1, use(4, 1)],
          [2, use(5, 1)],
          [3, null],
        ],
      },
      { input: 2 + 1 + 2, output: 5, branches: 3 },
    ],
    [
      'cached tokens are input',
      {
        parents: [null, 0],
        calls: [
          [0, use(1, 2, 4)],
          [1, use(0, 3, 9)],
        ],
      },
      { input: 5 + 2, output: 5, branches: 1 },
    ],
    [
      'calls of nodes that are not there are on no branch',
      {
        parents: [null],
        calls: [
          [1, use(1, 1)],
          [-1, use(1, 1)],
          [7, use(1, 1)],
        ],
      },
      { input: 0, output: 0, branches: 1 },
    ],
    [
      'parents that come later',
      {
        parents: [1, 2, null],
        calls: [
          [2, use(5, 1)],
          [1, use(7, 1)],
          [0, use(20, 1)],
        ],
      },
      { input: 5 + 1 + 12, output: 3, branches: 1 },
    ],
    [
      'parents out of range are none',
      {
        parents: [9, -3, 1],
        calls: [
          [0, use(5, 1)],
          [1, use(7, 1)],
          [2, use(9, 1)],
        ],
      },
      { input: 5 + 7 + 1, output: 3, branches: 0 },
    ],
    [
      'a node that is its own parent is on no branch (A28)',
      {
        parents: [null, 1],
        calls: [
          [0, use(5, 1)],
          [1, use(7, 1)],
        ],
      },
      { input: 5, output: 1, branches: 1 },
    ],
    [
      'a circle with a leaf is walked once',
      {
        parents: [1, 0, 1],
        calls: [
          [0, use(5, 1)],
          [1, use(7, 1)],
          [2, use(20, 1)],
        ],
      },
      { input: 5 + 1 + 12, output: 3, branches: 1 },
    ],
    [
      'a circle without a leaf is on no branch',
      { parents: [1, 0], calls: [[0, use(5, 1)]] },
      { input: 0, output: 0, branches: 0 },
    ],
  ])('%s', (_, graph, expected) => {
    expect(countsOf(graph)).toEqual(expected);
    expect(walkedCounts(graph)).toEqual({ input: expected.input, output: expected.output });
  });

  test.each([
    [[null, 0], []],
    [[null, 1], ['ODD_PARENT']],
    [[1, 0], ['ODD_PARENT']],
    [[5], ['ODD_PARENT']],
    [[-1], ['ODD_PARENT']],
    [[1, null], []],
  ])('parents %j are noted as %j', (parents, notes) => {
    expect(buildRows(recordOf({ parents, calls: [] }))[0]?.notes).toEqual(notes);
  });

  test('equal walks of every branch, on random graphs with circles', () => {
    const random = seededRandom(7);
    const below = (count: number): number => Math.floor(random() * count);
    for (let round = 0; round < 3000; round += 1) {
      const size = 1 + below(9);
      const isOrdered = below(3) === 0;
      const parents = Array.from({ length: size }, (_, node) =>
        below(6) === 0 ? null : isOrdered ? below(node + 1) - 1 : below(size + 1) - (below(20) === 0 ? 1 : 0),
      );
      const calls = Array.from({ length: below(12) }, (): [number, Usage | null] => [
        below(size + 1),
        below(4) === 0 ? null : use(below(30), below(9), below(2) === 0 ? below(9) : undefined),
      ]);
      const graph = { parents, calls };
      const { input, output } = countsOf(graph);
      expect({ graph, input, output }).toEqual({ graph, ...walkedCounts(graph) });
    }
  });

  test('are exact beyond 2^53, also where parents run in a circle', () => {
    const big = '9007199254740993';
    const usage = (prompt: string, completion: string) =>
      `{"prompt_tokens":${prompt},"completion_tokens":${completion}}`;
    const calls = `[{"node":0,"usage":${usage(big, '1')}},{"node":1,"usage":${usage('18014398509481987', big)}}]`;
    const tokens = (nodes: string) => {
      const row = rowOf(`{"traces":[{"nodes":${nodes},"calls":${calls}}]}`);
      return /"input_tokens":(\d+),"output_tokens":(\d+)/.exec(row)?.slice(1);
    };
    expect(tokens('[{},{"parent":0}]')).toEqual(['18014398509481986', '9007199254740994']);
    expect(tokens('[{},{"parent":0},{"parent":1},{"parent":1}]')).toEqual(['18014398509481986', '18014398509481988']);
    expect(tokens('[{"parent":1},{"parent":0},{"parent":1}]')).toEqual(['18014398509481986', '9007199254740994']);
    expect(tokens('[{"parent":1},{"parent":0},{"parent":0}]')).toEqual(['18014398509481987', '9007199254740994']);
  });

  test('grow past 2^53 by their number', () => {
    const nodes = ['{}', ...Array.from({ length: 1000 }, () => '{"parent":0}')];
    const calls = `[{"node":0,"usage":{"prompt_tokens":1,"completion_tokens":9007199254740991}}]`;
    const row = rowOf(`{"traces":[{"nodes":[${nodes}],"calls":${calls}}]}`);
    expect(row).toContain('"output_tokens":9007199254740991000,');
  });

  test('take time in line with the number of nodes', () => {
    // Branch by branch this would be 10^10 steps.
    const half = 100_000;
    const parents = Array.from({ length: 2 * half }, (_, node) =>
      node === 0 ? null : node < half ? node - 1 : node - half,
    );
    const calls = Array.from({ length: 2 * half }, (_, node): [number, Usage] => [node, use(1, 1)]);
    expect(countsOf({ parents, calls })).toEqual({
      input: 1,
      // A node of the stem stands above one leaf for each later node of the stem, and its own.
      output: (half * (half + 1)) / 2 + half,
      branches: half,
    });
  });
});

describe('branches by counts (4.4)', () => {
  test.each([
    ['[{},{"parent":0},{"parent":0}]', 2],
    ['[{},{"parent":0},{"parent":1}]', 1],
    ['[{"parent":null},{"parent":0}]', 0],
    ['[{},{"parent":0},{"parent":0.0},{"parent":false},{"parent":-0}]', 4],
    ['[{},{"parent":1},{"parent":true},{"parent":1.0},{"parent":1e0}]', 4],
    ['[{},{"parent":"0"},{"parent":"\\u0030"},{"parent":0}]', 2],
    ['[{},{"parent":7},{"parent":7.0},{"parent":8}]', 2],
    ['[{},{"parent":0.5},{"parent":5e-1}]', 2],
    ['[{},{"parent":9007199254740993},{"parent":9007199254740992.0}]', 1],
    ['[{},{"parent":-1},{"parent":-1.0}]', 2],
    ['[{},{"parent":NaN},{"parent":null}]', 2],
    ['[{},{"parent":[]},{"parent":[1]},{"parent":{}}]', 2],
    ['[{"parent":0},{"parent":1},{"parent":2},{"parent":3},{"parent":4}]', 0],
    ['[{"parent":true},{"parent":"a"},{"parent":"b"}]', 0],
  ])('%s: %i', (nodes, branches) => {
    expect(rowOf(`{"traces":[{"nodes":${nodes}}]}`)).toContain(`"branches":${branches},`);
  });
});
