/** Growth of a stream behind what was read of it (I10): the last chunk gets longer, or another one follows. */
import { appendFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openRun } from '../../src/io/run.js';
import { hasGrown } from '../../src/io/stream-growth.js';
import { smallEpisode } from '../helpers/index-command.js';
import { seal } from '../helpers/seal.js';
import { tempFolder } from '../helpers/temp-folder.js';

const LINE = smallEpisode('one');

function newStream(): { run: string; stream: string } {
  const run = tempFolder();
  const stream = join(run, 'monitors/file/traces/stream');
  mkdirSync(stream, { recursive: true });
  writeFileSync(join(stream, '00000.jsonl.zst'), seal(Buffer.from(LINE)));
  writeFileSync(join(stream, '00001.jsonl'), LINE);
  return { run, stream };
}

test.each<[string, boolean, (stream: string) => void]>([
  ['nothing happens', false, () => {}],
  ['half a line is added', true, (stream) => appendFileSync(join(stream, '00001.jsonl'), LINE.slice(0, 9))],
  ['another chunk begins', true, (stream) => writeFileSync(join(stream, '00002.jsonl'), '')],
  ['another chunk was sealed', true, (stream) => writeFileSync(join(stream, '00007.jsonl.zst'), '')],
  ['an earlier chunk changes', false, (stream) => appendFileSync(join(stream, '00000.jsonl.zst'), '\0')],
  ['a file comes that is no chunk', false, (stream) => writeFileSync(join(stream, '00002.jsonl.zst.tmp'), '')],
  ['the last chunk is cut', false, (stream) => writeFileSync(join(stream, '00001.jsonl'), '')],
  ['the last chunk is taken away', false, (stream) => rmSync(join(stream, '00001.jsonl'))],
  ['the directory is taken away', false, (stream) => renameSync(stream, `${stream}-gone`)],
])('%s: %s', async (_what, expected, change) => {
  const { run, stream } = newStream();
  const opened = await openRun(run);
  change(stream);
  expect(hasGrown(opened)).toBe(expected);
});

test('a file that is no chunk has none behind it', async () => {
  const folder = tempFolder();
  const file = join(folder, 'traces.jsonl');
  writeFileSync(file, LINE);
  const opened = await openRun(file);
  writeFileSync(join(folder, '00005.jsonl'), LINE);
  expect(hasGrown(opened)).toBe(false);
  appendFileSync(file, LINE);
  expect(hasGrown(opened)).toBe(true);
});

test('an empty stream has not grown', () => {
  expect(hasGrown({ files: [] })).toBe(false);
});
