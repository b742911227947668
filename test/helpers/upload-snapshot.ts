/** An upload in the middle of its work, for what shows one. */
import type { UploadProgress, UploadSnapshot } from '../../src/core/snapshot.js';

const MIB = 2 ** 20;

/** The snapshot of screens.md with the given fields instead. */
export function snapshotWith(change: Partial<UploadSnapshot>): UploadSnapshot {
  return {
    run: 'reverse-text-rl',
    url: 'http://127.0.0.1:8787',
    runId: 'rl-7f3a',
    team: null,
    phase: 'send',
    plan: { episodes: 1000, estimatedEpisodes: null, bytes: 2_480_343_613, chunks: 1, growing: 1 },
    leftOut: null,
    sent: { episodes: 614, bytes: 1_524_713_390, wireBytes: 331_459_432, requests: 50 },
    already: { episodes: 0, bytes: 0 },
    queued: { episodes: 38, bytes: 87 * MIB },
    inFlight: { requests: 4, bytes: 120 * MIB, limit: 6 },
    backlog: null,
    budget: { usedBytes: 212 * MIB, budgetBytes: 256 * MIB },
    retries: 3,
    waiting: null,
    verify: null,
    rejected: { count: 1, lastCode: 'duplicate_trace_id' },
    damaged: 0,
    ...change,
  };
}

/** The same with rates, at 12:03:40. */
export function progressWith(change: Partial<UploadProgress>): UploadProgress {
  return {
    ...snapshotWith({}),
    takenAtMs: new Date(2026, 0, 2, 12, 3, 40).getTime(),
    elapsedMs: 34_000,
    bytesPerSecond: 41.8 * MIB,
    wireBytesPerSecond: 9.1 * MIB,
    remainingMs: 21_500,
    queueHistory: [1, 2, 3, 5, 6, 7, 6, 5, 3, 2],
    ...change,
  };
}
