/** The first signal saves, the second leaves, and one Ctrl-C that arrives twice is one (demand C8). */
import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Interrupt, SAME_SIGNAL_MS, SAVE_GRACE_MS } from '../../src/cli/signals.js';

function setUp() {
  const emitter = new EventEmitter();
  const clock = { nowMs: 0 };
  const announced: string[] = [];
  const left: number[] = [];
  const interrupt = new Interrupt({
    announce: (signal) => announced.push(signal),
    leave: (status) => left.push(status),
    nowMs: () => clock.nowMs,
    emitter,
  });
  return { emitter, clock, announced, left, interrupt };
}

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

describe('Interrupt', () => {
  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 143],
  ])('%s announces, aborts and decides the status %i', (signal, status) => {
    const { emitter, announced, left, interrupt } = setUp();
    expect(interrupt.status).toBeNull();
    emitter.emit(signal, signal);
    expect(announced).toEqual([signal]);
    expect(interrupt.signal.aborted).toBe(true);
    expect(interrupt.received).toBe(signal);
    expect(interrupt.status).toBe(status);
    expect(left).toEqual([]);
  });

  test('the same Ctrl-C through two ways is one; a later one leaves with the status of the first', () => {
    const { emitter, clock, announced, left } = setUp();
    emitter.emit('SIGINT', 'SIGINT');
    clock.nowMs = SAME_SIGNAL_MS - 1;
    emitter.emit('SIGINT', 'SIGINT');
    emitter.emit('SIGTERM', 'SIGTERM');
    expect(left).toEqual([]);
    clock.nowMs = SAME_SIGNAL_MS;
    emitter.emit('SIGTERM', 'SIGTERM');
    expect(left).toEqual([130]);
    expect(announced).toEqual(['SIGINT']);
  });

  test('the grace time ends a command that does not', () => {
    const { emitter, left } = setUp();
    emitter.emit('SIGTERM', 'SIGTERM');
    vi.advanceTimersByTime(SAVE_GRACE_MS - 1);
    expect(left).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(left).toEqual([143]);
  });

  test('dispose takes the listeners and the grace time away', () => {
    const { emitter, left, interrupt } = setUp();
    interrupt.raise('SIGINT');
    interrupt.dispose();
    vi.advanceTimersByTime(SAVE_GRACE_MS * 2);
    expect(left).toEqual([]);
    expect(emitter.eventNames()).toEqual([]);
  });

  test('abort without a signal leaves the status to the command', () => {
    const { announced, interrupt } = setUp();
    interrupt.abort('the reader of stdout left');
    expect(interrupt.signal.aborted).toBe(true);
    expect(interrupt.status).toBeNull();
    expect(announced).toEqual([]);
  });
});
