/** A request that is answered with an error: the one way in which a handler says no (spec 06 section 5). */

/** Codes of spec 06 section 5 that this service gives, and three of its own for what the table does not name. */
export type RefusalCode =
  | 'upload_too_large'
  | 'trace_too_large'
  | 'too_many_traces_in_episode'
  | 'episode_id_too_long'
  | 'environment_id_too_long'
  | 'too_many_traces_in_upload'
  | 'duplicate_trace_id'
  | 'duplicate_episode_id'
  | 'digest_mismatch'
  | 'line_format_mismatch'
  | 'malformed_encoding'
  | 'invalid_trace'
  | 'invalid_metadata'
  | 'created_at_out_of_window'
  | 'unsupported_schema_version'
  | 'unknown_episode_reference'
  | 'invalid_idempotency_key'
  | 'invalid_cursor'
  | 'invalid_filter'
  | 'unauthenticated'
  | 'trace_not_found'
  | 'run_not_found'
  | 'episode_not_found'
  | 'line_format_conflict'
  | 'rate_limited'
  | 'writer_pool_saturated'
  | 'ingest_unavailable'
  | 'storage_unavailable'
  | 'not_found'
  | 'method_not_allowed'
  | 'not_implemented'
  | 'request_timeout'
  | 'internal_error';

export type RefusalOptions = {
  readonly retryAfterSeconds?: number;
  /** Further response headers, names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
};

/** Thrown by a handler; `code` null means a body without a code, as gateways send. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: RefusalCode | null;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, code: RefusalCode | null, message: string, options: RefusalOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'Refusal';
    this.status = status;
    this.code = code;
    const { retryAfterSeconds } = options;
    this.headers = {
      ...options.headers,
      ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
    };
  }
}

/** A 400: nothing stored, and the same bytes get the same verdict. */
export function rejected(code: RefusalCode, message: string): Refusal {
  return new Refusal(400, code, message);
}

/** The error envelope of the wire, or bare text when there is no code. */
export function refusalBody(refusal: Refusal): { contentType: string; text: string } {
  if (refusal.code === null) return { contentType: 'text/plain; charset=utf-8', text: refusal.message };
  const text = JSON.stringify({ error: { code: refusal.code, message: refusal.message } });
  return { contentType: 'application/json', text };
}
