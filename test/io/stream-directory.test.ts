/** A stream directory: what a writer finds there and goes on with, what it leaves, and that it is alone. */
import { appendFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { contents, names, openWriter, readPlace, until } from '../helpers/stream-folder.js';
import { tempFolder, writeTree } from '../helpers/temp-folder.js';

const PLAIN = { compress: false } as const;
const bytes = (text: string): Buffer => Buffer.from(text);

/** A line of so many bytes, without its LF. */
const line = (length: number, fill: string): Buffer => bytes(fill.repeat(length - 1));

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
