/** What a delivery tells while nothing may start: until when, under which code, and whether the service named the time. */
import { expect, test } from 'vitest';
import { Delivery, type DeliveryStatus } from '../../../src/core/upload/delivery.js';
import type { Clock } from '../../../src/core/upload/types.js';
import { VirtualClock } from '../../helpers/clocks.js';
import { retryLater, ScriptedSender, STORED } from '../../helpers/scripted-sender.js';

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
  const delivery = new Delivery({ sender, clock: watched, random: () => 0 });
  const packed = { digest: 'd', format: 'episode', contentType: '', body: [], bodyBytes: 0 } as const;
  const never = new AbortController().signal;
  expect(await delivery.deliver(packed, never, never)).toMatchObject({ outcome: 'stored' });
  expect(waits).toMatchObject([
    { code: 'rate_limited', isAsked: true },
    { code: 'http_503', isAsked: false },
  ]);
  expect(delivery.status().waiting).toBeNull();
});
