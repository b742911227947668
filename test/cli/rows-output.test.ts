/** Rows wait for their reader, and a signal does not (demands C2, C8). */
import { expect, test } from 'vitest';
import { RowsOutput } from '../../src/cli/rows-output.js';

const ROWS = Buffer.from('{"line":1}\n');

/** An output whose reader takes nothing until it is told to. */
function setUp(isTerminal = false) {
  const controller = new AbortController();
  const written: Uint8Array[] = [];
  let take = (_error?: Error): void => {};
  const data = (rows: string | Uint8Array): Promise<void> =>
    new Promise((resolve, reject) => {
      written.push(Buffer.from(rows));
      take = (error) => (error === undefined ? resolve() : reject(error));
    });
  const rows = new RowsOutput({ data }, controller.signal, isTerminal);
  return { controller, written, rows, take: (error?: Error) => take(error) };
}

test('a write is over when the reader has taken it', async () => {
  const { rows, take, written } = setUp();
  let isOver = false;
  const writing = rows.write(ROWS).then(() => {
    isOver = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(isOver).toBe(false);
  take();
  await writing;
  expect(written).toEqual([ROWS]);
});

test('a signal ends the wait, and what is on its way still arrives', async () => {
  const { rows, take, controller } = setUp();
  const writing = rows.write(ROWS);
  controller.abort(new Error('stopped'));
  await expect(writing).rejects.toThrow('stopped');
  let isSettled = false;
  const settled = rows.settled().then(() => {
    isSettled = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(isSettled).toBe(false);
  take();
  await settled;
});

test('nothing is written after a signal', async () => {
  const { rows, controller, written } = setUp();
  controller.abort(new Error('stopped'));
  await expect(rows.write(ROWS)).rejects.toThrow('stopped');
  expect(written).toEqual([]);
  await rows.settled();
});

test('a disk that is full is an error of the write', async () => {
  const { rows, take } = setUp();
  const writing = rows.write(ROWS);
  take(new Error('ENOSPC'));
  await expect(writing).rejects.toThrow('ENOSPC');
});

test.each([false, true])(
  'what would act on a terminal (%s) is written as an escape there, and as it is elsewhere',
  async (isTerminal) => {
    const { rows, take, written } = setUp(isTerminal);
    const row = { id: 'a\u202eb\u0085\u{e0001}漢🙂', note: 'x\ty' };
    const line = Buffer.from(`${JSON.stringify(row)}\n`);
    const writing = rows.write(line);
    take();
    await writing;
    const text = Buffer.concat(written).toString();
    expect(JSON.parse(text)).toEqual(row);
    expect(text.endsWith('\n')).toBe(true);
    if (isTerminal) expect(text).toBe('{"id":"a\\u202eb\\u0085\\udb40\\udc01漢🙂","note":"x\\ty"}\n');
    else expect(written).toEqual([line]);
  },
);
