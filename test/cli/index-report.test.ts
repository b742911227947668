/** The report of an indexing says what its document says, in any width (demands X2, X3, C9, C19, D8). */
import { describe, expect, test } from 'vitest';
import { LISTED_ENTRIES } from '../../src/cli/damage-lines.js';
import { terminalFormat } from '../../src/cli/format.js';
import { indexDocument } from '../../src/cli/index-document.js';
import { indexFailure, repairWords } from '../../src/cli/index-failure.js';
import { type IndexReportOptions, indexReport } from '../../src/cli/index-report.js';
import { textWidth } from '../../src/cli/width.js';
import type { StreamOutcome } from '../../src/core/index/outcome.js';
import { damageWith, streamWith, wrongCheck } from '../helpers/index-outcome.js';

type Options = Partial<Omit<IndexReportOptions, 'document' | 'format'>> & {
  readonly ascii?: boolean;
  readonly interrupted?: boolean;
};

const FILES = [
  { relativePath: 'monitors/file/traces/stream/00002.jsonl', path: '/runs/a b/stream/00002.jsonl', form: 'plain' },
  { relativePath: 'monitors/file/traces/stream/00001.jsonl.zst', path: '/runs/s/00001.jsonl.zst', form: 'sealed' },
] as const;

function documentOf(streams: readonly StreamOutcome[], interrupted = false) {
  return indexDocument(
    { streams, interrupted },
    { run: './run', layout: 'R3', mode: 'compat', seconds: 0.41, peakRssBytes: 121_634_816, threads: 2 },
  );
}

function report(streams: readonly StreamOutcome[], options: Options = {}): string[] {
  const { ascii = false, interrupted = false, ...more } = options;
  return indexReport({
    document: documentOf(streams, interrupted),
    work: 'index',
    format: terminalFormat({ ascii }),
    columns: null,
    files: FILES,
    words: ['prl', 'index', './run'],
    ...more,
  });
}

const DAMAGED = streamWith({
  damaged: [
    damageWith({}),
    damageWith({
      file: 'monitors/file/traces/stream/00001.jsonl.zst',
      chunk: 1,
      offset: 7,
      bytes: 12,
      recovered: true,
    }),
    damageWith({ kind: 'nul', bytes: 4096, message: '4096 NUL bytes' }),
  ],
});

describe('a finished index', () => {
  test('rows, bytes, rate, and what happened to each file', () => {
    const annotations = streamWith({
      stream: 'monitors/file/traces/annotations/orch',
      index: 'monitors/file/traces/annotations/orch.index.jsonl',
      holds: 'annotations',
      episodes: 10,
      rowsWritten: 10,
      bytes: 387,
      changed: false,
    });
    expect(report([streamWith({}), annotations])).toEqual([
      ' indexed 1,294 records, 2.31 GiB in 410 ms (5.63 GiB/s)',
      ' index     monitors/file/traces/stream.index.jsonl   written, 1,284 rows',
      ' index     monitors/file/traces/annotations/orch.index.jsonl   unchanged, 10 rows',
      ' took      2 threads, 116 MiB of memory at most',
    ]);
  });

  test('what an earlier command had settled is not in the rate, and is told', () => {
    const lines = report([streamWith({ resumedBytes: 2_480_343_613 - 41 * 2 ** 20 })]);
    expect(lines[0]).toBe(' indexed 1,284 episodes, 2.31 GiB in 410 ms (100 MiB/s)');
    expect(lines[1]).toBe(
      ' resumed   2.27 GiB of monitors/file/traces/stream were settled by an earlier command and not read again',
    );
  });

  test('rows that went to stdout', () => {
    const rows = streamWith({ index: null, changed: false, episodes: 1, rowsWritten: 1, bytes: 1024 });
    expect(report([rows], { work: 'rows' })).toEqual([
      ' wrote the rows of 1 episode, 1 KiB in 410 ms (2.44 KiB/s)',
      ' rows      1 row of monitors/file/traces/stream to stdout',
      ' took      2 threads, 116 MiB of memory at most',
    ]);
  });
});

