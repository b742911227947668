/**
 * Turns the service's answer to an upload into an Attempt: the table of spec 06 section 5 with the retried statuses
 * of reliability.md U11 (408, 425 and 500 are retried too, which spec 06 does not: the same bytes under the same key
 * are safe to repeat). Branches on status and code, never on the message.
 */
import { parseHttpDate, parseRetryAfter } from './retry-after.js';
import type { Attempt, Receipt } from './types.js';

/** An answer as read from the wire; header values null when absent. */
export type Answer = {
  readonly status: number;
  readonly retryAfter: string | null;
  /** The answer's own Date, so that a skewed local clock does not bend a Retry-After date. */
  readonly date: string | null;
  /** The body, cut at MAX_ANSWER_BYTES. */
  readonly body: string;
};

export type ServiceError = { readonly code: string | null; readonly message: string };

const RETRIED = new Set([408, 425, 429, 500, 502, 503, 504]);
/** Faults of the request as prl builds it; smaller batches would fail the same way. */
const REQUEST_CODES = new Set(['invalid_metadata', 'unsupported_schema_version', 'invalid_idempotency_key']);
/** The service has nothing to say about records here: the URL is wrong. */
const WRONG_URL = new Set([404, 405]);
const MAX_MESSAGE_CHARACTERS = 500;

/** What to do when the peer is no traces service. */
export const CHECK_URL_HINT = 'check the URL of the service (--url, PRIME_TRACES_URL)';

/**
 * @param digest ours, 64 hex; a receipt that names another carries a mismatch
 * @param nowEpochMs wall time, used only where the answer has no Date of its own
 */
export function attemptOf(answer: Answer, digest: string, nowEpochMs: number): Attempt {
  if (answer.status >= 200 && answer.status < 300) return receiptOf(answer, digest);
  const { code, message } = readError(answer.status, answer.body);
  const named = code ?? `http_${answer.status}`;
  if (RETRIED.has(answer.status) || code === 'digest_mismatch') {
    return retry(answer, named, message, nowEpochMs);
  }
  return stopOf(answer.status, code, message) ?? { outcome: 'refused', status: answer.status, code: named, message };
}

/** Reads an error body: `{"error":{code,message}}`, else `{"detail"}`, else raw text, else `HTTP <status>`. */
export function readError(status: number, body: string): ServiceError {
  const parsed = parseObject(body);
  const error = parsed?.error;
  if (isObject(error)) {
    const code = typeof error.code === 'string' && error.code !== '' ? error.code : null;
    const message = typeof error.message === 'string' && error.message !== '' ? error.message : `HTTP ${status}`;
    return { code, message: oneLine(message) };
  }
  const detail = parsed?.detail;
  if (detail !== undefined && detail !== null && detail !== '') {
    return { code: null, message: oneLine(typeof detail === 'string' ? detail : JSON.stringify(detail)) };
  }
  return { code: null, message: pageMessage(body) ?? (oneLine(body) || `HTTP ${status}`) };
}

/** A gateway's page for people says nothing but its title; null when the body is no such page. */
function pageMessage(body: string): string | null {
  if (!/^\s*(?:<!doctype html|<html|<head|<body)/i.test(body)) return null;
  const title = oneLine(/<(title|h1)[^>]*>([^<]*)</i.exec(body)?.[2] ?? '');
  return title === '' ? 'an HTML page without a title' : `an HTML page titled "${title}"`;
}

function retry(answer: Answer, code: string, message: string, nowEpochMs: number): Attempt {
  const dateMs = answer.date === null ? null : parseHttpDate(answer.date, nowEpochMs);
  const retryAfterMs = parseRetryAfter(answer.retryAfter, dateMs ?? nowEpochMs);
  return { outcome: 'retry', status: answer.status, code, message, retryAfterMs };
}

function stopOf(status: number, code: string | null, message: string): Attempt | null {
  const stop = (
    errorCode: 'PRL_ERR_AUTH' | 'PRL_ERR_USAGE' | 'PRL_ERR_TEMPORARY',
    text: string,
    hint?: string,
  ): Attempt => ({
    outcome: 'stop',
    status,
    code: code ?? `http_${status}`,
    message: text,
    errorCode,
    ...(hint === undefined ? {} : { hint }),
  });
  if (status === 401)
    return stop('PRL_ERR_AUTH', 'the service refused the API key (401)', 'check PRIME_API_KEY and its scopes');
  if (status === 402)
    return stop('PRL_ERR_AUTH', 'the service asks for payment (402)', 'check the billing status of the account');
  if (status === 403) {
    const text = `the service forbids the upload (403): ${message}`;
    return stop('PRL_ERR_AUTH', text, 'check what the key and the team (PRIME_TEAM_ID) may do');
  }
  if (WRONG_URL.has(status)) {
    const text = `no traces service answers at this URL (HTTP ${status}): ${message}`;
    return stop('PRL_ERR_USAGE', text, CHECK_URL_HINT);
  }
  if (code !== null && REQUEST_CODES.has(code)) {
    const text = `the service refused the request itself (${code}): ${message}`;
    return stop('PRL_ERR_USAGE', text, 'check --context');
  }
  if (status < 400) return stop('PRL_ERR_USAGE', `the service answered HTTP ${status} to an upload`, CHECK_URL_HINT);
  if (status >= 500) return stop('PRL_ERR_TEMPORARY', `the service failed with HTTP ${status}: ${message}`);
  return null;
}

function receiptOf({ status, body }: Answer, digest: string): Attempt {
  const parsed = parseObject(body);
  const uploadId = parsed?.upload_id;
  const state = parsed?.status;
  if (typeof uploadId !== 'string' || typeof state !== 'string') {
    const message = `the service answered ${status} without a receipt (upload_id and status); the batch may be stored, a rerun asks again`;
    return { outcome: 'refused', status, code: 'bad_receipt', message };
  }
  return { outcome: 'stored', receipt: { uploadId, status: state, mismatch: mismatchOf(uploadId, state, digest) } };
}

function mismatchOf(uploadId: string, state: string, digest: string): Receipt['mismatch'] {
  if (uploadId !== digest) return `the receipt names upload ${oneLine(uploadId)}, the bytes sent have ${digest}`;
  if (state !== 'committed') return `the receipt's status is ${oneLine(state)}, expected committed`;
  return null;
}

function parseObject(body: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(body);
    return isObject(value) ? value : null;
  } catch {
    return null; // not JSON: the raw text is the message
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** White space joined, length bounded; control characters are shown safely by the output layer. */
function oneLine(text: string): string {
  const joined = text.trim().replace(/\s+/g, ' ');
  return joined.length > MAX_MESSAGE_CHARACTERS ? `${joined.slice(0, MAX_MESSAGE_CHARACTERS)}…` : joined;
}
