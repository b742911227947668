/** Random episodes so large that their rows take many steps: graphs of every shape, counts and costs of every size. */
import fc from 'fast-check';
import { seededRandom } from '../../helpers/generated-run.js';

/** How parents run. */
const GRAPHS = ['chain', 'tree', 'backwards', 'anyhow', 'odd'] as const;

type TraceSize = {
  readonly seed: number;
  readonly graph: (typeof GRAPHS)[number];
  readonly nodes: number;
  readonly calls: number;
  readonly rewards: number;
  readonly phases: number;
  /** Whether token counts and costs are beyond 2^53. */
  readonly isBig: boolean;
};

const traceSize: fc.Arbitrary<TraceSize> = fc.record({
  seed: fc.nat(),
  graph: fc.constantFrom(...GRAPHS),
  nodes: fc.nat(600),
  calls: fc.nat(600),
  rewards: fc.oneof(fc.nat(5), fc.nat(600)),
  phases: fc.oneof(fc.nat(5), fc.nat(600)),
  isBig: fc.integer({ min: 0, max: 4 }).map((value) => value === 0),
});

/** Episodes of JavaScript values; `JSON.stringify` encodes them. */
export const largeEpisode: fc.Arbitrary<{ readonly traces: readonly unknown[] }> = fc
  .array(traceSize, { maxLength: 3 })
  .map((sizes) => ({ id: `episode of ${sizes.length}`, traces: sizes.map(traceOf) }));

function traceOf(size: TraceSize): unknown {
  const random = seededRandom(size.seed);
  const below = (count: number): number => Math.floor(random() * count);
  const number = (): number => (below(3) === 0 ? below(100) : below(1_000_000) / 1000);
  const tokens = (): number => (size.isBig && below(50) === 0 ? 2 ** 53 + 2 * below(1000) : below(5000));
  return {
    id: `trace ${size.seed}`,
    nodes: list(size.nodes, (index) => ({
      ...parentOf(size, index, below),
      message: { role: below(2) === 0 ? 'assistant' : 'user' },
    })),
    calls: list(size.calls, () => ({
      node: below(size.nodes + 2),
      finish_reason: below(5) === 0 ? 'length' : 'stop',
      error: below(9) === 0 ? { type: 'ProviderError' } : null,
      usage: { prompt_tokens: tokens(), completion_tokens: tokens(), cost: size.isBig ? tokens() : number() },
    })),
    rewards: members(size.rewards, 'reward', () => (below(9) === 0 ? null : { score: number(), weight: number() })),
    timing: {
      start: number(),
      ...members(size.phases, 'phase', () => (below(2) === 0 ? { duration: number() } : { start: 1, end: number() })),
      '': { inner: { duration: number() } },
    },
  };
}

function parentOf({ graph, nodes }: TraceSize, index: number, below: (count: number) => number): object {
  switch (graph) {
    case 'chain':
      return index === 0 ? {} : { parent: index - 1 };
    case 'tree':
      return index === 0 ? {} : { parent: below(index) };
    case 'backwards':
      return index === nodes - 1 ? {} : { parent: index + 1 + below(Math.min(3, nodes - index - 1)) };
    case 'anyhow':
      return below(20) === 0 ? {} : { parent: below(nodes + 1) };
    case 'odd':
      return { parent: [below(nodes), below(nodes) + 0.5, -1 - below(5), nodes + below(9), null, 'x'][below(6)] };
  }
}

function list<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

function members(count: number, name: string, make: () => unknown): Record<string, unknown> {
  return Object.fromEntries(list(count, (index) => [`${name} ${index}`, make()]));
}
