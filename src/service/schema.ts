/**
 * The tables of the service's database and how an older file becomes a newer one. The rows point into the chunk files;
 * `chunks.bytes` is the truth about how much of each file counts.
 */
import type { DatabaseSync } from 'node:sqlite';
import { PrlError } from '../core/errors.js';

/**
 * One entry a version; an entry is never changed once released, only followed by another.
 *
 * `owner` is the team of the request, '' for the personal account: no query crosses it. Times are epoch microseconds.
 * `is_whole` is 0 once rows of an upload were deleted: then the same bytes may be uploaded afresh.
 */
const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE chunks (number INTEGER PRIMARY KEY, bytes INTEGER NOT NULL) STRICT;

  CREATE TABLE uploads (
    upload_key INTEGER PRIMARY KEY,
    owner TEXT NOT NULL,
    digest TEXT NOT NULL,
    format TEXT NOT NULL CHECK (format IN ('episode', 'trace')),
    schema_version INTEGER NOT NULL,
    ingested_at_us INTEGER NOT NULL,
    is_whole INTEGER NOT NULL DEFAULT 1,
    chunk INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    UNIQUE (owner, digest)
  ) STRICT;

  CREATE TABLE contexts (
    upload_key INTEGER NOT NULL REFERENCES uploads ON DELETE CASCADE,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (upload_key, key)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE episodes (
    episode_key INTEGER PRIMARY KEY AUTOINCREMENT,
    owner TEXT NOT NULL,
    upload_key INTEGER NOT NULL REFERENCES uploads ON DELETE CASCADE,
    episode_id TEXT NOT NULL,
    created_at_us INTEGER NOT NULL,
    run_id TEXT,
    environment_id TEXT,
    outcome TEXT,
    has_error INTEGER NOT NULL,
    error_type TEXT,
    error_message TEXT,
    offset INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    traces_offset INTEGER NOT NULL,
    traces_bytes INTEGER NOT NULL,
    trace_ids TEXT NOT NULL
  ) STRICT;
  CREATE INDEX episodes_by_id ON episodes (owner, episode_id);
  CREATE INDEX episodes_by_time ON episodes (owner, created_at_us);
  CREATE INDEX episodes_by_run ON episodes (owner, run_id, created_at_us);
  CREATE INDEX episodes_by_upload ON episodes (upload_key);

  CREATE TABLE traces (
    trace_key INTEGER PRIMARY KEY AUTOINCREMENT,
    owner TEXT NOT NULL,
    upload_key INTEGER NOT NULL REFERENCES uploads ON DELETE CASCADE,
    trace_id TEXT NOT NULL,
    episode_id TEXT,
    created_at_us INTEGER NOT NULL,
    run_id TEXT,
    run_type TEXT,
    run_step INTEGER,
    environment_id TEXT,
    model_provider TEXT,
    model_id TEXT,
    task_id TEXT,
    agent_name TEXT,
    reward REAL,
    outcome TEXT,
    has_error INTEGER NOT NULL,
    is_truncated INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    total_tokens INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    bytes INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX traces_by_id ON traces (owner, trace_id);
  CREATE INDEX traces_by_time ON traces (owner, created_at_us);
  CREATE INDEX traces_by_run ON traces (owner, run_id, created_at_us);
  CREATE INDEX traces_by_episode ON traces (owner, episode_id) WHERE episode_id IS NOT NULL;
  CREATE INDEX traces_by_upload ON traces (upload_key);
  CREATE INDEX traces_by_reward ON traces (owner, reward);
  CREATE INDEX traces_by_duration ON traces (owner, duration_ms);
  `,
];

/**
 * Brings a database to the newest version, each step in a transaction of its own.
 *
 * @throws PrlError PRL_ERR_USAGE when the file was written by a newer prl.
 */
export function migrate(database: DatabaseSync, file: string): void {
  const { user_version: found } = database.prepare('PRAGMA user_version').get() as { user_version: number };
  if (found > MIGRATIONS.length) {
    throw new PrlError('PRL_ERR_USAGE', `${file} has version ${found}, this prl knows up to ${MIGRATIONS.length}`, {
      hint: 'use the newer prl that wrote it, or another directory with --data',
    });
  }
  for (let version = found; version < MIGRATIONS.length; version += 1) {
    database.exec(`BEGIN IMMEDIATE; ${MIGRATIONS[version]}; PRAGMA user_version = ${version + 1}; COMMIT`);
  }
}
