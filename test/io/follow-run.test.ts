/** How following begins, waits, ends and leaves nothing behind; whether somebody writes; what the system may refuse. */
import { spawnSync } from 'node:child_process';
import { appendFileSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { followRecords } from '../../src/io/follow-run.js';
import type { FollowEvent, FollowOptions } from '../../src/io/follow-types.js';
import { openRun } from '../../src/io/run.js';
import { FastClock } from '../helpers/clocks.js';
import { FollowProcess } from '../helpers/follow-process.js';
import { Following, openBelow, StepwiseFollowing } from '../helpers/following.js';
import { holdOpen } from '../helpers/index-command.js';
import { episodeLine } from '../helpers/read-run.js';
import { seal } from '../helpers/seal.js';
import { tempFolder, writeTree } from '../helpers/temp-folder.js';

const STREAM = 'monitors/file/traces/stream';
const FIRST = `${STREAM}/00000.jsonl`;
const SECOND = `${STREAM}/00001.jsonl`;
const HAS_STRACE = spawnSync('strace', ['-V']).status === 0;
const lines = (...ids: string[]): string => ids.map((id) => episodeLine(id)).join('');

function sealAt(path: string): void {
  writeFileSync(`${path}.zst.tmp`, seal(readFileSync(path)));
  renameSync(`${path}.zst.tmp`, `${path}.zst`);
  unlinkSync(path);
}

describe('ending', () => {
  test.each([true, false])(
    'an abort ends a wait of a day at once and closes everything, watches %s',
    async (watches) => {
      const run = writeTree(tempFolder(), { [FIRST]: lines('a'), [SECOND]: '' });
      const following = new Following(run, { pollMs: 86_400_000, watches });
      await following.until((told) => told.all('writer').length > 0);
      expect(openBelow(run)).toHaveLength(2);
      await following.stop();
      expect(openBelow(run)).toEqual([]);
    },
  );

  test('an abort in the middle of a chunk ends with its reason', async () => {
    const run = writeTree(tempFolder(), { [FIRST]: lines('x').repeat(40_000) });
    const abort = new AbortController();
    const reason = new Error('enough');
    const read = async (): Promise<void> => {
      for await (const event of followRecords(run, { signal: abort.signal })) {
        if (event.type === 'record') abort.abort(reason);
      }
    };
    await expect(read()).rejects.toBe(reason);
    expect(openBelow(run)).toEqual([]);
  });

  test.each([FIRST, `${FIRST}.zst`])('who leaves the loop leaves no descriptor open: %s', async (name) => {
    const content = lines('x').repeat(40_000);
    const run = writeTree(tempFolder(), { [name]: name === FIRST ? content : seal(Buffer.from(content)) });
    for await (const event of followRecords(run)) if (event.type === 'record') break;
    expect(openBelow(run)).toEqual([]);
  });

  test('told that nothing more comes: the chunks behind an open line are told too', async () => {
    const run = writeTree(tempFolder(), { [FIRST]: lines('a', 'b').slice(0, -9), [SECOND]: lines('c').slice(0, -1) });
    const ending = new AbortController();
    const following = new Following(run, { ends: ending.signal });
    await following.until((told) => told.all('caught-up').length > 0);
    expect(following.ids).toEqual(['a']);
    ending.abort();
    await following.ended;
    expect(following.ids).toEqual(['a', 'c']);
    expect(following.damage).toEqual([['torn', 0, lines('a').length]]);
    expect(openBelow(run)).toEqual([]);
  });

  test('an aborted signal opens nothing', async () => {
    const run = writeTree(tempFolder(), { [FIRST]: lines('a') });
    const signal = AbortSignal.abort(new Error('early'));
    await expect(followRecords(run, { signal }).next()).rejects.toThrow('early');
  });
});

describe('until the writer is finished', () => {
  const read = async (
    run: string,
    options: FollowOptions,
    onEvent: (event: FollowEvent) => void,
  ): Promise<string[]> => {
    const ids: string[] = [];
    for await (const event of followRecords(run, { untilFinished: true, pollMs: 20, ...options })) {
      onEvent(event);
      if (event.type === 'record') ids.push(JSON.parse(event.record.bytes.toString()).id);
    }
    return ids;
  };

  test('a run at rest is told and left; the holes and torn ends of it too', async () => {
    const torn = lines('b') + lines('c').slice(0, 30);
    const run = writeTree(tempFolder(), {
      [`${FIRST}.zst`]: seal(Buffer.from(lines('a'))),
      [`${STREAM}/00002.jsonl.zst`]: seal(Buffer.from(torn)),
    });
    const kinds: string[] = [];
    const ids = await read(run, {}, (event) => event.type === 'damage' && kinds.push(event.damage.kind));
    expect(ids).toEqual(['a', 'b']);
    expect(kinds).toEqual(['hole', 'torn']);
  });

  test('it does not end while a plain chunk is there, and does when that is sealed', async () => {
    const run = writeTree(tempFolder(), { [FIRST]: lines('a') });
    const path = join(run, FIRST);
    const following = new Following(run, { untilFinished: true });
    await following.until((told) => told.all('writer').length > 0);
    appendFileSync(path, lines('b'));
    await following.untilIds('a', 'b');
    appendFileSync(path, lines('c'));
    sealAt(path);
    await following.ended;
    expect(following.ids).toEqual(['a', 'b', 'c']);
    expect(following.all('writer').at(-1)).toMatchObject({ state: 'finished' });
  });

  test('U27: what is added between the sight of the end and the last look is told', async () => {
    const run = writeTree(tempFolder(), { [`${FIRST}.zst`]: seal(Buffer.from(lines('a'))) });
    const add = (name: string, id: string): void => {
      writeFileSync(join(run, name), lines(id));
      sealAt(join(run, name));
    };
    let finished = 0;
    const ids = await read(run, {}, (event) => {
      if (event.type === 'writer' && event.state === 'finished') finished += 1;
      if (event.type === 'writer' && finished === 1) add(SECOND, 'b');
      if (event.type === 'record' && event.record.chunk === 1) add(`${STREAM}/00002.jsonl`, 'c');
    });
    expect(ids).toEqual(['a', 'b', 'c']);
  });

  test('a chunk that could not be opened until then is damage', async () => {
    const run = writeTree(tempFolder(), {
      [`${FIRST}.zst`]: seal(Buffer.from(lines('a'))),
      [`${SECOND}.zst/`]: '',
      [`${STREAM}/00002.jsonl.zst`]: seal(Buffer.from(lines('c'))),
    });
    const damage: unknown[] = [];
    const ids = await read(run, {}, (event) => event.type === 'damage' && damage.push(event.damage));
    expect(ids).toEqual(['a', 'c']);
    expect(damage).toMatchObject([{ kind: 'unreadable', chunk: 1, message: 'a directory where a file belongs' }]);
  });
});

describe('whether somebody writes (spec 05 section 6)', () => {
  test('held open: live; let go: idle; grown: live; sealed: finished', async () => {
    const run = writeTree(tempFolder(), { [FIRST]: lines('a') });
    const path = join(run, FIRST);
    const holder = await holdOpen(path);
    const following = new Following(run, { clock: new FastClock(20) });
    const untilState = async (state: string): Promise<void> =>
      following.until((told) => told.all('writer').at(-1)?.state === state);
    await untilState('live');
    expect(following.all('writer')[0]?.reasons[0]).toMatch(new RegExp(`^process \\d+ has ${path} open for writing$`));
    await holder.end();
    await following.until((told) => told.all('writer').at(-1)?.state !== 'live');
    appendFileSync(path, lines('b'));
    await untilState('live');
    expect(following.all('writer').at(-1)?.reasons).toEqual([`${FIRST} grew`]);
    sealAt(path);
    await untilState('finished');
  });
});

describe('what it begins with', () => {
  test('one caught-up after the first look, and one after each look that told something', async () => {
    const run = writeTree(tempFolder(), { [FIRST]: '' });
    const following = new StepwiseFollowing(run);
    await following.look();
    await following.look();
    expect(following.all('caught-up')).toHaveLength(1);
    appendFileSync(join(run, FIRST), lines('a', 'b'));
    await following.look();
    appendFileSync(join(run, FIRST), lines('c').slice(0, 20));
    await following.look();
    expect(following.all('caught-up')).toHaveLength(2);
  });

  test('a run that is open already', async () => {
    const run = writeTree(tempFolder(), { [FIRST]: lines('a') });
    const following = new StepwiseFollowing(await openRun(run));
    await following.look();
    expect(following.ids).toEqual(['a']);
  });

  test('a JSON document and a poll time that is none are refused', async () => {
    const folder = writeTree(tempFolder(), { 'one.json': '[\n{"id":"a","traces":[]}\n]', 'two.jsonl': lines('a') });
    await expect(followRecords(join(folder, 'one.json')).next()).rejects.toMatchObject({ code: 'PRL_ERR_USAGE' });
    for (const pollMs of [0, Number.NaN]) {
      await expect(followRecords(join(folder, 'two.jsonl'), { pollMs }).next()).rejects.toThrow(/poll time/);
    }
  });

  test('standard input is read to its end', async () => {
    const child = new FollowProcess('-');
    await child.end(lines('a', 'b'));
    expect(child.ids).toEqual(['a', 'b']);
  });
});

describe.skipIf(!HAS_STRACE)('what the system refuses', () => {
  /** One thread for files, since calls are counted by thread. */
  const strace = (...args: string[]): string[] => {
    return ['strace', '-f', '-qq', '-o', '/dev/null', '-E', 'UV_THREADPOOL_SIZE=1', ...args];
  };

  test.each([
    ['R40: no watches are left', 'inotify_add_watch', 'ENOSPC'],
    ['T7: no descriptor for watches', 'inotify_init1', 'EMFILE'],
  ])('%s: one notice, and all is told all the same', async (_what, call, error) => {
    const run = writeTree(tempFolder(), { [FIRST]: lines('a') });
    const child = new FollowProcess(
      run,
      { pollMs: 50 },
      strace('-e', `trace=${call}`, '-e', `inject=${call}:error=${error}`),
    );
    await child.until(({ ids }) => ids.length === 1);
    appendFileSync(join(run, FIRST), lines('b'));
    await child.until(({ ids }) => ids.length === 2);
    await child.end();
    expect(child.all('notice').map(({ message }) => message)).toEqual([
      expect.stringMatching(/^changes are not reported by the system \(.*\); the run is looked at every 50 ms$/),
    ]);
  });

  test.each(['EACCES', 'EMFILE'])(
    'T7, T11: %s on a chunk: one notice, and it is told once it can be opened',
    async (error) => {
      const run = writeTree(tempFolder(), { [FIRST]: lines('a'), [SECOND]: lines('b') });
      const inject = ['-P', join(run, FIRST), '-e', 'trace=openat', '-e', `inject=openat:error=${error}:when=1..8`];
      const child = new FollowProcess(run, { pollMs: 20 }, strace(...inject));
      await child.until(({ ids }) => ids.length === 2);
      await child.end();
      // A chunk that may not be read holds up no other one; a shortage is waited out.
      expect(child.ids).toEqual(error === 'EACCES' ? ['b', 'a'] : ['a', 'b']);
      expect(child.all('notice')).toHaveLength(1);
      expect(child.all('damage')).toEqual([]);
    },
  );

  test.each([
    [1, 'which looks at the form', false],
    [3, 'which looks for the last LF', false],
    [6, 'of a part', true],
    [12, 'which looks for the end of a long line', false],
    [18, 'of a long line', false],
  ])('U23: EIO at read %i, %s: what could not be read is damage, all else is told', async (nth, _which, isLoss) => {
    const big = (id: string, bytes: number): string => episodeLine(id, 'x'.repeat(bytes));
    const content = big('a', 1e6) + big('b', 1e6) + big('long', 7e6) + big('c', 1e6) + big('d', 1e6);
    const run = writeTree(tempFolder(), { [FIRST]: content });
    const inject = ['-P', join(run, FIRST), '-e', 'trace=pread64', '-e', `inject=pread64:error=EIO:when=${nth}`];
    const child = new FollowProcess(run, { watches: false }, strace(...inject));
    await child.until((told) => told.all('caught-up').length > 0);
    await child.end();
    const damage = child.all('damage').map((event) => event.damage as { kind: string; bytes: number });
    const records = child.all('record').map((event) => event.length as number);
    const sum = [...records, ...damage.map(({ bytes }) => bytes)].reduce((bytes, more) => bytes + more, 0);
    expect(sum).toBe(content.length);
    expect(new Set(damage.map(({ kind }) => kind))).toEqual(new Set(isLoss ? ['unreadable'] : []));
    expect(records.length).toBeGreaterThan(1);
  });
});
