/** Bodies nobody should send: each costs its sender an error and the service nothing else. */
import { randomBytes } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { Agent } from 'node:http';
import path from 'node:path';
import { createGzip, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { NO_FAULTS } from '../../src/service/faults.js';
import type { Service } from '../../src/service/server.js';
import {
  BOUNDARY,
  CLOSING,
  call,
  digestOf,
  episode,
  getJson,
  jsonl,
  METADATA_HEAD,
  onTestEnd,
  packed,
  part,
  rawSocket,
  service,
  stored,
  TRACES_HEAD,
  temporaryFolder,
  trace,
  upload,
} from './service-fixture.js';

const GOOD = jsonl(episode('e1', [trace('t1')]));
const METADATA = part(METADATA_HEAD, '{"schema_version":1}');
const GZIP_HEAD = `${TRACES_HEAD}\r\nContent-Encoding: gzip`;

/** The head of an upload as text; `length` null leaves Content-Length out. */
function requestHead(length: number | null, more: readonly string[] = []): string {
  return [
    'POST /api/v1/traces HTTP/1.1',
    'Host: localhost',
    `Content-Type: multipart/form-data; boundary=${BOUNDARY}`,
    `Idempotency-Key: sha256:${digestOf(Buffer.from(GOOD))}`,
    'X-Prime-Line-Format: episode',
    ...(length === null ? [] : [`Content-Length: ${length}`]),
    ...more,
    '\r\n',
  ].join('\r\n');
}

/** The service still takes an upload and gives it back, and holds nothing of what was refused. */
async function isUnharmed(of: Service): Promise<void> {
  expect((await getJson(of, '/episodes')).items).toEqual([]);
  await stored(of, GOOD);
  expect((await call(of, { target: '/traces/t1?raw=true' })).bytes.toString()).toBe(JSON.stringify(trace('t1')));
}

function chunkBytes(dataDir: string): number {
  const folder = path.join(dataDir, 'stream');
  return readdirSync(folder).reduce((sum, name) => sum + statSync(path.join(folder, name)).size, 0);
}

describe('malformed multipart', () => {
  const whole = packed(GOOD, { compress: false }).body.toString('latin1');
  test.each([
    ['nothing', ''],
    ['no boundary at all', 'x'.repeat(100)],
    ['a preamble without end', `${'x'.repeat(20_000)}`],
    ['another boundary', whole.replaceAll(BOUNDARY, `${BOUNDARY.slice(0, -1)}g`)],
    ['no closing boundary', whole.slice(0, -CLOSING.length)],
    ['the closing boundary cut', whole.slice(0, -4)],
    ['the end inside the traces', whole.slice(0, 300)],
    ['the end inside a part head', whole.slice(0, BOUNDARY.length + 20)],
    ['a part head without end', `--${BOUNDARY}\r\nX: ${'y'.repeat(20_000)}`],
    ['a header line without name', whole.replace('Content-Type: application/json', ': application/json')],
    ['a header line without colon', whole.replace('Content-Type: application/json', 'Content-Type')],
    ['a part without a name', whole.replace('name="metadata"', 'title="metadata"')],
    ['a part that is no form-data', whole.replace('form-data; name="metadata"', 'attachment; name="metadata"')],
    ['a boundary followed by text', whole.replace(BOUNDARY, `${BOUNDARY}junk`)],
    ['LF instead of CRLF', whole.replaceAll('\r\n', '\n')],
  ])('%s', async (_, body) => {
    const of = await service();
    const answer = await call(of, { ...packed(GOOD), body: Buffer.from(body, 'latin1') });
    expect(answer.status).toBe(400);
    expect(answer.json()).toMatchObject({ error: { code: 'malformed_encoding' } });
    await isUnharmed(of);
  });

  test('cut at every byte: never stored, never an answer of success', async () => {
    const of = await service();
    const { body, ...rest } = packed(jsonl(episode('e', [])));
    const agent = new Agent({ keepAlive: true, maxSockets: 4 });
    onTestEnd(() => agent.destroy());
    const cuts = Array.from({ length: body.length - 2 }, (_, length) => body.subarray(0, length));
    const answers = await Promise.all(cuts.map((cut) => call(of, { ...rest, body: cut, agent })));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([400]));
    await isUnharmed(of);
  });
});

