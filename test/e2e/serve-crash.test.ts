/**
 * Demands U1, U2 at the service: killed at any sync or write, or on a disk that refuses one, a receipt given is a batch
 * kept and nothing is half there. The faults are injected by strace into the built command; the check is a fresh service
 * over the same directory.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  call,
  episode,
  getJson,
  jsonl,
  service,
  stored,
  temporaryFolder,
  trace,
  upload,
} from '../service/service-fixture.js';
import { HAS_STRACE, serveChild } from './serve-child.js';

type Batch = { readonly index: number; readonly lines: string; readonly isTraces: boolean };

/** Batches of several records, some above the size of one write. */
const BATCHES: readonly Batch[] = Array.from({ length: 4 }, (_, index) => {
  const records = Array.from({ length: 3 }, (_, record) =>
    trace(`t${index}-${record}`, { info: { x: 'y'.repeat(index * 200_000) } }),
  );
  return index % 2 === 0
    ? { index, lines: jsonl(episode(`e${index}`, records), episode(`f${index}`, [])), isTraces: false }
    : { index, lines: jsonl(...records), isTraces: true };
});

function send(port: number, batch: Batch) {
  return upload({ port }, batch.lines, { format: batch.isTraces ? 'trace' : 'episode' });
}

/** Uploads all batches, the last two at once; returns which got a receipt, and how many were told to come again. */
async function uploadAll(port: number): Promise<{ receipts: Set<number>; declined: number }> {
  const receipts = new Set<number>();
  let declined = 0;
  const one = async (batch: Batch): Promise<void> => {
    const answer = await send(port, batch).catch(() => null);
    if (answer?.status === 201) receipts.add(batch.index);
    else if (answer !== null) {
      expect(answer.status).toBe(503);
      declined += 1;
    }
  };
  for (const batch of BATCHES.slice(0, 2)) await one(batch);
  await Promise.all(BATCHES.slice(2).map(one));
  return { receipts, declined };
}

/** Opens the directory anew: receipts kept, no batch in part, and uploading again makes everything whole, each once. */
async function checkDirectory(dataDir: string, receipts: ReadonlySet<number>): Promise<void> {
  const of = await service({ dataDir });
  const found = ((await getJson(of, '/traces?limit=100')).items as { trace_id: string }[]).map((item) => item.trace_id);
  for (const batch of BATCHES) {
    const rows = found.filter((id) => id.startsWith(`t${batch.index}-`)).length;
    expect(receipts.has(batch.index) ? [3] : [0, 3]).toContain(rows);
    expect((await send(of.port, batch)).status).toBe(rows === 3 ? 200 : 201);
  }
  const all = (await getJson(of, '/traces?limit=100')).items as { trace_id: string; size_bytes: number }[];
  expect(all.length).toBe(BATCHES.length * 3);
  expect((await getJson(of, '/episodes?limit=100')).items).toHaveLength(4);
  for (const { trace_id: id } of all) {
    const { bytes } = await call(of, { target: `/traces/${id}?raw=true` });
    const batch = BATCHES.find(({ index }) => id.startsWith(`t${index}-`));
    expect(batch?.lines.includes(bytes.toString())).toBe(true);
    expect((JSON.parse(bytes.toString()) as { id: string }).id).toBe(id);
  }
  await of.close();
}

