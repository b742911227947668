/** Names what went wrong on a connection: undici's and Node's error codes as an Attempt with a message a user can use. */
import type { Attempt } from '../core/upload/types.js';

/** No byte was accepted or received for the whole progress budget. */
export class StallError extends Error {
  readonly code = 'PRL_STALL';
}

/** How far an exchange came when it failed. */
export type ExchangeProgress = { readonly origin: string; readonly acceptedBytes: number; readonly bodyBytes: number };

type Known = { readonly code: string; readonly text: string };

/** The words of a failure lead up to the peer: `connection refused by https://…`. */
const KNOWN: Readonly<Record<string, Known>> = {
  ECONNREFUSED: { code: 'connection_refused', text: 'connection refused by' },
  ECONNRESET: { code: 'connection_reset', text: 'connection reset by' },
  EPIPE: { code: 'connection_reset', text: 'connection reset by' },
  UND_ERR_SOCKET: { code: 'connection_closed', text: 'connection closed without an answer by' },
  UND_ERR_CONNECT_TIMEOUT: { code: 'connect_timeout', text: 'no connection within the connect time-out to' },
  ETIMEDOUT: { code: 'connect_timeout', text: 'connection timed out to' },
  ENOTFOUND: { code: 'host_not_found', text: 'host name not found for' },
  EAI_AGAIN: { code: 'host_not_found', text: 'host name lookup failed for now for' },
  EHOSTUNREACH: { code: 'unreachable', text: 'no route to' },
  ENETUNREACH: { code: 'unreachable', text: 'no network to' },
  EMFILE: { code: 'too_many_files', text: 'no file descriptor left for a connection to' },
  ENFILE: { code: 'too_many_files', text: 'no file descriptor left for a connection to' },
  PRL_STALL: { code: 'stalled', text: 'no progress with' },
};

/** A certificate that is not trusted will not be trusted on the next attempt either. */
const CERTIFICATE = /^(?:CERT_|ERR_TLS_CERT|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/;

/** @param error what undici or the exchange threw; never shown as it is, since it may quote headers */
export function failureOf(error: unknown, progress: ExchangeProgress): Attempt {
  const code = codeOf(error);
  if (CERTIFICATE.test(code)) {
    const message = `the certificate of ${progress.origin} is not trusted (${code})`;
    const hint = 'add its authority with NODE_EXTRA_CA_CERTS';
    return { outcome: 'stop', status: null, code: 'untrusted_certificate', message, errorCode: 'PRL_ERR_USAGE', hint };
  }
  const known = KNOWN[code] ?? unknownFailure(code);
  const detail = error instanceof StallError ? `: ${error.message}` : '';
  const { origin, acceptedBytes, bodyBytes } = progress;
  // Before the first byte there is nothing to tell but who did not take it.
  const share = acceptedBytes === 0 ? '' : ` after ${acceptedBytes} of ${bodyBytes} bytes`;
  const message = `${known.text} ${origin}${share}${detail}`;
  return { outcome: 'retry', status: null, code: known.code, message, retryAfterMs: null, acceptedBytes };
}

/** The attempt was given up by us. */
export function abortedAttempt(): Attempt {
  return { outcome: 'retry', status: null, code: 'aborted', message: 'the upload was stopped', retryAfterMs: null };
}

function unknownFailure(code: string): Known {
  if (code.startsWith('HPE_')) return { code: 'broken_answer', text: `answer that is not HTTP (${code}) from` };
  if (/^(?:EPROTO|ERR_SSL_)/.test(code)) return { code: 'tls_failed', text: `no TLS (${code}) with` };
  return { code: 'connection_failed', text: code === '' ? 'connection failed to' : `connection failed (${code}) to` };
}

/** The first code along the causes; a refused connection to several addresses hides its code in an AggregateError. */
function codeOf(error: unknown): string {
  let current: unknown = error;
  for (let depth = 0; depth < 5 && current instanceof Error; depth += 1) {
    const { code, name } = current as { code?: unknown; name: string };
    if (typeof code === 'string' && code !== '') return code;
    if (name === 'HTTPParserError') return 'HPE_UNKNOWN'; // undici names the parser's codes, but not all faults have one
    current = current instanceof AggregateError ? current.errors[0] : current.cause;
  }
  return '';
}
