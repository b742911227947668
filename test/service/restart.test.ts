/** What a data directory means: it survives, belongs to one process, and its damage is told, not served. */
import { randomBytes } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import {
  call,
  digestOf,
  episode,
  getJson,
  jsonl,
  rawSocket,
  service,
  stored,
  temporaryFolder,
  trace,
} from './service-fixture.js';

const LINES = jsonl(episode('e1', [trace('t1')]));

function chunk(dataDir: string, number = 0): string {
  return path.join(dataDir, 'stream', `${String(number).padStart(5, '0')}.jsonl`);
}

describe('a second start', () => {
  test('finds everything, replays receipts and appends behind what is there', async () => {
    const dataDir = temporaryFolder();
    const first = await service({ dataDir });
    await stored(first, LINES, { metadata: { schema_version: 1, context: { k: 'v' } } });
    const before = await getJson(first, '/traces/t1');
    await first.close();
    const second = await service({ dataDir });
    expect(await getJson(second, '/traces/t1')).toEqual(before);
    await stored(second, jsonl(episode('e2', [trace('t2')])));
    for (const id of ['t1', 't2']) {
      const { bytes } = await call(second, { target: `/traces/${id}?raw=true` });
      expect(bytes.toString()).toBe(JSON.stringify(trace(id)));
    }
  });

  test('the chunk holds exactly the bytes of the receipts, at their address', async () => {
    const dataDir = temporaryFolder();
    const of = await service({ dataDir });
    const batches = [LINES, jsonl(episode('e2', [])), jsonl(episode('e3', [trace('t3')]))];
    for (const lines of batches) await stored(of, lines);
    await of.close();
    const database = new DatabaseSync(path.join(dataDir, 'traces.sqlite'));
    const rows = database.prepare('SELECT digest, chunk, offset, bytes FROM uploads').all();
    database.close();
    expect(rows).toHaveLength(3);
    for (const row of rows) {
      const bytes = readFileSync(chunk(dataDir, row.chunk as number));
      const from = row.offset as number;
      expect(digestOf(bytes.subarray(from, from + (row.bytes as number)))).toBe(row.digest);
    }
  });

  test('every record in a chunk runs to its LF, even when its upload had none', async () => {
    const dataDir = temporaryFolder();
    const of = await service({ dataDir });
    const bare = { format: 'trace', compress: false } as const;
    await stored(of, JSON.stringify(trace('a')), bare);
    await stored(of, jsonl(trace('b')), bare);
    await of.close();
    expect(readFileSync(chunk(dataDir), 'utf8')).toBe(jsonl(trace('a'), trace('b')));
  });

  test('cuts off what a crash left behind the last receipt, and says so', async () => {
    const dataDir = temporaryFolder();
    const first = await service({ dataDir });
    await stored(first, LINES);
    await first.close();
    appendFileSync(chunk(dataDir), '{"half a rec');
    writeFileSync(chunk(dataDir, 7), 'never committed');
    const lines: string[] = [];
    const second = await service({ dataDir, log: (line) => lines.push(line) });
    expect(lines.sort()).toEqual([
      `chunk 0: cut off 12 bytes at ${LINES.length}, written by uploads that never got a receipt`,
      'chunk 7: cut off 15 bytes at 0, written by uploads that never got a receipt',
    ]);
    expect(statSync(chunk(dataDir)).size).toBe(LINES.length);
    expect(existsSync(chunk(dataDir, 7))).toBe(false);
    await stored(second, jsonl(episode('e2', [trace('t2')])));
    expect((await call(second, { target: '/traces/t1?raw=true' })).bytes.toString()).toBe(JSON.stringify(trace('t1')));
  });

  test('other files in the stream folder are left alone', async () => {
    const dataDir = temporaryFolder();
    const first = await service({ dataDir });
    await stored(first, LINES);
    await first.close();
    const note = path.join(dataDir, 'stream', 'notes.txt');
    writeFileSync(note, 'mine');
    await service({ dataDir });
    expect(readFileSync(note, 'utf8')).toBe('mine');
  });
});

