/** Following that is told that nothing more comes, and following for those who know records by their bytes. */
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { followRecords } from '../../src/io/follow-run.js';
import { Following, openBelow, StepwiseFollowing } from '../helpers/following.js';
import { episodeLine } from '../helpers/read-run.js';
import { seal } from '../helpers/seal.js';
import { tempFolder, writeTree } from '../helpers/temp-folder.js';

const FIRST = 'monitors/file/traces/stream/00000.jsonl';
const lines = (...ids: string[]): string => ids.map((id) => episodeLine(id)).join('');

test.each([
  ['before it begins', true],
  ['in a wait of a day', false],
])(
  'told to end %s it tells what is there, a record and a torn line without their LF too, and closes everything',
  async (_when, isEarly) => {
    const run = writeTree(tempFolder(), {
      [FIRST]: lines('a', 'b').slice(0, -1),
      'monitors/file/traces/stream/00001.jsonl': `${lines('c')}{"id":"torn`,
    });
    const ending = new AbortController();
    if (isEarly) ending.abort();
    const following = new Following(run, { pollMs: 86_400_000, ends: ending.signal });
    if (!isEarly) await following.until((told) => told.all('caught-up').length > 0);
    ending.abort();
    await following.ended;
    expect(following.ids).toEqual(['a', 'b', 'c']);
    expect(following.damage).toEqual([['torn', 1, lines('c').length]]);
    expect(following.all('file').filter(({ summary }) => summary !== null)).toHaveLength(2);
    expect(openBelow(run)).toEqual([]);
  },
);

test.each([
  ['told to end', {}, FIRST],
  ['with the writer finished', { untilFinished: true }, `${FIRST}.zst`],
] as const)('U27: %s, what comes before the consumer asks for more is told', async (_why, options, name) => {
  const run = writeTree(tempFolder(), { [name]: name === FIRST ? lines('a') : seal(Buffer.from(lines('a'))) });
  const next = join(run, 'monitors/file/traces/stream/00001.jsonl.zst');
  const ends = AbortSignal.abort();
  const isEnding = 'untilFinished' in options;
  const ids: string[] = [];
  let isWritten = false;
  for await (const event of followRecords(run, { ...options, ...(isEnding ? {} : { ends }), pollMs: 20 })) {
    if (event.type === 'record') ids.push(JSON.parse(event.record.bytes.toString()).id);
    // The last thing that is told before the end is decided on.
    const isLast = event.type === (isEnding ? 'writer' : 'caught-up');
    if (isLast && !isWritten) writeFileSync(next, seal(Buffer.from(lines('b'))));
    isWritten ||= isLast;
  }
  expect(ids).toEqual(['a', 'b']);
});

test.each([
  [false, ['a', 'b', 'c']],
  [true, ['a', 'b', 'a', 'b', 'c']],
])('after a rewrite, to be told again: %s', async (retells, ids) => {
  const file = join(tempFolder(), 'traces.jsonl');
  writeFileSync(file, lines('a', 'b'));
  const following = new StepwiseFollowing(file, { retells });
  await following.untilIds('a', 'b');
  writeFileSync(file, '');
  await following.look();
  appendFileSync(file, lines('a', 'b', 'c'));
  await following.look();
  expect(following.ids).toEqual(ids);
  expect(following.all('rewritten')).toHaveLength(1);
});
