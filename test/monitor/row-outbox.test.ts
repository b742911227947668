/** Rows on their way into an index that now and then takes none. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PrlError } from '../../src/core/errors.js';
import { RowOutbox } from '../../src/monitor/row-outbox.js';

const NO_ROOM = new PrlError('PRL_ERR_LIMIT', 'no room');

/** An index in memory: each append waits for `next`, which says whether it fails. */
class SlowIndex {
  content = '';
  appends = 0;
  readonly #waiting: ((isFailing: boolean) => void)[] = [];

  async append(rows: Uint8Array): Promise<void> {
    this.appends += 1;
    const isFailing = await new Promise<boolean>((resolve) => this.#waiting.push(resolve));
    if (isFailing) throw NO_ROOM;
    this.content += Buffer.from(rows).toString();
  }

  async next(isFailing = false): Promise<void> {
    while (this.#waiting.length === 0) await Promise.resolve();
    this.#waiting.shift()?.(isFailing);
  }
}

const settled = (promise: Promise<void>): Promise<string> =>
  promise.then(
    () => 'saved',
    (error: PrlError) => error.message,
  );

describe('rows that wait for an index', () => {
  test('collect while an append is under way, and go in the next one together', async () => {
    const index = new SlowIndex();
    const outbox = new RowOutbox(index);
    const saved: Promise<void>[] = [];
    for (const row of ['a', 'b', 'c', 'd']) {
      outbox.add(Buffer.from(`${row}\n`));
      saved.push(outbox.saved());
      await Promise.resolve();
    }
    await index.next();
    await saved[0];
    expect(index.content).toBe('a\n');
    await index.next();
    await Promise.all(saved);
    expect(index.content).toBe('a\nb\nc\nd\n');
    expect(index.appends).toBe(2);
  });

  test('that could not be written go first in the next append', async () => {
    const index = new SlowIndex();
    const outbox = new RowOutbox(index);
    outbox.add(Buffer.from('a\n'));
    const first = settled(outbox.saved());
    await index.next(true);
    expect(await first).toBe('no room');
    outbox.add(Buffer.from('b\n'));
    const second = settled(outbox.saved());
    await index.next();
    expect(await second).toBe('saved');
    expect(index.content).toBe('a\nb\n');
  });

  test('are given up together when too many wait, and none is written behind the gap', async () => {
    const index = new SlowIndex();
    const outbox = new RowOutbox(index, 5);
    outbox.add(Buffer.from('aaaaa\n'));
    const first = settled(outbox.saved());
    await index.next(true);
    expect(await first).toBe('no room');
    outbox.add(Buffer.from('b\n'));
    await expect(outbox.saved()).rejects.toMatchObject({ code: 'PRL_ERR_LIMIT' });
    expect(index.content).toBe('');
  });

  test('are copied', async () => {
    const index = new SlowIndex();
    const outbox = new RowOutbox(index);
    const row = Buffer.from('a\n');
    outbox.add(row);
    row.fill('x');
    const saved = outbox.saved();
    await index.next();
    await saved;
    expect(index.content).toBe('a\n');
  });

  test('keep their order whatever fails, and saved() tells no lie', async () => {
    const step = fc.oneof(fc.constant('add'), fc.constant('save'), fc.constant('pass'), fc.constant('fail'));
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const index = new SlowIndex();
        const outbox = new RowOutbox(index);
        let rows = '';
        let appends = 0;
        let lies = 0;
        for (const what of steps) {
          if (what === 'add') {
            const row = `${rows.length}\n`;
            rows += row;
            outbox.add(Buffer.from(row));
          } else if (what === 'save') {
            const promised = rows;
            outbox.saved().then(
              () => {
                if (!index.content.startsWith(promised)) lies += 1;
              },
              () => {},
            );
          } else if (index.appends > appends) {
            appends += 1;
            await index.next(what === 'fail');
          }
          await new Promise((done) => setImmediate(done));
          expect(rows.startsWith(index.content)).toBe(true);
        }
        const last = outbox.saved();
        for (; index.appends > appends || (await isOpen(last)); appends += 1) await index.next();
        await last;
        expect(index.content).toBe(rows);
        expect(lies).toBe(0);
      }),
      { seed: 20261130, numRuns: 200 },
    );
  });
});

async function isOpen(promise: Promise<void>): Promise<boolean> {
  const open = Symbol('open');
  return (await Promise.race([promise, new Promise((done) => setImmediate(done, open))])) === open;
}
