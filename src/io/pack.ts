/**
 * Builds the request body of one batch: digest over the exact uncompressed bytes, gzip, multipart by hand. The lines
 * are read once in slices and never joined, so a batch costs its lines plus its compressed body. FormData is not
 * used: it cannot set a header on a part (spec 06 section 2).
 */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createGzip } from 'node:zlib';
import { LINE_DIGEST_CHARACTERS } from '../core/upload/journal-format.js';
import type { Batch, PackedBatch } from '../core/upload/types.js';

export type Compression = 'gzip' | 'none';

export type PackOptions = {
  /** Default gzip. It changes neither digest nor limits. */
  readonly compress?: Compression;
  /** Batch context of the wire; travels in the metadata part, outside the digest. */
  readonly context?: Readonly<Record<string, string>>;
  /** zlib level 1 to 9; default 1. */
  readonly level?: number;
  /** Ends the packing within a slice; the promise rejects with its reason. */
  readonly signal?: AbortSignal;
};

/**
 * Packing must not be what an upload waits for. On 120.7 MB of production-like episodes level 1 packed 76 MB/s on one
 * of two cores, level 3 58 and level 6 37, and level 6 saved 11 % of the bytes (design/event-loop.md section 5).
 */
export const GZIP_LEVEL = 1;

/** A step of hashing between two turns of the event loop: 0.7 ms at 256 KiB (reliability.md section 1). */
const SLICE_BYTES = 256 * 1024;
/** Random bits in a boundary: 192, so that it does not occur in a body by chance or by design. */
const BOUNDARY_BYTES = 24;
/** One round of zlib for each slice; smaller outputs cost a callback each on the event loop. */
const GZIP_CHUNK_BYTES = 256 * 1024;

/** @returns the batch as it goes over the wire; slices of the lines are shared when nothing is compressed */
export async function packBatch(batch: Batch, options: PackOptions = {}): Promise<PackedBatch> {
  const compress = options.compress ?? 'gzip';
  const hash = createHash('sha256');
  const lineDigests: string[] = [];
  const slices = hashed(slicesOf(batch, lineDigests), hash, options.signal);
  const payload = compress === 'gzip' ? await gzip(slices, options.level ?? GZIP_LEVEL) : await collect(slices);
  return framed(batch, options, { digest: hash.digest('hex'), lineDigests, payload });
}

/** What a body is made of; `payload` is the part with the lines, compressed or not. */
export type Payload = Pick<PackedBatch, 'digest' | 'lineDigests'> & { readonly payload: readonly Buffer[] };

/** The body around a payload. */
export function framed(
  { format }: Batch,
  { compress = 'gzip', context = {} }: PackOptions,
  { digest, lineDigests, payload }: Payload,
): PackedBatch {
  const boundary = `prl-${randomBytes(BOUNDARY_BYTES).toString('hex')}`;
  const body = [Buffer.from(head(boundary, compress, context)), ...payload, Buffer.from(tail(boundary))];
  return {
    digest,
    format,
    contentType: `multipart/form-data; boundary=${boundary}`,
    body,
    bodyBytes: body.reduce((sum, slice) => sum + slice.length, 0),
    lineDigests,
  };
}

function head(boundary: string, compress: Compression, context: Readonly<Record<string, string>>): string {
  const metadata = Object.keys(context).length === 0 ? { schema_version: 1 } : { schema_version: 1, context };
  const encoding = compress === 'gzip' ? 'Content-Encoding: gzip\r\n' : '';
  return [
    `--${boundary}\r\nContent-Disposition: form-data; name="metadata"\r\nContent-Type: application/json\r\n\r\n`,
    `${JSON.stringify(metadata)}\r\n`,
    `--${boundary}\r\nContent-Disposition: form-data; name="traces"; filename="traces.jsonl"\r\n`,
    `Content-Type: application/x-ndjson\r\n${encoding}\r\n`,
  ].join('');
}

function tail(boundary: string): string {
  return `\r\n--${boundary}--\r\n`;
}

/**
 * What the journal recognises a line by: of its bytes as they travel, without the LF, which the last line of a growing
 * chunk may have been sent without.
 */
export function lineDigest(parts: readonly Buffer[]): string {
  const hash = new LineHash();
  for (const part of parts) hash.update(part);
  return hash.digest();
}

/** As `lineDigest`, of a line that comes in pieces. */
export class LineHash {
  readonly #hash = createHash('sha256');
  #endsInLf = false;

  update(bytes: Buffer): void {
    if (bytes.length === 0) return;
    if (this.#endsInLf) this.#hash.update('\n');
    this.#endsInLf = bytes.at(-1) === 0x0a;
    this.#hash.update(this.#endsInLf ? bytes.subarray(0, -1) : bytes);
  }

  digest(): string {
    return this.#hash.digest('base64').slice(0, LINE_DIGEST_CHARACTERS);
  }
}

/** @param lineDigests gets one entry a line, once the slices of that line have been taken */
function* slicesOf(batch: Batch, lineDigests: string[]): Generator<Buffer> {
  for (const line of batch.lines) {
    const hash = new LineHash();
    for (const part of line.parts) {
      for (let start = 0; start < part.length; start += SLICE_BYTES) {
        const slice = part.subarray(start, start + SLICE_BYTES);
        hash.update(slice);
        yield slice;
      }
    }
    lineDigests.push(hash.digest());
  }
}

/** Feeds each slice to the hash as it passes, giving the loop back between slices. */
async function* hashed(
  slices: Iterable<Buffer>,
  hash: { update(bytes: Buffer): unknown },
  signal: AbortSignal | undefined,
): AsyncGenerator<Buffer> {
  let sinceYieldBytes = 0;
  for (const slice of slices) {
    signal?.throwIfAborted();
    hash.update(slice);
    sinceYieldBytes += slice.length;
    yield slice;
    if (sinceYieldBytes < SLICE_BYTES) continue;
    sinceYieldBytes = 0;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function collect(slices: AsyncIterable<Buffer>): Promise<Buffer[]> {
  const payload: Buffer[] = [];
  for await (const slice of slices) payload.push(slice);
  return payload;
}

/** zlib writes no file name and mtime 0, so equal lines give equal bytes. */
async function gzip(slices: AsyncIterable<Buffer>, level: number): Promise<Buffer[]> {
  const stream = createGzip({ level, chunkSize: GZIP_CHUNK_BYTES });
  const payload: Buffer[] = [];
  stream.on('data', (part: Buffer) => payload.push(part));
  try {
    for await (const slice of slices) {
      if (!stream.write(slice)) await once(stream, 'drain');
    }
    stream.end();
    await once(stream, 'end');
    return payload;
  } finally {
    stream.destroy();
  }
}