describe('gzip', () => {
  const gzip = gzipSync(GOOD);
  test.each([
    ['cut', gzip.subarray(0, -5)],
    ['cut in its header', gzip.subarray(0, 5)],
    ['empty', Buffer.alloc(0)],
    ['followed by other bytes', Buffer.concat([gzip, Buffer.from('and more')])],
    ['followed by zeros', Buffer.concat([gzip, Buffer.alloc(1000)])],
    ['with a wrong checksum', Buffer.concat([gzip.subarray(0, -8), Buffer.from([1, 2, 3, 4]), gzip.subarray(-4)])],
    ['with a broken second member', Buffer.concat([gzip, gzip.subarray(0, 20)])],
    ['random', randomBytes(5000)],
  ])('%s: malformed_encoding', async (_, bytes) => {
    const of = await service();
    const body = Buffer.concat([METADATA, part(GZIP_HEAD, bytes), CLOSING]);
    const answer = await call(of, { ...packed(GOOD), body });
    expect(answer.status).toBe(400);
    expect(answer.json()).toMatchObject({ error: { code: 'malformed_encoding' } });
    await isUnharmed(of);
  });

  test('a bomb of 10 GB of zeros stops at the line limit, in bounded memory', async () => {
    const of = await service();
    const before = process.memoryUsage().rss;
    const bomb = createGzip({ level: 9 });
    const { socket, until } = rawSocket(of);
    socket.write(requestHead(null, ['Transfer-Encoding: chunked']));
    const send = (bytes: Buffer): void => {
      if (!socket.destroyed)
        socket.write(Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]));
    };
    send(METADATA);
    send(Buffer.from(`--${BOUNDARY}\r\n${GZIP_HEAD}\r\n\r\n`));
    bomb.on('data', send);
    const zeros = Buffer.alloc(16 * 1024 * 1024);
    let isAnswered = false;
    const answered = until(/\r\n\r\n/).then((text) => {
      isAnswered = true;
      return text;
    });
    for (let sent = 0; sent < 640 && !isAnswered; sent += 1) {
      await new Promise<void>((resolve) => bomb.write(zeros, () => resolve()));
    }
    bomb.destroy();
    expect(await answered).toMatch(/^HTTP\/1\.1 400 .*trace_too_large/s);
    expect(process.memoryUsage().rss - before).toBeLessThan(400 * 1024 * 1024);
    socket.destroy();
    await isUnharmed(of);
  }, 60_000);

  test.each([
    ['long blank lines stops at the upload limit', `${' '.repeat(4095)}\n`, 'upload_too_large'],
    ['empty lines stops at the line count', '\n', 'too_many_traces_in_upload'],
  ])('a bomb of %s', async (_, line, code) => {
    const dataDir = temporaryFolder();
    const of = await service({ dataDir, limits: { uploadBytes: 8 * 1024 * 1024 } });
    const blanks = Buffer.alloc(64 * 1024 * 1024, line);
    const answer = await call(of, {
      ...packed(''),
      body: Buffer.concat([METADATA, part(GZIP_HEAD, gzipSync(blanks)), CLOSING]),
    });
    expect(answer.json()).toMatchObject({ error: { code } });
    expect(chunkBytes(dataDir)).toBe(0);
    await isUnharmed(of);
  });
});

