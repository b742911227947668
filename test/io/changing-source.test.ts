/** U17, U18, R23: a run that changes while it is uploaded, and between two uploads. Real files, real sockets. */
import { appendFileSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { UploadOutcome } from '../../src/core/upload/outcome.js';
import { openRun } from '../../src/io/run.js';
import { RunUpload } from '../../src/io/run-upload.js';
import { accessTo } from '../helpers/access.js';
import { type FaultyServer, startFaultyServer } from '../helpers/faulty-server.js';

let folder = '';
let file = '';
let server: FaultyServer;
let notices: string[] = [];
/** Called with the number of each request, before it is stored. */
let onRequest: (index: number) => void = () => {};

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'prl-changing-'));
  file = join(folder, 'traces.jsonl');
  notices = [];
  onRequest = () => {};
  server = await startFaultyServer((index) => void onRequest(index));
});
afterEach(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

const SIZE = 400_000;

/** Lines of one size, so that a rewrite can keep every offset. */
function line(index: number, letter = 'x'): string {
  const head = `{"id":"e${String(index).padStart(4, '0')}","traces":[],"x":"`;
  return `${head}${letter.repeat(SIZE - head.length - 3)}"}\n`;
}
const lines = (from: number, to: number, letter?: string): string =>
  Array.from({ length: to - from }, (_, index) => line(from + index, letter)).join('');

async function upload(): Promise<UploadOutcome> {
  const session = new RunUpload({
    run: await openRun(file),
    path: file,
    name: 'changing',
    access: accessTo(server.url),
    serviceName: server.url,
    runId: null,
    environmentRunId: null,
    stamps: false,
    context: {},
    concurrency: 1,
    targetBytes: 2 * SIZE,
    compress: 'none',
    maxAttempts: 2,
    retriesRejected: false,
    verifies: false,
    environment: { PRL_STATE_DIR: join(folder, 'state') },
    onNotice: (message) => void notices.push(message),
  });
  return session.run(new AbortController().signal);
}

function storedIds(): string[] {
  const text = [...server.stored.values()].map(String).join('');
  return [...text.matchAll(/"id":"(e\d+)"/g)].map((match) => match[1] ?? '');
}
const ids = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, index) => `e${String(from + index).padStart(4, '0')}`);

describe('U17: growing', () => {
  test('lines up to the size seen at planning are sent; later and unfinished ones by later passes, each once', async () => {
    writeFileSync(file, lines(0, 10));
    onRequest = (index) => {
      if (index === 0) appendFileSync(file, lines(10, 13) + line(13).slice(0, 1000));
    };
    const first = await upload();
    expect(first).toMatchObject({ stopped: null, sent: { episodes: 10 }, rejected: [], damaged: [] });
    expect(storedIds()).toEqual(ids(0, 10));
    onRequest = (index) => {
      if (index === 5) appendFileSync(file, line(13).slice(1000) + line(14));
    };
    await upload();
    await upload();
    expect(storedIds()).toEqual(ids(0, 15));
    expect([...server.stored.values()].map(String).join('') === readFileSync(file, 'utf8')).toBe(true);
  });

  test('R23: appends throughout do not fail it', async () => {
    writeFileSync(file, lines(0, 20));
    let next = 20;
    onRequest = () => appendFileSync(file, line(next++));
    expect(await upload()).toMatchObject({ stopped: null, sent: { episodes: 20 } });
    onRequest = () => {};
    await upload();
    expect(storedIds()).toEqual(ids(0, next));
  });
});

describe('U18: changed', () => {
  test('cut short while it is read: what was read is stored under its own digest, the loss is reported, nothing fails', async () => {
    writeFileSync(file, lines(0, 30));
    onRequest = (index) => {
      if (index === 0) truncateSync(file, 15 * SIZE - 100);
    };
    const outcome = await upload();
    const stored = storedIds();
    expect(stored).toEqual(ids(0, stored.length));
    expect(stored.length).toBeGreaterThanOrEqual(14);
    expect(stored.length).toBeLessThan(30);
    expect(outcome.damaged.length + notices.length).toBeGreaterThan(0);
  });

  test('rewritten at equal size while it is read: every upload holds the bytes of its key, the next run sends what is new', async () => {
    writeFileSync(file, lines(0, 30));
    onRequest = (index) => {
      if (index === 1) writeFileSync(file, lines(0, 30, 'y'));
    };
    await upload();
    // The server refuses a body whose digest is not its key, so whatever is stored was hashed as sent.
    expect(server.requests.every(({ jsonl }) => jsonl !== null)).toBe(true);
    onRequest = () => {};
    await upload();
    const text = [...server.stored.values()].map(String).join('');
    for (const index of [0, 15, 29]) expect(text.includes(line(index, 'y'))).toBe(true);
  });

  test('rewritten at equal size between two runs: noticed, and uploaded anew', async () => {
    writeFileSync(file, lines(0, 4));
    await upload();
    writeFileSync(file, lines(0, 4, 'y'));
    const second = await upload();
    expect(notices).toEqual([expect.stringMatching(/chunk 0 was rewritten/)]);
    expect(second).toMatchObject({ already: { episodes: 0 }, sent: { episodes: 4 } });
    expect((await upload()).sent.requests).toBe(0);
  });

  test('replaced by a shorter file between two runs: the new lines are sent', async () => {
    writeFileSync(file, lines(0, 4));
    await upload();
    writeFileSync(file, lines(50, 52));
    expect(await upload()).toMatchObject({ sent: { episodes: 2 } });
    expect(storedIds()).toEqual([...ids(0, 4), ...ids(50, 52)]);
  });
});
