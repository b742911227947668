/**
 * POST /traces: one batch, all or nothing (spec 06 sections 1, 2 and 5). The receipt is given only after the bytes and
 * the rows are on the disk; bytes that were committed before are answered with the same receipt and stored once.
 */
import type { IncomingMessage } from 'node:http';
import type { ChunkLease, ChunkPool } from './chunk-pool.js';
import { decoded } from './inflate.js';
import type { ServiceLimits } from './limits.js';
import { boundaryOf, MultipartReader, type Part } from './multipart.js';
import { Refusal, rejected } from './refusal.js';
import type { RequestBody } from './request-body.js';
import { SQLITE_FULL, sqliteCode } from './sqlite-codes.js';
import type { CommitResult, KnownUpload, Store, UploadRows } from './store.js';
import { readMetadata, readUploadHead, type UploadHead, type UploadMetadata } from './upload-head.js';
import { UploadIntake } from './upload-intake.js';

export type UploadRequest = {
  readonly request: IncomingMessage;
  readonly body: RequestBody;
  readonly owner: string;
  readonly store: Store;
  readonly limits: ServiceLimits;
  /** Epoch microseconds. */
  readonly nowUs: number;
};

/** Status 201 for a batch stored now, 200 for a replay. */
export type UploadAnswer = { readonly status: 200 | 201; readonly receipt: { upload_id: string; status: 'committed' } };

/**
 * Receives one upload.
 *
 * @throws Refusal for every row of the error table that an upload can provoke; PeerGone when the sender left.
 */
export async function receiveUpload(upload: UploadRequest): Promise<UploadAnswer> {
  const head = readUploadHead(upload.request.headers);
  const boundary = boundaryOf(upload.request.headers['content-type']);
  const known = upload.store.findUpload(upload.owner, head.digest);
  const lease = known?.isWhole ? null : await leaseChunk(upload.store.chunks);
  try {
    const status = await store(upload, { head, boundary, known, lease });
    return { status, receipt: { upload_id: head.digest, status: 'committed' } };
  } finally {
    // Does nothing after `keep`. A chunk that cannot be cut keeps bytes that nothing names: the next upload or the next
    // start overwrites them, and what failed first is the news.
    await lease?.giveBack().catch(() => {});
  }
}

type Plan = {
  readonly head: UploadHead;
  readonly boundary: string;
  readonly known: KnownUpload | null;
  readonly lease: ChunkLease | null;
};

async function store(upload: UploadRequest, { head, boundary, known, lease }: Plan): Promise<200 | 201> {
  const { limits, owner, nowUs } = upload;
  const intake = new UploadIntake({ format: head.format, limits, nowUs, lease });
  const { metadata, digest } = await readParts(upload, boundary, intake);
  if (digest !== head.digest) {
    const message = `the traces part hashes to ${digest}, the Idempotency-Key names ${head.digest}`;
    throw rejected('digest_mismatch', message);
  }
  if (known?.isWhole) return replay(known, head);
  if (lease === null) throw new Error('an upload that is not stored yet needs a chunk');
  await lease.sync();
  const { uploadBytes, episodes, traces } = intake;
  const rows = { owner, ...head, ...metadata, uploadBytes, ingestedAtUs: nowUs, episodes, traces };
  const result = commit(upload.store, rows, lease);
  if (result.outcome === 'known') return replay(result.upload, head);
  await lease.keep();
  // What an earlier failure left behind can be cut now; if it cannot, the next start does it.
  await upload.store.chunks.settleRetired().catch(() => {});
  return 201;
}

function commit(store: Store, rows: UploadRows, lease: ChunkLease): CommitResult {
  try {
    return store.commit(rows, lease);
  } catch (error) {
    // A log whose sync failed may hold the whole transaction after all, and the next start would find it. One that could
    // not be written to its end (a full disk) cannot.
    const isUnknown = !(error instanceof Refusal) && sqliteCode(error) !== SQLITE_FULL;
    if (isUnknown) lease.retire();
    throw error;
  }
}

function replay(known: KnownUpload, head: UploadHead): 200 {
  if (known.format === head.format) return 200;
  const message = `these bytes are stored as ${known.format} lines and were sent again as ${head.format} lines`;
  throw new Refusal(409, 'line_format_conflict', message);
}

async function leaseChunk(chunks: ChunkPool): Promise<ChunkLease> {
  const lease = await chunks.lease();
  if (lease !== null) return lease;
  const message = 'as many uploads as this service takes at once are under way';
  throw new Refusal(503, 'writer_pool_saturated', message, { retryAfterSeconds: 1 });
}

/** The two parts, in either order, each exactly once, and then the end of the request. */
async function readParts(
  upload: UploadRequest,
  boundary: string,
  intake: UploadIntake,
): Promise<{ metadata: UploadMetadata; digest: string }> {
  let metadata: UploadMetadata | null = null;
  let digest: string | null = null;
  const reader = new MultipartReader(upload.body, boundary, upload.limits.partHeadBytes);
  for await (const part of reader.parts()) {
    if (part.name === 'metadata') {
      if (metadata !== null) throw rejected('invalid_metadata', 'metadata part: it occurs twice');
      metadata = readMetadata(await collect(part, upload.limits.metadataBytes), upload.limits);
    } else if (part.name === 'traces') {
      if (digest !== null) throw rejected('malformed_encoding', 'the traces part occurs twice');
      digest = await takeTraces(part, intake);
    } else {
      throw rejected('malformed_encoding', `unknown part "${part.name}": an upload has "metadata" and "traces"`);
    }
  }
  if (metadata === null) throw rejected('invalid_metadata', 'metadata part: it is missing');
  if (digest === null) throw rejected('malformed_encoding', 'the traces part is missing');
  await finish(upload.body);
  return { metadata, digest };
}

async function takeTraces(part: Part, intake: UploadIntake): Promise<string> {
  for await (const bytes of decoded(part.body, part.headers.get('content-encoding'))) await intake.push(bytes);
  return intake.end();
}

async function collect(part: Part, capBytes: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const piece of part.body) {
    bytes += piece.length;
    if (bytes > capBytes) throw rejected('invalid_metadata', `metadata part: longer than ${capBytes} bytes`);
    parts.push(piece);
  }
  return Buffer.concat(parts, bytes);
}

/** Reads past the epilogue: a batch counts as received only when its request has ended as announced. */
async function finish(body: RequestBody): Promise<void> {
  while (!(await body.next()).done);
}
