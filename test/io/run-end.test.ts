/** Where a run ends, while its files come and go. Real files. */
import { appendFileSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { endOfRun } from '../../src/io/run-end.js';
import { seededRandom } from '../helpers/generated-run.js';
import { seal } from '../helpers/seal.js';
import { tempFolder, writeTree } from '../helpers/temp-folder.js';

const STREAM = 'monitors/file/traces/stream';
const LINE = '{"id":"a","traces":[]}\n';

test('behind the last whole line of the last chunk, plain or sealed', async () => {
  const root = writeTree(tempFolder(), { [`${STREAM}/00000.jsonl.zst`]: seal(Buffer.from(LINE + LINE)) });
  expect(await endOfRun(root)).toEqual({ chunk: 0, offset: 2 * LINE.length });
  writeTree(root, { [`${STREAM}/00001.jsonl`]: LINE });
  appendFileSync(join(root, STREAM, '00001.jsonl'), '{"id":');
  expect(await endOfRun(root)).toEqual({ chunk: 1, offset: LINE.length });
});

test('the beginning of a run that is not there, or has not begun', async () => {
  const root = join(tempFolder(), 'run');
  expect(await endOfRun(root)).toEqual({ chunk: 0, offset: 0 });
  mkdirSync(root);
  expect(await endOfRun(root)).toEqual({ chunk: 0, offset: 0 });
});

test('of a chunk that goes and comes under the look at it, and never a failure', async () => {
  const root = writeTree(tempFolder(), { [`${STREAM}/00000.jsonl`]: LINE, [`${STREAM}/00001.jsonl`]: LINE });
  const [there, away] = ['00001.jsonl', 'away'].map((name) => join(root, STREAM, name)) as [string, string];
  let isOver = false;
  const random = seededRandom(5);
  const turns = async (): Promise<void> => {
    for (let left = Math.floor(random() * 60); left > 0; left -= 1) await turn();
  };
  const moving = (async () => {
    while (!isOver) {
      await turns();
      renameSync(there, away);
      await turns();
      renameSync(away, there);
    }
  })();
  const ends = new Set<number | undefined>();
  for (let look = 0; look < 1_000; look += 1) ends.add((await endOfRun(root))?.chunk);
  isOver = true;
  await moving;
  expect([...ends].sort()).toEqual([0, 1]);
});
