/** Lines into chunks: where they lie, when they roll, how they come in parts. */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { contents, names, openWriter, until } from '../helpers/stream-folder.js';
import { tempFolder, writeTree } from '../helpers/temp-folder.js';

const PLAIN = { compress: false } as const;
const bytes = (text: string): Buffer => Buffer.from(text);

/** A line of so many bytes, without its LF. */
const line = (length: number, fill = 'x'): Buffer => bytes(fill.repeat(length - 1));

describe('where a line lies (spec 03 section 10)', () => {
  test('vector 1: two lines of 10 bytes in chunks of 25, the third in the next one', async () => {
    const { writer, directory } = await openWriter({ ...PLAIN, chunkBytes: 25 });
    const places = [];
    for (const fill of ['a', 'b', 'c']) places.push(await writer.append([line(10, fill)]));
    await writer.close();
    expect(places).toEqual([
      { chunk: 0, offset: 0, bytes: 10 },
      { chunk: 0, offset: 10, bytes: 10 },
      { chunk: 1, offset: 0, bytes: 10 },
    ]);
    expect(contents(directory)).toEqual({ '00000.jsonl': 'aaaaaaaaa\nbbbbbbbbb\n', '00001.jsonl': 'ccccccccc\n' });
  });

  test('vector 2: a line longer than a chunk has a chunk of its own', async () => {
    const { writer } = await openWriter({ ...PLAIN, chunkBytes: 5 });
    expect(await writer.append([line(40)])).toEqual({ chunk: 0, offset: 0, bytes: 40 });
    expect(await writer.append([line(4)])).toEqual({ chunk: 1, offset: 0, bytes: 4 });
    expect(await writer.append([line(1 + 1)])).toEqual({ chunk: 2, offset: 0, bytes: 2 });
    await writer.close();
  });

  test.each([true, false])('a chunk is filled to its last byte, LF included; all at once: %s', async (isAtOnce) => {
    const { writer } = await openWriter({ ...PLAIN, chunkBytes: 20 });
    const places = [];
    for (const length of [10, 10, 2]) {
      const place = writer.append([line(length)]);
      places.push(place);
      if (!isAtOnce) await place;
    }
    expect((await Promise.all(places)).map(({ chunk, offset }) => [chunk, offset])).toEqual([
      [0, 0],
      [0, 10],
      [1, 0],
    ]);
    await writer.close();
  });

  test('E14: ten lines of a known run roll as upstream rolls them', async () => {
    const lengths = [1159, 823, 940, 614, 298, 504, 599, 39, 487, 477];
    const { writer } = await openWriter({ ...PLAIN, chunkBytes: 2000 });
    const places = await Promise.all(lengths.map((length) => writer.append([line(length)])));
    expect(places.map(({ chunk, offset }) => [chunk, offset])).toEqual([
      ...[
        [0, 0],
        [0, 1159],
        [1, 0],
        [1, 940],
        [1, 1554],
      ],
      ...[
        [2, 0],
        [2, 504],
        [2, 1103],
        [2, 1142],
        [3, 0],
      ],
    ]);
    await writer.close();
  });

  test('R-CHK-4: numbers of six digits', async () => {
    const directory = writeTree(join(tempFolder(), 'stream'), { '99999.jsonl': 'old\n' });
    const { writer } = await openWriter({ ...PLAIN, chunkBytes: 4 }, directory);
    expect(await writer.append([bytes('new')])).toEqual({ chunk: 100_000, offset: 0, bytes: 4 });
    await writer.close();
    expect(names(directory)).toEqual(['100000.jsonl', '99999.jsonl']);
  });
});