describe('slow and vanishing senders', () => {
  const limits = { progressMs: 100, progressBytes: 50, headersMs: 200, lingerMs: 200 };

  test.each([
    ['nothing behind the head', Buffer.alloc(0)],
    ['half of the body', packed(GOOD, { compress: false }).body.subarray(0, 400)],
  ])('%s and then silence: 408, and the connection ends', async (_, sent) => {
    const of = await service({ limits });
    const { socket, until, closed } = rawSocket(of);
    socket.write(requestHead(10_000));
    socket.write(sent);
    expect(await until(/request_timeout/)).toMatch(/^HTTP\/1\.1 408 /);
    await closed;
    await isUnharmed(of);
  });

  test('a byte now and then is silence too', async () => {
    const of = await service({ limits });
    const { socket, until, closed } = rawSocket(of);
    socket.write(requestHead(1_000_000));
    const drip = setInterval(() => socket.write('x'), 10);
    onTestEnd(() => clearInterval(drip));
    expect(await until(/request_timeout/)).toMatch(/^HTTP\/1\.1 408 /);
    await closed;
    await isUnharmed(of);
  });

  test('a slow upload that moves takes as long as it needs', async () => {
    const of = await service({ limits: { ...limits, progressMs: 150, progressBytes: 20 } });
    const { body } = packed(GOOD, { compress: false });
    const { socket, until } = rawSocket(of);
    socket.write(requestHead(body.length));
    // Eight windows of the progress clock, each with more than it asks for.
    const pieceBytes = Math.ceil(body.length / 48);
    for (let from = 0; from < body.length; from += pieceBytes) {
      socket.write(body.subarray(from, from + pieceBytes));
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    expect(await until(/committed/)).toMatch(/^HTTP\/1\.1 201 /);
  });

  test('a head that never ends', async () => {
    const of = await service({ limits });
    const { socket, closed, received } = rawSocket(of);
    socket.write('POST /api/v1/traces HTTP/1.1\r\nHost: localhost\r\n');
    await closed;
    expect(received()).toMatch(/^HTTP\/1\.1 408 /);
  });

  test('a head beyond all measure', async () => {
    const of = await service();
    const { socket, until } = rawSocket(of);
    socket.write(`GET /api/v1/traces HTTP/1.1\r\nHost: x\r\nX-Junk: ${'y'.repeat(100_000)}\r\n\r\n`);
    expect(await until(/\r\n\r\n/)).toMatch(/^HTTP\/1\.1 431 /);
  });

  test.each([0, 1, 100, 500, 900])('gone after %i bytes of the body: nothing is kept', async (sentBytes) => {
    const dataDir = temporaryFolder();
    const of = await service({ dataDir });
    const { body } = packed(GOOD, { compress: false });
    const { socket, closed } = rawSocket(of);
    socket.write(requestHead(body.length));
    socket.write(body.subarray(0, sentBytes), () => socket.resetAndDestroy());
    await closed;
    await isUnharmed(of);
    expect(chunkBytes(dataDir)).toBe(GOOD.length);
  });

  test('gone between the last byte and the receipt: the batch is stored, and a retry gets its receipt', async () => {
    const of = await service({ faults: { ...NO_FAULTS, latencyMs: 100 } });
    const { body } = packed(GOOD, { compress: false });
    const { socket, closed } = rawSocket(of);
    socket.write(requestHead(body.length));
    socket.write(body);
    await expect.poll(async () => (await getJson(of, '/traces')).items).toHaveLength(1);
    socket.resetAndDestroy();
    await closed;
    expect((await upload(of, GOOD)).status).toBe(200);
  });

  test('gone before an error could be told', async () => {
    const of = await service({ faults: { ...NO_FAULTS, latencyMs: 100 } });
    const { socket, closed } = rawSocket(of);
    socket.write(requestHead(5).replace('sha256:', 'md5:'));
    socket.write('xxxxx', () => socket.resetAndDestroy());
    await closed;
    await isUnharmed(of);
  });

  test('gone in the middle of a raw document', async () => {
    const of = await service();
    await stored(of, jsonl(trace('big', { info: { x: 'y'.repeat(20_000_000) } })), { format: 'trace' });
    const { socket, until, closed } = rawSocket(of);
    socket.write('GET /api/v1/traces/big?raw=true HTTP/1.1\r\nHost: x\r\n\r\n');
    await until(/yyyy/);
    socket.resetAndDestroy();
    await closed;
    expect((await call(of, { target: '/traces/big?raw=true' })).bytes.length).toBeGreaterThan(20_000_000);
  });

  test('a reader that takes nothing of a raw document is cut off', async () => {
    const of = await service({ limits });
    await stored(of, jsonl(trace('big', { info: { x: 'y'.repeat(20_000_000) } })), { format: 'trace' });
    const { socket, closed } = rawSocket(of);
    socket.write('GET /api/v1/traces/big?raw=true HTTP/1.1\r\nHost: x\r\n\r\n');
    await new Promise<void>((resolve) => socket.once('data', () => resolve()));
    socket.pause();
    await new Promise((resolve) => setTimeout(resolve, 300));
    // The end of the connection shows only to whoever reads.
    socket.resume();
    await closed;
    expect(socket.bytesRead).toBeLessThan(20_000_000);
  });

  test('a body shorter than announced, politely ended, is no upload', async () => {
    const dataDir = temporaryFolder();
    const of = await service({ dataDir });
    const { body } = packed(GOOD, { compress: false });
    const { socket, closed } = rawSocket(of);
    socket.write(requestHead(body.length + 10));
    socket.write(body);
    // The closing boundary is there, the announced end is not: other uploads pass by, this one waits.
    for (const id of ['a', 'b', 'c']) await stored(of, jsonl(trace(id)), { format: 'trace' });
    expect((await getJson(of, '/episodes')).items).toEqual([]);
    socket.end();
    await closed;
    // Closing waits for whatever the request may still have set going.
    await of.close();
    await isUnharmed(await service({ dataDir }));
  });
});

describe('early answers (demand U15)', () => {
  const huge = 200 * 1024 * 1024 * 1024;

  test.each([
    ['413 by the announced length', requestHead(huge), /^HTTP\/1\.1 413 /],
    ['400 by the key', requestHead(huge).replace('sha256:', 'md5:'), /^HTTP\/1\.1 (413|400) /],
    ['404 by the path', requestHead(1000).replace('/traces', '/tracks'), /^HTTP\/1\.1 404 /],
  ])('%s, before a byte of the body', async (_, head, status) => {
    const of = await service();
    const { socket, until } = rawSocket(of);
    socket.write(head);
    expect(await until(/\r\n\r\n/)).toMatch(status);
    await isUnharmed(of);
  });

  test('401 and 413 come before the body is asked for with Expect: 100-continue', async () => {
    const of = await service({ token: 'sesame' });
    for (const [more, status] of [
      [[], 401],
      [['Authorization: Bearer sesame'], 413],
    ] as const) {
      const { socket, until } = rawSocket(of);
      socket.write(requestHead(huge, ['Expect: 100-continue', ...more]));
      expect(await until(/\r\n\r\n/)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    }
  });

  test('an upload that its own head refuses is never asked for', async () => {
    const of = await service();
    const { socket, until, received } = rawSocket(of);
    socket.write(requestHead(1000, ['Expect: 100-continue']).replace('sha256:', 'md5:'));
    await until(/invalid_idempotency_key/);
    expect(received()).not.toContain('100 Continue');
  });

  test('a good head with Expect: 100-continue is told to go on', async () => {
    const of = await service();
    const { body } = packed(GOOD, { compress: false });
    const { socket, until } = rawSocket(of);
    socket.write(requestHead(body.length, ['Expect: 100-continue']));
    await until(/^HTTP\/1\.1 100 Continue\r\n\r\n/);
    socket.write(body);
    expect(await until(/committed/)).toMatch(/HTTP\/1\.1 201 /);
  });

  test('a sender that goes on sending reads its 400 and may use the connection again', async () => {
    const of = await service();
    const bad = Buffer.concat([Buffer.from('{"id":\n'), Buffer.alloc(20 * 1024 * 1024, '\n')]);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestEnd(() => agent.destroy());
    for (let round = 0; round < 3; round += 1) {
      const answer = await call(of, { ...packed(bad, { compress: false }), agent });
      expect(answer.json()).toMatchObject({ error: { code: 'invalid_trace' } });
    }
    await isUnharmed(of);
  });

  test('a sender that never ends is cut off after the linger bounds', async () => {
    const of = await service({ limits: { requestBytes: 1000, lingerBytes: 1_000_000, lingerMs: 60_000 } });
    const { socket, until, closed } = rawSocket(of);
    socket.write(requestHead(null, ['Transfer-Encoding: chunked']));
    const block = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(0x10000, 'x'), Buffer.from('\r\n')]);
    let isClosed = false;
    void closed.then(() => {
      isClosed = true;
    });
    const answered = until(/\r\n\r\n/);
    // Far more than the bound and the socket buffers together; ends by the reset, or the test fails below.
    for (let sent = 0; sent < 2000 && !isClosed; sent += 1) {
      await new Promise<void>((resolve) => socket.write(block, () => resolve()));
    }
    expect(await answered).toMatch(/^HTTP\/1\.1 413 /);
    await closed;
    await isUnharmed(of);
  });

  test('two requests on one connection, the second sent before the first is answered', async () => {
    const of = await service();
    const { body } = packed(GOOD, { compress: false });
    const { socket, until } = rawSocket(of);
    socket.write(
      Buffer.concat([Buffer.from(requestHead(body.length)), body, Buffer.from(requestHead(body.length)), body]),
    );
    const text = await until(/committed.*committed/s);
    // They are served at the same time: either may be the one that stores.
    expect(text.match(/HTTP\/1\.1 20[01]/g)?.toSorted()).toEqual(['HTTP/1.1 200', 'HTTP/1.1 201']);
  });
});

test('requests that race for one digest after a refusal find the same truth', async () => {
  const of = await service();
  const bad = await upload(of, GOOD, { digest: 'b'.repeat(64) });
  expect(bad.status).toBe(400);
  const answers = await Promise.all(Array.from({ length: 6 }, () => upload(of, GOOD)));
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 200, 200, 200, 200, 201]);
});
