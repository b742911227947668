/** Real runs into the embedded service and back, bytes compared by digest; every kind of difference is seen. */

import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { StreamRecord } from '../../src/core/scan/types.js';
import type { RunStamp } from '../../src/core/stream/stamp.js';
import { batchesOf } from '../../src/core/upload/batches.js';
import type { RejectedLine } from '../../src/core/upload/types.js';
import { Uploader, type UploadResult } from '../../src/core/upload/uploader.js';
import { expectationOf, type LineExpectation, Verification } from '../../src/core/upload/verify.js';
import { packBatch } from '../../src/io/pack.js';
import { readBack } from '../../src/io/read-back.js';
import { openRun } from '../../src/io/run.js';
import { readRecords } from '../../src/io/run-records.js';
import { createSender } from '../../src/io/sender.js';
import { encodeId, TracesReader } from '../../src/io/traces-reader.js';
import { type Service, startService } from '../../src/service/server.js';
import { accessTo, SECRET } from '../helpers/access.js';
import { FastClock } from '../helpers/clocks.js';
import { type FaultyServer, startFaultyServer } from '../helpers/faulty-server.js';
import { recordsOf } from '../helpers/lines.js';
import { MemoryJournal } from '../helpers/memory-journal.js';

const never = new AbortController().signal;
const clock = new FastClock(1000);
let folder = '';
let service: Service;
const closers: (() => Promise<void>)[] = [];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'prl-service-'));
  service = await startService({ dataDir: folder, token: SECRET, limits: { requestBytes: 4_000_000 } });
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
  await service.close();
  rmSync(folder, { recursive: true });
});

const sha256 = (slices: readonly Buffer[]): string => {
  const hash = createHash('sha256');
  for (const slice of slices) hash.update(slice);
  return hash.digest('hex');
};

type Uploaded = {
  readonly result: UploadResult;
  readonly expectations: LineExpectation[];
  readonly leftOut: RejectedLine[];
};

async function upload(
  records: AsyncIterable<StreamRecord> | Iterable<StreamRecord>,
  stamp: RunStamp | null,
  targetBytes = 100_000,
): Promise<Uploaded> {
  const sender = createSender(accessTo(service.url));
  closers.push(() => sender.close());
  const expectations: LineExpectation[] = [];
  const leftOut: RejectedLine[] = [];
  const uploader = new Uploader({
    sender,
    pack: (batch) => packBatch(batch, { context: { test: 'é' } }),
    journal: new MemoryJournal(),
    clock,
    random: () => 0,
    concurrency: 3,
    onStored: (batch) =>
      void expectations.push(...batch.lines.map((line) => expectationOf(batch.format, line, sha256))),
  });
  const batches = batchesOf(records, { stamp, targetBytes, onRejected: (line) => void leftOut.push(line) });
  return { result: await uploader.run(batches, never), expectations, leftOut };
}

/** A service that is only read, by a script. */
async function startReads(script: Parameters<typeof startFaultyServer>[0]): Promise<FaultyServer> {
  const server = await startFaultyServer(script, { scriptsReads: true });
  closers.push(server.close);
  return server;
}

function readerTo(url: string): TracesReader {
  const reader = new TracesReader({ ...accessTo(url), clock, random: () => 0 });
  closers.push(() => reader.close());
  return reader;
}

async function verify(expectations: readonly LineExpectation[]): Promise<ReturnType<Verification['result']>> {
  const verification = new Verification();
  for (const expectation of expectations) verification.expect(expectation);
  await readBack({
    reader: readerTo(service.url),
    verification,
    concurrency: 3,
    signal: never,
  });
  return verification.result();
}

async function* recordsOfRun(path: string): AsyncGenerator<StreamRecord> {
  for await (const event of readRecords(await openRun(path))) if (event.type === 'record') yield event.record;
}

