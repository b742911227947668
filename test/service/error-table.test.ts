/** Every code of spec 06 section 5 that a request can provoke, each by the smallest request that does. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { ServiceLimits } from '../../src/service/limits.js';
import {
  type Answer,
  BOUNDARY,
  CLOSING,
  call,
  episode,
  getJson,
  jsonl,
  METADATA_HEAD,
  type PackOptions,
  packed,
  part,
  type RequestParts,
  service,
  stored,
  TRACES_HEAD,
  trace,
  upload,
} from './service-fixture.js';

const GOOD = jsonl(episode('e1', [trace('t1')]));

function errorOf(answer: Answer): { status: number; code: unknown; message: string } {
  const { code, message } = answer.json().error as { code: unknown; message: string };
  return { status: answer.status, code, message };
}

type Case = {
  readonly name: string;
  readonly code: string;
  readonly lines: string | Buffer;
  readonly options?: PackOptions;
  readonly limits?: Partial<ServiceLimits>;
  readonly message: RegExp;
};

const REJECTED: readonly Case[] = [
  { name: 'too many bytes', code: 'upload_too_large', lines: GOOD, limits: { uploadBytes: 100 }, message: /100 bytes/ },
  {
    name: 'a line too long',
    code: 'trace_too_large',
    lines: `\n${GOOD}`,
    limits: { lineBytes: GOOD.length - 2 },
    message: /^line 2: /,
  },
  {
    name: 'the CR counts (spec 08 A39)',
    code: 'trace_too_large',
    lines: `${GOOD.slice(0, -1)}\r\n`,
    limits: { lineBytes: GOOD.length - 1 },
    message: /^line 1: /,
  },
  {
    name: 'too many members',
    code: 'too_many_traces_in_episode',
    lines: jsonl(episode('e1', [trace('a'), trace('b'), trace('c')])),
    limits: { episodeTraces: 2 },
    message: /3 traces, at most 2/,
  },
  {
    name: 'episode id too long',
    code: 'episode_id_too_long',
    lines: jsonl(episode('ä'.repeat(6), [])),
    limits: { idBytes: 11 },
    message: /12 bytes, at most 11/,
  },
  {
    name: 'environment id too long',
    code: 'environment_id_too_long',
    lines: jsonl(episode('e1', [], { env: { id: 'env-12' } })),
    limits: { environmentIdBytes: 5 },
    message: /6 bytes, at most 5/,
  },
  {
    name: 'too many rows, episodes and traces together',
    code: 'too_many_traces_in_upload',
    lines: jsonl(episode('e1', [trace('a')]), episode('e2', [trace('b')])),
    limits: { uploadRows: 3 },
    message: /^line 2: more than 3 rows/,
  },
  {
    name: 'a trace id twice, in two episodes',
    code: 'duplicate_trace_id',
    lines: jsonl(episode('e1', [trace('a')]), episode('e2', [trace('a')])),
    message: /^line 2: trace id a is in line 1/,
  },
  {
    name: 'an episode id twice',
    code: 'duplicate_episode_id',
    lines: jsonl(episode('e1', []), episode('e1', [])),
    message: /^line 2: episode id e1 is in line 1/,
  },
  {
    name: 'another digest',
    code: 'digest_mismatch',
    lines: GOOD,
    options: { digest: 'a'.repeat(64) },
    message: /a{64}/,
  },
  {
    name: 'an episode declared as a trace',
    code: 'line_format_mismatch',
    lines: GOOD,
    options: { format: 'trace' },
    message: /^line 1: /,
  },
  {
    name: 'a trace among episodes',
    code: 'line_format_mismatch',
    lines: GOOD + jsonl(trace('t9')),
    message: /^line 2: /,
  },
  {
    name: 'an unknown format header',
    code: 'line_format_mismatch',
    lines: GOOD,
    options: { headers: { 'x-prime-line-format': 'Episode' } },
    message: /X-Prime-Line-Format/,
  },
  {
    name: 'not JSON',
    code: 'invalid_trace',
    lines: `${GOOD}{"id":1,}\n`,
    message: /^line 2: not valid JSON at byte 8/,
  },
  { name: 'a torn tail', code: 'invalid_trace', lines: GOOD + GOOD.slice(0, 50), message: /^line 2: not valid JSON/ },
  { name: 'a byte order mark', code: 'invalid_trace', lines: `\ufeff${GOOD}`, message: /^line 1: / },
  {
    name: 'invalid UTF-8',
    code: 'invalid_trace',
    lines: Buffer.from('{"id":"e1","traces":[],"x":"\xff"}\n', 'latin1'),
    message: /^line 1: .*byte 28.*UTF-8/,
  },
  { name: 'a number', code: 'invalid_trace', lines: '5\n', message: /^line 1: .*object/ },
  {
    name: 'an overflowing number',
    code: 'invalid_trace',
    lines: jsonl(episode('e', [])).replace('{}', '1e400'),
    message: /^line 1: /,
  },
  {
    name: 'an episode without id',
    code: 'invalid_trace',
    lines: '{"traces":[]}\n',
    message: /the episode has no "id"/,
  },
  {
    name: 'a trace without id',
    code: 'invalid_trace',
    lines: jsonl(episode('e', [{ ok: true }])),
    message: /trace has no "id"/,
  },
  { name: 'an empty id', code: 'invalid_trace', lines: jsonl(episode('', [])), message: /no "id"/ },
  {
    name: 'a member that is no object',
    code: 'invalid_trace',
    lines: '{"id":"e","traces":[7]}\n',
    message: /object: number/,
  },
  {
    name: 'a trace id too long',
    code: 'invalid_trace',
    lines: jsonl(episode('e', [trace('t-12345')])),
    limits: { idBytes: 6 },
    message: /7 bytes, at most 6/,
  },
  {
    name: 'a column too long',
    code: 'invalid_trace',
    lines: jsonl(episode('e', [trace('t', { agent: { name: 'x'.repeat(300) } })])),
    limits: { columnBytes: 256 },
    message: /agent.name has 300 bytes/,
  },
  { name: 'no record at all', code: 'invalid_trace', lines: ' \n\n', message: /holds no record/ },
  {
    name: 'a start next year',
    code: 'created_at_out_of_window',
    lines: jsonl(episode('e', [trace('t', { timing: { start: Date.now() / 1000 + 366 * 86_400 } })])),
    message: /^line 1: timing\.start/,
  },
  {
    name: 'a start before the epoch',
    code: 'created_at_out_of_window',
    lines: jsonl(episode('e', [trace('t', { timing: { start: -5 } })])),
    message: /timing\.start -5/,
  },
  {
    name: 'a trace of an episode nobody uploaded',
    code: 'unknown_episode_reference',
    lines: jsonl(trace('t', { episode_id: 'nowhere' })),
    options: { format: 'trace' },
    message: /names episode nowhere/,
  },
  {
    name: 'a newer schema',
    code: 'unsupported_schema_version',
    lines: GOOD,
    options: { metadata: { schema_version: 2 } },
    message: /2/,
  },
  {
    name: 'no schema version',
    code: 'invalid_metadata',
    lines: GOOD,
    options: { metadata: {} },
    message: /schema_version/,
  },
  {
    name: 'metadata that is a list',
    code: 'invalid_metadata',
    lines: GOOD,
    options: { metadata: [] },
    message: /object/,
  },
  {
    name: 'a context that is no string',
    code: 'invalid_metadata',
    lines: GOOD,
    options: { metadata: { schema_version: 1, context: { a: 1 } } },
    message: /"a" holds number/,
  },
  {
    name: 'a context key that is empty',
    code: 'invalid_metadata',
    lines: GOOD,
    options: { metadata: { schema_version: 1, context: { '': 'x' } } },
    message: /empty key/,
  },
  {
    name: 'oversized metadata',
    code: 'invalid_metadata',
    lines: GOOD,
    limits: { metadataBytes: 100 },
    options: { metadata: { schema_version: 1, context: { a: 'x'.repeat(100) } } },
    message: /longer than 100 bytes/,
  },
  {
    name: 'a key that is no digest',
    code: 'invalid_idempotency_key',
    lines: GOOD,
    options: { headers: { 'idempotency-key': `sha256:${'A'.repeat(64)}` } },
    message: /lower-case hex/,
  },
];

describe('uploads: 400, nothing stored', () => {
  test.each(REJECTED)('$code: $name', async ({ code, lines, options, limits, message }) => {
    const of = await service({ limits: limits ?? {} });
    const error = errorOf(await upload(of, lines, options));
    expect(error).toMatchObject({ status: 400, code });
    expect(error.message).toMatch(message);
    expect((await getJson(of, '/traces')).items).toEqual([]);
    expect((await getJson(of, '/episodes')).items).toEqual([]);
  });

  test.each(REJECTED.filter(({ limits }) => limits === undefined))(
    'the service goes on after $code: $name',
    async ({ lines, options }) => {
      const of = await service();
      await upload(of, lines, options);
      await stored(of, jsonl(episode('after', [trace('t-after')])));
      const { bytes } = await call(of, { target: '/traces/t-after?raw=true' });
      expect(bytes.toString()).toBe(JSON.stringify(trace('t-after')));
    },
  );

  test('a reference to an episode that is there is taken', async () => {
    const of = await service();
    await stored(of, GOOD);
    await stored(of, jsonl(trace('t2', { episode_id: 'e1' })), { format: 'trace' });
    expect((await getJson(of, '/episodes/e1/traces')).items).toHaveLength(2);
  });

  const metadata = part(METADATA_HEAD, '{"schema_version":1}');
  const traces = part(TRACES_HEAD, GOOD);
  test.each([
    ['metadata missing', 'invalid_metadata', [traces, CLOSING]],
    ['metadata twice', 'invalid_metadata', [metadata, metadata, traces, CLOSING]],
    ['metadata not JSON', 'invalid_metadata', [part(METADATA_HEAD, '{'), traces, CLOSING]],
    ['metadata not UTF-8', 'invalid_metadata', [part(METADATA_HEAD, Buffer.from([0x22, 0xff, 0x22])), traces, CLOSING]],
    ['traces missing', 'malformed_encoding', [metadata, CLOSING]],
    ['traces twice', 'malformed_encoding', [metadata, traces, traces, CLOSING]],
    [
      'an unknown part',
      'malformed_encoding',
      [metadata, part('Content-Disposition: form-data; name="x"', ''), CLOSING],
    ],
    [
      'an unknown encoding',
      'malformed_encoding',
      [metadata, part(`${TRACES_HEAD}\r\nContent-Encoding: br`, GOOD), CLOSING],
    ],
    [
      'gzip that is none',
      'malformed_encoding',
      [metadata, part(`${TRACES_HEAD}\r\nContent-Encoding: gzip`, GOOD), CLOSING],
    ],
  ])('parts: %s is %s', async (_, code, body) => {
    const of = await service();
    expect(errorOf(await call(of, { ...packed(GOOD), body: Buffer.concat(body) }))).toMatchObject({
      status: 400,
      code,
    });
    expect((await getJson(of, '/traces')).items).toEqual([]);
  });

  test.each([
    ['no Content-Type', ''],
    ['another type', 'application/json'],
    ['no boundary', 'multipart/form-data'],
    ['a boundary too long', `multipart/form-data; boundary=${'x'.repeat(71)}`],
  ])('malformed_encoding: %s', async (_, contentType) => {
    const of = await service();
    const answer = await upload(of, GOOD, { headers: { 'content-type': contentType } });
    expect(errorOf(answer)).toMatchObject({ status: 400, code: 'malformed_encoding' });
  });

  test('real damaged inputs are refused by line', async () => {
    const of = await service();
    const answer = await upload(of, readFileSync('fixtures/damaged/invalid-utf8.jsonl'));
    expect(errorOf(answer)).toMatchObject({
      status: 400,
      code: 'invalid_trace',
      message: expect.stringMatching(/^line \d+: /),
    });
  });
});

describe('other answers of the table', () => {
  test.each([
    ['none', {}],
    ['another', { authorization: 'Bearer sesame2' }],
    ['another scheme', { authorization: 'Basic sesame' }],
    ['a shorter one', { authorization: 'Bearer sesam' }],
  ])('401 unauthenticated with a token set and %s given', async (_, headers) => {
    const of = await service({ token: 'sesame' });
    const requests: RequestParts[] = [{ target: '/traces' }, { target: '/traces/x', method: 'DELETE' }, packed(GOOD)];
    for (const request of requests) {
      const answer = await call(of, { ...request, headers: { ...request.headers, ...headers } });
      expect(errorOf(answer)).toMatchObject({ status: 401, code: 'unauthenticated' });
      expect(answer.bytes.toString()).not.toContain('sesame');
    }
  });

  test('the right token opens every route, and without one set any token does', async () => {
    const headers = { authorization: 'Bearer sesame' };
    const locked = await service({ token: 'sesame' });
    await stored(locked, GOOD, { headers });
    expect((await getJson(locked, '/traces', headers)).items).toHaveLength(1);
    const open = await service();
    await stored(open, GOOD, { headers: { authorization: 'Bearer whatever' } });
  });

  test('409 line_format_conflict: the same bytes under the other format', async () => {
    const of = await service();
    await stored(of, GOOD);
    expect(errorOf(await upload(of, GOOD, { format: 'trace' }))).toMatchObject({
      status: 409,
      code: 'line_format_conflict',
      message: expect.stringContaining('stored as episode lines'),
    });
  });

  test('413 without a code: more than a gateway lets through', async () => {
    const of = await service({ limits: { requestBytes: 200 } });
    const declared = await upload(of, GOOD, { compress: false });
    const { body, ...rest } = packed(GOOD, { compress: false });
    const undeclared = await call(of, { ...rest, body: [body.subarray(0, 150), body.subarray(150)] });
    for (const answer of [declared, undeclared]) {
      expect(answer.status).toBe(413);
      expect(answer.headers['content-type']).toMatch(/^text\/plain/);
    }
  });

  test('503 writer_pool_saturated with Retry-After: more uploads at once than writers', async () => {
    const of = await service({ limits: { writers: 0 } });
    const answer = await upload(of, GOOD);
    expect(errorOf(answer)).toMatchObject({ status: 503, code: 'writer_pool_saturated' });
    expect(answer.headers['retry-after']).toBe('1');
  });

  test.each([
    ['GET', '/traces/x', 404, 'trace_not_found'],
    ['GET', '/traces/x?raw=true', 404, 'trace_not_found'],
    ['GET', '/episodes/x', 404, 'episode_not_found'],
    ['GET', '/episodes/x?raw=true', 404, 'episode_not_found'],
    ['GET', '/episodes/x/traces', 404, 'episode_not_found'],
    ['GET', '/runs/x', 404, 'run_not_found'],
    ['DELETE', '/traces/x', 404, 'trace_not_found'],
    ['DELETE', '/traces?run_id=x', 404, 'run_not_found'],
    ['DELETE', '/traces', 400, 'invalid_filter'],
    ['DELETE', '/episodes/x', 405, 'method_not_allowed'],
    ['PUT', '/traces', 405, 'method_not_allowed'],
    ['GET', '/nothing', 404, 'not_found'],
    ['GET', '/traces/', 404, 'not_found'],
    ['GET', '/traces/a%2Fb', 404, 'not_found'],
    ['GET', '/traces/%E4', 400, 'invalid_filter'],
    ['GET', '/traces/x/nodes', 501, 'not_implemented'],
    ['GET', '/traces/x/calls', 501, 'not_implemented'],
    ['GET', '/runs/x/search?query=abc', 501, 'not_implemented'],
    ['GET', '/traces/export', 501, 'not_implemented'],
    ['GET', '/traces?cursor=AAAA', 400, 'invalid_cursor'],
    ['GET', '/traces?sort=color', 400, 'invalid_filter'],
  ])('%s %s is %i %s', async (method, target, status, code) => {
    const of = await service();
    expect(errorOf(await call(of, { method, target }))).toMatchObject({ status, code });
  });
});

test('the boundary of these tests is one the service takes', () => {
  expect(BOUNDARY.length).toBeLessThanOrEqual(70);
});
