/** Retry-After in every form of RFC 9110, and everything that is none (spec 06 section 6, U10). */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseHttpDate, parseRetryAfter } from '../../../src/core/upload/retry-after.js';

const NOW = Date.UTC(2026, 10, 6, 8, 49, 37);

describe('usable', () => {
  test.each([
    ['0', 0],
    ['1', 1000],
    ['120', 120_000],
    ['0.5', 500],
    [' 7 ', 7000],
    ['-3', 0],
    ['3600', 3_600_000],
    ['Fri, 06 Nov 2026 08:51:37 GMT', 120_000],
    ['Friday, 06-Nov-26 08:51:37 GMT', 120_000],
    ['Fri Nov  6 08:51:37 2026', 120_000],
    ['Fri, 06 Nov 2026 08:51:37', 120_000],
    ['Fri, 06 Nov 2026 08:51:37 -0000', 120_000],
    ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
  ])('%s', (header, expectedMs) => {
    expect(parseRetryAfter(header, NOW)).toBe(expectedMs);
  });
});

describe('garbage falls back to the own back-off', () => {
  test.each([
    null,
    '',
    'soon',
    'nan',
    'inf',
    '1e3',
    '0x10',
    '1,5',
    '12 seconds',
    '2026-11-06T08:51:37Z',
    'Nov 6, 2026',
    '6 Nov 2026 08:51:37 GMT',
    'Fri, 6 Nov 2026 08:51:37 GMT',
    'Fri, 06 nov 2026 08:51:37 GMT',
    'Fri, 31 Feb 2026 08:51:37 GMT',
    'Fri, 06 Nov 2026 24:51:37 GMT',
    'Fri, 06 Nov 2026 08:61:37 GMT',
    'Fri, 06 Nov 2026 08:51:37 CET',
    'Fri, 06 Nov 9999 08:51:37 GMT',
    '99999999999',
    '1'.repeat(400),
  ])('%s', (header) => {
    expect(parseRetryAfter(header, NOW)).toBeNull();
  });
});

test('a two-digit year more than 50 years ahead is of the last century', () => {
  expect(parseHttpDate('Sunday, 06-Nov-94 08:49:37 GMT', NOW)).toBe(Date.UTC(1994, 10, 6, 8, 49, 37));
  expect(parseHttpDate('Sunday, 06-Nov-60 08:49:37 GMT', NOW)).toBe(Date.UTC(2060, 10, 6, 8, 49, 37));
});

test('every second of a century is read back from the fixed form, and no text makes it throw', () => {
  const epoch = fc.integer({ min: 0, max: 4_102_444_799 });
  fc.assert(
    fc.property(epoch, (seconds) => {
      expect(parseHttpDate(new Date(seconds * 1000).toUTCString(), NOW)).toBe(seconds * 1000);
    }),
    { seed: 9, numRuns: 200 },
  );
  fc.assert(
    fc.property(fc.string(), (text) => {
      const waitMs = parseRetryAfter(text, NOW);
      expect(waitMs === null || waitMs >= 0).toBe(true);
    }),
    { seed: 9, numRuns: 200 },
  );
});