describe('real runs', () => {
  test.each(['verifiers-eval', 'prime-rl-stream', 'prime-rl-stream-r2', 'prime-rl-rollouts-r1b'])(
    '%s comes back byte for byte',
    async (name) => {
      const { result, expectations } = await upload(recordsOfRun(`fixtures/runs/${name}`), {
        runId: 'run-1',
        fallbackRunId: null,
      });
      expect(result).toMatchObject({ stopped: null, rejected: [], mismatches: [] });
      expect(result.sent.episodes).toBeGreaterThan(3);
      expect(expectations.reduce((sum, { traces }) => sum + traces.size, 0)).toBeGreaterThan(3);
      const verified = await verify(expectations);
      expect(verified.differences).toEqual([]);
      expect(verified.episodes).toBe(result.sent.episodes);
    },
  );

  test('a stamped record is found by its run, an unstamped one by its id', async () => {
    const text = '{"id":"e1","env":{"id":"v"},"traces":[{"id":"t1","nodes":[]}]}\n';
    const { expectations } = await upload(recordsOf(text), null);
    expect((await verify(expectations)).ok).toBe(true);
    const filed = expectations.map((expectation) => ({ ...expectation, runId: 'some-run' }));
    expect((await verify(filed)).differences).toMatchObject([{ kind: 'episode_missing', episodeId: 'e1' }]);
    const stamped = await upload(recordsOf(text.replace('e1', 'e2').replace('t1', 't2')), {
      runId: 'some-run',
      fallbackRunId: null,
    });
    expect((await verify(stamped.expectations)).ok).toBe(true);
  });

  test('a line the service refuses stands alone, its neighbours come back', async () => {
    const lines = ['{"id":"e1","traces":[]}', '{"id":"e2","traces":[{"id":7}]}', '{"id":"e3","traces":[{"id":"t3"}]}'];
    const { result, expectations } = await upload(recordsOf(`${lines.join('\n')}\n`), {
      runId: 'r',
      fallbackRunId: null,
    });
    expect(result.rejected).toMatchObject([{ lineNumber: 2, id: 'e2', code: 'invalid_trace' }]);
    expect(expectations.map(({ episodeId }) => episodeId)).toEqual(['e1', 'e3']);
    expect((await verify(expectations)).ok).toBe(true);
  });

  test('the same bytes under the other format are refused line by line, without splitting', async () => {
    const text = '{"id":"x","traces":[]}\n{"id":"y","traces":[]}\n';
    await upload(recordsOf(text), null);
    const { result } = await upload(recordsOf(text, 0, 'trace'), null);
    expect(result.sent.requests).toBe(1);
    expect(result.rejected.map(({ code }) => code)).toEqual(['line_format_conflict', 'line_format_conflict']);
  });
});

describe('differences', () => {
  const line = '{"id":"e1","traces":[{"id":"t1","x":1.0},{"id":"t2"}]}';

  test.each<[string, (expectation: LineExpectation) => LineExpectation, string[]]>([
    ['an episode that is not there', (e) => ({ ...e, episodeId: 'gone', traces: new Map() }), ['episode_missing']],
    ['a trace that is not there', (e) => ({ ...e, traces: new Map([...e.traces, ['t3', 'd']]) }), ['trace_missing']],
    ['a trace too many', (e) => ({ ...e, traces: new Map([...e.traces].slice(0, 1)) }), ['trace_unexpected']],
    [
      'other bytes',
      (e) => ({ ...e, traces: new Map([...e.traces].map(([id]) => [id, 'd'])) }),
      ['trace_differs', 'trace_differs'],
    ],
    [
      'a bare trace that is not there',
      (e) => ({ ...e, episodeId: null, traces: new Map([['t9', 'd']]) }),
      ['trace_missing'],
    ],
    [
      'an id that no URL can carry',
      (e) => ({ ...e, episodeId: 'a/b', traces: new Map() }),
      ['episode_missing', 'unreadable'],
    ],
  ])('%s', async (_what, change, kinds) => {
    const { expectations } = await upload(recordsOf(`${line}\n`), { runId: 'r', fallbackRunId: null });
    const { ok, differences } = await verify(expectations.map(change));
    expect(differences.map(({ kind }) => kind)).toEqual(kinds);
    expect(ok).toBe(false);
  });

  test('an episode that was overwritten by other bytes differs', async () => {
    const { expectations } = await upload(recordsOf(`${line}\n`), { runId: 'r', fallbackRunId: null });
    await upload(recordsOf(`${line.replace('1.0', '2.0')}\n`), { runId: 'r', fallbackRunId: null });
    const { differences } = await verify(expectations);
    expect(differences.map(({ kind, traceId }) => [kind, traceId])).toEqual([['trace_differs', 't1']]);
  });

  test('bare traces come back as their lines without LF', async () => {
    const { expectations } = await upload(recordsOf('{"id":"t1"} \r\n{"id":".."}\n{"id":"é?#%"}', 0, 'trace'), null);
    expect(await verify(expectations)).toEqual({ episodes: 3, ok: true, differences: [], superseded: 0 });
  });
});

