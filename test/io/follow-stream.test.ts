/** Following the numbered chunks of a stream: rolls, sealing, holes, torn ends, places to begin (spec 03 sections 4, 7, 8). */
import {
  appendFileSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { followRecords } from '../../src/io/follow-run.js';
import type { FollowEvent } from '../../src/io/follow-types.js';
import { StepwiseFollowing } from '../helpers/following.js';
import { episodeLine } from '../helpers/read-run.js';
import { seal } from '../helpers/seal.js';
import { tempFolder, writeTree } from '../helpers/temp-folder.js';

const STREAM = 'monitors/file/traces/stream';
const lines = (...ids: string[]): string => ids.map((id) => episodeLine(id)).join('');
const LINE_BYTES = lines('a').length;

/** A run of these chunks, and where a chunk lies by its number. */
function streamRun(chunks: Readonly<Record<number, string | Buffer>>): {
  run: string;
  chunk: (number: number) => string;
} {
  const run = writeTree(tempFolder(), { [`${STREAM}/`]: '' });
  const chunk = (number: number): string => join(run, STREAM, `${String(number).padStart(5, '0')}.jsonl`);
  for (const [number, content] of Object.entries(chunks)) {
    writeFileSync(chunk(Number(number)) + (typeof content === 'string' ? '' : '.zst'), content);
  }
  return { run, chunk };
}

function sealAt(path: string): void {
  writeFileSync(`${path}.zst.tmp`, seal(readFileSync(path)));
  renameSync(`${path}.zst.tmp`, `${path}.zst`);
  unlinkSync(path);
}

async function next(events: AsyncGenerator<FollowEvent>, type: FollowEvent['type']): Promise<FollowEvent> {
  for (;;) {
    const event = await events.next();
    if (event.done === true) throw new Error(`no ${type}`);
    if (event.value.type === type) return event.value;
  }
}

describe('rolls and sealing', () => {
  test('sealed chunks, then the live one; several rolls between two looks; all in order', async () => {
    const { run, chunk } = streamRun({ 0: seal(Buffer.from(lines('a', 'b'))), 1: lines('c') });
    const following = new StepwiseFollowing(run);
    await following.look();
    appendFileSync(chunk(1), lines('d'));
    writeFileSync(chunk(2), lines('e'));
    sealAt(chunk(1));
    writeFileSync(chunk(3), lines('f', 'g'));
    sealAt(chunk(2));
    writeFileSync(chunk(4), lines('h'));
    await following.look();
    expect(following.ids).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']);
    expect(following.damage).toEqual([]);
    const done = following.all('file').filter(({ summary }) => summary !== null);
    expect(done.map(({ file, summary }) => [file.chunk, summary?.records])).toEqual([
      [0, 2],
      [1, 2],
      [2, 1],
      [3, 2],
    ]);
  });

  test('R-CHK-5: sealed and unlinked under a reader that is slow', async () => {
    const { run, chunk } = streamRun({ 0: lines('a', 'b', 'c') });
    const events = followRecords(run, { pollMs: 20 });
    await next(events, 'record');
    appendFileSync(chunk(0), lines('d'));
    writeFileSync(chunk(1), lines('e'));
    sealAt(chunk(0));
    const ids: string[] = [];
    while (ids.at(-1) !== 'e') {
      const event = await next(events, 'record');
      if (event.type === 'record') ids.push(JSON.parse(event.record.bytes.toString()).id);
    }
    expect(ids).toEqual(['b', 'c', 'd', 'e']);
    await events.return();
  });

  test('a plain chunk beside its sealed copy is read once, and again not when the plain one goes', async () => {
    const { run, chunk } = streamRun({ 0: lines('a', 'b') });
    writeFileSync(`${chunk(0)}.zst`, seal(Buffer.from(lines('a', 'b'))));
    const following = new StepwiseFollowing(run);
    await following.look();
    unlinkSync(chunk(0));
    await following.look();
    writeFileSync(chunk(1), lines('c'));
    await following.look();
    expect(following.ids).toEqual(['a', 'b', 'c']);
  });

  test('an open line of a chunk that was sealed is torn, and told so once', async () => {
    const { run, chunk } = streamRun({ 0: lines('a') + lines('b').slice(0, 40) });
    const following = new StepwiseFollowing(run);
    await following.look();
    expect(following.growing).toEqual([LINE_BYTES, 40]);
    sealAt(chunk(0));
    await following.look();
    expect(following.damage).toEqual([['torn', 0, LINE_BYTES]]);
    writeFileSync(chunk(1), lines('c'));
    await following.look();
    expect(following.ids).toEqual(['a', 'c']);
    expect(following.damage).toHaveLength(1);
  });

  test('holes are told once and at their place; what an interrupted seal left is no data', async () => {
    const { run, chunk } = streamRun({ 0: lines('a'), 3: lines('d') });
    writeFileSync(`${chunk(1)}.zst.tmp`, lines('never'));
    const following = new StepwiseFollowing(run);
    await following.look();
    writeFileSync(chunk(4), lines('e'));
    await following.look();
    expect(
      following.events.flatMap((event) => (event.type === 'record' || event.type === 'damage' ? [event.type] : [])),
    ).toEqual(['record', 'damage', 'record', 'record']);
    expect(following.all('damage')).toMatchObject([{ damage: { kind: 'hole', message: 'chunks 1 to 2 are missing' } }]);
  });

  test('R-CHK-4: numbers of six digits follow those of five', async () => {
    const { run, chunk } = streamRun({ 99999: lines('a') });
    const following = new StepwiseFollowing(run, { from: { chunk: 99_999, offset: 0 } });
    await following.look();
    writeFileSync(chunk(100_000), lines('b'));
    await following.look();
    expect(following.ids).toEqual(['a', 'b']);
    expect(following.damage).toEqual([]);
  });
});

describe('an open line at the end of a chunk when the next one begins', () => {
  const torn = lines('b').slice(0, 40);

  test('moved to the next chunk: told as a record there, and as nothing else, however long the move takes', async () => {
    const { run, chunk } = streamRun({ 0: lines('a') + torn });
    const following = new StepwiseFollowing(run);
    await following.look();
    writeFileSync(chunk(1), torn.slice(0, 10));
    await following.look(60_000);
    appendFileSync(chunk(1), torn.slice(10));
    await following.look(60_000);
    truncateSync(chunk(0), LINE_BYTES);
    await following.look();
    appendFileSync(chunk(1), lines('b').slice(40));
    await following.look();
    expect(following.ids).toEqual(['a', 'b']);
    expect(following.damage).toEqual([]);
    expect(following.all('record')[1]?.record).toMatchObject({ chunk: 1, offset: 0 });
  });

  test('left there: torn as soon as the next chunk holds a whole line', async () => {
    const { run, chunk } = streamRun({ 0: lines('a') + torn, 1: '' });
    const following = new StepwiseFollowing(run);
    await following.look();
    expect(following.damage).toEqual([]);
    appendFileSync(chunk(1), lines('c'));
    await following.look();
    expect(following.damage).toEqual([['torn', 0, LINE_BYTES]]);
    expect(following.ids).toEqual(['a', 'c']);
  });

  test('whole but for its LF: a record of the chunk that was left', async () => {
    const { run, chunk } = streamRun({ 0: lines('a', 'b').slice(0, -1), 1: '' });
    const following = new StepwiseFollowing(run);
    await following.look();
    expect(following.ids).toEqual(['a']);
    writeFileSync(chunk(1), lines('c'));
    await following.look();
    expect(following.ids).toEqual(['a', 'b', 'c']);
  });
});

describe('where following begins', () => {
  const four = (): ReturnType<typeof streamRun> =>
    streamRun({ 0: seal(Buffer.from(lines('a', 'b'))), 1: lines('c', 'd') });

  test.each([
    ['start', ['a', 'b', 'c', 'd', 'e', 'f']],
    ['end', ['e', 'f']],
    [{ chunk: 0, offset: LINE_BYTES }, ['b', 'c', 'd', 'e', 'f']],
    [{ chunk: 1, offset: LINE_BYTES }, ['d', 'e', 'f']],
    [{ chunk: 1, offset: 2 * LINE_BYTES }, ['e', 'f']],
    [{ chunk: 2, offset: 0 }, ['f']],
  ] as const)('%j', async (from, ids) => {
    const { run, chunk } = four();
    const following = new StepwiseFollowing(run, { from });
    await following.look();
    appendFileSync(chunk(1), lines('e'));
    writeFileSync(chunk(2), lines('f'));
    await following.look();
    expect(following.ids).toEqual(ids);
    expect(following.damage).toEqual([]);
  });

  test.each([0, 1])('lines are counted from the given number on, in chunk %i', async (chunk) => {
    const { run } = four();
    const following = new StepwiseFollowing(run, { from: { chunk, offset: LINE_BYTES, lineNumber: 2 } });
    await following.look();
    expect(following.all('record')[0]?.record).toMatchObject({ chunk, offset: LINE_BYTES, lineNumber: 2 });
  });

  test('at the end of a sealed stream: with the first line that comes', async () => {
    const { run, chunk } = streamRun({ 0: seal(Buffer.from(lines('a', 'b'))) });
    const following = new StepwiseFollowing(run, { from: 'end' });
    await following.look();
    writeFileSync(chunk(1), lines('c'));
    await following.look();
    expect(following.ids).toEqual(['c']);
  });

  test.each(['start', 'end'] as const)(
    'in a stream without chunks, from its %s: with the first line that comes',
    async (from) => {
      const { run, chunk } = streamRun({});
      const following = new StepwiseFollowing(run, { from });
      await following.look();
      writeFileSync(chunk(0), lines('a'));
      await following.look();
      expect(following.ids).toEqual(['a']);
    },
  );

  test('in the middle of an open line, from the end: the line is told once it is whole', async () => {
    const { run, chunk } = streamRun({ 0: lines('a') + lines('b').slice(0, 40) });
    const following = new StepwiseFollowing(run, { from: 'end' });
    await following.look();
    appendFileSync(chunk(0), lines('b').slice(40));
    await following.look();
    expect(following.ids).toEqual(['b']);
  });

  test('ranges that are settled are passed over, in sealed and plain chunks', async () => {
    const { run, chunk } = four();
    const settled = { start: LINE_BYTES, end: 2 * LINE_BYTES, lines: 1 };
    const following = new StepwiseFollowing(run, { skip: ({ chunk: number }) => (number < 2 ? [settled] : []) });
    await following.look();
    appendFileSync(chunk(1), lines('e'));
    await following.look();
    expect(following.ids).toEqual(['a', 'c', 'e']);
    expect(following.all('record').at(-1)?.record.lineNumber).toBe(3);
    const sums = following.all('file').find(({ summary }) => summary !== null)?.summary;
    expect(sums).toMatchObject({ records: 1, skippedBytes: LINE_BYTES, endOffset: 2 * LINE_BYTES });
  });
});

test('T11: a chunk that cannot be opened is told once, passed over, and told when it can be; others are not held up', async () => {
  const { run, chunk } = streamRun({ 0: lines('a'), 2: lines('c') });
  mkdirSync(chunk(1));
  const following = new StepwiseFollowing(run);
  for (let count = 0; count < 3; count += 1) await following.look();
  expect(following.ids).toEqual(['a', 'c']);
  expect(following.all('notice').map(({ message }) => message)).toEqual([
    `${STREAM}/00001.jsonl cannot be read: a directory where a file belongs; it is tried again`,
  ]);
  rmdirSync(chunk(1));
  writeFileSync(chunk(1), lines('b'));
  await following.look();
  expect(following.ids).toEqual(['a', 'c', 'b']);
  expect(following.damage).toEqual([]);
});

test.each([
  ['a symbolic link', symlinkSync],
  ['a second name', linkSync],
])('T10: a chunk that is %s of an earlier one is read once', async (_what, link) => {
  const { run, chunk } = streamRun({ 0: lines('a'), 2: lines('c') });
  link(chunk(0), chunk(1));
  const following = new StepwiseFollowing(run);
  await following.look();
  appendFileSync(chunk(2), lines('d'));
  await following.look();
  expect(following.ids).toEqual(['a', 'c', 'd']);
  expect(following.damage).toEqual([]);
  expect(following.all('notice').map(({ message }) => message)).toEqual([
    `${STREAM}/00001.jsonl is the same file as ${STREAM}/00000.jsonl and is read once`,
  ]);
});
