/** Rates over the last minute, remaining time, and the plain line made of them (demands P1, C6, C7). */
import { describe, expect, test } from 'vitest';
import { terminalFormat } from '../../src/cli/format.js';
import { uploadIntro, uploadLine } from '../../src/cli/upload-lines.js';
import { UploadMeter } from '../../src/cli/upload-meter.js';
import type { UploadSnapshot } from '../../src/core/snapshot.js';
import { snapshotWith } from '../helpers/upload-snapshot.js';

const MIB = 2 ** 20;

function setUp() {
  const state = { nowMs: 5000, snapshot: snapshotWith({}) };
  const meter = new UploadMeter({
    read: () => state.snapshot,
    nowMs: () => state.nowMs,
    wallMs: () => 1_000_000 + state.nowMs,
  });
  const at = (nowMs: number, change: Partial<UploadSnapshot>) => {
    state.nowMs = nowMs;
    state.snapshot = { ...state.snapshot, ...change };
    return meter.progress();
  };
  return { at };
}

function sent(bytes: number): Partial<UploadSnapshot> {
  return { sent: { episodes: Math.floor(bytes / MIB), bytes, wireBytes: bytes / 4, requests: 1 } };
}

describe('UploadMeter', () => {
  test('nothing sent, nothing known', () => {
    const { at } = setUp();
    expect(at(6000, {})).toMatchObject({
      bytesPerSecond: null,
      wireBytesPerSecond: null,
      remainingMs: null,
      elapsedMs: 1000,
    });
  });

  test('a steady rate, the same however often it is asked', () => {
    const seldom = setUp();
    seldom.at(5000, sent(0));
    const often = setUp();
    for (let nowMs = 5000; nowMs < 25_000; nowMs += 100) often.at(nowMs, sent(((nowMs - 5000) / 1000) * MIB));
    for (const { at } of [seldom, often]) {
      const progress = at(25_000, {
        plan: { episodes: 100, estimatedEpisodes: null, bytes: 100 * MIB, chunks: 1, growing: 0 },
        ...sent(20 * MIB),
      });
      expect(progress.bytesPerSecond).toBeCloseTo(MIB, 5);
      expect(progress.wireBytesPerSecond).toBeCloseTo(MIB / 4, 5);
      expect(progress.remainingMs).toBeCloseTo(80_000, 5);
    }
  });

  test('only the last minute counts', () => {
    const { at } = setUp();
    // Fast for a minute, then slow for longer than the window.
    for (let second = 0; second <= 60; second += 1) at(5000 + second * 1000, sent(second * 100 * MIB));
    let last = at(66_000, sent(6001 * MIB));
    for (let second = 2; second <= 70; second += 1) last = at(65_000 + second * 1000, sent((6000 + second) * MIB));
    expect(last.bytesPerSecond).toBeCloseTo(MIB, 5);
  });

  test('a stall shows as a falling rate, and after a minute as none', () => {
    const { at } = setUp();
    at(5000, sent(0));
    at(6000, sent(60 * MIB));
    expect(at(35_000, {}).bytesPerSecond).toBeCloseTo((60 * MIB) / 30, 5);
    for (let nowMs = 36_000; nowMs <= 70_000; nowMs += 1000) at(nowMs, {});
    expect(at(71_000, {}).bytesPerSecond).toBeNull();
  });

  test('verifying has its own remaining time', () => {
    const { at } = setUp();
    at(5000, { phase: 'verify', verify: { done: 0, total: 100 } });
    expect(at(7000, { verify: { done: 20, total: 100 } }).remainingMs).toBeCloseTo(8000, 5);
  });

  test('the history of the queue is one figure a second, thirty at most', () => {
    const { at } = setUp();
    for (let step = 0; step < 400; step += 1) at(5000 + step * 100, { queued: { episodes: 1, bytes: step } });
    const { queueHistory } = at(45_050, {});
    expect(queueHistory).toHaveLength(30);
    expect(queueHistory.at(-1)).toBe(399);
    expect(queueHistory.at(-2)).toBe(390);
    expect(queueHistory.at(-3)).toBe(380);
  });
});

