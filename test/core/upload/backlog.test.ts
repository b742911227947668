/** How far an upload of a growing run is behind: lines that are open, batches on their way, and the end of both. */
import { describe, expect, test } from 'vitest';
import { Backlog } from '../../../src/core/upload/backlog.js';
import { batchOf } from '../../helpers/lines.js';

const never = new AbortController().signal;

describe('totals', () => {
  test('count open lines and batches on their way, and age with the oldest of them', () => {
    const backlog = new Backlog();
    expect(backlog.totals(5)).toEqual({ rows: 0, bytes: 0, ageMs: 0 });
    expect(backlog.openSinceMs).toBeNull();
    const first = batchOf(['a', 'bb']);
    backlog.add(2, 100);
    backlog.add(3, 150);
    expect(backlog.totals(160)).toEqual({ rows: 2, bytes: 5, ageMs: 60 });
    // The line that closes a batch is added before the batch is cut.
    backlog.add(7, 200);
    backlog.cut(first, 200);
    expect(backlog.openSinceMs).toBe(200);
    expect(backlog.totals(210)).toEqual({ rows: 3, bytes: 12, ageMs: 110 });
    backlog.settle();
    expect(backlog.totals(210)).toEqual({ rows: 1, bytes: 7, ageMs: 10 });
    backlog.cut(batchOf(['cccccc']), 230);
    expect(backlog.openSinceMs).toBeNull();
    expect(backlog.totals(240)).toEqual({ rows: 1, bytes: 7, ageMs: 40 });
    backlog.settle();
    expect(backlog.totals(240)).toEqual({ rows: 0, bytes: 0, ageMs: 0 });
  });
});

describe('waiting until everything is settled', () => {
  test('ends with the last of the batches, and at once when there is none', async () => {
    const backlog = new Backlog();
    await backlog.whenSettled(never);
    for (const id of ['a', 'b']) {
      backlog.add(2, 0);
      backlog.cut(batchOf([id]), 0);
    }
    let isSettled = false;
    const settled = backlog.whenSettled(never).then(() => {
      isSettled = true;
    });
    backlog.settle();
    await new Promise(setImmediate);
    expect(isSettled).toBe(false);
    backlog.settle();
    await settled;
    expect(isSettled).toBe(true);
  });

  test('does not wait for lines that are open: those are for the caller to cut', async () => {
    const backlog = new Backlog();
    backlog.add(2, 0);
    await backlog.whenSettled(never);
    expect(backlog.openSinceMs).toBe(0);
  });

  test('ends with the reason of an abort, before and meanwhile', async () => {
    const backlog = new Backlog();
    const reason = new Error('enough');
    await expect(backlog.whenSettled(AbortSignal.abort(reason))).rejects.toBe(reason);
    backlog.add(2, 0);
    backlog.cut(batchOf(['a']), 0);
    const abort = new AbortController();
    const settled = backlog.whenSettled(abort.signal);
    abort.abort(reason);
    await expect(settled).rejects.toBe(reason);
  });
});
