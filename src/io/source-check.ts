/**
 * Whether the files of a run still hold what the journal says was settled in them (U18). A file that nobody touched
 * since is taken at its word. Of one that was touched the settled lines are read and compared one by one; only a large
 * file that has merely grown, or was sealed, is trusted after the few places that the journal compares as it opens.
 */
import { stat } from 'node:fs/promises';
import type { RunStamp } from '../core/stream/stamp.js';
import { lineDigestsOf, type SourceIdentity } from '../core/upload/journal-format.js';
import { prepareRecord } from '../core/upload/prepare.js';
import type { Journal } from './journal.js';
import { lineDigest } from './pack.js';
import { readRecords } from './run-records.js';
import type { ChunkFile, Run } from './run-types.js';

export type SourceCheckOptions = {
  readonly run: Run;
  readonly journal: Journal;
  readonly stamp: RunStamp | null;
  readonly signal: AbortSignal;
};

/** Settled bytes of a file that grew are compared up to here; about a second of work. */
const ALWAYS_COMPARED_BYTES = 256 * 1024 * 1024;
/** Above the granularity of the times of every file system. */
const FRESH_MS = 2_000;

/** Looks at each file before it is read; what has changed is forgotten by the journal, with a notice. */
export async function checkSources({ run, journal, stamp, signal }: SourceCheckOptions): Promise<void> {
  const seeing: Promise<void>[] = [];
  for (const file of run.files) {
    if (file.form === 'stdin') continue;
    const identity = await identityOf(file);
    if (identity === null) continue;
    if (mustCompare(journal, file, identity)) {
      const verdict = await compare({ run, journal, stamp, signal }, file);
      if (verdict.outcome === 'unreadable') continue; // reported when its turn to be sent comes
      if (verdict.outcome === 'changed') await journal.forget(file.chunk, verdict.what);
    }
    seeing.push(journal.see(file.chunk, identity));
  }
  await Promise.all(seeing);
}

/** Null when the file is gone; whoever reads it reports that. */
async function identityOf(file: ChunkFile): Promise<SourceIdentity | null> {
  const stats = await stat(file.path, { bigint: true }).catch(() => null);
  if (stats === null) return null;
  return {
    isPlain: file.form === 'plain',
    inode: String(stats.ino),
    sizeBytes: Number(stats.size),
    changedNs: String(stats.ctimeNs),
    isFresh: Date.now() - Number(stats.ctimeMs) < FRESH_MS,
  };
}

function mustCompare(journal: Journal, { chunk }: ChunkFile, now: SourceIdentity): boolean {
  const rejected = journal.resume.rejected().some((line) => line.chunk === chunk);
  const settledEnd = journal.resume.coveredRanges(chunk).at(-1)?.end ?? 0;
  if (settledEnd === 0 && !rejected) return false;
  const before = journal.seen(chunk);
  if (before !== null && isUntouched(before, now)) return false;
  if (settledEnd <= ALWAYS_COMPARED_BYTES) return true;
  if (before === null || before.isPlain !== now.isPlain) return false;
  return before.inode !== now.inode || before.sizeBytes >= now.sizeBytes;
}

function isUntouched(before: SourceIdentity, now: SourceIdentity): boolean {
  return (
    !before.isFresh &&
    before.inode === now.inode &&
    before.sizeBytes === now.sizeBytes &&
    before.changedNs === now.changedNs
  );
}

type Comparison = { readonly outcome: 'same' | 'unreadable' } | { readonly outcome: 'changed'; readonly what: string };

/** Reads the settled lines of a file and compares each with what was settled at its place. */
async function compare({ run, journal, stamp, signal }: SourceCheckOptions, file: ChunkFile): Promise<Comparison> {
  const { resume } = journal;
  const settled = new Set(journal.storedIn(file.chunk).flatMap((range) => [...lineDigestsOf(range)]));
  const expected = journal.storedIn(file.chunk).reduce((sum, range) => sum + range.lines, 0);
  const rejected = new Map(
    resume.rejected().flatMap((line) => (line.chunk === file.chunk ? [[line.offset, line] as const] : [])),
  );
  const format = journal.storedIn(file.chunk)[0]?.format ?? null;
  const settledEnd = resume.coveredRanges(file.chunk).at(-1)?.end ?? 0;
  let lines = 0;
  for await (const event of readRecords({ ...run, files: [file], damage: [] }, { signal, unitOf: () => format })) {
    if (event.type === 'damage' && event.damage.kind === 'unreadable') return { outcome: 'unreadable' };
    if (event.type !== 'record') continue;
    const { record } = event;
    // Nothing is known of what comes behind, which may be gigabytes.
    if (record.offset >= settledEnd && rejected.size === 0) break;
    const verdict = rejected.get(record.offset);
    if (verdict === undefined && resume.placementOf(record) !== 'settled') continue;
    const prepared = prepareRecord(record, stamp);
    const digest = lineDigest(prepared.ok ? prepared.candidate.line.parts : [record.bytes]);
    const isSame = verdict === undefined ? settled.has(digest) : verdict.digest === digest;
    if (!isSame) return changed(`the line at byte ${record.offset} differs`);
    rejected.delete(record.offset);
    if (verdict === undefined) lines += 1;
  }
  if (rejected.size > 0) return changed('a rejected line is not where it was');
  return lines === expected
    ? { outcome: 'same' }
    : changed(`${expected} of its lines are stored, ${lines} stand in their place`);
}

function changed(what: string): Comparison {
  return { outcome: 'changed', what };
}
