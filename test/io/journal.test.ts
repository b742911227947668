/** The journal on a real disk: reopening, torn and damaged files, rewritten chunks, places that cannot be written (U5, U18, U20). */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Destination } from '../../src/core/upload/journal-format.js';
import type { BatchRange, RejectedLine } from '../../src/core/upload/types.js';
import { destinationKey, type Journal, openJournal } from '../../src/io/journal.js';
import { findPlaces } from '../../src/io/journal-place.js';

let folder = '';
let notices: string[] = [];
/** The chunks of the run, as the journal's evidence check sees them. */
let chunks: Record<number, Buffer> = {};
const journals: Journal[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'prl-journal-'));
  notices = [];
  chunks = { 0: Buffer.from('0123456789'.repeat(40)), 1: Buffer.from('abcdefghij'.repeat(40)) };
});
afterEach(async () => {
  for (const journal of journals.splice(0)) await journal.close();
  rmSync(folder, { recursive: true });
});

const destination: Destination = { baseUrl: 'http://h', teamId: null, context: {}, stamp: 'run' };
const file = (): string => join(folder, 'journal');

async function reopen(
  options: { destination?: Destination; names?: [number, string][]; place?: string | null; isRetry?: boolean } = {},
): Promise<Journal> {
  const journal = await openJournal({
    places: { writable: options.place === undefined ? folder : options.place, readOnly: null },
    destination: options.destination ?? destination,
    chunkNames: new Map(
      options.names ?? [
        [0, 'zero'],
        [1, 'one'],
      ],
    ),
    isRetry: options.isRetry ?? false,
    readRange: async (chunk, start, end) => chunks[chunk]?.subarray(start, end) ?? null,
    onNotice: (message) => void notices.push(message),
  });
  journals.push(journal);
  return journal;
}

function rangeOf(chunk: number, start: number, end: number): BatchRange {
  const tail = Buffer.from(chunks[chunk]?.subarray(Math.max(start, end - 64), end) ?? '');
  return {
    chunk,
    start,
    end,
    physicalLines: 2,
    format: 'episode',
    lines: 2,
    sentBytes: end - start,
    digest: 'd'.repeat(64),
    tail,
    lineDigests: ['line-one-digest-', 'line-two-digest-'],
  };
}

const rejectedLine: RejectedLine = {
  chunk: 1,
  offset: 5,
  length: 3,
  byteLength: 3,
  lineNumber: 2,
  id: 'x',
  code: 'invalid_trace',
  message: 'why',
  digest: 'rejected-digest-',
};

async function fill(): Promise<void> {
  const journal = await reopen();
  await journal.planned(rangeOf(0, 0, 100));
  await journal.stored(rangeOf(0, 0, 100));
  await journal.stored(rangeOf(0, 100, 200));
  await journal.rejected(rejectedLine);
  await journal.damaged({ file: 'f', chunk: 1, offset: 9, bytes: 1, kind: 'torn', recovered: false, message: 'm' });
  await journal.planned(rangeOf(1, 100, 200));
  await journal.close();
}

test('what was noted is known after reopening', async () => {
  await fill();
  const journal = await reopen();
  expect(journal.resume.coveredRanges(0)).toMatchObject([{ start: 0, end: 200 }]);
  expect(journal.committed).toEqual({ episodes: 4, bytes: 200 });
  expect(journal.resume.rejected()).toEqual([rejectedLine]);
  expect(journal.damages).toMatchObject([{ chunk: 1, offset: 9 }]);
  expect(journal.resume.pinAt({ chunk: 1, offset: 150 })).toMatchObject({ start: 100, end: 200 });
  expect(notices).toEqual([]);
});

test('a rejected line that is stored later (--retry-rejected) is rejected no more', async () => {
  const first = await reopen();
  await first.rejected(rejectedLine);
  await first.close();
  const retry = await reopen({ isRetry: true });
  await retry.stored(rangeOf(1, 5, 8));
  expect(retry.resume.rejected()).toEqual([]);
  await retry.close();
  expect((await reopen()).resume.rejected()).toEqual([]);
});

