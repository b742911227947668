/** How many requests a producer keeps in flight, against simulated services: it finds what they can do, and backs off in time. */
import { describe, expect, test } from 'vitest';
import { AdaptiveLimit, type RequestEnd, requestEndOf } from '../../../src/core/upload/adaptive-limit.js';
import type { Attempt } from '../../../src/core/upload/types.js';
import { seededRandom } from '../../helpers/generated-run.js';
import { refused, retryLater, STORED } from '../../helpers/scripted-sender.js';
import { medianOf, simulate } from '../../helpers/simulated-service.js';

/** A factor around 1: the logarithm is normal with this deviation. */
function noise(deviation: number, random: () => number): number {
  const normal = Math.sqrt(-2 * Math.log(random() + 1e-12)) * Math.cos(2 * Math.PI * random());
  return Math.exp(deviation * normal);
}

describe('a service that works on k requests at once settles near k, and is kept busy', () => {
  const services = [1, 2, 3, 4, 5, 6].flatMap((k) => [0.02, 0.15].map((deviation) => [k, deviation] as const));

  test.each(services)('k = %d, sharing among all, latency %d noisy', (k, deviation) => {
    const workMs = (_bytes: number, random: () => number): number => 500 * noise(deviation, random);
    const service = { workMs, speed: (inFlight: number) => Math.min(1, k / inFlight) };
    const { limits, endMs } = simulate({ service, random: seededRandom(k), requests: 500 });
    const settled = medianOf(limits.slice(100));
    expect(settled).toBeGreaterThanOrEqual(k);
    expect(settled).toBeLessThanOrEqual(k + 2);
    expect((500 * 500) / k / endMs).toBeGreaterThan(0.9);
  });

  test.each(services)('k = %d, the others in line, latency %d noisy', (k, deviation) => {
    const workMs = (_bytes: number, random: () => number): number => 500 * noise(deviation, random);
    const { limits } = simulate({
      service: { workMs, speed: () => 1, places: k },
      random: seededRandom(k),
      requests: 500,
    });
    const settled = medianOf(limits.slice(100));
    expect(settled).toBeGreaterThanOrEqual(k);
    // Requests that end together leave together; the line then looks shorter than it is.
    expect(settled).toBeLessThanOrEqual(Math.max(k + 2, 2 * k));
  });
});

test.each([0, 0.1, 0.2])(
  'a service that takes 2 s a request, %d noisy: eight at once, at least four times as fast as one at a time',
  (deviation) => {
    const service = {
      workMs: (_bytes: number, random: () => number) => 2000 * noise(deviation, random),
      speed: () => 1,
    };
    // 2.3 GiB in requests of 30 MiB.
    const { limits, endMs } = simulate({ service, random: seededRandom(2), requests: 77 });
    expect(limits.at(-1)).toBe(8);
    const { endMs: oneByOneMs } = simulate({ service, random: seededRandom(2), requests: 77, fixed: 1 });
    expect(oneByOneMs / endMs).toBeGreaterThan(4);
  },
);

describe('a slow link: 15 MB/s for all together, 80 ms to the answer', () => {
  const link = { workMs: (bytes: number) => bytes / 15_000 + 80, speed: (inFlight: number) => 1 / inFlight };
  const sizes: [string, (random: () => number) => number][] = [
    ['of one size', () => 6_500_000],
    ['of any size', (random) => 100_000 + 9_900_000 * random()],
    ['large ones among small ones', (random) => (random() < 0.3 ? 200_000 : 6_500_000)],
  ];

  test.each(sizes)('%s: it does not collapse, at least two stay under way', (_name, bytes) => {
    const { limits } = simulate({ service: link, random: seededRandom(3), requests: 400, bytes });
    expect(Math.min(...limits)).toBe(2);
    expect(limits.slice(20).some((limit) => limit > 2)).toBe(true);
  });

  test('of one size: no more than three, since more would only wait on the link', () => {
    const { limits } = simulate({ service: link, random: seededRandom(3), requests: 400, bytes: () => 6_500_000 });
    expect(Math.max(...limits)).toBe(3);
  });
});

