/** What a delivery tells while nothing may start: until when, under which code, and whether the service named the time. */
import { expect, test } from 'vitest';
import { AdaptiveLimit } from '../../../src/core/upload/adaptive-limit.js';
import { Delivery, type DeliveryStatus } from '../../../src/core/upload/delivery.js';
import type { Clock } from '../../../src/core/upload/types.js';
import { VirtualClock } from '../../helpers/clocks.js';
import { retryLater, ScriptedSender, STORED } from '../../helpers/scripted-sender.js';

test('a batch that waits by itself, with nothing else in flight, is told as a wait as well (P1)', async () => {
  const clock = new VirtualClock();
  const sender = new ScriptedSender(clock, (_text, attempt) =>
    attempt === 1 ? retryLater(null, 'connection_refused') : STORED,
  );
  const waits: DeliveryStatus['waiting'][] = [];
  const watched: Clock = {
    nowMs: () => clock.nowMs(),
    sleep: (ms, signal) => {
      waits.push(delivery.status().waiting);
      return clock.sleep(ms, signal);
    },
  };
  const delivery = new Delivery({ sender, clock: watched, limit: new AdaptiveLimit({ fixed: 1 }), random: () => 0.5 });
  const packed = { digest: 'd', format: 'episode', contentType: '', body: [], bodyBytes: 0, lineDigests: [] } as const;
  const never = new AbortController().signal;
  await delivery.deliver(packed, { halt: never, signal: never });
  expect(waits).toMatchObject([{ code: 'connection_refused', isAsked: false, untilMs: expect.any(Number) }]);
  expect(delivery.status().waiting).toBeNull();
});

test('of a request that broke on the way, only what left counts as on the wire', async () => {
  const clock = new VirtualClock();
  const broken = { ...retryLater(null, 'connection_reset'), acceptedBytes: 40 };
  const sender = new ScriptedSender(clock, (_text, attempt) => (attempt === 1 ? broken : STORED));
  const delivery = new Delivery({ sender, clock, limit: new AdaptiveLimit({ fixed: 1 }), random: () => 0 });
  const packed = {
    digest: 'd',
    format: 'episode',
    contentType: '',
    body: [],
    bodyBytes: 100,
    lineDigests: [],
  } as const;
  const never = new AbortController().signal;
  await delivery.deliver(packed, { halt: never, signal: never });
  expect(delivery.status()).toMatchObject({ requests: 2, wireBytes: 140 });
});

test('the wait after a probe that failed without a wish of the service is not one it asked for', async () => {
  const clock = new VirtualClock();
  const answers = [retryLater(5000, 'rate_limited'), retryLater(null, 'http_503')];
  const sender = new ScriptedSender(clock, (_text, attempt) => answers[attempt - 1] ?? STORED);
  const waits: DeliveryStatus['waiting'][] = [];
  const watched: Clock = {
    nowMs: () => clock.nowMs(),
    sleep: (ms, signal) => {
      waits.push(delivery.status().waiting);
      return clock.sleep(ms, signal);
    },
  };
  const delivery = new Delivery({ sender, clock: watched, limit: new AdaptiveLimit({ fixed: 1 }), random: () => 0 });
  const packed = { digest: 'd', format: 'episode', contentType: '', body: [], bodyBytes: 0, lineDigests: [] } as const;
  const never = new AbortController().signal;
  expect(await delivery.deliver(packed, { halt: never, signal: never })).toMatchObject({ outcome: 'stored' });
  expect(waits).toMatchObject([
    { code: 'rate_limited', isAsked: true },
    { code: 'http_503', isAsked: false },
  ]);
  expect(delivery.status().waiting).toBeNull();
});