describe.skipIf(!HAS_STRACE)('kill -9', () => {
  test.each([
    // Directory and database syncs at the start, then one of the log for each commit.
    ['fsync', 1],
    // The bytes of each upload, before its rows.
    ['fdatasync', 1],
    // Every write to the chunk, the log and the database; a stride keeps the campaign short.
    ['pwrite64', 13],
    // The size of a chunk or of a shared index.
    ['ftruncate', 1],
  ])('at the n-th %s, for every n until it survives', { timeout: 240_000 }, async (name, stride) => {
    let kills = 0;
    for (let when = 1; when < 400; when += stride) {
      const dataDir = temporaryFolder();
      const inject = `inject=${name}:signal=SIGKILL:when=${when}`;
      const { child, kill, port, ended } = await serveChild(dataDir, { strace: ['-e', `trace=${name}`, '-e', inject] });
      const receipts = port === null ? new Set<number>() : (await uploadAll(port)).receipts;
      const isAlive = child.exitCode === null && child.signalCode === null && receipts.size === BATCHES.length;
      if (isAlive) kill('SIGTERM');
      else kills += 1;
      await ended;
      await checkDirectory(dataDir, receipts);
      if (isAlive) break;
    }
    // The calls a run makes at least: a fault that never fires would prove nothing.
    expect(kills).toBeGreaterThanOrEqual(name === 'ftruncate' ? 1 : 4);
  });

  test('while eight uploads are under way, at a moment of chance', { timeout: 120_000 }, async () => {
    const dataDir = temporaryFolder();
    const batches = Array.from({ length: 24 }, (_, index) => ({
      id: `t${index}`,
      lines: jsonl(episode(`e${index}`, [trace(`t${index}`, { info: { x: 'y'.repeat(300_000) } })])),
    }));
    const receipts = new Set<string>();
    for (let round = 0; receipts.size < batches.length; round += 1) {
      expect(round).toBeLessThan(30);
      const { kill, port, ended } = await serveChild(dataDir);
      const left = batches.filter(({ id }) => !receipts.has(id));
      const killAt = 1 + (round % 4);
      let answered = 0;
      await Promise.all(
        Array.from({ length: 8 }, async () => {
          for (let batch = left.shift(); batch !== undefined; batch = left.shift()) {
            const answer = await upload({ port: port as number }, batch.lines).catch(() => null);
            if (answer === null) continue;
            expect([200, 201]).toContain(answer.status);
            receipts.add(batch.id);
            answered += 1;
            if (answered === killAt) kill('SIGKILL');
          }
        }),
      );
      kill('SIGKILL');
      await ended;
      const of = await service({ dataDir });
      for (const { id, lines } of batches.filter((batch) => receipts.has(batch.id))) {
        const { bytes } = await call(of, { target: `/traces/${id}?raw=true` });
        expect(lines.includes(bytes.toString())).toBe(true);
      }
      await of.close();
    }
  });
});

describe.skipIf(!HAS_STRACE)('a disk that refuses', () => {
  test.each([
    ['no room for the bytes of an upload', 'pwritev,pwrite64,write', 'ENOSPC'],
    ['a sync of bytes that fails', 'fdatasync', 'EIO'],
  ])('%s: 503, nothing kept, and the next upload is stored', { timeout: 120_000 }, async (_, names, error) => {
    const dataDir = temporaryFolder();
    // Only calls on chunk files fail: strace selects them by path.
    const chunk = `${dataDir}/stream/00000.jsonl`;
    const strace = ['-P', chunk, '-e', `trace=${names}`, '-e', `inject=${names}:error=${error}:when=1..2`];
    const { kill, port, ended } = await serveChild(dataDir, { strace });
    const answers = [];
    for (const batch of [BATCHES[0], BATCHES[0], BATCHES[0]] as Batch[])
      answers.push(await send(port as number, batch));
    expect(answers.map(({ status }) => status)).toEqual([503, 503, 201]);
    expect(answers[0]?.json()).toMatchObject({ error: { code: 'storage_unavailable' } });
    expect(answers[0]?.headers['retry-after']).toBe('5');
    kill('SIGTERM');
    await ended;
    await checkDirectory(dataDir, new Set([0]));
  });

  test.each([
    ['a full disk', 'pwrite64', 'ENOSPC'],
    ['a failing sync', 'fsync', 'EIO'],
  ])(
    'the log of the database meets %s: 503, no half batch, and later uploads are stored',
    { timeout: 120_000 },
    async (_, name, error) => {
      const dataDir = temporaryFolder();
      const log = `${dataDir}/traces.sqlite-wal`;
      // The first service makes the tables; the second one's first writes to the log are those of an upload.
      await (await service({ dataDir })).close();
      const strace = ['-P', log, '-e', `trace=${name}`, '-e', `inject=${name}:error=${error}:when=2..3`];
      const { kill, port, ended } = await serveChild(dataDir, { strace });
      const statuses: number[] = [];
      for (const batch of [...BATCHES, ...BATCHES]) statuses.push((await send(port as number, batch)).status);
      expect(statuses.filter((status) => status === 503).length).toBeGreaterThanOrEqual(1);
      expect(statuses.slice(4).filter((status) => status !== 200 && status !== 201)).toEqual([]);
      kill('SIGKILL');
      await ended;
      await checkDirectory(dataDir, new Set([0, 1, 2, 3]));
    },
  );
});

