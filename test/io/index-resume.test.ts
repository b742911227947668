/** An index goes on where it ended or was killed, and the rows are those of a fresh one, whatever happened between (I3, I10). */
import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { StreamOutcome } from '../../src/core/index/outcome.js';
import { openRun } from '../../src/io/run.js';
import { type IndexTarget, RunIndex } from '../../src/io/run-index.js';
import type { Subset } from '../../src/io/run-rollouts.js';
import { episodeLine } from '../helpers/read-run.js';
import { seal } from '../helpers/seal.js';
import { shapeLines } from '../helpers/shapes.js';
import { tempFolder } from '../helpers/temp-folder.js';

const IN_PLACE: IndexTarget = { kind: 'in-place', isForced: true };
const LINES = [...shapeLines('C', 60_000)];

type Indexing = { readonly target?: IndexTarget; readonly remembers?: boolean; readonly subset?: Subset };

async function openIndex(
  root: string,
  { target = IN_PLACE, remembers = true, subset = 'all' }: Indexing = {},
): Promise<RunIndex> {
  return new RunIndex({
    run: await openRun(root, { subset }),
    target,
    jobs: 1,
    tokens: 'auto',
    mode: null,
    isStrict: false,
    subset,
    environment: remembers ? { HOME: root } : null,
    onNotice: () => {},
  });
}

async function indexRun(root: string, options: Indexing = {}): Promise<StreamOutcome> {
  const { streams } = await (await openIndex(root, options)).run(new AbortController().signal);
  return streams[0] as StreamOutcome;
}

/** The rows that a fresh indexing makes. */
async function freshRows(root: string): Promise<string> {
  const parts: Buffer[] = [];
  const write = async (bytes: Uint8Array): Promise<void> => {
    parts.push(Buffer.from(bytes));
  };
  await indexRun(root, { target: { kind: 'rows', write }, remembers: false });
  return Buffer.concat(parts).toString();
}

function newRun(lines: readonly Buffer[]): {
  root: string;
  chunk: (number: number, suffix?: string) => string;
  index: string;
} {
  const root = tempFolder();
  const traces = join(root, 'monitors/file/traces');
  mkdirSync(join(traces, 'stream'), { recursive: true });
  const chunk = (number: number, suffix = ''): string =>
    join(traces, 'stream', `${String(number).padStart(5, '0')}.jsonl${suffix}`);
  writeFileSync(chunk(0), Buffer.concat(lines));
  return { root, chunk, index: join(traces, 'stream.index.jsonl') };
}

/** Indexes again and checks the file against a fresh indexing; says how much was taken over. */
async function again(root: string, index: string): Promise<StreamOutcome> {
  const outcome = await indexRun(root);
  const fresh = await freshRows(root);
  expect(readFileSync(index, 'utf8')).toBe(fresh);
  expect(outcome.rowsWritten).toBe(fresh.split('\n').length - 1);
  expect(outcome.episodes).toBe(outcome.rowsWritten);
  return outcome;
}

const size = (path: string): number => statSync(path).size;

describe('a run that was indexed before', () => {
  test('and did not change is not read again, and its index is not touched', async () => {
    const { root, index } = newRun(LINES);
    await indexRun(root);
    const before = statSync(index);
    const outcome = await again(root, index);
    expect(outcome).toMatchObject({ changed: false, resumedBytes: Buffer.concat(LINES).length });
    expect(statSync(index)).toMatchObject({ ino: before.ino, mtimeMs: before.mtimeMs });
  });

  test('and grew is read from there on', async () => {
    const { root, chunk, index } = newRun(LINES.slice(0, 10));
    await indexRun(root);
    const settled = size(chunk(0));
    appendFileSync(chunk(0), Buffer.concat(LINES.slice(10)));
    expect(await again(root, index)).toMatchObject({ changed: true, resumedBytes: settled, bytes: size(chunk(0)) });
  });

  test('and went on in new chunks while the old one was sealed', async () => {
    const { root, chunk, index } = newRun(LINES.slice(0, 10));
    await indexRun(root);
    const content = readFileSync(chunk(0));
    writeFileSync(chunk(0, '.zst'), seal(content, { frameBytes: 4000 }));
    rmSync(chunk(0));
    writeFileSync(chunk(1), Buffer.concat(LINES.slice(10, 20)));
    expect(await again(root, index)).toMatchObject({ changed: true, resumedBytes: content.length });
    appendFileSync(chunk(1), Buffer.concat(LINES.slice(20)));
    writeFileSync(chunk(2), Buffer.concat(LINES.slice(0, 3)));
    const outcome = await again(root, index);
    expect(outcome.resumedBytes).toBeGreaterThan(content.length);
    expect(outcome.repeated.count).toBe(3);
  });

  test.each([
    ['torn', '{"id":"torn","env":'],
    ['whole', episodeLine('open').trimEnd()],
  ])('and whose last line was %s is read from that line on', async (_name, tail) => {
    const { root, chunk, index } = newRun(LINES);
    const settled = size(chunk(0));
    appendFileSync(chunk(0), tail);
    await indexRun(root);
    expect(readFileSync(index, 'utf8')).toBe(await freshRows(root));
    appendFileSync(
      chunk(0),
      `${tail.endsWith('}') ? '' : '{"id":"e"},"ok":true,"errors":[],"traces":[]}'}\n${episodeLine('next')}`,
    );
    const outcome = await again(root, index);
    expect(outcome).toMatchObject({ resumedBytes: settled, torn: null, damaged: [] });
  });

  test('keeps what was damaged before, and counts it once', async () => {
    const { root, chunk, index } = newRun([...LINES.slice(0, 5), Buffer.from('{"id":"x"\n'), ...LINES.slice(5)]);
    const first = await indexRun(root);
    expect(first.damaged).toHaveLength(1);
    appendFileSync(chunk(0), `\u0000\u0000\n${episodeLine('more')}`);
    const outcome = await again(root, index);
    expect(outcome.damaged.map(({ kind }) => kind)).toEqual(['torn', 'nul']);
    expect(outcome.resumedBytes).toBeGreaterThan(0);
  });
});