describe('damage', () => {
  test('140 columns: a table for each kind, why it is beside the place', () => {
    expect(report([DAMAGED], { columns: 140 })).toEqual([
      ' indexed 1,284 episodes, 2.31 GiB in 410 ms (5.63 GiB/s); 3 damaged places',
      ' damaged   torn: 2 places, 1,012 bytes',
      '   file                                         chunk       offset  bytes',
      '   monitors/file/traces/stream/00002.jsonl          2  941,233,120  1,000  lost       "the line ends inside a string, at byte 941234120"',
      '   monitors/file/traces/stream/00001.jsonl.zst      1            7     12  recovered  "the line ends inside a string, at byte 941234120"',
      ' damaged   nul: 1 place, 4,096 bytes',
      '   file                                     chunk       offset  bytes',
      '   monitors/file/traces/stream/00002.jsonl      2  941,233,120  4,096  lost  "4096 NUL bytes"',
      ' index     monitors/file/traces/stream.index.jsonl   written, 1,284 rows',
      ' took      2 threads, 116 MiB of memory at most',
      " next      look at a damaged place: tail -c +941233121 '/runs/a b/stream/00002.jsonl' | head -c 1000",
    ]);
  });

  test('80 columns: why it is goes below', () => {
    expect(report([DAMAGED], { columns: 80 }).slice(1, 9)).toEqual([
      ' damaged   torn: 2 places, 1,012 bytes',
      '   file                                    chunk       offset  bytes',
      '   …nitors/file/traces/stream/00002.jsonl      2  941,233,120  1,000  lost',
      '     "the line ends inside a string, at byte 941234120"',
      '   …rs/file/traces/stream/00001.jsonl.zst      1            7     12  recovered',
      '     "the line ends inside a string, at byte 941234120"',
      ' damaged   nul: 1 place, 4,096 bytes',
      '   file                                     chunk       offset  bytes',
    ]);
  });

  test('60 columns: paths lose their beginning, numbers nothing', () => {
    expect(report([DAMAGED], { columns: 60 }).slice(1, 5)).toEqual([
      ' damaged   torn: 2 places, 1,012 bytes',
      '   file                chunk       offset  bytes',
      '   …tream/00002.jsonl      2  941,233,120  1,000  lost',
      '     "the line ends inside a string, at byte 941234120"',
    ]);
  });

  test.each([60, 80, 120])('%i columns hold every line of a table', (columns) => {
    const lines = report([DAMAGED], { columns }).filter((line) => line.startsWith('   '));
    expect(lines.length).toBeGreaterThan(5);
    for (const line of lines) expect(textWidth(line)).toBeLessThan(columns);
  });

  test('what is in a sealed chunk is looked at through zstd', () => {
    const sealed = damageWith({ file: 'monitors/file/traces/stream/00001.jsonl.zst', offset: 7, bytes: 9999 });
    expect(report([streamWith({ damaged: [sealed] })]).at(-1)).toBe(
      ' next      look at a damaged place: zstd -dc /runs/s/00001.jsonl.zst | tail -c +8 | head -c 4096',
    );
  });

  test.each([
    ['of a frame that does not decompress', damageWith({ kind: 'corrupt_frame' })],
    ['of a file that is none of the run', damageWith({ file: '-' })],
    ['without bytes', damageWith({ kind: 'glued', bytes: 0 })],
  ])('nothing is promised to be seen %s', (_name, damage) => {
    expect(report([streamWith({ damaged: [damage] })]).at(-1)).toMatch(/^ took /);
  });

  test.each([
    ['unreadable', 'make the unreadable files readable, then: prl index ./run'],
    ['hole', 'put the missing chunks back, if they are anywhere, then: prl index ./run'],
  ] as const)('%s is something to do', (kind, next) => {
    expect(report([streamWith({ damaged: [damageWith({}), damageWith({ kind })] })]).at(-1)).toBe(` next      ${next}`);
  });

  test('many of one kind are listed up to a bound and counted beyond it', () => {
    const many = Array.from({ length: LISTED_ENTRIES + 7 }, (_, index) => damageWith({ offset: index }));
    const lines = report([streamWith({ damaged: [...many, damageWith({ kind: 'nul' })] })]);
    expect(lines.filter((line) => line.includes('lost  "the line'))).toHaveLength(LISTED_ENTRIES + 1);
    expect(lines).toContain('   and 7 more that are torn');
    expect(lines).toContain(' damaged   torn: 27 places, 27,000 bytes');
  });

  test('a torn last line is damage, and on a growing stream a line on its way', () => {
    const torn = damageWith({});
    expect(report([streamWith({ torn })])[1]).toBe(' damaged   torn: 1 place, 1,000 bytes');
    const lines = report([streamWith({ torn, isGrowing: true })]);
    expect(lines[0]).not.toContain('damaged');
    expect(lines[1]).toBe(
      ' growing   monitors/file/traces/stream/00002.jsonl at offset 941,233,120: 1,000 bytes of a line on its way, without a row',
    );
  });
});

