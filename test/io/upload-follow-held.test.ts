/**
 * Uploading a growing run when the service is slow or holds a request, and when cuts cannot be remembered: what waits,
 * what does not, and how little is read ahead (U16, U27, R-UP-2, T8).
 */
import { appendFileSync, mkdirSync, readFileSync, renameSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { UploadSnapshot } from '../../src/core/snapshot.js';
import { openJournal } from '../../src/io/journal.js';
import { findPlaces } from '../../src/io/journal-place.js';
import { type Fault, type FaultyServer, startFaultyServer } from '../helpers/faulty-server.js';
import { type FollowedOptions, FollowedUpload } from '../helpers/followed-upload.js';
import { episodeLine } from '../helpers/read-run.js';
import { seal } from '../helpers/seal.js';
import { tempFolder } from '../helpers/temp-folder.js';

const STREAM = 'monitors/file/traces/stream';
let root = '';

beforeEach(() => {
  root = join(tempFolder(), 'run');
  mkdirSync(join(root, STREAM), { recursive: true });
});

const lines = (...ids: string[]): string => ids.map((id) => episodeLine(id)).join('');
const chunkPath = (chunk: number): string => join(root, STREAM, `${String(chunk).padStart(5, '0')}.jsonl`);
const append = (chunk: number, text: string | Buffer): void => appendFileSync(chunkPath(chunk), text);

function sealChunk(chunk: number): void {
  const path = chunkPath(chunk);
  writeFileSync(`${path}.zst.tmp`, seal(readFileSync(path)));
  renameSync(`${path}.zst.tmp`, `${path}.zst`);
  unlinkSync(path);
}

async function serve(script: (index: number) => Fault | undefined = () => undefined): Promise<FaultyServer> {
  const server = await startFaultyServer(script);
  onTestFinished(() => server.close());
  return server;
}

const start = (service: FaultyServer, change: Partial<FollowedOptions> = {}): Promise<FollowedUpload> =>
  FollowedUpload.start({ root, service, ...change });

/** Ids of the episodes of each request that was stored, in order. */
function requestsOf({ stored }: FaultyServer): string[] {
  return [...stored.values()].map((jsonl) =>
    [...String(jsonl).matchAll(/"id":"(\w+)","env"/g)].map(([, id]) => id).join(''),
  );
}

describe('U27: records appended during the final drain', () => {
  test.each([
    ['drained', (upload: FollowedUpload) => void upload.drain(), () => true, () => append(0, lines('c', 'd'))],
    [
      'finished',
      () => sealChunk(0),
      ({ backlog }: UploadSnapshot) => backlog?.writer === 'finished',
      // The run is begun again, and is finished once more.
      () => writeFileSync(`${chunkPath(1)}.zst`, seal(Buffer.from(lines('c', 'd')))),
    ],
  ] as const)(
    'are sent without another trigger when they come while the last request is held: %s',
    async (_how, finish, isSeen, continueRun) => {
      let release = (): void => {};
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      const service = await serve((index) => (index === 0 ? { kind: 'held', until: held } : undefined));
      append(0, lines('a', 'b'));
      const upload = await start(service, { lingerMs: 60_000 });
      await upload.until(({ snapshot }) => snapshot.backlog?.writer === 'idle');
      finish(upload);
      // The linger time is not waited for when nothing more comes.
      await upload.until(({ snapshot }) => service.requests.length === 1 && isSeen(snapshot));
      // Who would not wait for the request has looked for the last time by now.
      for (let turns = 0; turns < 200; turns += 1) await new Promise(setImmediate);
      continueRun();
      release();
      expect(await upload.ended).toMatchObject({ sent: { episodes: 4 }, stopped: null, interrupted: false });
      expect(requestsOf(service)).toEqual(['ab', 'cd']);
    },
  );
});

describe('requests', () => {
  test('a trickle is sent when it has waited for the linger time, and a flood in full requests', async () => {
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const service = await serve((index) => (index === 1 ? { kind: 'held', until: held } : undefined));
    const batch = 4 * episodeLine('a').length;
    const upload = await start(service, { lingerMs: 300, targetBytes: batch, concurrency: 1 });
    append(0, lines('a'));
    const startMs = performance.now();
    await upload.until(({ snapshot }) => snapshot.backlog?.rows === 1);
    append(0, lines('b'));
    await upload.untilSent(2);
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(300);
    append(0, lines('c'));
    await upload.until(() => service.requests.length === 2);
    // While that one is held, a flood comes: it is cut by size, and so is its last request, by time.
    append(0, lines('d', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l'));
    release();
    await upload.untilSent(12);
    expect(requestsOf(service)).toEqual(['ab', 'c', 'defg', 'hijk', 'l']);
    await upload.stop();
  });

  test('R19: what comes while a request is held goes when it has waited, and waits for nothing else', async () => {
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const service = await serve((index) => (index === 0 ? { kind: 'held', until: held } : undefined));
    append(0, lines('a'));
    const upload = await start(service, { lingerMs: 20 });
    await upload.until(() => service.requests.length === 1);
    append(0, lines('b'));
    await upload.untilSent(1);
    append(0, lines('c'));
    await upload.untilSent(2);
    expect(requestsOf(service)).toEqual(['b', 'c']);
    release();
    await upload.untilSent(3);
    expect(requestsOf(service)).toEqual(['b', 'c', 'a']);
  });

  test('T8: zeros at the end are not written yet: nothing is sent of them, and the record when it stands there', async () => {
    const service = await serve();
    append(0, Buffer.concat([Buffer.from(lines('a')), Buffer.alloc(4096)]));
    const upload = await start(service);
    await upload.untilSent(1);
    writeFileSync(chunkPath(0), Buffer.concat([Buffer.from(lines('a', 'b')), Buffer.alloc(1000)]));
    await upload.untilSent(2);
    await upload.stop();
    expect(requestsOf(service)).toEqual(['a', 'b']);
  });

  test('U16: of a service that takes 100 kB/s the follower reads no more ahead than the requests hold', async () => {
    const lineBytes = 20_000;
    const targetBytes = 3 * lineBytes;
    const service = await serve(() => ({ kind: 'slow', bytesPerSecond: 100_000 }));
    const line = (index: number): string => episodeLine(`e${index}`, 'x'.repeat(lineBytes - 120));
    for (let index = 0; index < 500; index += 1) append(0, line(index));
    const upload = await start(service, { targetBytes, concurrency: 2 });
    let most = 0;
    await upload.until(({ snapshot }) => {
      most = Math.max(most, snapshot.backlog?.bytes ?? 0);
      return snapshot.sent.episodes >= 9;
    });
    // Two on their way, two that are packed or wait to be, one that is open, and the line that closed it.
    expect(most).toBeLessThanOrEqual(5 * targetBytes + lineBytes);
    expect(upload.snapshot.plan.bytes).toBeGreaterThan(100 * targetBytes);
    expect((await upload.stop()).interrupted).toBe(true);
  });
});

test('U26: what waits on disk behind a stalled service is read at offsets beyond 4 GiB, and known there afterwards', async () => {
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const service = await serve((index) => (index === 0 ? { kind: 'held', until: held } : undefined));
  const path = chunkPath(0);
  append(0, lines('a'));
  // A hole in the file costs no disk; that it is settled, as by an earlier upload, saves reading it.
  const end = 4.25 * 2 ** 30;
  truncateSync(path, end - 1);
  append(0, '\n');
  const tail = Buffer.concat([Buffer.alloc(63), Buffer.from('\n')]);
  const digests = { digest: '0'.repeat(64), lineDigests: ['line-a-digest-00'] };
  const journal = await openJournal({
    places: await findPlaces(root, {}),
    destination: { baseUrl: service.url, teamId: null, context: {}, stamp: { unstamped: true } },
    chunkNames: new Map([[0, '0']]),
    readRange: async () => null,
    onNotice: () => {},
  });
  const range = { chunk: 0, start: 0, end, physicalLines: 2, format: 'episode', lines: 1, sentBytes: 1, tail } as const;
  await journal.stored({ ...range, ...digests });
  await journal.close();
  append(0, lines('b'));
  const upload = await start(service, { concurrency: 1, targetBytes: 1 });
  await upload.until(() => service.requests.length === 1);
  append(0, lines('c', 'd', 'e', 'f'));
  release();
  await upload.untilSent(5);
  expect(await upload.stop()).toMatchObject({ already: { episodes: 1 }, damaged: [] });
  append(0, lines('g'));
  const again = await (await start(service, { follows: false })).ended;
  expect(again).toMatchObject({ sent: { episodes: 1 }, already: { episodes: 6 } });
  expect(requestsOf(service).join('')).toBe('bcdefg');
});

describe('R-UP-2: where no journal can be kept', () => {
  const nowhere = (): Partial<FollowedOptions> => {
    // Neither beside the run nor in the state directory: files are where directories belong.
    writeFileSync(join(root, 'monitors/prl'), '');
    writeFileSync(join(root, '../state'), '');
    return { lingerMs: 0 };
  };

  test('full requests go, the open one waits until its chunk is closed, and the cuts are those of the whole chunk', async () => {
    const service = await serve();
    const options = { ...nowhere(), targetBytes: 2 * episodeLine('a').length };
    append(0, lines('a', 'b', 'c'));
    const upload = await start(service, options);
    await upload.untilSent(2);
    expect(upload.notices).toContainEqual(expect.stringMatching(/the journal is not kept/));
    await upload.until(({ snapshot }) => snapshot.backlog?.rows === 1);
    append(0, lines('d', 'e'));
    await upload.untilSent(4);
    expect(requestsOf(service)).toEqual(['ab', 'cd']);
    // The next chunk closes the one before.
    append(1, lines('f'));
    await upload.untilSent(5);
    expect(requestsOf(service)).toEqual(['ab', 'cd', 'e']);
    sealChunk(0);
    sealChunk(1);
    expect(await upload.ended).toMatchObject({ sent: { episodes: 6 }, journal: null });
    expect(requestsOf(service)).toEqual(['ab', 'cd', 'e', 'f']);
    // B27: a second upload makes the same requests, and the service knows each.
    expect(await (await start(service, options)).ended).toMatchObject({ sent: { episodes: 6, requests: 4 } });
    expect(requestsOf(service)).toHaveLength(4);
  });

  test('what waits is not sent by whoever stops it, and is by whoever drains it', async () => {
    const service = await serve();
    append(0, lines('a'));
    const options = nowhere();
    const upload = await start(service, options);
    await upload.until(({ snapshot }) => snapshot.backlog?.rows === 1);
    expect(await upload.stop()).toMatchObject({ sent: { requests: 0 }, interrupted: true });
    const second = await start(service, options);
    await second.until(({ snapshot }) => snapshot.backlog?.rows === 1);
    expect(await second.drain()).toMatchObject({ sent: { episodes: 1 } });
  });
});
