/** When a sink is given up: the table of spec 07 section 3, and its scenarios E and F counted by the queue. */
import { describe, expect, test } from 'vitest';
import type { Verdict } from '../../../src/core/upload/delivery.js';
import { RecordQueue } from '../../../src/core/upload/record-queue.js';
import { Strikes, type StrikesOptions, type WriteFailure, writeFailureOf } from '../../../src/core/upload/strikes.js';
import { refused, STORED } from '../../helpers/scripted-sender.js';

/** A queue whose writes end as told, one record each unless said otherwise. */
class Sink {
  readonly notices: string[] = [];
  readonly strikes: Strikes;
  readonly queue = new RecordQueue<null>({ nowMs: () => 0, onWarning: () => {} });
  nowMs = 0;

  constructor(options: Partial<StrikesOptions> = {}) {
    this.strikes = new Strikes({ onNotice: (message) => void this.notices.push(message), ...options });
  }

  write(end: WriteFailure | 'stored', records = 1): void {
    this.queue.submit(Array.from({ length: records }, () => ({ record: null, format: 'episode', bytes: 1 })));
    const work = this.queue.next();
    if (work?.kind !== 'write') throw new Error('nothing to write');
    this.queue.settle(work.write, { [this.#countedAs(end)]: records });
  }

  #countedAs(end: WriteFailure | 'stored'): string {
    const passed = this.strikes.passesBy(this.nowMs);
    if (passed !== null) return passed;
    if (end !== 'stored') return this.strikes.failed(end, 'why', this.nowMs);
    this.strikes.stored();
    return 'stored';
  }
}

describe('spec 07 section 6', () => {
  test('E: two strikes, a success, three strikes: retired at the last; what comes then is counted as failed', () => {
    const sink = new Sink();
    for (const end of ['transient', 'transient', 'stored', 'transient', 'transient'] as const) sink.write(end);
    expect(sink.strikes.passesBy(0)).toBeNull();
    sink.write('transient');
    expect(sink.strikes.passesBy(0)).toBe('failed');
    expect(sink.queue.snapshot()).toMatchObject({ failed: 5, stored: 1 });
    for (let record = 0; record < 7; record += 1) sink.write('stored');
    expect(sink.queue.snapshot()).toMatchObject({ failed: 12, stored: 1, admitted: 13 });
    expect(sink.notices).toHaveLength(5);
    expect(sink.notices.at(-1)).toContain('3 writes in a row failed: why');
  });

  test('F: 403 service_not_enabled turns the sink off with one notice; neither its records nor later ones have failed', () => {
    const sink = new Sink();
    sink.write('not_enabled', 5);
    for (let record = 0; record < 7; record += 1) sink.write('stored');
    expect(sink.queue.snapshot()).toMatchObject({ failed: 0, rejected: 0, stored: 0, skipped: 12, admitted: 12 });
    expect(sink.notices).toHaveLength(1);
  });
});

test('a rejection costs its own records, makes no strike and takes none back', () => {
  const sink = new Sink();
  for (const end of ['transient', 'transient', 'rejected', 'transient'] as const) sink.write(end);
  expect(sink.strikes.passesBy(0)).toBe('failed');
  expect(sink.queue.snapshot()).toMatchObject({ failed: 3, rejected: 1 });
});

test('what fails for good retires at once', () => {
  const sink = new Sink();
  sink.write('permanent', 3);
  expect([sink.strikes.passesBy(0), sink.queue.snapshot().failed, sink.notices.length]).toEqual(['failed', 3, 1]);
});

test('5.2: of writes still in flight when it is retired each counts as it ends; a late success brings nothing back', () => {
  const { strikes, notices } = new Sink();
  for (const _strike of [1, 2, 3]) strikes.failed('transient', 'why', 0);
  expect(strikes.failed('transient', 'late', 1)).toBe('failed');
  strikes.stored();
  expect(strikes.passesBy(2)).toBe('failed');
  expect(notices).toHaveLength(3);
});

test('with a cooldown it is tried again, with no strikes', () => {
  const sink = new Sink({ cooldownMs: 1000 });
  for (const _strike of [1, 2, 3]) sink.write('transient');
  sink.nowMs = 999;
  sink.write('stored');
  sink.nowMs = 1000;
  for (const _strike of [1, 2]) sink.write('transient');
  expect(sink.strikes.passesBy(1000)).toBeNull();
  sink.write('stored');
  expect(sink.queue.snapshot()).toMatchObject({ failed: 6, stored: 1 });
});

test.each<[string, Verdict, WriteFailure | null]>([
  ['stored', STORED as Verdict, null],
  ['400', refused(400, 'invalid_trace') as Verdict, 'rejected'],
  ['409', refused(409, 'line_format_conflict') as Verdict, 'rejected'],
  ['gave up', { outcome: 'gave_up', message: '' }, 'transient'],
  ['401', stop(401, 'unauthenticated'), 'permanent'],
  ['402', stop(402, 'http_402'), 'permanent'],
  ['403 forbidden', stop(403, 'forbidden'), 'permanent'],
  ['403 service_not_enabled', stop(403, 'service_not_enabled'), 'not_enabled'],
  ['an unexpected status', stop(501, 'http_501'), 'permanent'],
])('the verdict %s', (_name, verdict, failure) => expect(writeFailureOf(verdict)).toBe(failure));

function stop(status: number, code: string): Verdict {
  return { outcome: 'stop', status, code, message: '', errorCode: 'PRL_ERR_AUTH' };
}
