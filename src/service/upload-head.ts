/** What an upload says about itself before its records: the headers and the metadata part (spec 06 section 2). */
import type { IncomingHttpHeaders } from 'node:http';
import { messageOf } from '../core/errors.js';
import type { LineFormat } from '../core/scan/types.js';
import type { ServiceLimits } from './limits.js';
import { rejected } from './refusal.js';

export const SCHEMA_VERSION = 1;

export type UploadHead = {
  /** 64 lower-case hex, as claimed by the Idempotency-Key. */
  readonly digest: string;
  readonly format: LineFormat;
};

export type UploadMetadata = { readonly schemaVersion: number; readonly context: ReadonlyMap<string, string> };

/**
 * Reads the headers of an upload.
 *
 * @throws Refusal 400 `invalid_idempotency_key` or `line_format_mismatch`.
 */
export function readUploadHead(headers: IncomingHttpHeaders): UploadHead {
  const digest = /^sha256:([0-9a-f]{64})$/.exec(String(headers['idempotency-key'] ?? ''))?.[1];
  if (digest === undefined) {
    throw rejected('invalid_idempotency_key', 'Idempotency-Key must be "sha256:" and 64 lower-case hex digits');
  }
  const declared = headers['x-prime-line-format'];
  if (declared === undefined || declared === 'trace') return { digest, format: 'trace' };
  if (declared === 'episode') return { digest, format: 'episode' };
  throw rejected('line_format_mismatch', 'X-Prime-Line-Format must be "episode", or absent for trace lines');
}

/**
 * Reads the metadata part: `{"schema_version": 1, "context": {string: string}}`, the context optional. Further keys are
 * tolerated, as the wire only ever grows.
 *
 * @throws Refusal 400 `invalid_metadata` or `unsupported_schema_version`.
 */
export function readMetadata(bytes: Buffer, limits: Pick<ServiceLimits, 'columnBytes'>): UploadMetadata {
  const value = parseObject(bytes);
  const version = value.schema_version;
  if (!Number.isInteger(version)) throw invalid('"schema_version" must be an integer');
  if (version !== SCHEMA_VERSION) {
    const message = `schema_version ${String(version)} is not supported: this service knows ${SCHEMA_VERSION}`;
    throw rejected('unsupported_schema_version', message);
  }
  return { schemaVersion: SCHEMA_VERSION, context: readContext(value.context, limits.columnBytes) };
}

function parseObject(bytes: Buffer): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch (error) {
    throw invalid(`not JSON: ${messageOf(error)}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid('it must be a JSON object');
  return value as Record<string, unknown>;
}

function readContext(value: unknown, columnBytes: number): Map<string, string> {
  if (value === undefined || value === null) return new Map();
  if (typeof value !== 'object' || Array.isArray(value)) throw invalid('"context" must be an object');
  const entries = Object.entries(value).map(([key, text]): [string, string] => {
    if (key === '') throw invalid('"context" has an empty key');
    if (typeof text !== 'string') throw invalid(`"context" must map strings to strings, "${key}" holds ${typeof text}`);
    if (Buffer.byteLength(key) > columnBytes || Buffer.byteLength(text) > columnBytes) {
      throw invalid(`"context" has a key or value of more than ${columnBytes} bytes`);
    }
    return [key, text];
  });
  return new Map(entries);
}

function invalid(what: string): Error {
  return rejected('invalid_metadata', `metadata part: ${what}`);
}