test('an episode that comes again is told again when nothing else is new', async () => {
  const { root, index } = newRun([...LINES, ...LINES.slice(0, 2)]);
  const first = await indexRun(root);
  expect(first.repeated).toMatchObject({ count: 2 });
  expect((await again(root, index)).repeated).toEqual(first.repeated);
});

describe('what does not fit is not believed', () => {
  const cases: readonly (readonly [string, (run: ReturnType<typeof newRun>) => void])[] = [
    ['a truncated chunk', ({ chunk }) => truncateSync(chunk(0), 30_000)],
    [
      'a chunk rewritten at equal size',
      ({ chunk }) => {
        const content = readFileSync(chunk(0));
        content.write('"reward', content.indexOf('"reward'));
        content.write('9', content.lastIndexOf('"offset"') > 0 ? 0 : content.indexOf('"ok":true') - 3);
        writeFileSync(chunk(0), content);
        utimesSync(chunk(0), 1, 1);
      },
    ],
    [
      'a chunk replaced by another',
      ({ chunk, root }) => {
        writeFileSync(join(root, 'new'), Buffer.concat([...LINES].reverse()));
        renameSync(join(root, 'new'), chunk(0));
      },
    ],
    [
      'an index that somebody changed',
      ({ index }) => {
        const rows = readFileSync(index, 'utf8');
        writeFileSync(index, rows.replace('"turns":', '"turnt":'));
      },
    ],
    [
      'an index that was replaced',
      ({ index }) => {
        copyFileSync(index, `${index}.copy`);
        renameSync(`${index}.copy`, index);
      },
    ],
    ['a lost index', ({ index }) => rmSync(index)],
    [
      'a state that somebody else wrote',
      ({ root }) => {
        const place = join(root, 'monitors/prl');
        for (const name of readdirSync(place)) writeFileSync(join(place, name), '{"format":3,"chunks":[{}],"index":7}');
      },
    ],
    [
      'a damaged state',
      ({ root }) => {
        const place = join(root, 'monitors/prl');
        for (const name of readdirSync(place)) truncateSync(join(place, name), 100);
      },
    ],
  ];

  test.each(cases)('%s', async (_name, change) => {
    const run = newRun(LINES);
    await indexRun(run.root);
    change(run);
    expect((await again(run.root, run.index)).resumedBytes).toBe(0);
  });

  test('rows that the writer appended to the index are made again', async () => {
    const { root, chunk, index } = newRun(LINES.slice(0, 10));
    await indexRun(root);
    const settled = size(chunk(0));
    appendFileSync(chunk(0), Buffer.concat(LINES.slice(10)));
    appendFileSync(index, '{"cost":null,"line":99,"offset":1');
    expect(await again(root, index)).toMatchObject({ changed: true, resumedBytes: settled });
  });

  test('a chunk replaced in the middle starts over from that chunk alone', async () => {
    const { root, chunk, index } = newRun(LINES.slice(0, 10));
    writeFileSync(chunk(1), Buffer.concat(LINES.slice(10, 20)));
    writeFileSync(chunk(2), Buffer.concat(LINES.slice(20)));
    await indexRun(root);
    writeFileSync(`${chunk(1)}.new`, Buffer.concat(LINES.slice(5, 12)));
    renameSync(`${chunk(1)}.new`, chunk(1));
    expect(await again(root, index)).toMatchObject({ resumedBytes: size(chunk(0)) });
  });
});

