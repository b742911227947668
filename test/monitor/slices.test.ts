/** How the monitor shares the event loop: never more than one slice between two turns, whatever waits (R-REC-2, A34). */
import { describe, expect, test } from 'vitest';
import { episodeOf, idsOf, openMonitor, type ProducedEpisode } from '../helpers/monitored-run.js';
import { shortestSlices } from '../helpers/shortest-slices.js';

const TRAIN = { step: 5, kind: 'train' } as const;

/** What the loop sees of the monitor at each of its turns, until `logged` settles. */
async function watch<T>(logged: Promise<unknown>, look: () => T): Promise<T[]> {
  const seen: T[] = [look()];
  let isSettled = false;
  const settle = (): void => {
    isSettled = true;
  };
  logged.then(settle, settle);
  while (!isSettled) {
    await new Promise((done) => setImmediate(done));
    seen.push(look());
  }
  return seen;
}

function largestRise(numbers: readonly number[]): number {
  return Math.max(...numbers.slice(1).map((number, index) => number - (numbers[index] as number)));
}

describe('between two turns of the event loop', () => {
  test('at most one episode of many small calls is worked on', async () => {
    const { pace } = shortestSlices();
    const { monitor, run } = await openMonitor({ pace });
    const ids = Array.from({ length: 200 }, (_, index) => `e${index}`);
    // Without traces, so that nothing of an episode is worked on in steps.
    const logged = ids.map((id) => monitor.log({ ...episodeOf(id), traces: [] }, TRAIN));
    const lines = await watch(Promise.all(logged), () => {
      const { lines: written, pendingLines } = monitor.snapshot().stream;
      return written + pendingLines;
    });
    expect(lines[0]).toBe(0);
    expect(largestRise(lines)).toBe(1);
    expect(await idsOf(run)).toEqual(ids);
  });

  test('a large episode is written and indexed in many turns', async () => {
    const { pace, turns } = shortestSlices();
    const { monitor, run } = await openMonitor({ pace });
    const episode = manyNodes(4000);
    const logged = monitor.log(episode, TRAIN);
    const pending = await watch(logged, () => monitor.snapshot().stream.pendingBytes);
    const { bytes } = monitor.snapshot().stream;
    expect(bytes).toBeGreaterThan(3_000_000);
    // A look at every 16 KiB that are encoded, and at every 256 nodes of the row.
    expect(turns()).toBeGreaterThan(bytes / 16_384 + 4000 / 256);
    // What waits for the disk lies in the four buffers of the encoder.
    expect(Math.max(...pending)).toBeLessThanOrEqual(4 * 1_048_576);
    expect(await idsOf(run)).toEqual(['large']);
  });

  test('a call with a thousand episodes only queues', async () => {
    const { pace, turns } = shortestSlices();
    const { monitor } = await openMonitor({ pace });
    const before = turns();
    const logged = monitor.log(
      Array.from({ length: 1000 }, (_, index) => episodeOf(`e${index}`)),
      TRAIN,
    );
    expect(turns()).toBe(before + 1);
    expect(monitor.snapshot()).toMatchObject({ queuedEpisodes: 1000, stream: { lines: 0, pendingLines: 0 } });
    expect((await logged).records).toHaveLength(1000);
  });
});

/** One trace with so many nodes, of 1 KB each, and a call for each second of them. */
function manyNodes(count: number): ProducedEpisode {
  const { traces, ...episode } = episodeOf('large');
  const [trace] = traces;
  const nodes = Array.from({ length: count }, (_, index) => ({
    ...(index === 0 ? {} : { parent: index - 1 }),
    message: { role: index % 2 === 0 ? 'user' : 'assistant', content: 'x'.repeat(1000) },
  }));
  const calls = Array.from({ length: count / 2 }, (_, index) => ({
    node: index * 2 + 1,
    usage: { prompt_tokens: 1, completion_tokens: 2 },
  }));
  return { ...episode, traces: [{ ...(trace as ProducedEpisode['traces'][number]), nodes, calls }] };
}
