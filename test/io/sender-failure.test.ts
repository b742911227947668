/** Error codes of Node and undici as attempts: which are tried again, which say what to do. */
import { describe, expect, test } from 'vitest';
import { failureOf, StallError } from '../../src/io/sender-failure.js';
import { SECRET } from '../helpers/access.js';

const progress = { origin: 'https://traces.example', acceptedBytes: 1000, bodyBytes: 4000 };

function withCode(code: string, cause?: unknown): Error {
  return Object.assign(new Error(`Authorization: Bearer ${SECRET}`, { cause }), { code });
}

describe('tried again', () => {
  test.each([
    ['ECONNREFUSED', 'connection_refused'],
    ['ECONNRESET', 'connection_reset'],
    ['EPIPE', 'connection_reset'],
    ['UND_ERR_SOCKET', 'connection_closed'],
    ['UND_ERR_CONNECT_TIMEOUT', 'connect_timeout'],
    ['ETIMEDOUT', 'connect_timeout'],
    ['ENOTFOUND', 'host_not_found'],
    ['EAI_AGAIN', 'host_not_found'],
    ['EHOSTUNREACH', 'unreachable'],
    ['ENETUNREACH', 'unreachable'],
    ['HPE_INVALID_CONSTANT', 'broken_answer'],
    ['EMFILE', 'too_many_files'],
    ['ENFILE', 'too_many_files'],
    ['EACCES', 'connection_failed'],
    ['EPROTO', 'tls_failed'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'tls_failed'],
  ])('%s is %s; the message has the place and the bytes, never the text of the error', (code, expected) => {
    const attempt = failureOf(withCode(code), progress);
    expect(attempt).toMatchObject({ outcome: 'retry', status: null, code: expected, retryAfterMs: null });
    expect(attempt).toMatchObject({ message: expect.stringMatching(/traces\.example after 1000 of 4000 bytes/) });
    expect(JSON.stringify(attempt)).not.toContain(SECRET);
  });

  test('of a request that never left, no bytes are told and none are counted', () => {
    const attempt = failureOf(withCode('ENOTFOUND'), { ...progress, acceptedBytes: 0 });
    expect(attempt).toMatchObject({ message: 'host name not found for https://traces.example', acceptedBytes: 0 });
  });

  test('the code may lie deeper: a cause, or the first of several addresses', () => {
    expect(failureOf(new TypeError('fetch failed', { cause: withCode('ECONNRESET') }), progress)).toMatchObject({
      code: 'connection_reset',
    });
    const both = new AggregateError([withCode('ECONNREFUSED'), withCode('ECONNREFUSED')]);
    expect(failureOf(both, progress)).toMatchObject({ code: 'connection_refused' });
  });

  test.each([new Error('x'), 'text', null, undefined, 7])('whatever is thrown: %s', (thrown) => {
    expect(failureOf(thrown, progress)).toMatchObject({ outcome: 'retry', code: 'connection_failed' });
  });

  test('a stall says for how long', () => {
    expect(failureOf(new StallError('nothing moved for 60 s'), progress)).toMatchObject({
      code: 'stalled',
      message: expect.stringContaining('nothing moved for 60 s'),
    });
  });
});

test.each([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'CERT_HAS_EXPIRED',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'SELF_SIGNED_CERT_IN_CHAIN',
])('%s stops: no repetition makes a certificate trusted', (code) => {
  expect(failureOf(withCode(code), progress)).toMatchObject({
    outcome: 'stop',
    errorCode: 'PRL_ERR_USAGE',
    message: expect.stringContaining(code),
  });
});
