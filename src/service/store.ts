/**
 * The service's memory: rows in SQLite (WAL, synchronous FULL), raw bytes in chunk files. An upload is one transaction,
 * begun only after its bytes are on the disk; when `commit` returns, the receipt may be given.
 */
import { closeSync, fsyncSync, openSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import type { LineFormat } from '../core/scan/types.js';
import { makeDirectory } from '../io/make-directory.js';
import { type ChunkLease, ChunkPool, type CutTail } from './chunk-pool.js';
import { type DirectoryLock, lockDirectory } from './directory-lock.js';
import type { ServiceLimits } from './limits.js';
import { openError } from './open-errors.js';
import type { EpisodeRow, TraceRow } from './record-rows.js';
import { rejected } from './refusal.js';
import { migrate } from './schema.js';

/** A row at its place: `offset` is where its line begins inside the upload. */
export type Placed<Row> = { readonly row: Row; readonly offset: number };

/** Everything one upload stores. */
export type UploadRows = {
  readonly owner: string;
  readonly digest: string;
  readonly format: LineFormat;
  readonly schemaVersion: number;
  /** Uncompressed bytes of the upload: from the lease's offset on, they are what the digest was taken over. */
  readonly uploadBytes: number;
  readonly context: ReadonlyMap<string, string>;
  readonly ingestedAtUs: number;
  readonly episodes: readonly Placed<EpisodeRow>[];
  readonly traces: readonly Placed<TraceRow>[];
};

export type KnownUpload = { readonly uploadKey: number; readonly format: LineFormat; readonly isWhole: boolean };

/** `known`: the same bytes were committed meanwhile, nothing was stored. */
export type CommitResult = { readonly outcome: 'stored' } | { readonly outcome: 'known'; readonly upload: KnownUpload };

type StoreLimits = Pick<ServiceLimits, 'chunkBytes' | 'writers'>;

const MAX_STATEMENTS = 256;

const INSERT_EPISODE = `INSERT INTO episodes (owner, upload_key, episode_id, created_at_us, run_id, environment_id, outcome,
  has_error, error_type, error_message, offset, bytes, traces_offset, traces_bytes, trace_ids)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

const INSERT_TRACE = `INSERT INTO traces (owner, upload_key, trace_id, episode_id, created_at_us, run_id, run_type, run_step,
  environment_id, model_provider, model_id, task_id, agent_name, reward, outcome, has_error, is_truncated, duration_ms,
  total_tokens, offset, bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

export class Store {
  readonly chunks: ChunkPool;
  /** What the start had to cut off: bytes of uploads that never got their receipt. */
  readonly cut: readonly CutTail[];
  readonly #database: DatabaseSync;
  readonly #lock: DirectoryLock;
  readonly #statements = new Map<string, StatementSync>();

  private constructor(parts: { chunks: ChunkPool; cut: CutTail[]; database: DatabaseSync; lock: DirectoryLock }) {
    this.chunks = parts.chunks;
    this.cut = parts.cut;
    this.#database = parts.database;
    this.#lock = parts.lock;
  }

  /**
   * Opens or creates the store of a directory.
   *
   * @throws PrlError PRL_ERR_LOCKED; PRL_ERR_INTEGRITY (a chunk lost bytes, the database is damaged); PRL_ERR_USAGE
   *   (written by a newer prl, not a directory, not writable); PRL_ERR_LIMIT (the disk is full).
   */
  static async open(directory: string, limits: StoreLimits): Promise<Store> {
    try {
      await makeDirectory(directory);
      const lock = lockDirectory(directory);
      return await Store.#openLocked(directory, limits, lock).catch((error: unknown) => {
        lock.release();
        throw error;
      });
    } catch (error) {
      throw openError(directory, error);
    }
  }

  static async #openLocked(directory: string, limits: StoreLimits, lock: DirectoryLock): Promise<Store> {
    const file = path.join(directory, 'traces.sqlite');
    const database = new DatabaseSync(file);
    try {
      database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON');
      migrate(database, file);
      syncFolder(directory);
      const rows = database.prepare('SELECT number, bytes FROM chunks ORDER BY number').all();
      const committed = new Map(rows.map((row) => [row.number as number, row.bytes as number]));
      const { pool, cut } = await ChunkPool.open(path.join(directory, 'stream'), limits, committed);
      return new Store({ chunks: pool, cut, database, lock });
    } catch (error) {
      database.close();
      throw error;
    }
  }

  /** The committed upload of these bytes, if there is one. */
  findUpload(owner: string, digest: string): KnownUpload | null {
    const row = this.get('SELECT upload_key, format, is_whole FROM uploads WHERE owner = ? AND digest = ?', [
      owner,
      digest,
    ]);
    if (row === undefined) return null;
    return { uploadKey: Number(row.upload_key), format: row.format as LineFormat, isWhole: row.is_whole === 1 };
  }

  /**
   * Stores an upload whose bytes lie in `lease`, already synced. All of it or nothing.
   *
   * @throws Refusal 400 `unknown_episode_reference`.
   */
  commit(upload: UploadRows, lease: ChunkLease): CommitResult {
    return this.transaction(() => {
      const known = this.findUpload(upload.owner, upload.digest);
      if (known?.isWhole) return { outcome: 'known', upload: known };
      // Rows of it were deleted since: these bytes take the place of what is left.
      if (known !== null) this.run('DELETE FROM uploads WHERE upload_key = ?', [known.uploadKey]);
      const uploadKey = this.#insertUpload(upload, lease);
      for (const { row, offset } of upload.episodes) this.#insertEpisode(upload, uploadKey, row, lease.offset + offset);
      for (const { row, offset } of upload.traces) {
        if (row.isReference) this.#checkReference(upload.owner, row);
        this.#insertTrace(upload, uploadKey, row, lease.offset + offset);
      }
      return { outcome: 'stored' };
    });
  }

  /** Runs `work` as one transaction: committed when it returns, undone when it throws. */
  transaction<T>(work: () => T): T {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      this.#database.exec('COMMIT');
      return result;
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  get(sql: string, values: readonly SQLInputValue[]): Record<string, unknown> | undefined {
    return this.#prepared(sql).get(...values);
  }

  all(sql: string, values: readonly SQLInputValue[]): Record<string, unknown>[] {
    return this.#prepared(sql).all(...values);
  }

  /** Rows changed. */
  run(sql: string, values: readonly SQLInputValue[]): number {
    return Number(this.#prepared(sql).run(...values).changes);
  }

  async close(): Promise<void> {
    await this.chunks.close();
    this.#statements.clear();
    this.#database.close();
    this.#lock.release();
  }

  #insertUpload(upload: UploadRows, lease: ChunkLease): number {
    this.run('INSERT INTO chunks VALUES (?, ?) ON CONFLICT (number) DO UPDATE SET bytes = excluded.bytes', [
      lease.chunk,
      lease.offset + lease.bytes,
    ]);
    const { lastInsertRowid } = this.#prepared(
      'INSERT INTO uploads (owner, digest, format, schema_version, ingested_at_us, chunk, offset, bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    ).run(
      upload.owner,
      upload.digest,
      upload.format,
      upload.schemaVersion,
      upload.ingestedAtUs,
      lease.chunk,
      lease.offset,
      upload.uploadBytes,
    );
    const uploadKey = Number(lastInsertRowid);
    for (const [key, value] of upload.context)
      this.run('INSERT INTO contexts VALUES (?, ?, ?)', [uploadKey, key, value]);
    return uploadKey;
  }

  #insertEpisode(upload: UploadRows, uploadKey: number, row: EpisodeRow, offset: number): void {
    this.run(INSERT_EPISODE, [
      upload.owner,
      uploadKey,
      row.episodeId,
      row.createdAtUs ?? upload.ingestedAtUs,
      row.runId,
      row.environmentId,
      row.outcome,
      Number(row.hasError),
      row.errorType,
      row.errorMessage,
      offset + row.start,
      row.end - row.start,
      offset + row.traces.start,
      row.traces.end - row.traces.start,
      JSON.stringify(row.traceIds),
    ]);
  }

  #insertTrace(upload: UploadRows, uploadKey: number, row: TraceRow, offset: number): void {
    this.run(INSERT_TRACE, [
      upload.owner,
      uploadKey,
      row.traceId,
      row.episodeId,
      row.createdAtUs ?? upload.ingestedAtUs,
      row.runId,
      row.runType,
      row.runStep,
      row.environmentId,
      row.modelProvider,
      row.modelId,
      row.taskId,
      row.agentName,
      row.reward,
      row.outcome,
      Number(row.hasError),
      Number(row.isTruncated),
      row.durationMs,
      row.totalTokens,
      offset + row.start,
      row.end - row.start,
    ]);
  }

  #checkReference(owner: string, row: TraceRow): void {
    const found = this.get('SELECT 1 FROM episodes WHERE owner = ? AND episode_id = ? LIMIT 1', [owner, row.episodeId]);
    if (found !== undefined) return;
    const message = `trace ${row.traceId} names episode ${row.episodeId}, which was not uploaded`;
    throw rejected('unknown_episode_reference', message);
  }

  #prepared(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      // Filters make many shapes of query; a peer must not be able to fill our memory with them.
      if (this.#statements.size >= MAX_STATEMENTS) this.#statements.clear();
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

/** A new database is durable only when its name is. */
function syncFolder(directory: string): void {
  const descriptor = openSync(directory, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}