describe('what is odd and no damage', () => {
  test('counts by kind with the first place, repeated episodes, episodes out of order, other token counts', () => {
    const repeated = Array.from({ length: LISTED_ENTRIES + 1 }, (_, index) => ({ line: 2000 + index, first_line: 1 }));
    const late = Array.from({ length: 1000 }, (_, index) => ({ line: 1200 + index, step: 4, after: 1005 }));
    const lines = report([
      streamWith({
        oddities: [
          { chunk: 0, offset: 12_345, bytes: 10, kind: 'duplicate_key' },
          { chunk: 1, offset: 1, bytes: 10, kind: 'duplicate_key' },
        ],
        oddityCounts: { duplicate_key: 1200, non_finite: 1 },
        repeated: { count: 5000, first: repeated },
        outOfOrder: { count: 1001, first: late },
        tokenDifferences: 3,
      }),
    ]);
    expect(lines.slice(1, 5)).toEqual([
      ' odd       1,200 records with a key twice in one object; the last one counts (duplicate_key); the first in chunk 0 at offset 12,345',
      ' odd       1 record with NaN or Infinity; rows have null for it (non_finite)',
      ' repeated  5,000 episodes come again in monitors/file/traces/stream; every row is kept',
      '   line 2,000 repeats line 1',
    ]);
    expect(lines).toContain('   and 4,980 more');
    const order = lines.findIndex((line) => line.startsWith(' order'));
    expect(lines.slice(order, order + 2)).toEqual([
      ' order     1,001 episodes of an earlier step than one before in monitors/file/traces/stream; every row is kept',
      '   line 1,200 is of step 4, after step 1,005',
    ]);
    expect(lines.slice(order + LISTED_ENTRIES, order + LISTED_ENTRIES + 2)).toEqual([
      '   line 1,219 is of step 4, after step 1,005',
      '   and 981 more',
    ]);
    expect(lines).toContain(
      ' remark    3 records of monitors/file/traces/stream with other token counts than the calls add up to; legal between versions of the writer',
    );
  });
});

