/** The whole table of spec 06 section 5 and U11: status and code to Attempt. */
import { describe, expect, test } from 'vitest';
import { attemptOf, readError } from '../../../src/core/upload/answer.js';
import type { Attempt } from '../../../src/core/upload/types.js';

const DIGEST = 'a'.repeat(64);
const NOW = Date.UTC(2026, 10, 6, 8, 49, 37);

function attempt(status: number, body: unknown = '', headers: { retryAfter?: string; date?: string } = {}): Attempt {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return attemptOf(
    { status, body: text, retryAfter: headers.retryAfter ?? null, date: headers.date ?? null },
    DIGEST,
    NOW,
  );
}

const coded = (code: string): object => ({ error: { code, message: `about ${code}` } });

const REFUSED_400 = [
  'upload_too_large',
  'trace_too_large',
  'too_many_traces_in_episode',
  'episode_id_too_long',
  'environment_id_too_long',
  'too_many_traces_in_upload',
  'duplicate_trace_id',
  'duplicate_episode_id',
  'line_format_mismatch',
  'malformed_encoding',
  'invalid_trace',
  'created_at_out_of_window',
  'unknown_episode_reference',
];

describe('refused: nothing of this batch as it is', () => {
  test.each(REFUSED_400)('400 %s', (code) => {
    expect(attempt(400, coded(code))).toEqual({ outcome: 'refused', status: 400, code, message: `about ${code}` });
  });
  test.each([
    [400, 'not json', 'http_400'],
    [409, coded('line_format_conflict'), 'line_format_conflict'],
    [409, '', 'http_409'],
    [413, '<html>too large</html>', 'http_413'],
    [422, { detail: [{ loc: ['body'] }] }, 'http_422'],
    [410, '', 'http_410'],
    [431, '', 'http_431'],
  ])('%d %j', (status, body, code) => {
    expect(attempt(status, body)).toMatchObject({ outcome: 'refused', status, code });
  });
});

describe('stop: nothing will be taken', () => {
  test.each([
    [401, coded('unauthenticated'), 'PRL_ERR_AUTH'],
    [402, '', 'PRL_ERR_AUTH'],
    [403, coded('forbidden'), 'PRL_ERR_AUTH'],
    [403, coded('service_not_enabled'), 'PRL_ERR_AUTH'],
    [404, '', 'PRL_ERR_USAGE'],
    [405, '', 'PRL_ERR_USAGE'],
    [400, coded('invalid_metadata'), 'PRL_ERR_USAGE'],
    [400, coded('unsupported_schema_version'), 'PRL_ERR_USAGE'],
    [400, coded('invalid_idempotency_key'), 'PRL_ERR_USAGE'],
    [304, '', 'PRL_ERR_USAGE'],
    [501, '', 'PRL_ERR_TEMPORARY'],
    [507, '', 'PRL_ERR_TEMPORARY'],
  ])('%d %j', (status, body, errorCode) => {
    expect(attempt(status, body)).toMatchObject({ outcome: 'stop', status, errorCode });
  });

  test('the service says which scope is missing', () => {
    expect(attempt(403, { error: { code: 'forbidden', message: 'needs traces:write' } })).toMatchObject({
      code: 'forbidden',
      message: expect.stringContaining('needs traces:write'),
    });
  });
});

describe('what an HTML page says (huggingface_hub #3071)', () => {
  test.each([
    [
      '<html>\r\n<head><title>413 Request Entity Too Large</title></head><body>…</body></html>',
      '"413 Request Entity Too Large"',
    ],
    ['<!DOCTYPE html><html><body><h1> Bad\nGateway </h1></body></html>', '"Bad Gateway"'],
    ['<html><body>no title</body></html>', 'an HTML page without a title'],
  ])('%j', (body, expected) => {
    for (const status of [404, 413, 502]) {
      const { message } = attempt(status, body) as { message: string };
      expect(message).toContain(expected);
      expect(message).not.toContain('<');
    }
  });
});

test.each([401, 402, 403, 404])('%d says what to do', (status) => {
  expect(attempt(status, '')).toMatchObject({ hint: expect.stringMatching(/^check /) });
});

describe('retry (U11)', () => {
  test.each([408, 425, 429, 500, 502, 503, 504])('%d, with a code or without', (status) => {
    expect(attempt(status, coded('rate_limited'))).toEqual({
      outcome: 'retry',
      status,
      code: 'rate_limited',
      message: 'about rate_limited',
      retryAfterMs: null,
    });
    expect(attempt(status, '', { retryAfter: '120' })).toMatchObject({
      outcome: 'retry',
      code: `http_${status}`,
      retryAfterMs: 120_000,
    });
  });

  test('bytes that changed on the way are sent again', () => {
    expect(attempt(400, coded('digest_mismatch'))).toMatchObject({ outcome: 'retry', code: 'digest_mismatch' });
  });

  test('a date is measured against the clock of the service', () => {
    const headers = { retryAfter: 'Fri, 06 Nov 2026 12:00:30 GMT', date: 'Fri, 06 Nov 2026 12:00:00 GMT' };
    expect(attempt(503, '', headers)).toMatchObject({ retryAfterMs: 30_000 });
  });
});

describe('receipts', () => {
  test.each([200, 201, 202])('%d with our digest', (status) => {
    const body = { upload_id: DIGEST, status: 'committed', more: 1 };
    expect(attempt(status, body)).toEqual({
      outcome: 'stored',
      receipt: { uploadId: DIGEST, status: 'committed', mismatch: null },
    });
  });

  test.each([
    [{ upload_id: 'b'.repeat(64), status: 'committed' }, /b{64}.*a{64}/],
    [{ upload_id: `sha256:${DIGEST}`, status: 'committed' }, /sha256:/],
    [{ upload_id: DIGEST, status: 'pending' }, /pending/],
  ])('a difference is noted, the batch is stored (B26): %j', (body, expected) => {
    const result = attempt(201, body);
    expect(result).toMatchObject({ outcome: 'stored' });
    expect(result.outcome === 'stored' && result.receipt.mismatch).toMatch(expected);
  });

  test.each(['', 'ok', '[]', 'null', '{}', { upload_id: DIGEST }, { upload_id: 1, status: 'committed' }])(
    'no receipt is an error of that batch: %j',
    (body) => {
      expect(attempt(201, body)).toMatchObject({ outcome: 'refused', code: 'bad_receipt' });
    },
  );
});

describe('error bodies', () => {
  test.each([
    ['{"error":{"code":"c","message":"m"}}', { code: 'c', message: 'm' }],
    ['{"error":{"code":"c"}}', { code: 'c', message: 'HTTP 400' }],
    ['{"error":{"code":7,"message":"m"}}', { code: null, message: 'm' }],
    ['{"detail":"d"}', { code: null, message: 'd' }],
    ['{"detail":[{"x":1}]}', { code: null, message: '[{"x":1}]' }],
    ['{"error":"text"}', { code: null, message: '{"error":"text"}' }],
    ['plain\n text', { code: null, message: 'plain text' }],
    ['', { code: null, message: 'HTTP 400' }],
  ])('%s', (body, expected) => {
    expect(readError(400, body)).toEqual(expected);
  });

  test('a page of HTML does not become a page of message', () => {
    expect(readError(502, 'x'.repeat(100_000)).message.length).toBeLessThan(600);
  });
});
