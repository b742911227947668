/** What an upload tells of the chunks of a run as it settles them: figures that go on over uploads. Real files and sockets. */
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openRun } from '../../src/io/run.js';
import { RunUpload } from '../../src/io/run-upload.js';
import type { UploadSettlement } from '../../src/io/settlement.js';
import { accessTo } from '../helpers/access.js';
import { type Fault, startFaultyServer } from '../helpers/faulty-server.js';
import { episodeLine } from '../helpers/read-run.js';
import { tempFolder, writeTree } from '../helpers/temp-folder.js';

const STREAM = 'monitors/file/traces/stream';
const TORN = '{"id":"torn\n';
const lines = (...ids: string[]): string => ids.map((id) => episodeLine(id)).join('');
const lengthOf = (...parts: string[]): number => parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0);

type Uploaded = { readonly settlement: UploadSettlement | null; readonly before: UploadSettlement | null };

/** One line a request, one request at a time. */
async function upload(root: string, fault: () => Fault | undefined): Promise<Uploaded> {
  const server = await startFaultyServer(fault);
  onTestFinished(() => server.close());
  const session = new RunUpload({
    run: await openRun(root),
    path: root,
    name: 'settled',
    access: accessTo(server.url),
    serviceName: 'one service',
    runId: null,
    environmentRunId: null,
    stamps: false,
    context: {},
    concurrency: 1,
    targetBytes: 1,
    compress: 'none',
    maxAttempts: 1,
    retriesRejected: false,
    verifies: false,
    environment: { PRL_STATE_DIR: join(root, 'state') },
    onNotice: () => {},
  });
  const before = session.settlement();
  await session.run(new AbortController().signal);
  return { before, settlement: session.settlement() };
}

const refusing =
  (id: string): (() => Fault) =>
  () => ({
    kind: 'refuse',
    refuses: (jsonl) => jsonl.includes(`"id":"${id}"`),
  });

test('stored, refused and damaged lines settle a chunk to its end; the next upload begins with these figures', async () => {
  const root = writeTree(tempFolder(), {
    [`${STREAM}/00000.jsonl`]: `${lines('a')}${TORN}${lines('b', 'c')}${TORN}`,
    [`${STREAM}/00001.jsonl`]: lines('d'),
  });
  const chunks = [
    { chunk: 0, stored: 2, rejected: 1, endBytes: lengthOf(lines('a', 'b', 'c'), TORN, TORN) },
    { chunk: 1, stored: 1, rejected: 0, endBytes: lengthOf(lines('d')) },
  ];
  const first = await upload(root, refusing('b'));
  expect(first.before).toBeNull();
  expect(first.settlement).toEqual({ known: { stored: 0, rejected: 0 }, chunks, open: 0, unanswered: 0 });
  const second = await upload(root, refusing('b'));
  expect(second.settlement).toEqual({ known: { stored: 3, rejected: 1 }, chunks, open: 0, unanswered: 0 });
});

test('an upload that gives up: settled up to the line that may be stored, which the next one settles', async () => {
  const root = writeTree(tempFolder(), { [`${STREAM}/00000.jsonl`]: lines('a', 'b', 'c') });
  let requests = 0;
  const first = await upload(root, () => {
    requests += 1;
    return requests === 2 ? { kind: 'lost_response' } : undefined;
  });
  expect(first.settlement).toEqual({
    known: { stored: 0, rejected: 0 },
    chunks: [{ chunk: 0, stored: 1, rejected: 0, endBytes: lengthOf(lines('a')) }],
    // The last line was read, to see where the request of the one before it ends.
    open: 2,
    unanswered: 1,
  });
  const second = await upload(root, () => undefined);
  expect(second.settlement).toEqual({
    known: { stored: 1, rejected: 0 },
    chunks: [{ chunk: 0, stored: 3, rejected: 0, endBytes: lengthOf(lines('a', 'b', 'c')) }],
    open: 0,
    unanswered: 0,
  });
});

test('a line that is settled behind one that is not does not move the end', async () => {
  const root = writeTree(tempFolder(), { [`${STREAM}/00000.jsonl`]: `${lines('a')}${TORN}${lines('b')}` });
  const { settlement } = await upload(root, () => ({ kind: 'answer', status: 401 }));
  // The torn line was settled when it was read, before any answer came.
  expect(settlement?.chunks.map(({ endBytes }) => endBytes)).toEqual([0]);
});
