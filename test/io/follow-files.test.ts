/** Following one file that is appended to, taken back in part, or found with NUL bytes (T1, T2, T3, T8, T9, T12). */
import { appendFileSync, closeSync, openSync, readFileSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { followRecords } from '../../src/io/follow-run.js';
import { Following, StepwiseFollowing } from '../helpers/following.js';
import { episodeLine } from '../helpers/read-run.js';
import { tempFolder } from '../helpers/temp-folder.js';

/** A run of verifiers, whose one file holds this. */
function evalRun(content = ''): { run: string; file: string } {
  const run = tempFolder();
  const file = join(run, 'traces.jsonl');
  writeFileSync(file, content);
  return { run, file };
}

const lines = (...ids: string[]): string => ids.map((id) => episodeLine(id)).join('');
const LINE_BYTES = lines('a').length;

describe.each([true, false])('watches %s', (watches) => {
  test('T1: lines come as they are appended, in order and once', async () => {
    const { run, file } = evalRun(lines('a', 'b'));
    const following = new Following(run, { watches });
    await following.untilIds('a', 'b');
    appendFileSync(file, lines('c'));
    await following.untilIds('a', 'b', 'c');
    appendFileSync(file, lines('d', 'e'));
    await following.untilIds('a', 'b', 'c', 'd', 'e');
    expect(following.damage).toEqual([]);
    expect(following.all('record').map(({ record }) => record.lineNumber)).toEqual([1, 2, 3, 4, 5]);
  });

  test.each([
    ['inside the record', 20],
    ['inside a character', Buffer.from(episodeLine('b', '漢')).indexOf('漢') + 1],
    ['before its LF', Buffer.from(episodeLine('b', '漢')).length - 1],
  ])('T2: a line that stops %s is told as growing, and once as a record', async (_where, cut) => {
    const line = Buffer.from(episodeLine('b', '漢'));
    const { run, file } = evalRun(lines('a'));
    const following = new Following(run, { watches });
    await following.untilIds('a');
    appendFileSync(file, line.subarray(0, cut));
    await following.until((told) => told.all('growing').length > 0);
    expect(following.all('growing').at(-1)).toMatchObject({ chunk: 0, offset: LINE_BYTES, bytes: cut });
    expect(following.ids).toEqual(['a']);
    appendFileSync(file, line.subarray(cut));
    await following.untilIds('a', 'b');
    expect(following.all('record')[1]?.record.bytes).toEqual(line);
    expect(following.damage).toEqual([]);
  });
});

describe('an append that failed and was taken back to the last LF', () => {
  const AFTER: readonly (readonly [what: string, after: string, ids: string[]])[] = [
    ['it is tried again', lines('b'), ['b']],
    ['a shorter one follows', lines('c'), ['c']],
    ['longer ones follow', lines('c', 'd', 'e') + lines('f').slice(0, 30), ['c', 'd', 'e']],
    ['a short and a longer open one follow', lines('c') + lines('f').repeat(3).replaceAll('\n', ''), ['c']],
  ];

  test.each(AFTER.flatMap(([what, after, ids]) => [true, false].map((isSeen) => ({ what, after, ids, isSeen }))))(
    '$what, the truncation seen: $isSeen: no rewrite, no damage, each once',
    async ({ after, ids, isSeen }) => {
      const { run, file } = evalRun(lines('a'));
      const following = new StepwiseFollowing(run);
      await following.look();
      appendFileSync(file, `{"id":"b","text":"${'b'.repeat(200)}`);
      await following.look();
      expect(following.growing).toEqual([LINE_BYTES, 218]);
      truncateSync(file, LINE_BYTES);
      if (isSeen) await following.look();
      appendFileSync(file, after);
      // A line end among bytes that were searched before is found once the file is quiet.
      await following.look();
      await following.look();
      expect(following.ids).toEqual(['a', ...ids]);
      expect(following.all('rewritten')).toEqual([]);
      expect(following.damage).toEqual([]);
    },
  );

  test('R-CHK-3: a torn prefix that was ended with one LF is one damaged line', async () => {
    const { run, file } = evalRun(lines('a'));
    const following = new Following(run);
    appendFileSync(file, lines('b').slice(0, 50));
    await following.until((told) => told.all('growing').length > 0);
    appendFileSync(file, `\n${lines('b')}`);
    await following.untilIds('a', 'b');
    expect(following.damage).toEqual([['torn', 0, LINE_BYTES]]);
    expect(following.all('record').map(({ record }) => record.lineNumber)).toEqual([1, 3]);
  });
});

describe('NUL bytes at the end are room that was not written to yet (T8)', () => {
  test('R44: 4 MB of zeros overwritten in place, record by record and in parts', async () => {
    const { run, file } = evalRun();
    const following = new Following(run, { watches: false });
    truncateSync(file, 4_000_000);
    const handle = openSync(file, 'r+');
    let offset = 0;
    for (const id of ['a', 'b', 'c', 'd']) {
      const line = lines(id);
      writeSync(handle, line.slice(0, 40), offset);
      await following.until((told) => told.growing?.[0] === offset);
      expect(following.growing).toEqual([offset, 40]);
      writeSync(handle, line.slice(40), offset + 40);
      offset += line.length;
      await following.until((told) => told.ids.includes(id));
    }
    closeSync(handle);
    expect(following.ids).toEqual(['a', 'b', 'c', 'd']);
    expect(following.damage).toEqual([]);
    expect(following.all('rewritten')).toEqual([]);
  });

  test('bytes behind them make them damage, told once, and the record behind them is recovered', async () => {
    const { run, file } = evalRun(lines('a'));
    const following = new Following(run);
    truncateSync(file, LINE_BYTES + 5_000);
    appendFileSync(file, lines('b', 'c'));
    await following.untilIds('a', 'b', 'c');
    expect(following.damage).toEqual([['nul', 0, LINE_BYTES]]);
    expect(following.all('damage')[0]?.damage).toMatchObject({ bytes: 5_000, recovered: true });
  });

  test('R45: a writer that kept its offset over a truncation leaves them before its next record', async () => {
    const { run, file } = evalRun(lines('a', 'b'));
    const following = new Following(run);
    await following.untilIds('a', 'b');
    truncateSync(file, 0);
    const handle = openSync(file, 'r+');
    writeSync(handle, lines('c'), 2 * LINE_BYTES);
    closeSync(handle);
    await following.untilIds('a', 'b', 'c');
    expect(following.damage).toEqual([['nul', 0, 0]]);
    expect(following.all('rewritten')).toHaveLength(1);
  });
});

describe('long lines (T3)', () => {
  const maxLineBytes = 1_000;
  const long = (bytes: number): string => `{"id":"long","traces":[],"text":"${'x'.repeat(bytes - 35)}"}`;

  test('R38: the first line is over the cap; it is told by offset and length, and 100 lines behind it are', async () => {
    const ids = Array.from({ length: 100 }, (_, index) => `line-${index}`);
    const { run, file } = evalRun();
    const following = new Following(run, { maxLineBytes });
    await following.until((told) => told.all('caught-up').length > 0);
    for (let at = 0; at < 50_000; at += 5_000) appendFileSync(file, long(50_000).slice(at, at + 5_000));
    await following.until((told) => told.growing?.[1] === 50_000);
    appendFileSync(file, `\n${lines(...ids)}`);
    await following.untilIds(...ids);
    expect(following.damage).toEqual([['line_too_large', 0, 0]]);
    expect(following.all('damage')[0]?.damage.bytes).toBe(50_001);
    expect(following.all('record')[0]?.record.lineNumber).toBe(2);
  });

  test('R37: a line just above the cap, NUL bytes, then an unterminated one: the tail of no line becomes a record', async () => {
    const { run, file } = evalRun(`${long(maxLineBytes + 1)}\n${long(maxLineBytes)}\n`);
    const following = new Following(run, { maxLineBytes });
    await following.untilIds('long');
    appendFileSync(file, Buffer.concat([Buffer.alloc(100), Buffer.from(`\n${lines('a')}{"id":"open"`)]));
    await following.untilIds('long', 'a');
    await following.until((told) => told.growing?.[1] === 12);
    expect(following.damage.map(([kind]) => kind)).toEqual(['line_too_large', 'nul']);
  });

  test('what looks like a long line may have been taken back: short ones in its place are told', async () => {
    const { run, file } = evalRun(lines('a'));
    const following = new StepwiseFollowing(run, { maxLineBytes });
    await following.look();
    appendFileSync(file, long(5_000));
    await following.look();
    const ids = Array.from({ length: 100 }, (_, index) => `line-${index}`);
    writeFileSync(file, lines('a', ...ids));
    await following.look();
    expect(following.ids).toEqual(['a', ...ids]);
    expect(following.damage).toEqual([]);
  });
});

test.each([
  [0, 1],
  [1, 1],
  [2, 1],
  [1, 3],
])(
  'R49, T9: characters of three bytes across the edges of reads, shifted by %i, in a line of %i times 3 MB',
  async (shift, size) => {
    const line = Buffer.from(episodeLine('wide', 'x'.repeat(shift) + '漢'.repeat(size * 1_000_000)));
    const { run, file } = evalRun();
    const following = new Following(run);
    for (let at = 0; at < line.length; at += 700_001) appendFileSync(file, line.subarray(at, at + 700_001));
    appendFileSync(file, lines('a', 'b'));
    await following.untilIds('wide', 'a', 'b');
    expect(following.all('record')[0]?.record.bytes.equals(line)).toBe(true);
    expect(following.all('record').map(({ record }) => record.lineNumber)).toEqual([1, 2, 3]);
  },
);

test('T12: who asks for one record has no more read than a few windows of the file', async () => {
  const { run } = evalRun(lines('x').repeat(400_000));
  const readBytes = (): number => Number(/rchar: (\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
  const events = followRecords(run);
  const before = readBytes();
  for (let next = await events.next(); next.done !== true; next = await events.next()) {
    if (next.value.type === 'record') break;
  }
  expect(readBytes() - before).toBeLessThan(6 * 1_048_576);
  await events.return();
});
