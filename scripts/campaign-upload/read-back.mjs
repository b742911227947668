/**
 * What a stopped service holds, read from its files with nothing of prl's: rows of its database say where the bytes of
 * each copy of each episode lie, and the chunk files hold them.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { digestOf } from './run-files.mjs';

/** SHA-256 of every stored copy of an episode of the run, not only of the newest ones. */
export function storedDigests(directory, runId) {
  const database = new DatabaseSync(join(directory, 'traces.sqlite'), { readOnly: true });
  const files = new Map();
  try {
    const rows = database
      .prepare(
        `SELECT uploads.chunk AS chunk, episodes.offset AS offset, episodes.bytes AS bytes
         FROM episodes JOIN uploads USING (upload_key) WHERE episodes.run_id = ?`,
      )
      .all(runId);
    return rows.map(({ chunk, offset, bytes }) => {
      const name = `${String(chunk).padStart(5, '0')}.jsonl`;
      if (!files.has(chunk)) files.set(chunk, openSync(join(directory, 'stream', name), 'r'));
      const line = Buffer.alloc(bytes);
      readSync(files.get(chunk), line, 0, bytes, offset);
      return digestOf(line);
    });
  } finally {
    for (const file of files.values()) closeSync(file);
    database.close();
  }
}

/** Lines that are missing, that nobody wrote, and that are there more than once. */
export function compare(wanted, found) {
  const counts = new Map(wanted.map((digest) => [digest, 0]));
  let alien = 0;
  let twice = 0;
  for (const digest of found) {
    const count = counts.get(digest);
    if (count === undefined) alien += 1;
    else if (count > 0) twice += 1;
    counts.set(digest, (count ?? 0) + 1);
  }
  const missing = wanted.filter((digest) => counts.get(digest) === 0).length;
  return { missing, alien, twice };
}
