/**
 * Takes the uncompressed bytes of one upload as they come: hashes them, cuts them into lines, reads each record's rows
 * and appends the bytes to a leased chunk. Holds one line and about one write; nothing is stored until `commit` of the
 * store says so.
 */
import { createHash } from 'node:crypto';
import { isBlank } from '../core/scan/pick.js';
import type { LineFormat } from '../core/scan/types.js';
import type { ChunkLease } from './chunk-pool.js';
import type { ServiceLimits } from './limits.js';
import { type Line, LineFramer } from './line-framer.js';
import { type EpisodeRow, type RecordRows, readRecord, type TraceRow } from './record-rows.js';
import { rejected } from './refusal.js';
import type { Placed } from './store.js';

/** Complete lines are written together up to this size: a million tiny lines must not be a million writes. */
const WRITE_BYTES = 1024 * 1024;
const LF = Buffer.from('\n');

export type IntakeOptions = {
  readonly format: LineFormat;
  readonly limits: ServiceLimits;
  readonly nowUs: number;
  /** Null: the bytes are only counted and hashed, because they are stored already. */
  readonly lease: ChunkLease | null;
};

/** Fed by `push`, ended by `end`; a Refusal from either ends the upload. */
export class UploadIntake {
  readonly episodes: Placed<EpisodeRow>[] = [];
  readonly traces: Placed<TraceRow>[] = [];
  readonly #options: IntakeOptions;
  readonly #hash = createHash('sha256');
  readonly #framer: LineFramer;
  readonly #episodeIds = new Map<string, number>();
  readonly #traceIds = new Map<string, number>();
  #unwritten: Buffer[] = [];
  #unwrittenBytes = 0;
  #uploadBytes = 0;
  #lineOffset = 0;

  constructor(options: IntakeOptions) {
    this.#options = options;
    const { lineBytes } = options.limits;
    this.#framer = new LineFramer(lineBytes, (lineNumber) =>
      rejected('trace_too_large', `line ${lineNumber}: longer than ${lineBytes} bytes, the most one line may have`),
    );
  }

  /** Uncompressed bytes so far. */
  get uploadBytes(): number {
    return this.#uploadBytes;
  }

  async push(bytes: Buffer): Promise<void> {
    this.#uploadBytes += bytes.length;
    const { uploadBytes } = this.#options.limits;
    if (this.#uploadBytes > uploadBytes) {
      throw rejected('upload_too_large', `the upload has more than ${uploadBytes} bytes, uncompressed`);
    }
    this.#hash.update(bytes);
    if (this.#options.lease === null) return;
    for (const line of this.#framer.push(bytes)) {
      this.#line(line);
      if (this.#unwrittenBytes >= WRITE_BYTES) await this.#write();
    }
  }

  /** Ends the upload and writes what is left; returns the digest of everything pushed, 64 lower-case hex. */
  async end(): Promise<string> {
    const digest = this.#hash.digest('hex');
    if (this.#options.lease === null) return digest;
    for (const line of this.#framer.end()) {
      this.#line(line);
      // A record runs to its LF (spec 03 section 1): the next upload in this chunk must not be glued to it.
      this.#unwritten.push(LF);
    }
    await this.#write();
    if (this.#episodeIds.size + this.#traceIds.size === 0) {
      throw rejected('invalid_trace', 'the traces part holds no record');
    }
    return digest;
  }

  #line(line: Line): void {
    const { bytes, lineNumber } = line;
    // Blank lines too: a small gzip part can hold hundreds of millions of them.
    if (lineNumber > this.#options.limits.uploadRows) throw this.#tooMany('lines', lineNumber);
    if (!isBlank(bytes, 0, bytes.length)) {
      const { format, limits, nowUs } = this.#options;
      this.#stage(readRecord({ bytes, lineNumber, format, limits, nowUs }), lineNumber);
    }
    this.#lineOffset += bytes.length;
    this.#unwritten.push(bytes);
    this.#unwrittenBytes += bytes.length;
  }

  #stage(rows: RecordRows, lineNumber: number): void {
    const offset = this.#lineOffset;
    if (rows.episode !== null) {
      noteId(this.#episodeIds, { code: 'duplicate_episode_id', id: rows.episode.episodeId, lineNumber });
      this.episodes.push({ row: rows.episode, offset });
    }
    for (const row of rows.traces) {
      noteId(this.#traceIds, { code: 'duplicate_trace_id', id: row.traceId, lineNumber });
      this.traces.push({ row, offset });
    }
    const rowCount = this.episodes.length + this.traces.length;
    if (rowCount > this.#options.limits.uploadRows) throw this.#tooMany('rows', lineNumber);
  }

  #tooMany(what: 'lines' | 'rows', lineNumber: number): Error {
    const { uploadRows } = this.#options.limits;
    const counted = what === 'rows' ? ', counting each episode and each trace' : ', blank ones included';
    const message = `line ${lineNumber}: more than ${uploadRows} ${what} in one upload${counted}`;
    return rejected('too_many_traces_in_upload', message);
  }

  async #write(): Promise<void> {
    const lines = this.#unwritten;
    this.#unwritten = [];
    this.#unwrittenBytes = 0;
    // Many small lines become one write; a line that is large itself is written from where it lies.
    const large = (lines.at(-1)?.length ?? 0) >= WRITE_BYTES ? lines.pop() : undefined;
    if (lines.length > 0) await this.#options.lease?.append(Buffer.concat(lines));
    if (large !== undefined) await this.#options.lease?.append(large);
  }
}

type SeenId = { readonly code: 'duplicate_episode_id' | 'duplicate_trace_id'; id: string; lineNumber: number };

function noteId(ids: Map<string, number>, { code, id, lineNumber }: SeenId): void {
  const earlier = ids.get(id);
  if (earlier !== undefined) {
    throw rejected(code, `line ${lineNumber}: ${code.slice(10, -3)} id ${id} is in line ${earlier} already`);
  }
  ids.set(id, lineNumber);
}