test('a line that was left out of a batch stays rejected when the batch around it is stored', async () => {
  const first = await reopen();
  await first.rejected(rejectedLine);
  await first.stored(rangeOf(1, 0, 100));
  await first.close();
  expect((await reopen()).resume.rejected()).toEqual([rejectedLine]);
});

test('facts that come together are all on disk when each is acknowledged', async () => {
  const journal = await reopen();
  await Promise.all(Array.from({ length: 50 }, (_, index) => journal.stored(rangeOf(0, index * 4, index * 4 + 4))));
  expect((await reopen()).committed.episodes).toBe(100);
});

describe('destinations share nothing', () => {
  test.each<[string, Destination]>([
    ['URL', { ...destination, baseUrl: 'http://other' }],
    ['team', { ...destination, teamId: 't' }],
    ['context', { ...destination, context: { a: 'b' } }],
    ['run id', { ...destination, stamp: 'other' }],
    ['no stamp', { ...destination, stamp: { unstamped: true } }],
    ['own ids', { ...destination, stamp: null }],
  ])('%s', async (_what, other) => {
    await fill();
    const journal = await reopen({ destination: other });
    expect(journal.committed).toEqual({ episodes: 0, bytes: 0 });
    expect(journal.resume.rejected()).toEqual([]);
    await journal.close();
    expect((await reopen()).committed.episodes).toBe(4);
  });

  test('the order of a context says nothing', () => {
    const [a, b] = [
      { x: '1', y: '2' },
      { y: '2', x: '1' },
    ].map((context) => destinationKey({ ...destination, context }));
    expect(a).toBe(b);
  });
});

describe('damage (U5)', () => {
  test('torn at every offset: opened without a notice, what stood before stands, and it goes on', async () => {
    await fill();
    const whole = readFileSync(file());
    for (let length = 0; length < whole.length; length += 13) {
      writeFileSync(file(), whole.subarray(0, length));
      const journal = await reopen();
      expect([0, 2, 4]).toContain(journal.committed.episodes);
      await journal.stored(rangeOf(0, 300, 400));
      await journal.close();
      expect((await reopen()).resume.placementOf({ chunk: 0, offset: 350 })).toBe('settled');
    }
    expect(notices).toEqual([]);
  });

  test('every byte flipped: one notice at most, never a false fact, and the next opening is quiet', async () => {
    await fill();
    const whole = readFileSync(file());
    for (let at = 0; at < whole.length; at += 11) {
      const damaged = Buffer.from(whole);
      damaged[at] = (damaged[at] ?? 0) ^ 0x10;
      writeFileSync(file(), damaged);
      notices = [];
      const journal = await reopen();
      expect(notices.length).toBeLessThanOrEqual(1);
      expect([0, 2, 4]).toContain(journal.committed.episodes);
      await journal.close();
      notices = [];
      await (await reopen()).close();
      expect(notices).toEqual([]);
    }
  });

  test('a damaged journal is kept under another name, and the facts before the damage are kept in the fresh one', async () => {
    await fill();
    const damaged = readFileSync(file());
    damaged[damaged.length - 400] = (damaged[damaged.length - 400] ?? 0) ^ 1;
    writeFileSync(file(), damaged);
    const journal = await reopen();
    expect(notices).toHaveLength(1);
    expect(notices[0]).toMatch(/damaged .* at byte \d+/);
    const aside = readdirSync(folder).filter((name) => name.startsWith('journal.damaged-'));
    expect(aside).toHaveLength(1);
    expect(readFileSync(join(folder, aside[0] ?? '')).equals(damaged)).toBe(true);
    expect(journal.committed.episodes).toBeGreaterThan(0);
  });

  test('U25: two that were damaged at one moment, as clocks that are set back tell it, are both kept', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_700_000_000_000 });
    onTestFinished(() => void vi.useRealTimers());
    for (const diary of ['monday', 'tuesday', 'wednesday']) {
      writeFileSync(file(), diary);
      await (await reopen()).close();
    }
    const aside = readdirSync(folder).filter((name) => name.startsWith('journal.damaged-'));
    expect(aside.map((name) => readFileSync(join(folder, name), 'utf8')).sort()).toEqual([
      'monday',
      'tuesday',
      'wednesday',
    ]);
    expect(notices).toHaveLength(3);
  });

  test('another file of that name is set aside, not overwritten', async () => {
    writeFileSync(file(), 'my diary, which nobody else has a copy of\n');
    await reopen();
    expect(notices).toHaveLength(1);
    const aside = readdirSync(folder).find((name) => name.startsWith('journal.damaged-')) ?? '';
    expect(readFileSync(join(folder, aside), 'utf8')).toMatch(/^my diary/);
  });
});

