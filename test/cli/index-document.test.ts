/** What the document of an indexing says, that its schema describes it, and what counts as damage (cli.md, demand C18). */
import { describe, expect, test } from 'vitest';
import { countDifferences, damageOf, type IndexDocument, indexDocument } from '../../src/cli/index-document.js';
import type { IndexOutcome, StreamOutcome } from '../../src/core/index/outcome.js';
import type { OddityKind } from '../../src/core/index/segment-types.js';
import { damageWith, streamWith, wrongCheck } from '../helpers/index-outcome.js';
import { schemaComplaints } from '../helpers/json-schema.js';

const ODDITIES: readonly OddityKind[] = ['duplicate_key', 'non_finite', 'lone_surrogate', 'odd_value', 'odd_parent'];

function document(streams: readonly StreamOutcome[], change: Partial<IndexOutcome> = {}): IndexDocument {
  return indexDocument(
    { streams, interrupted: false, ...change },
    { run: './run', layout: 'R3', mode: 'compat', seconds: 1.23456, peakRssBytes: 300_000_000, threads: 2 },
  );
}

function complaints(value: unknown): string[] {
  return schemaComplaints(JSON.parse(JSON.stringify(value)), 'schemas/prl.index-1.json');
}

describe('indexDocument', () => {
  test('sums over the streams; the rate is bytes over seconds', () => {
    const annotations = streamWith({ holds: 'annotations', episodes: 16, bytes: 387, rowsWritten: 16 });
    expect(document([streamWith({}), annotations])).toMatchObject({
      schema: 'prl.index/1',
      run: './run',
      layout: 'R3',
      seconds: 1.235,
      bytes: 2_480_344_000,
      bytes_per_second: Math.round(2_480_344_000 / 1.23456),
      episodes: 1300,
      mode: 'compat',
      threads: 2,
      partial: false,
    });
  });

  test('keys are those of the contract', () => {
    const [stream] = document([streamWith({ check: wrongCheck(), torn: damageWith({}) })]).streams;
    expect(stream).toMatchObject({
      stream: 'monitors/file/traces/stream',
      index: 'monitors/file/traces/stream.index.jsonl',
      rows_written: 1284,
      changed: true,
      torn: { chunk: 2, offset: 941_233_120, bytes: 1000 },
      check: { ok: false },
    });
  });

  test.each<[string, readonly StreamOutcome[]]>([
    ['nothing at all', []],
    ['a clean run', [streamWith({})]],
    ['rows on stdout', [streamWith({ index: null, changed: false })]],
    [
      'damage',
      [streamWith({ damaged: [damageWith({}), damageWith({ kind: 'hole', bytes: 0 })], torn: damageWith({}) })],
    ],
    ['a growing stream', [streamWith({ torn: damageWith({}), isGrowing: true })]],
    ['a wrong index', [streamWith({ check: wrongCheck() })]],
    ['a right index', [streamWith({ check: wrongCheck({ ok: true, counts: {}, differences: [] }) })]],
    ['a stream that was not read to its end', [streamWith({ isComplete: false, rowsWritten: 0, changed: false })]],
    ['out of order', [streamWith({ outOfOrder: { count: 2000, first: [{ line: 2, step: -1, after: 0 }] } })]],
    ['repeated episodes', [streamWith({ repeated: { count: 2000, first: [{ line: 2, first_line: 1 }] } })]],
    [
      'every oddity',
      [
        streamWith({
          oddities: ODDITIES.map((kind) => ({ chunk: 0, offset: 1, bytes: 2, kind })),
          oddityCounts: Object.fromEntries(ODDITIES.map((kind) => [kind, 3])),
          tokenDifferences: 4,
        }),
      ],
    ],
  ])('conforms to the schema that ships: %s', (_name, streams) => {
    expect(complaints(document(streams))).toEqual([]);
    expect(complaints(document(streams, { interrupted: true }))).toEqual([]);
  });

  test.each([
    ['a missing field', { partial: undefined }, '$.partial'],
    ['another schema', { schema: 'prl.index/2' }, '$.schema'],
    ['a field nobody described', { extra: 1 }, '$.extra'],
    ['no thread', { threads: 0 }, '$.threads'],
  ])('the schema finds %s', (_name, change, path) => {
    expect(complaints({ ...document([streamWith({})]), ...change })).toEqual([expect.stringContaining(path)]);
  });

  test('the schema finds an unknown kind of difference and of damage', () => {
    const check = wrongCheck();
    const [first] = check.differences;
    const rust = { ...check, differences: [{ ...first, kind: 'rust' }] };
    const [entry] = document([streamWith({ damaged: [damageWith({})] })]).streams;
    const streams = [{ ...entry, check: rust, damaged: [{ ...damageWith({}), kind: 'rust' }] }];
    expect(complaints({ ...document([]), streams })).toEqual([
      expect.stringContaining('$.streams[0].damaged[0].kind'),
      expect.stringContaining('$.streams[0].check.differences[0].kind'),
    ]);
  });
});

describe('what counts', () => {
  test.each([
    ['a torn last line is damage', { torn: damageWith({}) }, ['torn']],
    ['not when it is on its way', { torn: damageWith({}), isGrowing: true }, []],
    ['behind what else there is', { torn: damageWith({}), damaged: [damageWith({ kind: 'nul' })] }, ['nul', 'torn']],
  ] as const)('%s', (_name, change, kinds) => {
    const [entry] = document([streamWith(change)]).streams;
    expect(damageOf(entry as NonNullable<typeof entry>).map(({ kind }) => kind)).toEqual(kinds);
  });

  test('line gaps are no differences, whatever else there is', () => {
    const gaps = wrongCheck({ ok: true, counts: { line_gap: 9 } });
    const wrong = wrongCheck({ counts: { line_gap: 9, field_diff: 2, stale_row: 1 } });
    const streams = document([streamWith({ check: gaps }), streamWith({ check: wrong })]).streams;
    expect(countDifferences(streams)).toBe(3);
  });
});
