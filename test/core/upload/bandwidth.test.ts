/** The bandwidth limit in virtual time: the rate holds for any mix of takers, and idling buys no more than a tenth of a second. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BandwidthLimit } from '../../../src/core/upload/bandwidth.js';

test.each([1024, 50_000, 1e6, 40 * 2 ** 20, 2e9])('%d bytes a second: a taker alone gets exactly that', (rate) => {
  const limit = new BandwidthLimit(rate);
  let nowMs = 12_345;
  const startMs = nowMs;
  let sent = 0;
  while (sent < rate * 20) {
    nowMs += limit.take(limit.sliceBytes, nowMs);
    sent += limit.sliceBytes;
  }
  // The burst and the slice that is on its way come on top.
  const allowed = (rate * (nowMs - startMs + 110)) / 1000 + limit.sliceBytes;
  expect(sent).toBeLessThanOrEqual(allowed);
  expect(sent).toBeGreaterThan((rate * (nowMs - startMs)) / 1000);
});

test('whoever asks, whenever: in no stretch of time does more leave than rate, burst and one slice each', () => {
  const ask = fc.record({ gapMs: fc.nat(400), takers: fc.integer({ min: 1, max: 8 }) });
  fc.assert(
    fc.property(
      fc.array(ask, { minLength: 1, maxLength: 60, size: 'max' }),
      fc.integer({ min: 2000, max: 5_000_000 }),
      (asks, rate) => {
        const limit = new BandwidthLimit(rate);
        const left: number[] = [];
        let nowMs = 0;
        for (const { gapMs, takers } of asks) {
          nowMs += gapMs;
          const waits = Array.from({ length: takers }, () => limit.take(limit.sliceBytes, nowMs));
          expect(waits).toEqual([...waits].sort((a, b) => a - b));
          left.push(...waits.map((waitMs) => nowMs + waitMs));
        }
        left.sort((a, b) => a - b);
        for (let from = 0; from < left.length; from += 7) {
          for (let to = from; to < left.length; to += 7) {
            const spanMs = (left[to] as number) - (left[from] as number);
            const bytes = (to - from) * limit.sliceBytes;
            expect(bytes).toBeLessThanOrEqual((rate * (spanMs + 110)) / 1000 + limit.sliceBytes);
          }
        }
      },
    ),
    { seed: 13, numRuns: 200 },
  );
});

test.each([
  [50_000, 2500],
  [1024, 1024],
  [1e9, 65_536],
])('at %d bytes a second a slice is %d bytes: it flows, and costs nothing', (rate, sliceBytes) => {
  expect(new BandwidthLimit(rate).sliceBytes).toBe(sliceBytes);
});
