/** The spool of a producer: what is in it, what goes when it is settled, and what the next process finds. Real files. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import type { ChunkSettlement } from '../../src/io/settlement.js';
import { Spool } from '../../src/io/spool.js';
import type { StreamNotice } from '../../src/io/stream-types.js';
import { readRun } from '../helpers/read-run.js';
import { tempFolder, writeTree } from '../helpers/temp-folder.js';

const STREAM = 'monitors/file/traces/stream';
const LINE = '{"id":"a","traces":[]}\n';

const settledTo = (chunk: number, endBytes: number): ChunkSettlement => ({ chunk, stored: 1, rejected: 0, endBytes });
const settled = (...chunks: ChunkSettlement[]): Map<number, ChunkSettlement> =>
  new Map(chunks.map((one) => [one.chunk, one]));

async function open(directory: string, notices: StreamNotice[] = []): Promise<Spool> {
  // Two lines a chunk.
  return Spool.open(directory, { chunkBytes: 2 * LINE.length, onNotice: (notice) => notices.push(notice) });
}

async function append(spool: Spool, lines: number): Promise<void> {
  for (let count = 0; count < lines; count += 1) {
    const line = spool.openLine();
    line.write(Buffer.from(LINE.trim()));
    spool.note(await line.commit());
  }
}

const chunksOf = (directory: string): string[] => readdirSync(join(directory, STREAM)).sort();

test('is a run that everything of prl reads', async () => {
  const spool = await open(join(tempFolder(), 'spool'));
  await append(spool, 5);
  const { records, damage } = await readRun(spool.directory);
  expect([records.length, damage]).toEqual([5, []]);
  expect([spool.bytes, spool.end]).toEqual([5 * LINE.length, { chunk: 2, offset: LINE.length }]);
  await spool.close(settled());
});

test('chunks go when they are complete and settled to their end; the one that grows stays', async () => {
  const spool = await open(join(tempFolder(), 'spool'));
  await append(spool, 6);
  const half = settled(settledTo(0, LINE.length), settledTo(1, 2 * LINE.length), settledTo(2, 2 * LINE.length));
  expect(await spool.removeSettled(half)).toBe(true);
  expect(chunksOf(spool.directory)).toEqual(['00000.jsonl', '00002.jsonl']);
  expect(spool.bytes).toBe(4 * LINE.length);
  expect(await spool.removeSettled(half)).toBe(false);
  await spool.close(settled());
  expect(chunksOf(spool.directory)).toEqual(['00000.jsonl', '00002.jsonl']);
});

test('without room the chunk that grows is ended, so that it goes too once it is settled', async () => {
  const spool = await open(join(tempFolder(), 'spool'));
  await append(spool, 1);
  expect(await spool.makeRoom(settled())).toBe(false);
  expect(chunksOf(spool.directory)).toEqual(['00000.jsonl', '00001.jsonl']);
  expect(await spool.makeRoom(settled(settledTo(0, LINE.length)))).toBe(true);
  await append(spool, 1);
  expect(chunksOf(spool.directory)).toEqual(['00001.jsonl']);
  await spool.close(settled());
});

test('with everything settled nothing is left of it but what others put there', async () => {
  const parent = tempFolder();
  const spool = await open(join(parent, 'spool'));
  await append(spool, 3);
  writeTree(spool.directory, { 'monitors/prl/journal': 'of chunks that are gone', 'monitors/mine': '' });
  expect(await spool.close(settled(settledTo(0, 2 * LINE.length), settledTo(1, LINE.length)))).toBe(0);
  expect(readdirSync(parent, { recursive: true }).sort()).toEqual(['spool', 'spool/monitors', 'spool/monitors/mine']);
});

test('the next process takes over what is left, behind it what it writes, a torn line ended', async () => {
  const directory = join(tempFolder(), 'spool');
  const first = await open(directory);
  await append(first, 3);
  expect(await first.close(settled(settledTo(0, 2 * LINE.length)))).toBe(LINE.length);
  writeFileSync(join(directory, STREAM, '00001.jsonl'), `${LINE}{"torn`);
  const notices: StreamNotice[] = [];
  const second = await open(directory, notices);
  expect(notices).toMatchObject([{ kind: 'torn' }]);
  const torn = '{"torn\n'.length;
  expect(second.leftUpTo).toEqual({ chunk: 1, offset: LINE.length + torn });
  await append(second, 2);
  expect(second.leftUpTo).toEqual({ chunk: 1, offset: LINE.length + torn });
  expect(chunksOf(directory)).toEqual(['00001.jsonl', '00002.jsonl']);
  expect(readFileSync(join(directory, STREAM, '00002.jsonl'), 'utf8')).toBe(LINE + LINE);
  await second.close(settled());
});

test('one writer at a time', async () => {
  const directory = join(tempFolder(), 'spool');
  const spool = await open(directory);
  await expect(open(directory)).rejects.toMatchObject({ code: 'PRL_ERR_LOCKED' });
  await spool.close(settled());
  const next = await open(directory);
  await next.close(settled());
});

test.each([
  ['that is empty, so that numbers begin anew', {}, false],
  ['with records, since it is about them', { [`${STREAM}/00000.jsonl`]: LINE }, true],
])('the journal of a spool %s', async (_what, chunks, isKept) => {
  const journal = 'monitors/prl/journal';
  const directory = writeTree(join(tempFolder(), 'spool'), { [journal]: 'facts', ...chunks });
  const spool = await open(directory);
  expect(existsSync(join(directory, journal))).toBe(isKept);
  await spool.close(settled());
  expect(existsSync(dirname(join(directory, journal)))).toBe(isKept);
});