describe('a changed source (U18)', () => {
  test('a chunk whose stored end reads otherwise is uploaded anew, once; other chunks are not', async () => {
    await fill();
    const first = await reopen();
    await first.stored(rangeOf(1, 0, 100));
    await first.close();
    chunks[0] = Buffer.from('X'.repeat(400));
    const journal = await reopen();
    expect(notices).toEqual([expect.stringMatching(/chunk 0 was rewritten .*200/)]);
    expect(journal.resume.coveredRanges(0)).toEqual([]);
    expect(journal.resume.coveredRanges(1)).toMatchObject([{ start: 0, end: 100 }]);
    await journal.close();
    notices = [];
    expect((await reopen()).committed.episodes).toBe(2);
    expect(notices).toEqual([]);
  });

  test('a rewrite at the start or in the middle is seen too, of few ranges and of many', async () => {
    for (const count of [2, 3, 8, 9, 50]) {
      rmSync(file(), { force: true });
      chunks[0] = Buffer.from('0123456789'.repeat(40));
      const journal = await reopen();
      for (let index = 0; index < count; index += 1) await journal.stored(rangeOf(0, index * 8, index * 8 + 8));
      await journal.close();
      chunks[0].write('X', 0);
      notices = [];
      expect((await reopen()).resume.coveredRanges(0)).toEqual([]);
      expect(notices).toEqual([expect.stringMatching(/bytes before 8 differ/)]);
    }
  });

  test('a chunk that became shorter is rewritten too; one that is gone keeps its facts', async () => {
    await fill();
    chunks[0] = chunks[0]?.subarray(0, 150) ?? Buffer.alloc(0);
    expect((await reopen()).committed.episodes).toBe(0);
    await fill();
    delete chunks[0];
    expect((await reopen()).committed.episodes).toBe(4);
  });

  test('lines that were recognised before a second rewrite are not settled where they stood', async () => {
    await fill();
    const journal = await reopen();
    await journal.forget(0, 'once');
    const tail = Buffer.from('0123456789');
    const line = { chunk: 0, offset: 0, length: 10, lineNumber: 1, id: null, parts: [tail], byteLength: 10 };
    await journal.keep({ ...line, sourceTail: tail }, 'episode', 'line-one-digest-');
    await journal.forget(0, 'twice');
    expect(journal.resume.placementOf({ chunk: 0, offset: 0 })).toBe('send');
    await journal.close();
    const next = await reopen();
    expect(next.resume.placementOf({ chunk: 0, offset: 0 })).toBe('send');
    expect(next.lines.whenStored('line-one-digest-')).toBe('earlier');
  });

  test('a chunk that comes later is looked up line by line when its file was known, and taken as new when it was not', async () => {
    await fill();
    const journal = await reopen({ names: [[0, 'other']] });
    journal.addChunk(1, 'zero');
    journal.addChunk(2, 'new');
    expect([1, 2].map((chunk) => journal.hasChanged(chunk))).toEqual([true, false]);
    expect(journal.resume.placementOf({ chunk: 1, offset: 0 })).toBe('send');
    expect(journal.lines.whenStored('line-two-digest-')).toBe('earlier');
    chunks[2] = chunks[0] ?? Buffer.alloc(0);
    await journal.stored({ ...rangeOf(2, 0, 50), lineDigests: ['line-six-digest-', 'line-one-digest-'] });
    expect(journal.lines.whenStored('line-six-digest-')).toBe('now');
    expect(journal.lines.whenStored('line-one-digest-')).toBe('earlier');
    await journal.close();
    const next = await reopen({ names: [[5, 'new']] });
    expect(next.resume.coveredRanges(5)).toMatchObject([{ start: 0, end: 50 }]);
  });

  test('facts follow a file whose number has shifted', async () => {
    await fill();
    chunks = { 0: Buffer.from('new'), 1: chunks[0] ?? Buffer.alloc(0), 2: chunks[1] ?? Buffer.alloc(0) };
    const journal = await reopen({
      names: [
        [0, 'new'],
        [1, 'zero'],
        [2, 'one'],
      ],
    });
    expect(journal.resume.coveredRanges(0)).toEqual([]);
    expect(journal.resume.coveredRanges(1)).toMatchObject([{ chunk: 1, start: 0, end: 200 }]);
    expect(journal.resume.rejected()).toMatchObject([{ chunk: 2, offset: 5 }]);
    expect(notices).toEqual([]);
  });
});

