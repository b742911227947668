/** Outcomes of an indexing, for what reports one. */
import type { IndexComparison } from '../../src/core/index/compare.js';
import type { StreamOutcome } from '../../src/core/index/outcome.js';
import type { Damage } from '../../src/core/scan/types.js';
import type { IndexProgress, IndexSnapshot } from '../../src/core/snapshot.js';

const MIB = 2 ** 20;

/** A stream of three chunks whose index was written, with the given fields instead. */
export function streamWith(change: Partial<StreamOutcome>): StreamOutcome {
  return {
    stream: 'monitors/file/traces/stream',
    index: 'monitors/file/traces/stream.index.jsonl',
    holds: 'episodes',
    isComplete: true,
    episodes: 1284,
    resumedBytes: 0,
    bytes: 2_480_343_613,
    chunks: 3,
    sealed: 2,
    rowsWritten: 1284,
    changed: true,
    torn: null,
    isGrowing: false,
    damaged: [],
    oddities: [],
    oddityCounts: {},
    repeated: { count: 0, first: [] },
    outOfOrder: { count: 0, first: [] },
    tokenDifferences: 0,
    check: null,
    ...change,
  };
}

/** A torn line in the middle of a chunk. */
export function damageWith(change: Partial<Damage>): Damage {
  return {
    file: 'monitors/file/traces/stream/00002.jsonl',
    chunk: 2,
    offset: 941_233_120,
    bytes: 1000,
    kind: 'torn',
    recovered: false,
    message: 'the line ends inside a string, at byte 941234120',
    ...change,
  };
}

/** A comparison with one difference of each shape: a field, a row that is not there, a line that is no row. */
export function wrongCheck(change: Partial<IndexComparison> = {}): IndexComparison {
  return {
    rows: 1283,
    rebuilt: 1284,
    ok: false,
    counts: { field_diff: 1, missing_row: 1, torn_index_tail: 1 },
    differences: [
      {
        kind: 'field_diff',
        index_line: 12,
        chunk: 0,
        offset: 1234,
        id: 'e12',
        fields: [{ key: 'reward', disk: '0.5', rebuilt: '1.0' }],
      },
      { kind: 'missing_row', index_line: null, chunk: 0, offset: 5678, id: 'e13', fields: [] },
      { kind: 'torn_index_tail', index_line: 1284, chunk: null, offset: null, id: null, fields: [] },
    ],
    ...change,
  };
}

/** The middle of an indexing, with the given fields instead. */
export function indexSnapshotWith(change: Partial<IndexSnapshot>): IndexSnapshot {
  return {
    run: 'reverse-text-rl',
    work: 'index',
    bytes: 1_524_713_390,
    totalBytes: 2_480_343_613,
    chunks: 3,
    sealed: 2,
    episodes: 789,
    damaged: 0,
    threads: 2,
    ...change,
  };
}

/** The same with a rate, at 12:03:40. */
export function indexProgressWith(change: Partial<IndexProgress>): IndexProgress {
  return {
    ...indexSnapshotWith({}),
    takenAtMs: new Date(2026, 0, 2, 12, 3, 40).getTime(),
    elapsedMs: 3000,
    bytesPerSecond: 612 * MIB,
    remainingMs: 1490,
    ...change,
  };
}
