/** Back-off and the shared gate (U10), in virtual time. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { backoffMs, RetryGate } from '../../../src/core/upload/retry.js';
import { VirtualClock } from '../../helpers/clocks.js';

const never = new AbortController().signal;

describe('back-off', () => {
  test.each([
    [1, 1000],
    [2, 2000],
    [3, 4000],
    [5, 16_000],
    [6, 30_000],
    [60, 30_000],
  ])('after %d failures: %d ms plain', (failures, plainMs) => {
    expect(backoffMs(failures, 0)).toBe(plainMs);
  });

  test('jitter only adds, at most a half', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (failures, random) => {
          const plainMs = backoffMs(failures, 0);
          const waitMs = backoffMs(failures, random);
          expect(waitMs >= plainMs && waitMs < plainMs * 1.5).toBe(true);
        },
      ),
      { seed: 10 },
    );
  });
});

describe('gate', () => {
  test('open lets everybody through at once', async () => {
    const gate = new RetryGate(new VirtualClock());
    expect(gate.closedUntilMs).toBeNull();
    expect(await gate.enter(never)).toEqual({ isProbe: false });
  });

  test('after the window one probe goes, the others follow its success', async () => {
    const clock = new VirtualClock();
    const gate = new RetryGate(clock);
    gate.close(60_000);
    const entered: { isProbe: boolean; atMs: number }[] = [];
    const enter = async (): Promise<void> => {
      const pass = await gate.enter(never);
      entered.push({ isProbe: pass.isProbe, atMs: clock.nowMs() });
      if (!pass.isProbe) return;
      await clock.sleep(500, never);
      gate.leave(pass, true, 0);
    };
    await Promise.all([enter(), enter(), enter()]);
    expect(entered).toEqual([
      { isProbe: true, atMs: 60_000 },
      { isProbe: false, atMs: 60_500 },
      { isProbe: false, atMs: 60_500 },
    ]);
    expect(gate.closedUntilMs).toBeNull();
  });

  test('a failed probe closes it again, and the next window has one probe', async () => {
    const clock = new VirtualClock();
    const gate = new RetryGate(clock);
    gate.close(1000);
    const probes: number[] = [];
    const enter = async (): Promise<void> => {
      for (;;) {
        const pass = await gate.enter(never);
        if (!pass.isProbe) return;
        probes.push(clock.nowMs());
        await clock.sleep(100, never);
        const isAnswered = probes.length >= 3;
        gate.leave(pass, isAnswered, 5000);
        if (isAnswered) return;
      }
    };
    await Promise.all([enter(), enter(), enter(), enter()]);
    expect(probes).toEqual([1000, 6100, 11_200]);
  });

  test('a shorter wait does not open it earlier', async () => {
    const clock = new VirtualClock();
    const gate = new RetryGate(clock);
    gate.close(60_000);
    gate.close(1000);
    await gate.enter(never);
    expect(clock.nowMs()).toBe(60_000);
  });

  test('waiting ends with the signal, for sleepers and for those behind a probe', async () => {
    const clock = new VirtualClock();
    const gate = new RetryGate(clock);
    gate.close(10);
    const probe = await gate.enter(never);
    expect(probe.isProbe).toBe(true);
    const stop = new AbortController();
    const waiting = gate.enter(stop.signal);
    stop.abort(new Error('stop'));
    await expect(waiting).rejects.toThrow('stop');
    gate.close(1e9);
    await expect(gate.enter(stop.signal)).rejects.toThrow('stop');
  });
});
