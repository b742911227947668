import { createHash } from 'node:crypto';
import { appendFileSync, readFileSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { identifyChunk, readChunkRange, readLineAt, readRange } from '../../src/io/chunk-range.js';
import { openRun } from '../../src/io/run.js';
import type { ChunkFile } from '../../src/io/run-types.js';
import { episodeLine, readRun } from '../helpers/read-run.js';
import { seal } from '../helpers/seal.js';
import { tempFolder } from '../helpers/temp-folder.js';

const RUNS = join(import.meta.dirname, '../../fixtures/runs');
const CONTENT = Buffer.from(
  Array.from({ length: 200 }, (_, index) => episodeLine(`e${index}`, '\u20ac'.repeat(index))).join(''),
);

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

async function fileOf(path: string): Promise<ChunkFile> {
  const [file] = (await openRun(path)).files;
  if (file === undefined) throw new Error(`no file in ${path}`);
  return file;
}

async function write(content: Buffer, name: string): Promise<ChunkFile> {
  const path = join(tempFolder(), name);
  writeFileSync(path, content);
  return fileOf(path);
}

/** The content in each form that random access knows. */
const FORMS = [
  ['plain', 'c.jsonl', CONTENT],
  ['sealed', 'c.jsonl.zst', seal(CONTENT, { frameBytes: 1000 })],
  ['sealed without a table', 'c.jsonl.zst', seal(CONTENT, { frameBytes: 1000, hasTable: false })],
] as const;

describe.each(FORMS)('a %s chunk', (_, name, stored) => {
  test('gives any range of its uncompressed bytes', async () => {
    const file = await write(stored, name);
    const ranges = [
      [0, 1],
      [0, CONTENT.length],
      [999, 2],
      [1000, 1000],
      [12_345, 5_000],
      [CONTENT.length - 1, 1],
      [7, 0],
    ] as const;
    for (const [start, length] of ranges) {
      expect((await readRange(file, start, length)).equals(CONTENT.subarray(start, start + length))).toBe(true);
    }
  });

  test('gives less when it ends before the range does', async () => {
    const file = await write(stored, name);
    expect(await readRange(file, CONTENT.length - 3, 10)).toHaveLength(3);
    expect(await readRange(file, CONTENT.length, 10)).toHaveLength(0);
    expect(await readChunkRange(file, CONTENT.length + 100, CONTENT.length + 200)).toHaveLength(0);
  });

  test('gives the line at each offset of its index, and null behind its end', async () => {
    const file = await write(stored, name);
    for (let offset = 0; offset < CONTENT.length; ) {
      const line = await readLineAt(file, offset);
      const end = CONTENT.indexOf(0x0a, offset) + 1;
      expect(line).toMatchObject({ offset, length: end - offset, terminated: true });
      expect(line?.bytes?.equals(CONTENT.subarray(offset, end))).toBe(true);
      offset = end;
    }
    expect(await readLineAt(file, CONTENT.length)).toBeNull();
    expect(await readLineAt(file, 0, 50)).toMatchObject({ bytes: null, length: episodeLine('e0').length });
  });

  test('is identified by the head of its content', async () => {
    const file = await write(stored, name);
    const { dev, ino, size } = statSync(file.path);
    expect(await identifyChunk(file)).toEqual({
      dev,
      ino,
      sizeBytes: size,
      headBytes: 4096,
      headSha256: sha256(CONTENT.subarray(0, 4096)),
    });
  });
});

describe('identity tells growth from replacement (U17, U18, T4, T5)', () => {
  test('a file that grew keeps the hash of its shorter head', async () => {
    const file = await write(Buffer.from(episodeLine('a')), 'c.jsonl');
    const before = await identifyChunk(file);
    expect(before.headBytes).toBe(episodeLine('a').length);
    appendFileSync(file.path, episodeLine('b'));
    const grown = await fileOf(file.path);
    expect(await identifyChunk(grown, before.headBytes)).toEqual({ ...before, sizeBytes: before.sizeBytes * 2 });
    expect((await identifyChunk(grown)).headSha256).not.toBe(before.headSha256);
  });

  test('a rewrite at equal size, a truncation and a new file each show', async () => {
    const file = await write(CONTENT, 'c.jsonl');
    const before = await identifyChunk(file);
    writeFileSync(file.path, Buffer.concat([CONTENT.subarray(0, 8), Buffer.from('X'), CONTENT.subarray(9)]));
    expect(await identifyChunk(file)).toMatchObject({ ino: before.ino, sizeBytes: before.sizeBytes });
    expect((await identifyChunk(file)).headSha256).not.toBe(before.headSha256);
    truncateSync(file.path, 10);
    expect((await identifyChunk(await fileOf(file.path))).sizeBytes).toBe(10);
    writeFileSync(`${file.path}.new`, CONTENT);
    renameSync(`${file.path}.new`, file.path);
    const replaced = await identifyChunk(file);
    expect([replaced.headSha256, replaced.ino === before.ino]).toEqual([before.headSha256, false]);
  });

  test('sealing changes the file and not the content hash', async () => {
    const file = await write(CONTENT, '00000.jsonl');
    const before = await identifyChunk(file);
    writeFileSync(`${file.path}.zst`, seal(CONTENT));
    rmSync(file.path);
    const after = await identifyChunk(file);
    expect([after.headSha256, after.headBytes]).toEqual([before.headSha256, before.headBytes]);
    expect(after.sizeBytes).not.toBe(before.sizeBytes);
    expect((await readRange(file, 500, 700)).equals(CONTENT.subarray(500, 1_200))).toBe(true);
  });
});

describe('what cannot be read', () => {
  test('a chunk that is gone', async () => {
    const file = await write(CONTENT, 'c.jsonl');
    rmSync(file.path);
    const refusal = { code: 'PRL_ERR_DAMAGED', message: 'cannot read c.jsonl: it no longer exists' };
    await expect(readRange(file, 0, 1)).rejects.toMatchObject(refusal);
    await expect(readLineAt(file, 0)).rejects.toMatchObject(refusal);
    await expect(identifyChunk(file)).rejects.toMatchObject(refusal);
    expect(await readChunkRange(file, 0, 1)).toBeNull();
  });

  test('a range in a corrupt frame is refused, the ranges beside it are read', async () => {
    const sealed = Buffer.from(seal(CONTENT, { frameBytes: 1000 }));
    const file = await write(sealed, 'c.jsonl.zst');
    const second = sealed.indexOf(Buffer.from([0x28, 0xb5, 0x2f, 0xfd]), 4);
    sealed[second - 1] = (sealed[second - 1] as number) ^ 0xff;
    writeFileSync(file.path, sealed);
    await expect(readRange(file, 0, 10)).rejects.toMatchObject({
      code: 'PRL_ERR_DAMAGED',
      message: expect.stringMatching(/^cannot read c\.jsonl\.zst at byte 0: frame 0 at compressed byte 0: /),
    });
    expect((await readRange(file, 1000, 500)).equals(CONTENT.subarray(1000, 1500))).toBe(true);
  });
});

test('every row of a real index leads to its record, sealed and live chunks alike', async () => {
  const { run, records } = await readRun(join(RUNS, 'prime-rl-stream'));
  const rows = readFileSync(run.indexPath as string)
    .toString()
    .trim()
    .split('\n')
    .map((row) => JSON.parse(row));
  expect(rows.length).toBe(records.length);
  for (const [index, row] of rows.entries()) {
    const file = run.files.find((one) => one.chunk === row.chunk) as ChunkFile;
    const line = await readLineAt(file, row.offset);
    expect(line?.bytes?.equals(records[index]?.bytes as Buffer)).toBe(true);
  }
});