describe('plain lines', () => {
  const format = terminalFormat({ ascii: true });
  const takenAtMs = new Date(2026, 0, 2, 12, 3, 40).getTime();
  const derived = {
    takenAtMs,
    elapsedMs: 0,
    queueHistory: [],
    bytesPerSecond: 40.2 * MIB,
    wireBytesPerSecond: null,
    remainingMs: 34_100,
  };

  test('the same figures as the view', () => {
    const snapshot = snapshotWith({
      sent: { episodes: 412, bytes: 961 * MIB, wireBytes: 200 * MIB, requests: 30 },
      queued: { episodes: 41, bytes: 93 * MIB },
      inFlight: { requests: 4, bytes: 120 * MIB, limit: 6 },
      retries: 1,
    });
    expect(uploadLine({ ...snapshot, ...derived }, format)).toBe(
      '12:03:40 upload  412/1,000 episodes  961 MiB  40.2 MiB/s  queue 41 (93 MiB)  in flight 4 of 6  rejected 1  damaged 0  retries 1  eta 0:35',
    );
  });

  test.each([
    [
      'asked',
      { untilAtMs: takenAtMs + 51_000, asked: true, code: null },
      'waiting for the service until 12:04:31 (it asked)',
    ],
    [
      'why',
      { untilAtMs: takenAtMs, asked: false, code: 'ECONN\u001bX' },
      'waiting for the service until 12:03:40 (ECONN\\u001bX)',
    ],
  ])('waiting says until when and %s', (_name, waiting, text) => {
    expect(uploadLine({ ...snapshotWith({ waiting }), ...derived }, format).endsWith(`  ${text}`)).toBe(true);
  });

  test('the other phases count what they do', () => {
    const planning = snapshotWith({
      phase: 'plan',
      plan: { episodes: null, estimatedEpisodes: null, bytes: 5 * MIB, chunks: 2, growing: 1 },
    });
    expect(uploadLine({ ...planning, ...derived }, format)).toContain('counting episodes in 2 chunks  5 MiB');
    const verifying = snapshotWith({ phase: 'verify', verify: { done: 7, total: 1000 } });
    const sending = (estimatedEpisodes: number | null): string =>
      uploadLine({ ...snapshotWith({ plan: { ...planning.plan, estimatedEpisodes } }), ...derived }, format);
    expect(sending(2000)).toContain('  614/~2,000 episodes');
    expect(sending(null)).toContain('  614 episodes');
    for (const phase of ['verify', 'done'] as const) {
      expect(uploadLine({ ...verifying, phase, ...derived }, format)).toContain('verified 7/1,000 episodes');
    }
    expect(uploadLine({ ...snapshotWith({ leftOut: 60 }), ...derived }, format)).toContain('  left out 60  rejected ');
  });

  test.each([
    [{}, 'waiting for new episodes  writer live'],
    [{ rows: 12, bytes: 3 * MIB, ageMs: 61_000 }, 'backlog 12 (3 MiB, oldest 1:01)  writer live'],
    [{ unreadBytes: 2 ** 31, writer: null }, 'backlog 0 (0 B)  not read 2 GiB'],
  ])('a run that is followed says how far behind it is: %j', (change, text) => {
    const backlog = { rows: 0, bytes: 0, ageMs: 0, unreadBytes: 0, writer: 'live' as const, ...change };
    const line = uploadLine({ ...snapshotWith({ phase: 'following', backlog }), ...derived }, format);
    expect(line.endsWith(`  ${text}`)).toBe(true);
    expect(line).toContain('614/1,000 episodes');
    // What is still being sent for the first time is not waited for.
    const sending = uploadLine({ ...snapshotWith({ backlog }), ...derived }, format);
    expect(sending.includes('waiting for new')).toBe(false);
  });

  test('the first line says what goes where, and how much (P7)', () => {
    const plan = { episodes: null, estimatedEpisodes: 2000, bytes: 5 * MIB, chunks: 1, growing: 0 };
    const where = 'uploading a\\nb to http://127.0.0.1:8787 as run rl-7f3a (team none)';
    const intro = (change: Partial<UploadSnapshot['plan']>): string =>
      uploadIntro(snapshotWith({ run: 'a\nb', team: null, plan: { ...plan, ...change } }), format);
    expect(intro({})).toBe(`${where}: about 2,000 episodes, 5 MiB in 1 chunk`);
    expect(intro({ estimatedEpisodes: null, chunks: 3 })).toBe(`${where}: 5 MiB in 3 chunks`);
    // Of standard input, and of a run that is yet to come, nothing is known.
    expect(intro({ estimatedEpisodes: null, bytes: 0 })).toBe(where);
  });
});
