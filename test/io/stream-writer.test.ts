/** Lines into chunks: where they lie, when they roll, what is found and left in the directory. */
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { contents, names, openWriter, readPlace } from '../helpers/stream-folder.js';
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

  test('a chunk is filled to its last byte, LF included', async () => {
    const { writer } = await openWriter({ ...PLAIN, chunkBytes: 20 });
    const places = await Promise.all([writer.append([line(10)]), writer.append([line(10)]), writer.append([line(2)])]);
    expect(places.map(({ chunk, offset }) => [chunk, offset])).toEqual([
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

describe('what a directory holds', () => {
  test('vector 4: goes on with the highest plain chunk, and seals the lower ones', async () => {
    const directory = writeTree(join(tempFolder(), 'stream'), {
      '00000.jsonl': 'zero\n',
      '00000.jsonl.zst': 'half of a seal',
      '00001.jsonl.zst.tmp': 'left',
      '00002.jsonl': 'two\n',
      'notes.jsonl': 'foreign',
    });
    const { writer, notices } = await openWriter({}, directory);
    const place = await writer.append([bytes('more')]);
    expect(place).toEqual({ chunk: 2, offset: 4, bytes: 5 });
    await writer.close();
    expect(names(directory)).toEqual([...['00000.jsonl.zst', '00001.jsonl.zst.tmp', '00002.jsonl.zst', 'notes.jsonl']]);
    expect((await readPlace(directory, { chunk: 0, offset: 0, bytes: 5 })).toString()).toBe('zero\n');
    expect((await readPlace(directory, place)).toString()).toBe('more\n');
    expect(notices).toEqual([]);
  });

  test('B04: a number that only a killed seal used is not used again', async () => {
    const directory = writeTree(join(tempFolder(), 'stream'), { '00003.jsonl.zst.tmp': '' });
    const { writer } = await openWriter(PLAIN, directory);
    expect(await writer.append([bytes('a')])).toMatchObject({ chunk: 4 });
    await writer.close();
  });

  test('a file that appears under the next number is left alone', async () => {
    const { writer, directory } = await openWriter({ ...PLAIN, chunkBytes: 8 });
    await writer.append([line(8, 'a')]);
    writeFileSync(join(directory, '00001.jsonl'), 'foreign\n');
    expect(await writer.append([line(4, 'b')])).toMatchObject({ chunk: 2 });
    writeFileSync(join(directory, '00003.jsonl'), 'foreign\n');
    const open = writer.openLine();
    open.write(bytes('cc'));
    await until(() => contents(directory)['00002.jsonl'] === 'bbb\ncc');
    open.write(bytes('ccc'));
    expect(await open.commit()).toEqual({ chunk: 4, offset: 0, bytes: 6 });
    await writer.close();
    expect(Object.values(contents(directory))).toEqual(['aaaaaaa\n', 'foreign\n', 'bbb\n', 'foreign\n', 'ccccc\n']);
  });

  test.each([
    ['B03: the beginning of a record', '{"id":"a"', 9, 7],
    ['zeros, as a power loss leaves them', '\0\0\0\0', 4, 7],
    ['nothing but that', '{"id', 4, 0],
  ])('R-CHK-3: a last line without LF is ended: %s', async (_, torn, length, offset) => {
    const whole = offset === 0 ? '' : '{"i":1}'.slice(0, offset - 1).concat('\n');
    const directory = writeTree(join(tempFolder(), 'stream'), { '00000.jsonl': whole + torn });
    const { writer, notices } = await openWriter(PLAIN, directory);
    expect(await writer.append([bytes('{}')])).toEqual({ chunk: 0, offset: offset + length + 1, bytes: 3 });
    await writer.close();
    expect(contents(directory)).toEqual({ '00000.jsonl': `${whole}${torn}\n{}\n` });
    expect(notices).toMatchObject([
      { kind: 'torn', message: expect.stringContaining(`${length} bytes of a torn line at byte ${offset};`) },
    ]);
  });

  test('a torn line of several blocks is found to its beginning', async () => {
    const directory = writeTree(join(tempFolder(), 'stream'), { '00000.jsonl': `abc\n${'y'.repeat(2_500_000)}` });
    const { writer, notices } = await openWriter(PLAIN, directory);
    await writer.close();
    expect(notices[0]?.message).toContain('2500000 bytes of a torn line at byte 4;');
  });

  test('what a killed move left is removed', async () => {
    const directory = writeTree(join(tempFolder(), 'stream'), { '00000.jsonl': 'a\n', '1.moving': 'half' });
    const { writer } = await openWriter(PLAIN, directory);
    await writer.close();
    expect(names(directory)).toEqual(['00000.jsonl']);
  });
});

describe('the end', () => {
  test('seals the last chunk; an empty one is removed', async () => {
    const full = await openWriter();
    await full.writer.append([bytes('a')]);
    await Promise.all([full.writer.close(), full.writer.close()]);
    await full.writer.close();
    expect(names(full.directory)).toEqual(['00000.jsonl.zst']);
    expect(full.writer.snapshot()).toMatchObject({ sealed: 1, sealBacklog: 0, failedSeals: 0 });
    const empty = await openWriter();
    await empty.writer.close();
    expect(names(empty.directory)).toEqual([]);
  });

  test('leave: the next writer goes on in the same chunk', async () => {
    const { writer, directory } = await openWriter();
    await writer.append([bytes('a')]);
    await writer.leave();
    const next = await openWriter({}, directory);
    expect(await next.writer.append([bytes('b')])).toEqual({ chunk: 0, offset: 2, bytes: 2 });
    await next.writer.leave();
    expect(contents(directory)).toEqual({ '00000.jsonl': 'a\nb\n' });
  });

  test('an open line is given up', async () => {
    const { writer, directory } = await openWriter(PLAIN);
    await writer.append([bytes('a')]);
    const open = writer.openLine();
    open.write(bytes('open'));
    await writer.close();
    expect(contents(directory)).toEqual({ '00000.jsonl': 'a\n' });
  });
});

describe('one writer at a time', () => {
  test('a second one is refused with pid and host, and gets it afterwards', async () => {
    const { writer, directory } = await openWriter();
    const refusal = {
      code: 'PRL_ERR_LOCKED',
      message: expect.stringContaining(`owns ${directory}: pid ${process.pid} on`),
    };
    await expect(openWriter({}, directory)).rejects.toMatchObject(refusal);
    await expect(openWriter({}, `${directory}/`)).rejects.toMatchObject(refusal);
    expect(existsSync(`${directory}.lock`)).toBe(true);
    await writer.close();
    expect(existsSync(`${directory}.lock`)).toBe(false);
    await (await openWriter({}, directory)).writer.close();
  });

  test('the lock of a process that is no more is broken', async () => {
    const directory = join(tempFolder(), 'stream');
    mkdirSync(directory);
    appendFileSync(`${directory}.lock`, JSON.stringify({ pid: 4_000_000, host: 'here', bootId: null, token: 't' }));
    await expect(openWriter({}, directory)).rejects.toMatchObject({ code: 'PRL_ERR_LOCKED' });
    writeFileSync(`${directory}.lock`, 'half a lo');
    await (await openWriter({}, directory)).writer.close();
  });

  test('a directory that cannot be opened leaves no lock', async () => {
    const directory = writeTree(join(tempFolder(), 'stream'), { '00000.jsonl/': '' });
    await expect(openWriter({}, directory)).rejects.toMatchObject({ code: 'PRL_ERR_USAGE' });
    expect(existsSync(`${directory}.lock`)).toBe(false);
  });

  test.each([{ chunkBytes: 0 }, { chunkBytes: 1.5 }, { level: 23 }, { frameBytes: 2 ** 30 + 1 }])(
    'options out of range: %j',
    async (options) => {
      await expect(openWriter(options)).rejects.toThrow(RangeError);
    },
  );
});

/** Looks again after each turn of the event loop. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise(setImmediate);
}
