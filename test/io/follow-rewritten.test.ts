/** Following files that are written anew: cut, overwritten, replaced, also while they are read (T5, R39). */
import {
  appendFileSync,
  closeSync,
  openSync,
  renameSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { followRecords } from '../../src/io/follow-run.js';
import type { FollowEvent } from '../../src/io/follow-types.js';
import { StepwiseFollowing } from '../helpers/following.js';
import { episodeLine } from '../helpers/read-run.js';
import { tempFolder } from '../helpers/temp-folder.js';

const lines = (...ids: string[]): string => ids.map((id) => episodeLine(id)).join('');
const LINE_BYTES = lines('a').length;

function evalRun(content: string): { run: string; file: string } {
  const run = tempFolder();
  const file = join(run, 'traces.jsonl');
  writeFileSync(file, content);
  return { run, file };
}

/** Writes over what is there, without cutting it. */
function overwrite(file: string, content: string): void {
  const handle = openSync(file, 'r+');
  writeSync(handle, content, 0);
  closeSync(handle);
}

function replace(file: string, content: string): void {
  writeFileSync(`${file}.tmp`, content);
  renameSync(`${file}.tmp`, file);
}

function remake(file: string, content: string): void {
  unlinkSync(file);
  writeFileSync(file, content);
}

/** What is done to a file that holds a, b and c, and what is told behind those. */
const CHANGES: readonly (readonly [string, (file: string) => void, string[]])[] = [
  ['cut to nothing', (file) => truncateSync(file, 0), []],
  ['cut in the middle of a line', (file) => truncateSync(file, LINE_BYTES + 20), []],
  ['cut to nothing, and a shorter content', (file) => writeFileSync(file, lines('d')), ['d']],
  ['the same size, other lines', (file) => overwrite(file, lines('d', 'e', 'f')), ['d', 'e', 'f']],
  ['the same size, another first line', (file) => overwrite(file, lines('d', 'b', 'c')), ['d']],
  ['the same size, another last line', (file) => overwrite(file, lines('a', 'b', 'd')), ['d']],
  [
    'the same lines, the last one longer',
    (file) => writeFileSync(file, lines('a', 'b') + episodeLine('c', 'more')),
    [],
  ],
  ['longer at once, other lines', (file) => writeFileSync(file, lines('d', 'e', 'f', 'g')), ['d', 'e', 'f', 'g']],
  ['longer at once, some lines kept', (file) => writeFileSync(file, lines('a', 'c', 'd', 'e')), ['d', 'e']],
  ['replaced by the kept lines, as a resumed evaluation does', (file) => replace(file, lines('a', 'c')), []],
  ['replaced by a longer file', (file) => replace(file, lines('c', 'd', 'b', 'e')), ['d', 'e']],
  ['replaced by a file of the same size', (file) => replace(file, lines('c', 'd', 'b')), ['d']],
  ['removed and made anew', (file) => remake(file, lines('d')), ['d']],
];

describe('T5: a file written anew is told from its start, without what was told before', () => {
  test.each(CHANGES)('%s', async (_what, change, ids) => {
    const { run, file } = evalRun(lines('a', 'b', 'c'));
    const following = new StepwiseFollowing(run);
    await following.look();
    change(file);
    await following.look();
    expect(following.ids).toEqual(['a', 'b', 'c', ...ids]);
    expect(following.all('rewritten')).toHaveLength(1);
    appendFileSync(file, `\n${lines('z')}`);
    await following.look();
    expect(following.ids.at(-1)).toBe('z');
    expect(following.all('rewritten')).toHaveLength(1);
    expect(following.damage.filter(([kind]) => kind !== 'torn')).toEqual([]);
  });

  test('a file that was only touched is not told again', async () => {
    const { run, file } = evalRun(lines('a', 'b'));
    const following = new StepwiseFollowing(run);
    await following.look();
    overwrite(file, lines('a', 'b'));
    await following.look();
    appendFileSync(file, lines('c'));
    await following.look();
    expect(following.ids).toEqual(['a', 'b', 'c']);
    expect(following.all('rewritten')).toEqual([]);
  });

  test('what was written to the old file before it was replaced is told first', async () => {
    const { run, file } = evalRun(lines('a'));
    const following = new StepwiseFollowing(run);
    await following.look();
    appendFileSync(file, lines('b', 'c'));
    renameSync(file, `${file}.1`);
    writeFileSync(file, lines('d'));
    await following.look();
    expect(following.ids).toEqual(['a', 'b', 'c', 'd']);
  });

  test('R39: renamed in the middle of a record: its end is waited for, and only a second later it is torn', async () => {
    const { run, file } = evalRun(lines('a'));
    const following = new StepwiseFollowing(run);
    await following.look();
    const line = lines('b');
    appendFileSync(file, line.slice(0, 40));
    renameSync(file, `${file}.1`);
    writeFileSync(file, lines('d'));
    await following.look();
    expect(following.ids).toEqual(['a']);
    appendFileSync(`${file}.1`, line.slice(40));
    await following.look();
    expect(following.ids).toEqual(['a', 'b', 'd']);
    appendFileSync(file, lines('e').slice(0, 40));
    renameSync(file, `${file}.2`);
    writeFileSync(file, lines('f'));
    for (let count = 0; count < 4; count += 1) await following.look(400);
    expect(following.ids).toEqual(['a', 'b', 'd', 'f']);
    expect(following.damage).toEqual([['torn', 0, LINE_BYTES]]);
  });

  test('followed from the end: the lines before it are not told when a resume keeps them', async () => {
    const { run, file } = evalRun(lines('a', 'b', 'c'));
    const following = new StepwiseFollowing(run, { from: 'end' });
    await following.look();
    replace(file, lines('a', 'c', 'd'));
    await following.look();
    expect(following.ids).toEqual(['d']);
  });

  test('an id that one file holds twice is told twice, also after a rewrite', async () => {
    const { run, file } = evalRun(lines('a', 'a'));
    const following = new StepwiseFollowing(run);
    await following.look();
    replace(file, lines('a', 'b', 'b'));
    await following.look();
    expect(following.ids).toEqual(['a', 'a', 'b', 'b']);
    const sums = following.all('file').flatMap(({ summary }) => (summary === null ? [] : [summary]));
    expect(sums).toMatchObject([{ records: 2, skippedBytes: 0, endOffset: 2 * LINE_BYTES }]);
  });

  test('records without an id are told apart by their bytes', async () => {
    const trace = (text: string): string => `{"nodes":[],"text":"${text}"}\n`;
    const { run, file } = evalRun(trace('a') + trace('b'));
    const following = new StepwiseFollowing(run);
    await following.look();
    replace(file, trace('a') + trace('c'));
    await following.look();
    const texts = following.all('record').map(({ record }) => JSON.parse(record.bytes.toString()).text);
    expect(texts).toEqual(['a', 'b', 'c']);
  });
});

describe('changed while the consumer is at a record', () => {
  const many = (letter: string, count: number): string =>
    lines(...Array.from({ length: count }, (_, index) => `${letter}${String(index).padStart(6, '0')}`));

  test('cut among lines that were not told yet, then written on: as if they had never been there', async () => {
    const { run, file } = evalRun(many('o', 30_000));
    const ids: string[] = [];
    for await (const event of followRecords(run, { watches: false, pollMs: 10 })) {
      expect(event.type).not.toBe('damage');
      expect(event.type).not.toBe('rewritten');
      if (event.type === 'record') ids.push(JSON.parse(event.record.bytes.toString()).id);
      if (event.type === 'record' && ids.length === 1) truncateSync(file, 2_000_000);
      if (event.type === 'growing') appendFileSync(file, many('o', 30_000).slice(2_000_000));
      if (ids.length === 30_000) break;
    }
    expect(ids.join('')).toBe(
      many('o', 30_000)
        .match(/o\d{6}/g)
        ?.join(''),
    );
  });

  test.each([
    ['cut and written anew, longer', (file: string) => writeFileSync(file, many('n', 40_000)), 40_000],
    ['overwritten in place', (file: string) => overwrite(file, many('n', 30_000)), 30_000],
    ['cut and written anew, shorter', (file: string) => writeFileSync(file, many('n', 10)), 10],
  ])(
    '%s: what is told is the old lines up to a place, then all new ones, and nothing of both',
    async (_what, change, count) => {
      const { run, file } = evalRun(many('o', 30_000));
      const ids: string[] = [];
      const others: FollowEvent['type'][] = [];
      for await (const event of followRecords(run, { watches: false, pollMs: 10 })) {
        if (event.type === 'record') ids.push(JSON.parse(event.record.bytes.toString()).id);
        else others.push(event.type);
        if (ids.length === 1 && event.type === 'record') change(file);
        if (ids.at(-1) === `n${String(count - 1).padStart(6, '0')}`) break;
      }
      const old = ids.filter((id) => id.startsWith('o')).length;
      expect(old).toBeLessThan(30_000);
      expect(ids.join('')).toBe(
        many('o', old)
          .concat(many('n', count))
          .match(/[on]\d{6}/g)
          ?.join(''),
      );
      expect(others.filter((type) => type === 'damage' || type === 'rewritten')).toEqual(['rewritten']);
    },
  );
});
