/** What a snapshot of an episode shares with it, and what it does not. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { copyEpisode } from '../../src/monitor/episode-copy.js';

const raw = (JSON as unknown as { rawJSON(text: string): object }).rawJSON('1.0');

class Usage {
  tokens = 1;
  nested = { list: [1] };
}

describe('the copy of an episode', () => {
  test('holds nothing that its producer can change', () => {
    const episode = {
      id: 'e',
      traces: [{ nodes: [{ token_ids: [1, 2, 3], logprobs: Float64Array.of(0.5), mask: [true, false] }] }],
      usage: new Usage(),
    };
    const before = JSON.stringify(episode);
    const copy = copyEpisode(episode);
    const node = episode.traces[0]?.nodes[0];
    node?.token_ids.push(4);
    node?.mask.fill(false);
    if (node !== undefined) node.logprobs[0] = 9;
    episode.usage.nested.list[0] = 7;
    episode.traces.push({ nodes: [] });
    episode.id = 'other';
    expect(JSON.stringify(copy)).toBe(before);
    expect(copy.traces[0]?.nodes[0]?.logprobs).toBeInstanceOf(Float64Array);
  });

  const date = new Date(0);
  const map = new Map();
  const action = (): void => {};
  test.each<[string, unknown]>([
    ['a literal', raw],
    ['a date', date],
    ['a map', map],
    ['a function', action],
    ['a view', new DataView(new ArrayBuffer(1))],
  ])('leaves %s as it is', (_, value) => {
    const copy = copyEpisode({ list: [value], value });
    expect(copy.list[0]).toBe(value);
    expect(copy.value).toBe(value);
  });

  test.each([null, undefined, 'text', 1])('of %s is itself', (value) => {
    expect(copyEpisode(value)).toBe(value);
  });

  test('of a value that holds itself holds itself', () => {
    const episode: { list: unknown[]; again?: unknown } = { list: [] };
    episode.again = episode;
    episode.list.push(episode.list);
    const copy = copyEpisode(episode);
    expect(copy.again).toBe(copy);
    expect(copy.list[0]).toBe(copy.list);
    expect(copy).not.toBe(episode);
  });

  test('follows no depth into the stack', () => {
    let deep: unknown[] = [];
    for (let level = 0; level < 200_000; level += 1) deep = [deep];
    let copy = copyEpisode(deep);
    expect(copy === deep).toBe(false);
    for (let level = 0; level < 200_000; level += 1) copy = copy[0] as unknown[];
    expect(copy.length).toBe(0);
  });

  test('of any JSON value prints the same', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        expect(JSON.stringify(copyEpisode(value))).toBe(JSON.stringify(value));
      }),
      { seed: 20261130, numRuns: 500 },
    );
  });

  test('keeps a member called __proto__', () => {
    const text = '{"__proto__":{"a":[1]},"b":2}';
    expect(JSON.stringify(copyEpisode(JSON.parse(text)))).toBe(text);
  });
});