describe('overload', () => {
  test('a service that refuses the fifth: the limit stays about four, and few are refused', () => {
    const end = (inFlight: number): RequestEnd => (inFlight > 4 ? 'overloaded' : 'answered');
    const service = { workMs: () => 400, speed: () => 1, end };
    const { limits, ends } = simulate({ service, random: seededRandom(4), requests: 500 });
    expect(ends.filter((one) => one === 'overloaded').length).toBeLessThan(40);
    expect(medianOf(limits.slice(50))).toBeGreaterThanOrEqual(3);
    expect(Math.max(...limits.slice(50))).toBeLessThanOrEqual(5);
  });

  test('a burst of 429 for all that are in flight halves once; when it is over eight are reached again', () => {
    const end = (_inFlight: number, nowMs: number): RequestEnd =>
      nowMs >= 20_000 && nowMs < 20_300 ? 'overloaded' : 'answered';
    const service = { workMs: () => 400, speed: () => 1, end };
    const { limits, ends } = simulate({ service, random: seededRandom(5), requests: 600 });
    const first = ends.indexOf('overloaded');
    expect(limits[first - 1]).toBe(8);
    expect(Math.min(...limits.slice(first))).toBe(1);
    expect(limits.at(-1)).toBe(8);
  });

  test('eight requests that fail together halve it once, not eight times', () => {
    const limit = eightInFlight();
    for (let failed = 0; failed < 8; failed += 1) {
      limit.ended({ end: 'overloaded', nowMs: 100_000 + failed, latencyMs: 5000, bytes: 1 });
    }
    expect(limit.limit).toBe(4);
    limit.started();
    limit.ended({ end: 'overloaded', nowMs: 101_000, latencyMs: 10, bytes: 1 });
    expect(limit.limit).toBe(2);
  });

  test('one is always left', () => {
    const limit = new AdaptiveLimit();
    for (let failed = 0; failed < 10; failed += 1) {
      limit.started();
      limit.ended({ end: 'overloaded', nowMs: failed * 1000, latencyMs: 1, bytes: 1 });
    }
    expect(limit.limit).toBe(1);
  });
});

/** Grown to eight, with eight requests on their way. */
function eightInFlight(): AdaptiveLimit {
  const limit = new AdaptiveLimit();
  for (let nowMs = 0; limit.limit < 8; nowMs += 100) {
    const many = limit.limit;
    for (let started = 0; started < many; started += 1) limit.started();
    for (let ended = 0; ended < many; ended += 1) limit.ended({ end: 'answered', nowMs, latencyMs: 0, bytes: 1 });
  }
  for (let started = 0; started < 8; started += 1) limit.started();
  return limit;
}

test('it does not grow beyond what is there to be sent: a budget for three keeps it at three', () => {
  const service = { workMs: () => 400, speed: () => 1 };
  const { limits } = simulate({ service, random: seededRandom(6), requests: 300, supply: 3 });
  expect(Math.max(...limits)).toBe(4);
});

test('a service that becomes slower for good is the new measure: eight are reached again', () => {
  let served = 0;
  const workMs = (): number => (served++ < 200 ? 300 : 900);
  const { limits } = simulate({ service: { workMs, speed: () => 1 }, random: seededRandom(7), requests: 500 });
  expect(Math.min(...limits.slice(200))).toBe(2);
  expect(limits.at(-1)).toBe(8);
});

test('--concurrency is a word: whatever happens, a fixed limit does not move', () => {
  const end = (inFlight: number): RequestEnd => (inFlight % 2 === 0 ? 'overloaded' : 'answered');
  const service = { workMs: () => 400, speed: (inFlight: number) => 1 / inFlight, end };
  const { limits } = simulate({ service, random: seededRandom(8), requests: 100, fixed: 32 });
  expect(new Set(limits)).toEqual(new Set([32]));
});

test.each([undefined, 8])(
  'U22: where no descriptor is left, the requests that have one are the most there will be (%s)',
  (fixed) => {
    const limit = fixed === undefined ? eightInFlight() : new AdaptiveLimit({ fixed });
    if (fixed !== undefined) for (let started = 0; started < 8; started += 1) limit.started();
    for (const _failed of [1, 2, 3]) limit.ended({ end: 'no_descriptors', nowMs: 1e6, latencyMs: 1, bytes: 1 });
    expect(limit.limit).toBe(5);
    for (let nowMs = 2e6; nowMs < 2e6 + 100; nowMs += 1) {
      limit.started();
      limit.ended({ end: 'answered', nowMs, latencyMs: 0, bytes: 1 });
    }
    expect(limit.limit).toBe(5);
  },
);

describe('what an attempt tells', () => {
  const transport = (code: string): Attempt => ({
    outcome: 'retry',
    status: null,
    code,
    message: '',
    retryAfterMs: null,
  });
  const status = (code: number): Attempt => ({ ...(retryLater(null) as Attempt & { outcome: 'retry' }), status: code });
  test.each<[string, Attempt, RequestEnd]>([
    ['stored', STORED, 'answered'],
    ['refused: an answer, but not to the work', refused(400, 'invalid_trace'), 'other'],
    ...[408, 429, 502, 503, 504].map((code): [string, Attempt, RequestEnd] => [`${code}`, status(code), 'overloaded']),
    ...[500, 425].map((code): [string, Attempt, RequestEnd] => [`${code}`, status(code), 'other']),
    ...['stalled', 'connect_timeout', 'connection_reset', 'connection_refused'].map(
      (code): [string, Attempt, RequestEnd] => [code, transport(code), 'overloaded'],
    ),
    ['given up by us', transport('aborted'), 'other'],
    ['no descriptor', transport('too_many_files'), 'no_descriptors'],
  ])('%s', (_name, attempt, end) => expect(requestEndOf(attempt)).toBe(end));
});
