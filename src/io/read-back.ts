/** Reads a run back from a service and lets a Verification compare it, a few reads at a time (`--verify`). */
import { PrlError } from '../core/errors.js';
import type { Verification } from '../core/upload/verify.js';
import type { TracesReader } from './traces-reader.js';

export type ReadBackOptions = {
  readonly reader: TracesReader;
  readonly verification: Verification;
  /** Episodes read at once, 1 or more. */
  readonly concurrency: number;
  readonly signal: AbortSignal;
  /** Told after each episode or bare trace. */
  readonly onProgress?: (done: number, total: number) => void;
};

/**
 * Fills the verification's differences. A read that fails for its record alone becomes a difference.
 *
 * @throws PrlError `PRL_ERR_TEMPORARY` or `PRL_ERR_AUTH` when the service cannot be read; the signal's reason on abort
 */
export async function readBack(options: ReadBackOptions): Promise<void> {
  const { verification, signal } = options;
  verification.compareEpisodes(await countEpisodes(options));
  const jobs = [
    ...verification.episodeIds.map((id) => () => readEpisode(options, id)),
    ...[...verification.bareTraces.keys()].map((id) => () => readDocument(options, null, id)),
  ];
  let next = 0;
  let done = 0;
  const work = async (): Promise<void> => {
    for (let job = jobs[next++]; job !== undefined; job = jobs[next++]) {
      signal.throwIfAborted();
      await job();
      done += 1;
      options.onProgress?.(done, jobs.length);
    }
  };
  await Promise.all(Array.from({ length: Math.min(options.concurrency, jobs.length) }, work));
  if (verification.superseded.size > 0) verification.compareSuperseded(await listOwn(options));
}

async function listOwn({ reader, verification, signal }: ReadBackOptions): Promise<Set<string>> {
  const stored = new Set<string>();
  for (const uploadId of verification.ownUploads) {
    for await (const { id } of reader.listUploadedEpisodes(uploadId, signal)) stored.add(id);
  }
  return stored;
}

async function countEpisodes({ reader, verification, signal }: ReadBackOptions): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const expected = new Set(verification.episodeIds);
  for (const runId of verification.runIds) {
    for await (const { id } of reader.listEpisodes(runId, signal)) {
      // A run may hold episodes of other uploads; they are none of this one's business.
      if (expected.has(id)) counts.set(id, (counts.get(id) ?? 0) + 1);
    }
  }
  for (const id of verification.unfiledEpisodeIds) {
    if (isAddressable(id) && (await reader.hasEpisode(id, signal))) counts.set(id, 1);
  }
  return counts;
}

async function readEpisode(options: ReadBackOptions, episodeId: string): Promise<void> {
  const { reader, verification, signal } = options;
  if (!isAddressable(episodeId)) {
    verification.unreadable(episodeId, null, `episode ${episodeId} cannot be read back: its id holds a slash`);
    return;
  }
  const listed: string[] = [];
  let isOwn = true;
  for await (const { id, uploadId } of reader.listTraces(episodeId, signal)) {
    listed.push(id);
    isOwn &&= verification.isOwn(uploadId);
  }
  if (!isOwn) return verification.supersede(episodeId);
  verification.compareTraces(episodeId, listed);
  const present = new Set(listed);
  for (const traceId of verification.tracesOf(episodeId)) {
    if (present.has(traceId)) await readDocument(options, episodeId, traceId);
  }
}

async function readDocument(options: ReadBackOptions, episodeId: string | null, traceId: string): Promise<void> {
  const { reader, verification, signal } = options;
  try {
    verification.compareDocument(episodeId, traceId, await reader.digestOf(traceId, signal));
  } catch (error) {
    // Only an id that no URL can carry is the record's own fault.
    if (!(error instanceof PrlError) || error.code !== 'PRL_ERR_USAGE') throw error;
    verification.unreadable(episodeId, traceId, `trace ${traceId} cannot be read back: ${error.message}`);
  }
}

function isAddressable(id: string): boolean {
  return id !== '' && !id.includes('/') && id.isWellFormed();
}
