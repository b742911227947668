/** What is seen of a run that is followed: chunks, bytes, and what lies on disk behind what was read. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { FollowEvent } from '../../src/io/follow-types.js';
import { openRun } from '../../src/io/run.js';
import { RunGrowth } from '../../src/io/run-growth.js';
import { unreadBytes } from '../../src/io/unread-bytes.js';
import { FastClock } from '../helpers/clocks.js';
import { episodeLine } from '../helpers/read-run.js';
import { seal } from '../helpers/seal.js';
import { until } from '../helpers/stream-folder.js';
import { tempFolder, writeTree } from '../helpers/temp-folder.js';

const STREAM = 'monitors/file/traces/stream';
const LINE = episodeLine('a');
const recordAt = (chunk: number, offset: number): FollowEvent => ({
  type: 'record',
  record: { chunk, offset, length: LINE.length, lineNumber: 1, unit: 'episode', bytes: Buffer.from(LINE) },
});

test('of a stream: the chunk that is read, and those behind it, sealed or not; those before it were read', async () => {
  const run = writeTree(tempFolder(), {
    [`${STREAM}/00000.jsonl`]: LINE.repeat(10),
    [`${STREAM}/00001.jsonl`]: LINE.repeat(10),
    [`${STREAM}/00002.jsonl.zst`]: seal(Buffer.from(LINE.repeat(5))),
    [`${STREAM}/00003.jsonl.zst`]: Buffer.from('28b52ffd', 'hex'),
    [`${STREAM}/00004.jsonl`]: LINE,
  });
  const opened = await openRun(run);
  const unread = (...read: [number, number][]): Promise<number> =>
    unreadBytes(opened, new Map(read), read.at(-1)?.[0] ?? 0);
  expect(await unread([0, 0])).toBe(26 * LINE.length);
  expect(await unread([0, 3 * LINE.length])).toBe(23 * LINE.length);
  expect(await unread([0, 10], [1, 4 * LINE.length])).toBe(12 * LINE.length);
  expect(await unread([4, LINE.length])).toBe(0);
  // Cut meanwhile.
  expect(await unread([4, 5 * LINE.length])).toBe(0);
});

test('of flat files the one that is read is looked at, and what is gone counts as nothing', async () => {
  const file = (step: number): string => `rollouts/step_${step}/train/all/traces.jsonl`;
  const root = writeTree(tempFolder(), { [file(1)]: LINE.repeat(3), [file(2)]: LINE.repeat(2) });
  const run = await openRun(root);
  expect(await unreadBytes(run, new Map(), 0)).toBe(5 * LINE.length);
  writeTree(root, { [file(1)]: LINE.repeat(30), [file(2)]: LINE.repeat(20) });
  expect(await unreadBytes(run, new Map([[0, 2 * LINE.length]]), 0)).toBe(30 * LINE.length);
  rmSync(join(root, file(1)));
  expect(await unreadBytes(run, new Map(), 0)).toBe(2 * LINE.length);
});

test('of many files those that are seen to grow count as growing', async () => {
  const file = (step: number): string => `rollouts/step_${step}/train/all/traces.jsonl`;
  const run = await openRun(writeTree(tempFolder(), { [file(1)]: LINE, [file(2)]: LINE }));
  const growth = new RunGrowth(run);
  for (const one of run.files) growth.note({ type: 'file', file: one, summary: null });
  growth.note(recordAt(0, 0));
  growth.note({ type: 'caught-up' });
  expect(growth.growing).toBe(0);
  growth.note(recordAt(1, LINE.length));
  expect(growth.growing).toBe(1);
});

test('what is not read is looked for again and again, and is nothing once everything is', async () => {
  const root = tempFolder();
  const path = join(root, STREAM, '00000.jsonl');
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, LINE.repeat(2));
  const growth = new RunGrowth(await openRun(root));
  expect([growth.chunks, growth.growing, growth.runBytes]).toEqual([1, 0, 2 * LINE.length]);
  const over = new AbortController();
  const measured = growth.measure(new FastClock(100), over.signal);
  const [file] = (await openRun(root)).files;
  if (file === undefined) throw new Error('no chunk');
  growth.note({ type: 'file', file, summary: null });
  growth.note(recordAt(0, 0));
  expect(growth.growing).toBe(1);
  await until(() => growth.unreadBytes === LINE.length);
  writeFileSync(path, LINE.repeat(9));
  await until(() => growth.unreadBytes === 8 * LINE.length);
  growth.note(recordAt(0, 8 * LINE.length));
  growth.note({ type: 'caught-up' });
  expect(growth.unreadBytes).toBe(0);
  expect(growth.runBytes).toBe(9 * LINE.length);
  // Rewritten: nothing of it was read.
  growth.note({ type: 'rewritten', file: file.relativePath, chunk: 0, reason: 'cut' });
  expect(growth.runBytes).toBe(0);
  await until(() => growth.unreadBytes === 9 * LINE.length);
  over.abort();
  await measured;
});