describe('refusals to start', () => {
  test.each([
    ['shorter than its receipts', (file: string) => truncateSync(file, 10), /has 10 bytes, but \d+ were committed/],
    ['empty', (file: string) => truncateSync(file, 0), /has 0 bytes/],
  ])('PRL_ERR_INTEGRITY when a chunk is %s', async (_, damage, message) => {
    const dataDir = temporaryFolder();
    const first = await service({ dataDir });
    await stored(first, LINES);
    await first.close();
    damage(chunk(dataDir));
    await expect(service({ dataDir })).rejects.toMatchObject({
      code: 'PRL_ERR_INTEGRITY',
      message: expect.stringMatching(message),
    });
    // The lock was given back: the same refusal again, not a locked directory.
    await expect(service({ dataDir })).rejects.toMatchObject({ code: 'PRL_ERR_INTEGRITY' });
  });

  test.each([
    [
      'a directory below a file',
      (dataDir: string) => path.join(dataDir, 'file', 'x'),
      'PRL_ERR_USAGE',
      /ENOTDIR|EEXIST/,
    ],
    ['a file', (dataDir: string) => path.join(dataDir, 'file'), 'PRL_ERR_USAGE', /cannot use the data directory/],
    ['a place that takes no directories', () => '/proc/prl-has-none', 'PRL_ERR_USAGE', /ENOENT/],
    ['a database that is none', (dataDir: string) => path.join(dataDir, 'rubbish'), 'PRL_ERR_INTEGRITY', /damaged/],
  ])('%s is named, with what to do', async (_, place, code, message) => {
    const folder = temporaryFolder();
    writeFileSync(path.join(folder, 'file'), 'x');
    mkdirSync(path.join(folder, 'rubbish'));
    writeFileSync(path.join(folder, 'rubbish', 'traces.sqlite'), randomBytes(9000));
    const dataDir = place(folder);
    await expect(service({ dataDir })).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
      hint: expect.stringContaining('--data'),
    });
    await expect(service({ dataDir })).rejects.toMatchObject({ message: expect.stringContaining(dataDir) });
  });

  test('PRL_ERR_USAGE over a database of a newer prl', async () => {
    const dataDir = temporaryFolder();
    await (await service({ dataDir })).close();
    const database = new DatabaseSync(path.join(dataDir, 'traces.sqlite'));
    database.exec('PRAGMA user_version = 99');
    database.close();
    await expect(service({ dataDir })).rejects.toMatchObject({
      code: 'PRL_ERR_USAGE',
      message: expect.stringMatching(/version 99/),
    });
  });

  test('PRL_ERR_LOCKED while another service owns the directory, naming its process', async () => {
    const dataDir = temporaryFolder();
    const first = await service({ dataDir });
    await expect(service({ dataDir })).rejects.toMatchObject({
      code: 'PRL_ERR_LOCKED',
      message: expect.stringContaining(`process ${process.pid}`),
    });
    await stored(first, LINES);
    await first.close();
    expect((await getJson(await service({ dataDir }), '/traces')).items).toHaveLength(1);
  });

  test.each([
    ['a process that is long gone', JSON.stringify({ pid: 4_000_000 })],
    ['a process that lives but is another (a reused id)', JSON.stringify({ pid: process.ppid, started_at: 'x' })],
    ['rubbish', '\0\0\0'],
  ])('a note left by %s locks nothing', async (_, note) => {
    const dataDir = temporaryFolder();
    writeFileSync(path.join(dataDir, 'owner.json'), note);
    await stored(await service({ dataDir }), LINES);
  });

  test('PRL_ERR_USAGE for an address that is not loopback without a token, or is taken', async () => {
    const dataDir = temporaryFolder();
    const refused = { code: 'PRL_ERR_USAGE', message: expect.stringMatching(/not loopback/) };
    await expect(service({ dataDir, host: '0.0.0.0' })).rejects.toMatchObject(refused);
    await expect(service({ dataDir, host: '0.0.0.0', token: '' })).rejects.toMatchObject(refused);
    const taken = await service();
    const inUse = { code: 'PRL_ERR_USAGE', message: expect.stringMatching(/cannot listen on 127\.0\.0\.1 port/) };
    await expect(service({ dataDir, port: taken.port })).rejects.toMatchObject(inUse);
    // Whatever failed, the directory is free again.
    await service({ dataDir, host: '0.0.0.0', token: 'sesame' });
  });
});

describe('while it runs', () => {
  test('a chunk that lost bytes: the connection is cut, no short document passes for a whole one', async () => {
    const dataDir = temporaryFolder();
    const log: string[] = [];
    const of = await service({ dataDir, log: (line) => log.push(line) });
    await stored(of, LINES);
    truncateSync(chunk(dataDir), 100);
    await expect(call(of, { target: '/traces/t1?raw=true' })).rejects.toThrow();
    expect(log.join()).toMatch(/ends \d+ bytes before its document does/);
  });

  test('close lets a running upload finish and takes no new one', async () => {
    const dataDir = temporaryFolder();
    const of = await service({
      dataDir,
      faults: { ...(await import('../../src/service/faults.js')).NO_FAULTS, bandwidthBytesPerSecond: 20_000 },
    });
    const uploading = stored(of, jsonl(episode('e1', [trace('t1', { info: { x: 'y'.repeat(9000) } })])), {
      compress: false,
    });
    const { socket, until } = rawSocket(of);
    socket.write('GET /api/v1/traces HTTP/1.1\r\nHost: x\r\n\r\n');
    await until(/next_cursor/);
    await of.close();
    await uploading;
    await expect(call(of, { target: '/traces' })).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    expect((await getJson(await service({ dataDir }), '/traces')).items).toHaveLength(1);
  });

  test('close does not wait for what is only being thrown away', async () => {
    const of = await service({ limits: { shutdownMs: 60_000, lingerMs: 60_000 } });
    const { socket, until, closed } = rawSocket(of);
    socket.write('POST /api/v1/traces HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n');
    await until(/413/);
    await of.close();
    await closed;
  });

  test('close does not wait for ever for a peer that stopped sending', async () => {
    const of = await service({ limits: { shutdownMs: 100 } });
    const { socket, closed } = rawSocket(of);
    socket.write('POST /api/v1/traces HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n');
    await getJson(of, '/traces');
    await of.close();
    await closed;
  });
});
