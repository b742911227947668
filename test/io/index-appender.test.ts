/** Rows at the end of an index: never glued, counted right, and there again for records that a crash left without. */
import { appendFileSync, mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { IndexAppender } from '../../src/io/index-appender.js';
import { catchUpIndex } from '../../src/io/index-catch-up.js';
import type { StreamNotice } from '../../src/io/stream-types.js';
import { WORKED_EXAMPLES } from '../core/index/worked-examples.js';
import { CAN_MOUNT, smallDisk } from '../helpers/small-disk.js';
import { checkedIndexes, openWriter, rebuiltRows } from '../helpers/stream-folder.js';
import { tempFolder } from '../helpers/temp-folder.js';

const bytes = (text: string): Buffer => Buffer.from(text);

describe('rows go to the end', () => {
  let path = '';
  let notices: StreamNotice[] = [];
  const open = (fsync: 'never' | 'flush' = 'never') =>
    IndexAppender.open(path, { fsync, onNotice: (notice) => notices.push(notice) });
  beforeEach(() => {
    path = join(tempFolder(), 'stream.index.jsonl');
    notices = [];
  });

  test.each(['never', 'flush'] as const)('of a new file and of one that is there; fsync %s', async (fsync) => {
    const first = await open(fsync);
    expect(first.rows).toBe(0);
    expect(first.lastRow).toBeNull();
    await Promise.all([
      first.append(bytes('{"line":1,"offset":0}\n{"line":2,"offset":5}\n')),
      first.append(bytes('{"line":3,"offset":7}\n')),
    ]);
    expect(first.rows).toBe(3);
    await first.flush();
    await first.close();
    const second = await open(fsync);
    expect(second.rows).toBe(3);
    expect(second.lastRow).toMatchObject({ chunk: 0, offset: 7 });
    await second.append(bytes('{"line":4,"offset":9,"chunk":2}\n'));
    await second.flush();
    await second.close();
    expect(readFileSync(path, 'latin1')).toBe(
      '{"line":1,"offset":0}\n{"line":2,"offset":5}\n{"line":3,"offset":7}\n{"line":4,"offset":9,"chunk":2}\n',
    );
    expect(notices).toEqual([]);
  });

  test.each([
    ['{"cost":null,"li', 1],
    ['\0\0\0\0', 1],
    ['{"line":2,"offset":5}', 1],
  ])('B20: what a crash left of a row is cut off: %j', async (torn, rows) => {
    writeFileSync(path, `{"line":1,"offset":3}\n${torn}`);
    const index = await open();
    expect(index.rows).toBe(rows);
    expect(index.lastRow).toMatchObject({ offset: 3 });
    await index.append(bytes('{"line":2,"offset":8}\n'));
    await index.close();
    expect(readFileSync(path, 'latin1')).toBe('{"line":1,"offset":3}\n{"line":2,"offset":8}\n');
    expect(notices).toMatchObject([
      { kind: 'torn', message: expect.stringContaining(`${torn.length} bytes of a torn row`) },
    ]);
  });

  test('a line that is no row counts, and is no place to go on from', async () => {
    writeFileSync(path, '{"line":1,"offset":3}\nglued{"line":2}\n');
    const index = await open();
    expect(index.rows).toBe(2);
    expect(index.lastRow).toBeNull();
    await index.close();
  });

  test('a row longer than a block', async () => {
    const long = `{"line":1,"offset":12,"trace_ids":["${'t'.repeat(2_500_000)}"],"chunk":4}\n`;
    writeFileSync(path, `${long}{"tor`);
    const index = await open();
    expect(index.rows).toBe(1);
    expect(index.lastRow).toMatchObject({ chunk: 4, offset: 12 });
    await index.close();
    expect(readFileSync(path, 'latin1')).toBe(long);
  });

  test.skipIf(!CAN_MOUNT)(
    'R-CHK-2: rows that have no room are not there, and the next ones are not glued to them',
    async () => {
      const disk = smallDisk(8192);
      path = join(disk.path, 'stream.index.jsonl');
      const index = await open();
      await index.append(bytes('{"line":1,"offset":3}\n'));
      const rows = bytes('{"line":2,"offset":8}\n'.repeat(1000));
      const refusal = {
        code: 'PRL_ERR_LIMIT',
        message: expect.stringMatching(/at byte 8192: no room.*no row was added/),
      };
      await expect(index.append(rows)).rejects.toMatchObject(refusal);
      expect(index.rows).toBe(1);
      await index.append(bytes('{"line":2,"offset":8}\n'));
      await index.close();
      expect(readFileSync(path, 'latin1')).toBe('{"line":1,"offset":3}\n{"line":2,"offset":8}\n');
    },
  );

  test('a device that takes nothing and cannot be cut takes no row until it can', async () => {
    symlinkSync('/dev/full', path);
    const index = await open();
    await expect(index.append(bytes('{}\n'))).rejects.toMatchObject({
      code: 'PRL_ERR_LIMIT',
      message: expect.stringContaining('could not be cut off'),
    });
    await expect(index.append(bytes('{}\n'))).rejects.toMatchObject({
      message: expect.stringContaining('it ends in a torn row'),
    });
    expect(index.rows).toBe(0);
    await index.close();
  });

  test('where no file can be', async () => {
    mkdirSync(path);
    await expect(open()).rejects.toMatchObject({ code: 'PRL_ERR_USAGE', message: expect.stringContaining(path) });
  });
});

describe('records behind the last row get theirs', () => {
  const RECORDS = WORKED_EXAMPLES.map(({ record }) => record);
  let run = '';
  let traces = '';
  let directory = '';
  let path = '';
  beforeEach(() => {
    run = join(tempFolder(), 'run');
    traces = join(run, 'monitors/file/traces');
    directory = join(traces, 'stream');
    path = join(traces, 'stream.index.jsonl');
    mkdirSync(traces, { recursive: true });
  });

  /** Writes records in chunks as E14 has them. E8 is too little for a record, and has no row. */
  async function writeStream(records: readonly string[], compress: boolean): Promise<string> {
    const { writer } = await openWriter({ chunkBytes: 2000, compress }, directory);
    for (const record of records) await writer.append([bytes(record)]);
    await (compress ? writer.close() : writer.leave());
    return rebuiltRows(run);
  }

  async function catchUp(options: { holds?: 'episodes' | 'annotations'; maxBytes?: number } = {}) {
    const notices: string[] = [];
    const onNotice = ({ message }: StreamNotice): void => void notices.push(message);
    const index = await IndexAppender.open(path, { onNotice });
    const added = await catchUpIndex(index, { directory, holds: 'episodes', onNotice, ...options });
    await index.close();
    return { added, notices, rows: readFileSync(path, 'utf8') };
  }

  test.each([
    ['plain', false],
    ['sealed', true],
  ])('%s chunks: whatever the index has, it ends as prl index makes it', async (_, compress) => {
    const right = await writeStream(RECORDS, compress);
    const ends = [...right.matchAll(/\n/g)].map(({ index }) => index + 1);
    expect(ends).toHaveLength(9);
    for (let rows = 0; rows <= 9; rows += 1) {
      const end = ends[rows - 1] ?? 0;
      for (const torn of [0, 9]) {
        writeFileSync(path, right.slice(0, end + torn));
        const outcome = await catchUp();
        expect(outcome.added).toBe(9 - rows);
        expect(outcome.rows).toBe(right);
      }
    }
    expect((await checkedIndexes(run)).map(({ check }) => check?.ok)).toEqual([true]);
  });

  test('of a torn line that is ended by an LF, none', async () => {
    const right = await writeStream(RECORDS.slice(0, 9), false);
    appendFileSync(join(directory, '00002.jsonl'), RECORDS[9]?.slice(0, 200) ?? '');
    const { writer } = await openWriter({ compress: false }, directory);
    writeFileSync(path, right.slice(0, right.lastIndexOf('\n', right.length - 2) + 1));
    expect(await catchUp()).toEqual({ added: 1, notices: [], rows: right });
    await writer.leave();
  });

  test('of a record that lacked nothing but its LF, one', async () => {
    const right = await writeStream(RECORDS, false);
    const last = join(directory, '00003.jsonl');
    truncateSync(last, readFileSync(last).length - 1);
    writeFileSync(path, right.slice(0, right.lastIndexOf('\n', right.length - 2) + 1));
    const { writer } = await openWriter({ compress: false }, directory);
    expect(await catchUp()).toEqual({ added: 1, notices: [], rows: right });
    await writer.leave();
  });

  test('rows before the last stay as they are, wrong ones too', async () => {
    const right = await writeStream(RECORDS, false);
    const [first, ...others] = right.split('\n');
    const wrong = first?.replace('"reward":1.0', '"reward":9.0') ?? '';
    writeFileSync(path, [wrong, ...others.slice(0, 5), ''].join('\n'));
    expect((await catchUp()).rows).toBe([wrong, ...others].join('\n'));
  });

  test('not when it would take long: a notice says who does it', async () => {
    const right = await writeStream(RECORDS, false);
    writeFileSync(path, '');
    const tooLong = await catchUp({ maxBytes: 5939 });
    expect(tooLong).toMatchObject({ added: 0, rows: '' });
    expect(tooLong.notices).toEqual([
      expect.stringMatching(/5940 bytes of the stream lie behind its last row.*`prl index`/),
    ]);
    expect(await catchUp({ maxBytes: 5940 })).toEqual({ added: 9, notices: [], rows: right });
  });

  test('the length of the last record that has its row does not count', async () => {
    const right = await writeStream(RECORDS, false);
    writeFileSync(path, right.slice(0, right.indexOf('\n') + 1));
    expect(await catchUp({ maxBytes: 5940 - 1159 })).toMatchObject({ added: 8, rows: right });
  });

  test.each([
    [
      'its record was cut off',
      () => truncateSync(join(directory, '00003.jsonl'), 100),
      /byte 0 of chunk 3, which is not there/,
    ],
    ['its chunk is gone', () => rmSync(join(directory, '00003.jsonl')), /byte 0 of chunk 3, which is not there/],
    ['it is no row', () => appendFileSync(path, 'glued\n'), /its last line is no row/],
  ])('not when the last row tells nothing: %s', async (_, change, reason) => {
    const right = await writeStream(RECORDS, false);
    writeFileSync(path, right);
    change();
    const before = readFileSync(path, 'utf8');
    expect(await catchUp()).toEqual({ added: 0, rows: before, notices: [expect.stringMatching(reason)] });
  });

  test('a stream without records has no rows', async () => {
    await (await openWriter({}, directory)).writer.leave();
    expect(await catchUp()).toEqual({ added: 0, notices: [], rows: '' });
  });

  test.each([
    ['plain', false],
    ['sealed', true],
  ])('annotations, %s', async (_, compress) => {
    writeFileSync(path, '');
    await writeStream(RECORDS.slice(0, 1), false);
    directory = join(traces, 'annotations/orch');
    path = join(traces, 'annotations/orch.index.jsonl');
    const { writer } = await openWriter({ chunkBytes: 200, compress }, directory);
    const expected: string[] = [];
    for (let index = 0; index < 8; index += 1) {
      const info = `{"ship":{"step":${index},"time":1.5}}`;
      const { chunk, offset } = await writer.append([
        bytes(`{"version":1,"trace_id":"t${index}","info":${info},"branches":[]}`),
      ]);
      expected.push(`{"trace_id":"t${index}","chunk":${chunk},"offset":${offset},"info":${info}}\n`);
    }
    await (compress ? writer.close() : writer.leave());
    for (let rows = 0; rows <= 8; rows += 1) {
      writeFileSync(path, expected.slice(0, rows).join(''));
      expect(await catchUp({ holds: 'annotations' })).toEqual({
        added: 8 - rows,
        notices: [],
        rows: expected.join(''),
      });
    }
    const outcomes = await checkedIndexes(run);
    expect(outcomes.find(({ holds }) => holds === 'annotations')?.check?.ok).toBe(true);
  });
});