describe('places', () => {
  test('beside the run where that can be written', async () => {
    const places = await findPlaces(folder, { PRL_STATE_DIR: join(folder, 'state') });
    expect(places).toEqual({ writable: join(folder, 'monitors', 'prl'), readOnly: null });
    expect(existsSync(join(folder, 'state'))).toBe(false);
  });

  test('else in the state directory, the same one for every way to name the run', async () => {
    writeFileSync(join(folder, 'monitors'), 'a file where the directory belongs');
    const environment = { PRL_STATE_DIR: join(folder, 'state') };
    const places = await findPlaces(folder, environment);
    expect(places.writable).toMatch(new RegExp(`^${join(folder, 'state', 'runs')}/[0-9a-f]{32}$`));
    expect(await findPlaces(`${folder}/./`, environment)).toEqual(places);
  });

  test('a bare file has its state in the state directory', async () => {
    const bare = join(folder, 'a.jsonl');
    writeFileSync(bare, '');
    const places = await findPlaces(bare, { XDG_STATE_HOME: join(folder, 'xdg') });
    expect(places.writable).toContain(join(folder, 'xdg', 'prl', 'runs'));
    expect(readdirSync(folder).sort()).toEqual(['a.jsonl', 'xdg']);
  });

  test('without any place the upload goes on, with one notice', async () => {
    const journal = await reopen({ place: null });
    await journal.stored(rangeOf(0, 0, 100));
    expect(notices).toHaveLength(1);
    expect(journal.isKept).toBe(false);
    expect((await reopen()).isKept).toBe(true);
    expect(journal.resume.placementOf({ chunk: 0, offset: 0 })).toBe('settled');
  });

  test('a journal that cannot be opened is the same as none', async () => {
    mkdirSync(file());
    const journal = await reopen();
    await journal.stored(rangeOf(0, 0, 100));
    expect(notices).toHaveLength(1);
    expect(notices[0]).toMatch(/not kept .*EISDIR/);
    expect(journal.isKept).toBe(false);
  });
});

test('an empty file, as a kill right after creation leaves it, is a new journal', async () => {
  writeFileSync(file(), '');
  truncateSync(file(), 0);
  await (await reopen()).stored(rangeOf(0, 0, 100));
  expect((await reopen()).committed.episodes).toBe(2);
  expect(notices).toEqual([]);
});
