/**
 * Uploading a run whose files are rewritten while it is followed: what is stored stays stored, nothing is sent twice
 * unless its bytes differ, and nothing that is new is missed (U18, T5, B27).
 */
import { spawn } from 'node:child_process';
import { appendFileSync, mkdirSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { type Fault, type FaultyServer, startFaultyServer } from '../helpers/faulty-server.js';
import { type FollowedOptions, FollowedUpload } from '../helpers/followed-upload.js';
import { episodeLine } from '../helpers/read-run.js';
import { tempFolder } from '../helpers/temp-folder.js';

let file = '';
let service: FaultyServer;
let script: (index: number) => Fault | undefined = () => undefined;

beforeEach(async () => {
  script = () => undefined;
  file = join(tempFolder(), 'run/traces.jsonl');
  mkdirSync(join(file, '..'));
  service = await startFaultyServer((index) => script(index));
  onTestFinished(() => service.close());
});

const line = (id: string): string => episodeLine(id.slice(0, 1), id);
/** Episodes by id; one with a mark behind its id has other bytes. */
const lines = (...ids: string[]): string => ids.map(line).join('');
const start = (change: Partial<FollowedOptions> = {}): Promise<FollowedUpload> =>
  FollowedUpload.start({ root: file, service, ...change });

/** Every stored copy of an episode, as its id with its mark, in order. */
function stored(): string[] {
  return [...service.stored.values()].flatMap((jsonl) =>
    [...String(jsonl).matchAll(/"prompt":"([^"]*)"/g)].map(([, id]) => id ?? ''),
  );
}

function replace(content: string): void {
  writeFileSync(`${file}.tmp`, content);
  renameSync(`${file}.tmp`, file);
}

const inPlace = (content: string): void => writeFileSync(file, content);

/** What is done to a file of a, b and c, all stored, and what is sent of it. */
const REWRITES: readonly (readonly [string, (content: string) => void, string[], string[]])[] = [
  ['a resumed evaluation: the kept lines in a new file, then new ones', replace, ['a', 'c', 'd'], ['d']],
  ['the same lines in another order', replace, ['c', 'a', 'b'], []],
  ['an episode of the same id with other bytes', replace, ['a', 'b!', 'c'], ['b!']],
  ['longer at once, in the same file', inPlace, ['d', 'e', 'a', 'f'], ['d', 'e', 'f']],
  ['nothing of what was there', replace, ['d', 'e', 'f'], ['d', 'e', 'f']],
];

describe('a file that was stored and is rewritten', () => {
  test.each(REWRITES)('%s', async (_how, rewrite, now, sent) => {
    inPlace(lines('a', 'b', 'c'));
    const upload = await start();
    await upload.untilSent(3);
    rewrite(lines(...now));
    appendFileSync(file, lines('z'));
    await upload.untilSent(3 + sent.length + 1);
    expect(stored()).toEqual(['a', 'b', 'c', ...sent, 'z']);
    expect(upload.notices).toContainEqual(expect.stringMatching(/chunk 0 was rewritten .*not stored yet are sent/));
    const total = 3 + sent.length + 1;
    expect(await upload.drain()).toMatchObject({ plan: { episodes: total }, sent: { episodes: total } });
    // The next upload finds each line where it stands now.
    const count = now.length + 1;
    const again = await (await start({ follows: false })).ended;
    expect(again).toMatchObject({ sent: { requests: 0 }, plan: { episodes: count }, already: { episodes: count } });
  });

  test('by an earlier upload: it is counted as there already, once, and nothing of it is sent', async () => {
    inPlace(lines('a', 'b', 'c'));
    await (await start({ follows: false })).ended;
    const upload = await start();
    await upload.until(({ snapshot }) => snapshot.phase === 'following');
    for (const now of [
      ['c', 'a'],
      ['a', 'b'],
      ['b', 'd'],
    ])
      replace(lines(...now));
    await upload.untilSent(1);
    replace(lines('b', 'c', 'd', 'e'));
    await upload.untilSent(2);
    const outcome = await upload.drain();
    expect(outcome).toMatchObject({ already: { episodes: 2 }, sent: { episodes: 2 }, plan: { episodes: 4 } });
    expect(stored()).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  test('what was refused is not asked about again, and what was repaired is sent', async () => {
    script = () => ({ kind: 'refuse', refuses: (jsonl) => jsonl.includes('?') });
    inPlace(lines('a', 'b?', 'c?'));
    const upload = await start();
    await upload.until(({ snapshot }) => snapshot.rejected.count === 2);
    const before = service.requests.length;
    replace(lines('b?', 'c', 'a'));
    await upload.untilSent(2);
    expect(service.requests.length).toBe(before + 1);
    expect(stored()).toEqual(['a', 'c']);
    await upload.drain();
    const again = await (await start({ follows: false })).ended;
    expect(again).toMatchObject({ sent: { requests: 0 }, already: { episodes: 2 }, rejected: [{ offset: 0 }] });
  });
});

describe('while requests are on their way', () => {
  test('lines that take the place of those in flight are sent, and those in flight are stored', async () => {
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    script = (index) => (index === 0 ? { kind: 'held', until: held } : undefined);
    inPlace(lines('a', 'b'));
    const upload = await start({ concurrency: 4 });
    await upload.until(() => service.requests.length === 1);
    // Nothing of the new lines, which stand in the same places, may be settled by the receipt for the old ones.
    inPlace(lines('c', 'd', 'b'));
    await upload.until(({ snapshot }) => snapshot.plan.bytes === 0);
    release();
    await upload.untilSent(4);
    expect(stored()).toEqual(['a', 'b', 'c', 'd']);
    await upload.drain();
    expect((await (await start({ follows: false })).ended).sent.requests).toBe(0);
  });

  test('a torn tail that is taken back, and a last line that moves to the next chunk, are sent where they end up', async () => {
    const root = join(tempFolder(), 'run');
    const stream = join(root, 'monitors/file/traces/stream');
    mkdirSync(stream, { recursive: true });
    const [first, second] = ['00000.jsonl', '00001.jsonl'].map((name) => join(stream, name)) as [string, string];
    writeFileSync(first, lines('a') + line('b').slice(0, 40));
    const upload = await start({ root });
    await upload.untilSent(1);
    await upload.until(({ snapshot }) => snapshot.plan.bytes === line('a').length + 40);
    truncateSync(first, line('a').length);
    appendFileSync(first, line('c') + line('d').slice(0, 50));
    await upload.untilSent(2);
    writeFileSync(second, line('d').slice(0, 50));
    truncateSync(first, lines('a', 'c').length);
    appendFileSync(second, line('d').slice(50));
    await upload.untilSent(3);
    expect(await upload.drain()).toMatchObject({ damaged: [], sent: { episodes: 3 } });
    expect(stored()).toEqual(['a', 'c', 'd']);
  });

  test('another directory of chunks in the place of the stream: all its lines are looked up', async () => {
    const root = join(tempFolder(), 'run');
    const stream = join(root, 'monitors/file/traces/stream');
    mkdirSync(stream, { recursive: true });
    writeFileSync(join(stream, '00000.jsonl'), lines('a', 'b'));
    writeFileSync(join(stream, '00001.jsonl'), lines('c'));
    const upload = await start({ root });
    await upload.untilSent(3);
    mkdirSync(`${stream}.new`);
    writeFileSync(join(`${stream}.new`, '00000.jsonl'), lines('c', 'd'));
    writeFileSync(join(`${stream}.new`, '00001.jsonl'), lines('a', 'e'));
    renameSync(stream, `${stream}.old`);
    renameSync(`${stream}.new`, stream);
    rmSync(`${stream}.old`, { recursive: true });
    await upload.untilSent(5);
    expect(stored()).toEqual(['a', 'b', 'c', 'd', 'e']);
    await upload.drain();
    expect((await (await start({ root, follows: false })).ended).sent.requests).toBe(0);
  });
});

test.each([1, 2])(
  'a writer that does everything wrong and puts it right again, and requests that get lost, seed %i',
  {
    timeout: 120_000,
  },
  async (seed) => {
    const count = 600;
    const root = join(tempFolder(), 'run');
    const stream = join(root, 'monitors/file/traces/stream');
    mkdirSync(stream, { recursive: true });
    const args = ['--import', resolve('test/helpers/typescript-hooks.mjs'), resolve('test/helpers/restless-writer.ts')];
    const writer = spawn(process.execPath, ['--no-warnings', ...args, stream, String(count), String(seed)], {
      stdio: 'ignore',
    });
    onTestFinished(() => void writer.kill('SIGKILL'));
    const ended = new Promise((done) => writer.once('close', done));
    const faults: readonly Fault[] = [
      { kind: 'lost_response' },
      { kind: 'reset', afterBytes: 10 },
      { kind: 'answer', status: 503 },
    ];
    script = (index) => (index % 7 === 3 ? faults[index % faults.length] : undefined);
    // Killed, in effect, every now and then: what is begun again knows only what the journal does.
    let outcome = null;
    for (let round = 0; outcome === null || outcome.interrupted; round += 1) {
      const upload = await start({ root, targetBytes: 4_000, lingerMs: 0, concurrency: 3, maxAttempts: 20 });
      const isLast = round === 4;
      if (!isLast) {
        await upload.untilSent(20);
        outcome = await upload.stop();
        continue;
      }
      await ended;
      outcome = await upload.ended;
    }
    const ids = [...service.stored.values()].flatMap((jsonl) =>
      [...String(jsonl).matchAll(/"id":"(\d+)","env"/g)].map(([, id]) => id ?? ''),
    );
    expect(ids.sort((a, b) => Number(a) - Number(b))).toEqual(
      Array.from({ length: count }, (_, index) => String(index)),
    );
    expect(outcome).toMatchObject({ stopped: null, rejected: [], plan: { episodes: count } });
  },
);