describe('a line that comes in parts', () => {
  /** Parts that remember whether they were released, and were whole until then. */
  function pooled(text: string, released: string[]) {
    return { bytes: bytes(text), release: () => void released.push(text) };
  }

  test('is written as it comes, and each part is let go once it is in the file (R-CHK-1)', async () => {
    const { writer, directory } = await openWriter(PLAIN);
    const path = join(directory, '00000.jsonl');
    const released: string[] = [];
    const open = writer.openLine();
    open.write(pooled('{"a":', released));
    await until(() => released.length === 1);
    expect(readFileSync(path, 'latin1')).toBe('{"a":');
    open.write(pooled('1', released));
    open.write(bytes(''));
    open.write(bytes('}'));
    expect(await open.commit()).toEqual({ chunk: 0, offset: 0, bytes: 8 });
    expect(released).toEqual(['{"a":', '1']);
    expect(readFileSync(path, 'latin1')).toBe('{"a":1}\n');
    await writer.close();
  });

  test('moves on when it outgrows the chunk that it was begun in', async () => {
    const { writer, directory } = await openWriter({ ...PLAIN, chunkBytes: 20 });
    await writer.append([bytes('first')]);
    const released: string[] = [];
    const open = writer.openLine();
    open.write(pooled('0123456789', released));
    await until(() => released.length === 1);
    expect(contents(directory)).toEqual({ '00000.jsonl': 'first\n0123456789' });
    open.write(pooled('abc', released));
    open.write(pooled('def', released));
    expect(await open.commit()).toEqual({ chunk: 1, offset: 0, bytes: 17 });
    expect(await writer.append([bytes('z')])).toEqual({ chunk: 1, offset: 17, bytes: 2 });
    await writer.close();
    expect(contents(directory)).toEqual({ '00000.jsonl': 'first\n', '00001.jsonl': '0123456789abcdef\nz\n' });
    expect(released).toEqual(['0123456789', 'abc', 'def']);
  });

  test('moves on for its LF alone', async () => {
    const { writer, directory } = await openWriter({ ...PLAIN, chunkBytes: 9 });
    await writer.append([bytes('abc')]);
    const released: string[] = [];
    const open = writer.openLine();
    open.write(pooled('01234', released));
    await until(() => released.length === 1);
    expect(await open.commit()).toEqual({ chunk: 1, offset: 0, bytes: 6 });
    await writer.close();
    expect(contents(directory)).toEqual({ '00000.jsonl': 'abc\n', '00001.jsonl': '01234\n' });
  });

  test('given up leaves nothing behind, begun or not', async () => {
    const { writer, directory } = await openWriter(PLAIN);
    await writer.append([bytes('first')]);
    const released: string[] = [];
    const begun = writer.openLine();
    begun.write(pooled('begun', released));
    await until(() => released.length === 1);
    begun.write(pooled('more', released));
    const gone = begun.abort();
    begun.write(pooled('late', released));
    const next = writer.append([bytes('next')]);
    await gone;
    await writer.openLine().abort();
    expect(await next).toEqual({ chunk: 0, offset: 6, bytes: 5 });
    expect(contents(directory)).toEqual({ '00000.jsonl': 'first\nnext\n' });
    expect(released).toEqual(['begun', 'more', 'late']);
    await writer.close();
  });

  test('of which the caller stops making parts is given up', async () => {
    const { writer, directory } = await openWriter(PLAIN);
    function* failing(): Generator<Buffer> {
      yield bytes('begun');
      throw new Error('no more');
    }
    await expect(writer.append(failing())).rejects.toThrow('no more');
    await writer.append([bytes('next')]);
    expect(contents(directory)).toEqual({ '00000.jsonl': 'next\n' });
    await writer.close();
  });

  test('of more parts than one write takes', async () => {
    const { writer, directory } = await openWriter(PLAIN);
    const parts = Array.from({ length: 5000 }, (_, index) => bytes(`${index},`));
    await writer.append(parts);
    await writer.close();
    expect(contents(directory)['00000.jsonl']).toBe(`${Buffer.concat(parts)}\n`);
  });

  test('one at a time, none without bytes, and none when it is closed', async () => {
    const { writer, directory } = await openWriter(PLAIN);
    const open = writer.openLine();
    expect(() => writer.openLine()).toThrow('a line is open already');
    await expect(open.commit()).rejects.toThrow('a line without bytes');
    await writer.append([bytes('a')]);
    await writer.close();
    await expect(writer.append([bytes('b')])).rejects.toMatchObject({ code: 'PRL_ERR_USAGE' });
    await expect(writer.flush()).rejects.toMatchObject({ code: 'PRL_ERR_USAGE' });
    expect(contents(directory)).toEqual({ '00000.jsonl': 'a\n' });
  });
});

test('flush waits for all lines that were committed, not for the one that is open', async () => {
  const { writer, directory } = await openWriter({ ...PLAIN, fsync: 'flush' });
  const done: number[] = [];
  for (let index = 0; index < 100; index += 1) void writer.append([bytes(`${index}`)]).then(() => done.push(index));
  const open = writer.openLine();
  open.write(bytes('open'));
  await writer.flush();
  expect(done).toHaveLength(100);
  expect(contents(directory)['00000.jsonl']).toMatch(/^0\n1\n[\d\n]*\n99\n(open)?$/);
  expect(writer.snapshot()).toMatchObject({ lines: 100, bytes: 290, pendingLines: 1, failedLines: 0 });
  await writer.close();
  expect(contents(directory)['00000.jsonl']).toMatch(/\n99\n$/);
  expect(writer.snapshot()).toMatchObject({ lines: 100, pendingLines: 0, pendingBytes: 0, liveBytes: 290 });
});

describe('a chunk that is ended early', () => {
  test('takes no more lines, unless it is empty; the next one does', async () => {
    const { writer, directory } = await openWriter(PLAIN);
    await writer.roll();
    expect(await writer.append([line(10)])).toMatchObject({ chunk: 0 });
    await Promise.all([writer.roll(), writer.roll()]);
    await writer.roll();
    expect(names(directory)).toEqual(['00000.jsonl', '00001.jsonl']);
    expect(await writer.append([line(5)])).toEqual({ chunk: 1, offset: 0, bytes: 5 });
    await writer.close();
    await expect(writer.roll()).rejects.toMatchObject({ code: 'PRL_ERR_USAGE' });
  });

  test('keeps a line that has begun in it', async () => {
    const { writer } = await openWriter(PLAIN);
    const open = writer.openLine();
    open.write(bytes('aaa'));
    await until(() => writer.snapshot().pendingBytes === 0);
    const rolled = writer.roll();
    open.write(bytes('bbb'));
    expect(await open.commit()).toEqual({ chunk: 0, offset: 0, bytes: 7 });
    await rolled;
    expect(await writer.append([line(5)])).toMatchObject({ chunk: 1 });
    await writer.close();
  });

  test('goes on when the next one cannot be started', async () => {
    const { writer, directory } = await openWriter(PLAIN);
    await writer.append([line(10)]);
    rmSync(directory, { recursive: true });
    await expect(writer.roll()).rejects.toMatchObject({
      code: 'PRL_ERR_TEMPORARY',
      message: expect.stringContaining('cannot start the chunk behind'),
    });
    expect(await writer.append([line(5)])).toEqual({ chunk: 0, offset: 10, bytes: 5 });
    await writer.close().catch(() => {}); // its files are gone
  });
});
