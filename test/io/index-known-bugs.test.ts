/** What went wrong elsewhere and must not here: entries of spec 08 at the whole of an indexing, each by its own input. */
import { closeSync, mkdirSync, openSync, readFileSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import type { StreamOutcome } from '../../src/core/index/outcome.js';
import { openRun } from '../../src/io/run.js';
import { type IndexTarget, RunIndex } from '../../src/io/run-index.js';
import type { Subset } from '../../src/io/run-rollouts.js';
import { episodeLine } from '../helpers/read-run.js';
import { seal } from '../helpers/seal.js';
import { shapeLines } from '../helpers/shapes.js';
import { tempFolder, writeTree } from '../helpers/temp-folder.js';
import { treeDigest } from '../helpers/upload-command.js';

const TRACES = 'monitors/file/traces';
const INDEX = `${TRACES}/stream.index.jsonl`;
const IN_PLACE: IndexTarget = { kind: 'in-place', isForced: true };

async function index(root: string, target: IndexTarget, subset: Subset = 'all'): Promise<StreamOutcome> {
  const work = new RunIndex({
    run: await openRun(root, { subset }),
    target,
    jobs: 1,
    tokens: 'auto',
    mode: null,
    isStrict: false,
    subset,
    environment: { HOME: root },
    onNotice: () => {},
  });
  const { streams } = await work.run(new AbortController().signal);
  return streams[0] as StreamOutcome;
}

type Row = { readonly [key: string]: unknown };

async function rowsOf(root: string, subset: Subset = 'all'): Promise<Row[]> {
  const parts: Buffer[] = [];
  const write = async (bytes: Uint8Array): Promise<void> => {
    parts.push(Buffer.from(bytes));
  };
  await index(root, { kind: 'rows', write }, subset);
  const text = Buffer.concat(parts).toString();
  return text
    .split('\n')
    .slice(0, -1)
    .map((row) => JSON.parse(row) as Row);
}

const newStream = (chunks: Readonly<Record<string, string | Buffer>>): string =>
  writeTree(
    tempFolder(),
    Object.fromEntries(Object.entries(chunks).map(([name, content]) => [`${TRACES}/stream/${name}`, content])),
  );

const ids = (rows: readonly Row[]): unknown[] => rows.map(({ id }) => id);

test('A07: both copies of rollouts are one index, and who was trained on stands beside the rows', async () => {
  const path = (subset: string): string => `rollouts/step_1/train/${subset}/traces.jsonl`;
  const [a, b, c] = ['a', 'b', 'c'].map((id) => episodeLine(id)) as [string, string, string];
  const root = writeTree(tempFolder(), { [path('all')]: a + b + c, [path('effective')]: c + a });
  const [header, ...rest] = await rowsOf(root, 'both');
  expect(header).toMatchObject({ prl_index: 1, subset: 'both', files: [path('all'), path('effective')] });
  expect(ids(rest.slice(0, -1))).toEqual(['a', 'b', 'c']);
  expect(rest.at(-1)).toEqual({ prl_index: 1, effective: [1, 3] });
  expect(rest.slice(0, -1).some((row) => 'effective' in row)).toBe(false);
});

test('A08: a string of 300 MB that no row reads costs no memory and no row', async () => {
  const root = newStream({ '00000.jsonl': '' });
  const file = openSync(join(root, TRACES, 'stream/00000.jsonl'), 'w');
  writeSync(
    file,
    '{"id":"big","env":{"id":"e"},"ok":true,"errors":[],"traces":[{"id":"t","nodes":[{"multi_modal_data":"',
  );
  const megabyte = Buffer.alloc(1_000_000, 'A');
  for (let written = 0; written < 300; written += 1) writeSync(file, megabyte);
  writeSync(file, '","message":{"role":"assistant"}}]}]}\n');
  closeSync(file);
  const before = process.memoryUsage.rss();
  expect(await rowsOf(root)).toMatchObject([{ id: 'big', turns: 1 }]);
  expect(process.memoryUsage.rss() - before).toBeLessThan(150_000_000);
});

test('A10: rounded and unrounded floats of nodes give one row', async () => {
  const line = (logprob: string): string =>
    `{"id":"x","traces":[{"id":"t","nodes":[{"logprobs":[${logprob}],"message":{"role":"assistant"}}]}]}\n`;
  const [rounded, exact] = await rowsOf(newStream({ '00000.jsonl': line('-0.1235') + line('-0.12345678901234567') }));
  expect({ ...exact, line: 1, offset: 0 }).toEqual(rounded);
});

test('A12: an index of a stream that was cut is that of what is left', async () => {
  const lines = ['a', 'b', 'c'].map((id) => episodeLine(id));
  const root = newStream({ '00000.jsonl': lines.join('') });
  await index(root, IN_PLACE);
  truncateSync(join(root, TRACES, 'stream/00000.jsonl'), lines.slice(0, 2).join('').length);
  await index(root, IN_PLACE);
  const rows = readFileSync(join(root, INDEX), 'utf8').split('\n').slice(0, -1);
  expect(rows.map((row) => JSON.parse(row).id)).toEqual(['a', 'b']);
});

test('A21: no row holds a total', async () => {
  const [row] = await rowsOf(newStream({ '00000.jsonl': Buffer.concat([...shapeLines('C', 3000)]) }));
  expect(Object.keys(row ?? {}).filter((key) => key.includes('total'))).toEqual([]);
  expect(row).toHaveProperty('input_tokens');
});

test('B01: a row that the writer could not make is missing, and the rows behind it are right', async () => {
  const root = newStream({ '00000.jsonl': ['a', 'b', 'c', 'd'].map((id) => episodeLine(id)).join('') });
  await index(root, IN_PLACE);
  const [first, , ...rest] = readFileSync(join(root, INDEX), 'utf8').split('\n');
  writeFileSync(join(root, INDEX), [first, ...rest].join('\n'));
  const { check } = await index(root, { kind: 'check', path: null });
  expect(check?.counts).toEqual({ missing_row: 1 });
});

test('B02: a bad line ends nothing, in its chunk or behind it', async () => {
  const root = newStream({
    '00000.jsonl': `${episodeLine('a')}{"id":\n${episodeLine('b')}`,
    '00001.jsonl': episodeLine('c'),
  });
  expect(ids(await rowsOf(root))).toEqual(['a', 'b', 'c']);
});

test('B06: a seal that was interrupted anywhere leaves each record once', async () => {
  const content = episodeLine('a') + episodeLine('b');
  const sealed = seal(Buffer.from(content));
  const half = sealed.subarray(0, sealed.length / 2);
  for (const leftover of [
    { '00000.jsonl.zst.tmp': half },
    { '00000.jsonl.zst': sealed },
    { '00000.jsonl.zst': half },
  ]) {
    const root = newStream({ '00000.jsonl': content, '00001.jsonl': episodeLine('c'), ...leftover });
    expect(ids(await rowsOf(root))).toEqual(['a', 'b', 'c']);
  }
});

test('B20: a torn last row with another glued to it is named, and cured by a rebuild', async () => {
  const root = newStream({ '00000.jsonl': ['a', 'b', 'c'].map((id) => episodeLine(id)).join('') });
  await index(root, IN_PLACE);
  const right = readFileSync(join(root, INDEX), 'utf8');
  const [first = '', second = '', third = ''] = right.split('\n');
  writeFileSync(join(root, INDEX), `${first}\n${second.slice(0, 20)}${second}\n${third}\n`);
  expect((await index(root, { kind: 'check', path: null })).check?.counts).toEqual({ glued_index_row: 1 });
  await index(root, IN_PLACE);
  expect(readFileSync(join(root, INDEX), 'utf8')).toBe(right);
});

test('B21: every frame of a sealed chunk is read, and records that lie across them', async () => {
  const content = Buffer.concat([...shapeLines('B', 9_500_000)]);
  const plain = await rowsOf(newStream({ '00000.jsonl': content }));
  expect(plain.length).toBeGreaterThan(5);
  expect(await rowsOf(newStream({ '00000.jsonl.zst': seal(content) }))).toEqual(plain);
});

test('I5: a check, rows and an index elsewhere leave a run untouched to the byte', async () => {
  const root = newStream({ '00000.jsonl': episodeLine('a'), '00001.jsonl.zst': seal(Buffer.from(episodeLine('b'))) });
  const before = treeDigest(root);
  await rowsOf(root);
  await index(root, { kind: 'check', path: null });
  const elsewhere = join(tempFolder(), 'deep/index.jsonl');
  mkdirSync(dirname(elsewhere));
  await index(root, { kind: 'file', path: elsewhere });
  expect(treeDigest(root)).toBe(before);
});
