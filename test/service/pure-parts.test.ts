/** The small pure parts of the service: framing, derived values, times, targets. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatInstant, parseInstant } from '../../src/service/instant.js';
import { type Line, LineFramer } from '../../src/service/line-framer.js';
import { parseTarget } from '../../src/service/route.js';
import {
  type CallValues,
  createdAtUsOf,
  durationMsOf,
  hasErrorOf,
  isTruncated,
  rewardOf,
  totalTokens,
} from '../../src/service/trace-values.js';

describe('LineFramer', () => {
  function frame(parts: readonly Buffer[], lineBytes = 1000): Line[] {
    const framer = new LineFramer(lineBytes, (lineNumber) => new Error(`line ${lineNumber} too long`));
    return [...parts.flatMap((part) => [...framer.push(part)]), ...framer.end()];
  }

  test('lines add up to the bytes, each with at most one LF at its end, however they are cut', () => {
    const text = fc.string({ unit: fc.constantFrom('a', '\n', '\r', 'é', ' '), maxLength: 60 });
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 70 }), (content, size) => {
        const bytes = Buffer.from(content);
        const parts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
          bytes.subarray(index * size, (index + 1) * size),
        );
        const lines = frame(parts);
        const whole = content.endsWith('\n')
          ? content.slice(0, -1).split('\n')
          : content === ''
            ? []
            : content.split('\n');
        expect(Buffer.concat(lines.map((line) => line.bytes))).toEqual(bytes);
        expect(lines.map((line) => line.bytes.toString().replace(/\n$/, ''))).toEqual(whole);
        expect(lines.map((line) => line.lineNumber)).toEqual(whole.map((_, index) => index + 1));
      }),
      { seed: 20261129, numRuns: 500 },
    );
  });

  test.each([1, 2, 5])('the cap of spec 06 section 3, in parts of %i bytes: LF does not count, CR does', (size) => {
    const cut = (text: string) => text.match(new RegExp(`[^]{1,${size}}`, 'g'))?.map((part) => Buffer.from(part)) ?? [];
    expect(frame(cut('abcd\nabcd'), 4)).toHaveLength(2);
    expect(() => frame(cut('abcd\r\n'), 4)).toThrow('line 1 too long');
    expect(() => frame(cut('\nabcde'), 4)).toThrow('line 2 too long');
  });

  test('a line that is too long is known before its end', () => {
    const framer = new LineFramer(4, () => new Error('too long'));
    expect(() => [...framer.push(Buffer.from('abcde'))]).toThrow('too long');
  });
});

describe('derived values (spec 02 section 5, spec 04 section 4)', () => {
  test.each([
    [{}, null],
    [null, null],
    [[], null],
    [{ a: null }, 0],
    [{ a: { score: 2, weight: 0.5 }, b: null }, 1],
    [{ a: { score: 2 } }, 2],
    [{ a: { score: 2, weight: null } }, 2],
    [{ a: { score: null, weight: 3 } }, 0],
    [{ a: { score: -1, weight: -2 } }, 2],
    [{ a: { score: 1, weight: 0 } }, 0],
    [{ a: 5, b: 'x' }, 0],
    [{ a: { score: 1e308, weight: 1e308 } }, null],
  ])('reward of %j is %s', (rewards, expected) => {
    expect(rewardOf(rewards)).toBe(expected);
  });

  const call = (over: Partial<CallValues> = {}): CallValues => ({
    node: null,
    hasError: false,
    finishReason: null,
    usage: null,
    ...over,
  });

  test.each<[string | null, CallValues[], boolean]>([
    [null, [], false],
    ['agent_completed', [], false],
    ['max_turns', [], true],
    ['compaction_failed', [], true],
    ['context_length', [], true],
    [null, [call({ finishReason: 'length' })], true],
    [null, [call({ finishReason: 'length' }), call({ finishReason: 'stop' })], false],
    [null, [call({ finishReason: 'length' }), call({ hasError: true })], true],
  ])('truncated: stop condition %s, calls %j: %s', (stopCondition, calls, expected) => {
    expect(isTruncated(stopCondition, calls)).toBe(expected);
  });

  test.each([
    [true, 3, false],
    [false, 0, true],
    [undefined, 0, false],
    [undefined, 1, true],
  ])('has_error: ok %s with %i errors is %s', (ok, errors, expected) => {
    expect(hasErrorOf(ok, errors)).toBe(expected);
  });

  test.each([
    [{ start: 10, agent: { start: 10, end: 12.5 } }, 2500],
    [{ start: 10, agent: { start: 10, end: 12 }, scoring: { start: 12, end: 12.0004 } }, 2000],
    [{ start: 10, agent: { start: 10, end: 0 } }, 0],
    [{ start: 10, agent: { start: 5, end: 6 } }, 0],
    [{ agent: { start: 5, end: 6 } }, 0],
    [{ start: 1, agent: { end: 1e300 } }, 0],
    [undefined, 0],
    ['x', 0],
  ])('duration of %j is %i ms', (timing, expected) => {
    expect(durationMsOf(timing)).toBe(expected);
  });

  test.each([
    [{ start: 1_750_000_000.123456 }, 1_750_000_000_123_456],
    [{ start: 0 }, null],
    [{}, null],
    [{ start: 'x' }, null],
    [{ start: -1 }, Number.NaN],
    [{ start: 1e300 }, Number.NaN],
  ])('created_at of %j is %s', (timing, expected) => {
    expect(createdAtUsOf(timing)).toBe(expected);
  });

  const used = (node: number | null, prompt: number, completion: number, cached?: number): CallValues =>
    call({ node, usage: { prompt_tokens: prompt, completion_tokens: completion, cached_input_tokens: cached } });

  test.each<[string, (number | null)[], CallValues[], number]>([
    ['nothing', [], [], 0],
    ['one call', [null, 0], [used(1, 10, 5)], 15],
    [
      'a second turn re-sends the first: only what is new counts',
      [null, 0, 1, 2],
      [used(1, 10, 5), used(3, 20, 7)],
      10 + 5 + 5 + 7,
    ],
    ['cached input is input', [null, 0, 1, 2], [used(1, 10, 5), used(3, 4, 7, 16)], 10 + 5 + 5 + 7],
    ['context that shrank adds nothing', [null, 0, 1, 2], [used(1, 100, 5), used(3, 20, 7)], 100 + 5 + 7],
    [
      'two branches share their first call',
      [null, 0, 1, 1],
      [used(1, 10, 5), used(2, 18, 1), used(3, 17, 2)],
      10 + 5 + 3 + 1 + 2 + 2,
    ],
    ['two roots are two contexts', [null, null], [used(0, 10, 1), used(1, 10, 1)], 22],
    [
      'the last call of a node is on the branch, completions of both count',
      [null],
      [used(0, 50, 3), used(0, 10, 4)],
      10 + 3 + 4,
    ],
    ['a call without a node spends its completion only', [null], [used(null, 10, 4)], 4],
    ['a cycle or a forward parent is a root', [1, 0, 7], [used(0, 5, 1), used(2, 6, 1)], 5 + 1 + 6 + 1],
    ['odd counts are none', [null], [call({ node: 0, usage: { prompt_tokens: 'x', completion_tokens: -4 } })], 0],
  ])('tokens: %s', (_, parents, calls, expected) => {
    expect(totalTokens(parents, calls)).toBe(expected);
  });

  test('a long conversation is walked in one pass: 200,000 turns well under a second', () => {
    const parents = Array.from({ length: 200_000 }, (_, index) => (index === 0 ? null : index - 1));
    const calls = parents.map((_, index) => used(index, 10 + index * 2, 1));
    const fromMs = performance.now();
    expect(totalTokens(parents, calls)).toBe(10 + 200_000 + 199_999);
    expect(performance.now() - fromMs).toBeLessThan(1000);
  });
});

describe('instants', () => {
  test.each([
    ['2026-08-27T12:00:00.123456Z', 1_787_832_000_123_456],
    ['2026-08-27T12:00:00Z', 1_787_832_000_000_000],
    ['2026-08-27 12:00:00', 1_787_832_000_000_000],
    ['2026-08-27T12:00', 1_787_832_000_000_000],
    ['2026-08-27T14:30:00+02:30', 1_787_832_000_000_000],
    ['2026-08-27T07:00:00-0500', 1_787_832_000_000_000],
    ['2026-08-27T12:00:00.1234567891Z'.replace('1Z', 'Z'), 1_787_832_000_123_456],
    ['2024-02-29', 1_709_164_800_000_000],
    ['1969-12-31T23:59:59.5Z', -500_000],
  ])('%s', (text, atUs) => {
    expect(parseInstant(text)).toBe(atUs);
  });

  test.each([
    '',
    'now',
    '2026',
    '2026-02-29',
    '2026-13-01',
    '2026-08-27T24:00:00Z',
    '2026-08-27T12:60:00Z',
    '2026-08-27T12:00:60Z',
    '2026-08-27T12:00:00+25:00',
    '2026-08-27T12:00:00Z x',
    '1787832000',
  ])('"%s" is no time', (text) => {
    expect(parseInstant(text)).toBeNull();
  });

  test('what is written is read back, to the microsecond', () => {
    fc.assert(
      fc.property(fc.integer({ min: -62_000_000_000_000_000 / 10, max: 4_000_000_000_000_000 }), (atUs) => {
        expect(parseInstant(formatInstant(atUs))).toBe(atUs);
      }),
      { seed: 20261129, numRuns: 500 },
    );
  });
});

describe('request targets (spec 06 section 1)', () => {
  test.each([
    ['/api/v1/traces', { name: 'traces' }],
    ['/api/v1/traces/abc', { name: 'trace', id: 'abc' }],
    ['/api/v1/traces/%2E%2E', { name: 'trace', id: '..' }],
    ['/api/v1/traces/..', { name: 'trace', id: '..' }],
    ['/api/v1/traces/%2E', { name: 'trace', id: '.' }],
    ['/api/v1/traces/a%20b%C3%BC%3F%23', { name: 'trace', id: 'a bü?#' }],
    ['/api/v1/episodes/x/traces', { name: 'episode-traces', id: 'x' }],
    ['/api/v1/episodes/traces', { name: 'episode', id: 'traces' }],
    ['/api/v1/runs/r/steps', { name: 'run-steps', id: 'r' }],
  ])('%s', (target, route) => {
    expect(parseTarget(target).route).toEqual(route);
  });

  test('an id never decides about the query: it begins at the first question mark', () => {
    const { route, query } = parseTarget('/api/v1/traces/a%3Fraw=true?raw=false&x=%3F?');
    expect(route).toEqual({ name: 'trace', id: 'a?raw=true' });
    expect([...query]).toEqual([
      ['raw', 'false'],
      ['x', '??'],
    ]);
  });

  test.each([
    ['/', 404],
    ['/api/v1', 404],
    ['/api/v1/', 404],
    ['/api/v1/traces/', 404],
    ['/api/v1//traces', 404],
    ['/api/v1/traces/a/b', 404],
    ['/api/v1/traces/a%2fb', 404],
    ['/api/v2/traces', 404],
    ['http://elsewhere/api/v1/traces', 404],
    ['/api/v1/traces/%zz', 400],
    ['/api/v1/traces/%FF', 400],
    ['/api/v1/runs/r/search', 501],
  ])('%s is a %i', (target, status) => {
    expect(() => parseTarget(target)).toThrow(expect.objectContaining({ status }));
  });
});
