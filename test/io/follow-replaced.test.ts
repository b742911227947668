/** Following what others take the place of: files, directories, paths that lead elsewhere, reused inodes (T1, T4, R36, R43). */
import {
  appendFileSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Following, StepwiseFollowing } from '../helpers/following.js';
import { episodeLine } from '../helpers/read-run.js';
import { seal } from '../helpers/seal.js';
import { tempFolder, writeTree } from '../helpers/temp-folder.js';

const lines = (...ids: string[]): string => ids.map((id) => episodeLine(id)).join('');

function remake(file: string, content: string): void {
  unlinkSync(file);
  writeFileSync(file, content);
}

test('R43: 100 quick cycles of removing and writing anew', async () => {
  const file = join(tempFolder(), 'traces.jsonl');
  writeFileSync(file, lines('0'));
  const following = new Following(file);
  await following.untilIds('0');
  for (let cycle = 1; cycle <= 100; cycle += 1) {
    remake(file, lines(String(cycle)));
    await following.until((told) => told.ids.at(-1) === String(cycle));
  }
  expect(following.ids).toEqual(Array.from({ length: 101 }, (_, cycle) => String(cycle)));
});

test('a sealed file that is replaced is read anew', async () => {
  const folder = tempFolder();
  const file = join(folder, 'copy.jsonl.zst');
  writeFileSync(file, seal(Buffer.from(lines('a', 'b'))));
  const following = new StepwiseFollowing(file);
  await following.look();
  writeFileSync(`${file}.new`, seal(Buffer.from(lines('b', 'c'))));
  renameSync(`${file}.new`, file);
  await following.look();
  expect(following.ids).toEqual(['a', 'b', 'c']);
  expect(following.all('rewritten')).toHaveLength(1);
});

const STREAM = 'monitors/file/traces/stream';

describe('a stream', () => {
  test('VE resume: the monitor directory is archived and a fresh one made; what is logged again is not told again', async () => {
    const run = writeTree(tempFolder(), {
      [`${STREAM}/00000.jsonl`]: lines('a', 'b'),
      [`${STREAM}/00001.jsonl`]: lines('c'),
    });
    const following = new StepwiseFollowing(run);
    await following.look();
    appendFileSync(join(run, STREAM, '00001.jsonl'), lines('d'));
    renameSync(join(run, 'monitors/file'), join(run, 'monitors/file.attempt_1'));
    await following.look();
    writeTree(run, { [`${STREAM}/00000.jsonl`]: lines('b', 'c', 'e') });
    await following.look();
    expect(following.ids).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(following.all('rewritten')).toMatchObject([{ file: STREAM, reason: 'another directory took its place' }]);
    expect(following.damage).toEqual([]);
  });

  test('T4: a directory removed and made anew has another identity, whatever inode it gets', async () => {
    const run = writeTree(tempFolder(), { [`${STREAM}/00000.jsonl`]: lines('0') });
    const directory = join(run, STREAM);
    const following = new StepwiseFollowing(run);
    await following.look();
    for (let cycle = 1; cycle <= 20; cycle += 1) {
      rmSync(directory, { recursive: true });
      mkdirSync(directory);
      writeFileSync(join(directory, '00000.jsonl'), lines(String(cycle)));
      await following.look();
    }
    expect(following.ids).toEqual(Array.from({ length: 21 }, (_, cycle) => String(cycle)));
    expect(following.all('rewritten')).toHaveLength(20);
  });

  test('the live chunk removed and made anew under its number', async () => {
    const run = writeTree(tempFolder(), {
      [`${STREAM}/00000.jsonl`]: lines('a'),
      [`${STREAM}/00001.jsonl`]: lines('b'),
    });
    const following = new StepwiseFollowing(run);
    await following.look();
    remake(join(run, STREAM, '00001.jsonl'), lines('b', 'c'));
    await following.look();
    expect(following.ids).toEqual(['a', 'b', 'c']);
    expect(following.all('rewritten')).toMatchObject([{ chunk: 1 }]);
  });

  test('an empty live chunk that a clean exit removed and a relaunch made anew is no rewrite', async () => {
    const run = writeTree(tempFolder(), { [`${STREAM}/00000.jsonl`]: lines('a'), [`${STREAM}/00001.jsonl`]: '' });
    const following = new StepwiseFollowing(run);
    await following.look();
    unlinkSync(join(run, STREAM, '00001.jsonl'));
    await following.look();
    writeFileSync(join(run, STREAM, '00001.jsonl'), lines('a', 'b'));
    await following.look();
    expect(following.ids).toEqual(['a', 'a', 'b']);
    expect(following.all('rewritten')).toEqual([]);
  });
});

describe('T1: a path that is swapped to lead elsewhere', () => {
  test.each([
    ['a link to a file', 'one.jsonl', 'two.jsonl'],
    ['a link to a run', 'one', 'two'],
  ])('%s', async (_what, one, two) => {
    const folder = tempFolder();
    const contentOf = (name: string): string => (name.endsWith('.jsonl') ? name : `${name}/${STREAM}/00000.jsonl`);
    writeTree(folder, { [contentOf(one)]: lines('a'), [contentOf(two)]: lines('b') });
    const link = join(folder, 'latest');
    symlinkSync(one, link);
    const following = new StepwiseFollowing(link);
    await following.look();
    appendFileSync(join(folder, contentOf(one)), lines('c'));
    symlinkSync(two, `${link}.new`);
    renameSync(`${link}.new`, link);
    await following.look();
    await following.look();
    expect(following.ids).toEqual(['a', 'c', 'b']);
    expect(following.all('rewritten')).toMatchObject([{ reason: 'the path leads to another run' }]);
  });
});

describe('R1: one file a step, of which none is held open', () => {
  const fileOf = (step: number): string => `rollouts/step_${step}/train/all/traces.jsonl`;

  test('files that appear and files that grow, also earlier ones', async () => {
    const run = writeTree(tempFolder(), { [fileOf(1)]: lines('a'), [fileOf(3)]: lines('c') });
    const following = new StepwiseFollowing(run);
    await following.look();
    writeTree(run, { [fileOf(2)]: lines('b') });
    appendFileSync(join(run, fileOf(1)), lines('d'));
    await following.look();
    await following.look();
    expect(following.ids).toEqual(['a', 'c', 'd', 'b']);
  });

  test('R36, T4: a reused inode of a file that was let go starts at zero', async ({ skip }) => {
    const steps = Array.from({ length: 12 }, (_, step) => step);
    const run = writeTree(tempFolder(), Object.fromEntries(steps.map((step) => [fileOf(step), lines(`s${step}`)])));
    const following = new StepwiseFollowing(run);
    await following.look();
    const path = join(run, fileOf(0));
    const { ino } = statSync(path);
    let isReused = false;
    for (let attempt = 0; attempt < 1_000 && !isReused; attempt += 1) {
      remake(path, lines('new1', 'new2', 'new3'));
      isReused = statSync(path).ino === ino;
    }
    skip(!isReused, 'this file system does not give an inode out again');
    await following.look();
    await following.look();
    expect(following.ids.slice(12)).toEqual(['new1', 'new2', 'new3']);
    expect(following.all('rewritten')).toHaveLength(1);
  });
});