describe('reading', () => {
  test('pages are followed to the end, and one that turns in a circle is an error', async () => {
    const lines = Array.from({ length: 230 }, (_, index) => `{"id":"e${index}","traces":[]}\n`).join('');
    await upload(recordsOf(lines), { runId: 'r', fallbackRunId: null });
    const ids = new Set<string>();
    for await (const { id } of readerTo(service.url).listEpisodes('r', never)) ids.add(id);
    expect(ids.size).toBe(230);
    const circle = await startReads(() => ({
      kind: 'answer',
      status: 200,
      body: '{"items":[],"next_cursor":"c"}',
    }));
    const list = readerTo(circle.url).listEpisodes('r', never);
    await expect(list.next()).rejects.toMatchObject({ code: 'PRL_ERR_INTEGRITY' });
  });

  test.each([
    ['.', '%2E'],
    ['..', '%2E%2E'],
    ['a b?c#d%e', 'a%20b%3Fc%23d%25e'],
    ["!'()*", '%21%27%28%29%2A'],
    ['é', '%C3%A9'],
    ['a.b-c_d~', 'a.b-c_d~'],
  ])('B22, A44: the id %j goes raw as %s', async (id, segment) => {
    expect(encodeId(id)).toBe(segment);
    const server = await startReads(() => ({ kind: 'answer', status: 200, body: 'doc' }));
    expect(await readerTo(server.url).digestOf(id, never)).toBe(sha256([Buffer.from('doc')]));
    expect(server.requests[0]?.path).toBe(`/api/v1/traces/${segment}?raw=true`);
  });

  test.each(['', 'a/b', '/', '\ud800'])('the id %j is refused before any request', (id) => {
    expect(() => encodeId(id)).toThrowError(expect.objectContaining({ code: 'PRL_ERR_USAGE' }));
  });

  test.each([429, 502, 503, 504])('%d is tried three times in all', async (status) => {
    const server = await startReads((index) =>
      index < 2 ? { kind: 'answer', status } : { kind: 'answer', status: 200, body: 'doc' },
    );
    expect(await readerTo(server.url).digestOf('t', never)).toBe(sha256([Buffer.from('doc')]));
    expect(server.requests).toHaveLength(3);
    const down = await startReads(() => ({ kind: 'answer', status, body: SECRET }));
    await expect(readerTo(down.url).digestOf('t', never)).rejects.toMatchObject({
      code: 'PRL_ERR_TEMPORARY',
      message: expect.not.stringContaining(SECRET),
    });
    expect(down.requests).toHaveLength(3);
  });

  test('401 is final and has its own code; 404 is an answer', async () => {
    const server = await startReads((index) => ({ kind: 'answer', status: index === 0 ? 401 : 404 }));
    const reader = readerTo(server.url);
    await expect(reader.digestOf('t', never)).rejects.toMatchObject({ code: 'PRL_ERR_AUTH' });
    expect(await reader.digestOf('t', never)).toBeNull();
    expect(server.requests).toHaveLength(2);
  });

  test('a connection that breaks inside a document is read again from its start', async () => {
    const server = await startReads((index) =>
      index === 0 ? { kind: 'cut_answer' } : { kind: 'answer', status: 200, body: 'doc' },
    );
    expect(await readerTo(server.url).digestOf('t', never)).toBe(sha256([Buffer.from('doc')]));
  });
});
