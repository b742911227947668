/**
 * Demands U17, U18, R24, R32: files whose times tell more than happened, whose bytes change where they stand, and that end inside
 * a record. Real files, real sockets; the service refuses what is not what its key says.
 */
import { closeSync, mkdirSync, openSync, readFileSync, utimesSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { UploadOutcome } from '../../src/core/upload/outcome.js';
import { type FaultyServer, startFaultyServer } from '../helpers/faulty-server.js';
import { FollowedUpload } from '../helpers/followed-upload.js';
import { episodeLine } from '../helpers/read-run.js';
import { type UploadRunOptions, uploadRun } from '../helpers/run-upload.js';
import { tempFolder } from '../helpers/temp-folder.js';

let folder = '';
let file = '';
let server: FaultyServer;
/** Called with the number of each request, before it is stored. */
let onRequest: (index: number) => void = () => {};

beforeEach(async () => {
  folder = tempFolder();
  file = join(folder, 'traces.jsonl');
  onRequest = () => {};
  server = await startFaultyServer((index) => {
    onRequest(index);
    return undefined;
  });
  onTestFinished(() => server.close());
});

const upload = (change: Partial<UploadRunOptions> = {}): Promise<UploadOutcome> =>
  uploadRun({ root: file, service: { url: server.url, token: '' }, stamps: false, concurrency: 1, ...change });
const stored = (): string => [...server.stored.values()].join('');

/** Touches a file all the time, each time 2 ms to and fro, until the test ends. */
function jitter(path: string): () => number {
  let touches = 0;
  const baseS = 1_700_000_000;
  const timer = setInterval(() => {
    touches += 1;
    utimesSync(path, baseS, baseS + (touches % 2) * 0.002);
  }, 1);
  onTestFinished(() => clearInterval(timer));
  return () => touches;
}

describe('R24: the time of a file goes to and fro by 2 ms', () => {
  const lines = Array.from({ length: 40 }, (_, index) => episodeLine(`e${index}`, 'x'.repeat(20_000)));

  test('an upload succeeds at once, without a word, and so does the next, which sends nothing', async () => {
    writeFileSync(file, lines.join(''));
    const touches = jitter(file);
    // What anybody has to be told makes `upload` throw.
    const first = await upload({ targetBytes: 50_000 });
    expect(first).toMatchObject({ stopped: null, damaged: [], rejected: [], sent: { episodes: 40 } });
    expect(stored()).toBe(lines.join(''));
    const requests = server.requests.length;
    expect(await upload({ targetBytes: 50_000 })).toMatchObject({ sent: { requests: 0 }, already: { episodes: 40 } });
    expect(server.requests).toHaveLength(requests);
    expect(touches()).toBeGreaterThan(10);
  });

  test('a follower is told of growth, and of nothing else', async () => {
    const root = join(folder, 'run');
    const stream = join(root, 'monitors/file/traces/stream');
    mkdirSync(stream, { recursive: true });
    const chunk = join(stream, '00000.jsonl');
    writeFileSync(chunk, lines.slice(0, 20).join(''));
    const touches = jitter(chunk);
    const following = await FollowedUpload.start({ root, service: server });
    await following.untilSent(20);
    for (const line of lines.slice(20)) writeFileSync(chunk, line, { flag: 'a' });
    await following.untilSent(40);
    const outcome = await following.drain();
    expect(outcome).toMatchObject({ sent: { episodes: 40 }, damaged: [], stopped: null });
    expect(following.notices.filter((notice) => !/^nobody seems to write/.test(notice))).toEqual([]);
    expect(stored()).toBe(lines.join(''));
    expect(touches()).toBeGreaterThan(10);
  });
});

describe('U18: bytes change where they stand, between the plan and the sending', () => {
  const SIZE = 100_000;
  const COUNT = 40;
  const line = (index: number): string => episodeLine(`e${index}`, 'x'.repeat(SIZE));
  /** Where the text of a line stands. */
  const inside = (index: number): number => index * lineBytes(0) + SIZE / 2;
  const lineBytes = (index: number): number => Buffer.byteLength(line(10 + index));

  test.each([1, 3, 10])(
    'after %d requests, of every second line: what is stored was hashed as sent, and the next upload sends each line as it is now',
    async (requests) => {
      const ids = Array.from({ length: COUNT }, (_, index) => 10 + index);
      writeFileSync(file, ids.map(line).join(''));
      onRequest = (index) => {
        if (index !== requests) return;
        const open = openSync(file, 'r+');
        for (let at = 0; at < COUNT; at += 2) writeSync(open, 'Y', inside(at));
        closeSync(open);
      };
      const first = await upload({ targetBytes: 1, onNotice: () => {} });
      expect(first.stopped).toBeNull();
      expect(server.requests.every(({ jsonl }) => jsonl !== null)).toBe(true);
      expect(server.stored.size).toBe(server.requests.length);
      onRequest = () => {};
      const notices: string[] = [];
      const second = await upload({ targetBytes: 1, onNotice: (notice) => void notices.push(notice) });
      const now = readFileSync(file, 'utf8').split(/(?<=\n)/);
      const all = new Set([...server.stored.values()].map(String));
      expect(now.filter((one) => !all.has(one))).toEqual([]);
      // Those alone are sent whose old bytes had gone.
      expect(second.sent.episodes).toBe(all.size - COUNT);
      expect(second.sent.episodes).toBeGreaterThan(0);
      expect(notices).toEqual([expect.stringMatching(/chunk 0 was rewritten/)]);
      expect(await upload({ targetBytes: 1 })).toMatchObject({ sent: { requests: 0 }, already: { episodes: COUNT } });
    },
  );
});

describe('U17, T8: what a line was taken for while it was written is forgotten when it is whole', () => {
  const whole = Buffer.from(episodeLine('b', '漢字🙂'));
  const han = whole.indexOf('漢');
  const emoji = whole.indexOf('🙂');

  test.each([
    ['torn', 'torn', whole.subarray(0, 20)],
    ['one byte of a character of three', 'torn', whole.subarray(0, han + 1)],
    ['two bytes of it', 'torn', whole.subarray(0, han + 2)],
    ['three bytes of a character of four', 'torn', whole.subarray(0, emoji + 3)],
    ['zeros, as of a file that is made larger before it is written', 'nul', Buffer.alloc(4096)],
    ['a part of it, and zeros', 'nul', Buffer.concat([whole.subarray(0, 20), Buffer.alloc(4096)])],
    ['what is no record yet', 'invalid_json', Buffer.from('{"id":}')],
  ])('%s', async (_what, kind, open) => {
    const before = Buffer.from(episodeLine('a'));
    writeFileSync(file, Buffer.concat([before, open]));
    const place = { kind, offset: before.length, bytes: open.length };
    expect(await upload()).toMatchObject({ sent: { episodes: 1 }, damaged: [place] });
    expect(await upload()).toMatchObject({ sent: { requests: 0 }, damaged: [place] });
    writeFileSync(file, Buffer.concat([before, whole]));
    expect(await upload()).toMatchObject({ sent: { episodes: 1 }, damaged: [] });
    expect(await upload()).toMatchObject({ sent: { requests: 0 }, already: { episodes: 2 }, damaged: [] });
    expect(stored()).toBe(`${before}${whole}`);
  });

  test('behind a byte order mark as well; and what has its LF stays what it was', async () => {
    writeFileSync(file, Buffer.concat([Buffer.from('\ufeff'), whole.subarray(0, 20)]));
    expect((await upload()).damaged.map(({ kind, offset }) => [kind, offset])).toEqual([
      ['bom', 0],
      ['torn', 3],
    ]);
    writeFileSync(file, `\ufeff${whole}{"id":}\n{"id":"x\n\0\0\n${episodeLine('c')}`);
    const places = ['bom', 'invalid_json', 'torn', 'nul'];
    for (const requests of [1, 0]) {
      const outcome = await upload();
      expect(outcome.damaged.map(({ kind }) => kind)).toEqual(places);
      expect(outcome.sent.requests).toBe(requests);
    }
  });
});

test('R32: a file that ends at any byte of its last record: the others are stored, and the place is explained', {
  timeout: 60_000,
}, async () => {
  const whole = Buffer.from(episodeLine('a') + episodeLine('b'));
  const last = Buffer.from('{"id":"c","env":{"id":"e"},"task":{"p":"漢🙂 \\"\\u00e9"},"traces":[]}\n');
  const settled: unknown[] = [];
  const expected: unknown[] = [];
  for (let bytes = 1; bytes < last.length; bytes += 1) {
    file = join(folder, `${bytes}.jsonl`);
    writeFileSync(file, Buffer.concat([whole, last.subarray(0, bytes)]));
    const { sent, plan, stopped, rejected, damaged } = await upload();
    const places = damaged.map(({ kind, offset, bytes: lost, recovered, message }) => ({
      ...{ kind, offset, lost, recovered },
      isExplained: message.length > 10,
    }));
    settled.push({ bytes, sent: sent.episodes, plan: plan.episodes, stopped, rejected, places });
    const isWhole = bytes === last.length - 1;
    const torn = { kind: 'torn', offset: whole.length, lost: bytes, recovered: false, isExplained: true };
    const count = isWhole ? 3 : 2;
    expected.push({ bytes, sent: count, plan: count, stopped: null, rejected: [], places: isWhole ? [] : [torn] });
  }
  expect(settled).toEqual(expected);
  expect(stored()).toBe(`${whole}${whole}${last.subarray(0, -1)}`);
});
