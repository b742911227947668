/** Directories are made with all that is missing above them, and a place that cannot have any ends in an error. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeDirectory } from '../../src/io/make-directory.js';
import { tempFolder, writeTree } from '../helpers/temp-folder.js';

test('missing levels are made; what is there stays', async () => {
  const path = join(tempFolder(), 'a', 'b', 'c');
  await makeDirectory(path);
  await makeDirectory(path);
  expect(existsSync(path)).toBe(true);
});

test('many makers of one path all find it', async () => {
  const path = join(tempFolder(), 'x', 'y');
  await Promise.all(Array.from({ length: 8 }, () => makeDirectory(path)));
  expect(existsSync(path)).toBe(true);
});

test('a place that takes no directory answers, instead of being asked for ever', async () => {
  await expect(makeDirectory('/proc/prl/deeper')).rejects.toMatchObject({ code: 'ENOENT' });
});

test('a file in the way is an error', async () => {
  const root = writeTree(tempFolder(), { file: '' });
  await expect(makeDirectory(join(root, 'file', 'below'))).rejects.toMatchObject({ code: 'ENOTDIR' });
});