describe('episodes out of order', () => {
  const at = (id: string, step: number): Buffer =>
    Buffer.from(`{"id":"${id}","traces":[{"id":"t-${id}","info":{"arrival":{"step":${step}}}}]}\n`);
  const late = (line: number, step: number, after: number) => ({ line, step, after });

  test('are told by the largest step of what was settled, and listed with those before', async () => {
    const { root, chunk, index } = newRun([at('a', 3), at('b', 7), at('c', 5)]);
    expect((await indexRun(root)).outOfOrder).toEqual({ count: 1, first: [late(3, 5, 7)] });
    expect(await again(root, index)).toMatchObject({
      changed: false,
      outOfOrder: { count: 1, first: [late(3, 5, 7)] },
    });
    appendFileSync(chunk(0), Buffer.concat([at('d', 6), at('e', 7)]));
    const grown = { count: 2, first: [late(3, 5, 7), late(4, 6, 7)] };
    const settled = at('a', 3).length * 3;
    expect(await again(root, index)).toMatchObject({ resumedBytes: settled, outOfOrder: grown });
    writeFileSync(chunk(1), Buffer.concat([at('f', 6), at('g', 9)]));
    const more = { count: 3, first: [...grown.first, late(6, 6, 7)] };
    expect(await again(root, index)).toMatchObject({ resumedBytes: size(chunk(0)), outOfOrder: more });
    expect(await again(root, index)).toMatchObject({ changed: false, outOfOrder: more });
  });

  test('of a chunk that was replaced are forgotten, and so is its largest step', async () => {
    const { root, chunk, index } = newRun([at('a', 3), at('b', 2)]);
    writeFileSync(chunk(1), Buffer.concat([at('c', 9), at('d', 8)]));
    expect((await indexRun(root)).outOfOrder.first).toEqual([late(2, 2, 3), late(4, 8, 9)]);
    writeFileSync(`${chunk(1)}.new`, Buffer.concat([at('e', 4), at('f', 3), at('g', 4)]));
    renameSync(`${chunk(1)}.new`, chunk(1));
    const outcome = await again(root, index);
    expect(outcome.resumedBytes).toBe(size(chunk(0)));
    expect(outcome.outOfOrder).toEqual({ count: 2, first: [late(2, 2, 3), late(4, 3, 4)] });
  });

  test.each([
    ['late', 2, 2],
    ['the latest', 9, 1],
  ])('a last line that is still open counts as what it becomes: %s', async (_name, step, count) => {
    const { root, chunk, index } = newRun([at('a', 3), at('b', 2), at('open', step)]);
    truncateSync(chunk(0), size(chunk(0)) - 1);
    expect((await indexRun(root)).outOfOrder.count).toBe(count);
    // What comes behind it makes it no record.
    appendFileSync(chunk(0), Buffer.concat([Buffer.from(' {\n'), at('c', 4)]));
    const outcome = await again(root, index);
    expect(outcome.resumedBytes).toBe(at('a', 3).length * 2);
    expect(outcome.outOfOrder).toEqual({ count: 1, first: [late(2, 2, 3)] });
  });

  test('are no news in the copy of what was trained on, which is in the order of shipping', async () => {
    const root = tempFolder();
    for (const [subset, steps] of [
      ['all', [3, 5, 4]],
      ['effective', [5, 3, 4]],
    ] as const) {
      mkdirSync(join(root, 'rollouts/step_3/train', subset), { recursive: true });
      const lines = steps.map((step) => at(`${subset}-${step}`, step));
      writeFileSync(join(root, 'rollouts/step_3/train', subset, 'traces.jsonl'), Buffer.concat(lines));
    }
    const found = async (subset: Subset) =>
      (await indexRun(root, { target: { kind: 'rows', write: async () => {} }, subset })).outOfOrder;
    expect(await found('all')).toEqual({ count: 1, first: [late(3, 4, 5)] });
    expect(await found('both')).toEqual({ count: 1, first: [late(3, 4, 5)] });
    expect(await found('effective')).toEqual({ count: 0, first: [] });
  });
});

test('a signal leaves a draft from which the next indexing goes on', async () => {
  const { root, chunk, index } = newRun(LINES);
  for (const number of [1, 2, 3]) writeFileSync(chunk(number), Buffer.concat(LINES));
  const stop = new AbortController();
  const first = await openIndex(root);
  const stopped = first.run(stop.signal);
  while (first.snapshot().bytes === 0) await new Promise(setImmediate);
  stop.abort(new Error('stop'));
  expect((await stopped).interrupted).toBe(true);
  const drafts = (): string[] => readdirSync(dirname(index)).filter((name) => name.endsWith('.prl-draft'));
  expect(drafts()).toHaveLength(1);
  const outcome = await again(root, index);
  expect(outcome.resumedBytes).toBeGreaterThanOrEqual(size(chunk(0)));
  expect(outcome.resumedBytes).toBeLessThan(outcome.bytes);
  expect(drafts()).toEqual([]);
});