test.skipIf(!HAS_STRACE)(
  'a commit whose sync failed may come back after a kill: then its bytes are there too',
  async () => {
    const dataDir = temporaryFolder();
    await (await service({ dataDir })).close();
    // The second sync of the log is the one of the first COMMIT; the first one is of the log's head.
    const log = `${dataDir}/traces.sqlite-wal`;
    const strace = ['-P', log, '-e', 'trace=fsync', '-e', 'inject=fsync:error=EIO:when=2'];
    const { kill, port, ended } = await serveChild(dataDir, { strace });
    const [batch] = BATCHES as [Batch];
    expect((await send(port as number, batch)).status).toBe(503);
    kill('SIGKILL');
    await ended;
    const of = await service({ dataDir });
    // Nothing was promised; SQLite finds the whole transaction in its log and keeps it.
    expect((await getJson(of, '/traces')).items).toHaveLength(3);
    await of.close();
    await checkDirectory(dataDir, new Set([0]));
  },
);

test('the check itself would notice a lost batch', async () => {
  const dataDir = temporaryFolder();
  const of = await service({ dataDir });
  await stored(of, (BATCHES[0] as Batch).lines);
  await of.close();
  await expect(checkDirectory(dataDir, new Set([0, 1]))).rejects.toThrow();
});

test.skipIf(!HAS_STRACE)('the order on the disk: bytes written, bytes synced, rows synced, receipt sent', async () => {
  const dataDir = temporaryFolder();
  const log = path.join(temporaryFolder(), 'strace.txt');
  const calls = 'pwrite64,fsync,fdatasync,write,writev,sendto,sendmsg';
  const { kill, port, ended } = await serveChild(dataDir, { strace: ['-y', '-s', '16', '-e', `trace=${calls}`], log });
  for (const batch of BATCHES.slice(0, 3)) expect((await send(port as number, batch)).status).toBe(201);
  kill('SIGTERM');
  await ended;
  const steps = readFileSync(log, 'utf8')
    .split('\n')
    .flatMap((line) => {
      if (/ pwrite64\(\d+<[^>]*\.jsonl>/.test(line)) return 'bytes written';
      if (/ fdatasync\(\d+<[^>]*\.jsonl>/.test(line)) return 'bytes synced';
      if (/ pwrite64\(\d+<[^>]*traces\.sqlite-wal>/.test(line)) return 'rows written';
      if (/ fsync\(\d+<[^>]*traces\.sqlite-wal>/.test(line)) return 'rows synced';
      return /"HTTP\/1\.1 201/.test(line) ? 'receipt sent' : [];
    });
  // From the first upload on; what came before made the tables.
  const served = steps.slice(steps.indexOf('bytes written')).filter((step, index, all) => step !== all[index - 1]);
  const each = ['bytes written', 'bytes synced', 'rows written', 'rows synced', 'receipt sent'];
  expect(served.slice(0, 15)).toEqual([...each, ...each, ...each]);
});