describe('--check', () => {
  test('which rows differ, in which fields, old and new', () => {
    const checked = streamWith({ check: wrongCheck(), changed: false, rowsWritten: 0 });
    expect(report([checked], { work: 'check', endsWithFailure: true })).toEqual([
      ' checked 1,284 episodes, 2.31 GiB in 410 ms (5.63 GiB/s)',
      ' differs   monitors/file/traces/stream.index.jsonl: 3 differences (1 field_diff, 1 missing_row, 1 torn_index_tail)',
      '   field_diff  line 12 of the index, chunk 0, offset 1,234, episode e12',
      '     reward: 0.5 on disk, 1.0 rebuilt',
      '   missing_row  chunk 0, offset 5,678, episode e13',
      '   torn_index_tail  line 1,284 of the index',
      ' index     monitors/file/traces/stream.index.jsonl   WRONG: 1,283 rows on disk, 1,284 rebuilt',
      ' took      2 threads, 116 MiB of memory at most',
    ]);
  });

  test('the rest of many is counted, long values are cut, a key that is not there is absent', () => {
    const [first] = wrongCheck().differences;
    const fields = [{ key: 'trace_ids', disk: `["${'x'.repeat(200)}"]`, rebuilt: null }] as const;
    const check = wrongCheck({
      counts: { field_diff: 1020 },
      differences: Array.from({ length: 20 }, () => ({ ...(first as NonNullable<typeof first>), fields })),
    });
    const lines = report([streamWith({ check })], { work: 'check' });
    expect(lines).toContain('   and 1,000 more');
    const values = lines.filter((line) => line.startsWith('     trace_ids: ["xxx'));
    expect(values).toHaveLength(20);
    for (const line of values) expect(line).toMatch(/x… on disk, absent rebuilt$/);
  });

  test('line gaps are a remark on a right index', () => {
    const check = wrongCheck({ ok: true, counts: { line_gap: 4 }, differences: [] });
    const lines = report([streamWith({ check })], { work: 'check' });
    expect(lines[1]).toContain('remark    monitors/file/traces/stream.index.jsonl: 4 differences (4 line_gap); legal');
    expect(lines.at(-2)).toContain('right: 1,283 rows on disk');
  });

  test('the failure says how many, the first, and the one command to repair', () => {
    const document = documentOf([streamWith({ check: wrongCheck() })]);
    const words = ['prl', 'index', 'my run', '--check', '--json', '--tokens', 'derived'];
    const failure = indexFailure(document, repairWords(words), terminalFormat({ ascii: false }));
    expect(failure).toMatchObject({
      code: 'PRL_ERR_INTEGRITY',
      message:
        '3 differences between monitors/file/traces/stream.index.jsonl and the rows of monitors/file/traces/stream; ' +
        'the first: field_diff at line 12 of the index, chunk 0, offset 1,234, episode e12 (reward)',
      hint: "rebuild it: prl index 'my run' --tokens derived",
    });
  });

  test.each([
    ['a right index', streamWith({ check: wrongCheck({ ok: true, counts: {}, differences: [] }) })],
    ['no check', streamWith({})],
  ])('%s is no failure', (_name, stream) => {
    expect(indexFailure(documentOf([stream]), [], terminalFormat({ ascii: false }))).toBeNull();
  });
});

describe('an interrupted one', () => {
  const stopped = streamWith({ isComplete: false, changed: false, rowsWritten: 0, episodes: 12, bytes: 1000 });

  test.each([
    ['index', stopped, 'index     monitors/file/traces/stream.index.jsonl   not written; stopped before the end'],
    ['check', stopped, 'index     monitors/file/traces/stream.index.jsonl   not compared; stopped before the end'],
    [
      'rows',
      { ...stopped, index: null, rowsWritten: 12 },
      'rows      12 rows of monitors/file/traces/stream to stdout; stopped before the end',
    ],
  ] as const)('%s: marked, what stands, and how to go on', (work, stream, line) => {
    const lines = report([stream], { work, interrupted: true });
    expect(lines[0]).toMatch(/^ partial: \w+ .*12 episodes, 0\.98 KiB in 410 ms/);
    expect(lines).toContain(` ${line}`);
    expect(lines.at(-1)).toBe(' next      prl index ./run   (begins anew)');
    const continued = report([stream], { work, interrupted: true, canContinue: true });
    expect(continued.at(-1)).toBe(' next      prl index ./run   (continues where this stopped)');
  });
});

describe('hostile text', () => {
  const hostile = 'x\u001b[2Jy\u202e\n日本';
  const stream = streamWith({
    stream: hostile,
    index: hostile,
    damaged: [damageWith({ file: hostile, message: hostile })],
    repeated: { count: 1, first: [{ line: 2, first_line: 1 }] },
    check: wrongCheck({
      differences: [
        {
          kind: 'stale_row',
          index_line: 1,
          chunk: 0,
          offset: 0,
          id: hostile,
          fields: [{ key: 'id', disk: JSON.stringify(hostile), rebuilt: `"${hostile}"` }],
        },
      ],
    }),
  });

  test('stays text', () => {
    const text = report([stream], { work: 'check' }).join('\n');
    expect(text).toContain('x\\u001b[2Jy\\u202e\\n日本');
    expect(text).not.toMatch(/\p{Cc}(?<!\n)|\u202e/u);
  });

  test('is ASCII where nothing else can be shown', () => {
    expect(report([stream], { ascii: true, columns: 60 }).join('\n')).toMatch(/^[\x20-\x7e\n]*$/);
  });
});
