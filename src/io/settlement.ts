/**
 * How much of each chunk is settled, as an upload and the journal it keeps know it: for whoever may remove what is, or
 * waits for it. The figures hold over uploads: the next one of the run begins with those that this one ended with.
 */
import type { Damage } from '../core/scan/types.js';
import { merged } from '../core/upload/resume.js';
import type { RejectedLine, SettledRange } from '../core/upload/types.js';
import type { Journal } from './journal.js';

export type ChunkSettlement = {
  readonly chunk: number;
  /** Records that the service has confirmed, and that it or a check of ours has refused. */
  readonly stored: number;
  readonly rejected: number;
  /** Uncompressed; every line that ends at it or before is settled: stored, rejected, or damage. */
  readonly endBytes: number;
};

export type UploadSettlement = {
  /** Records that were settled before this upload began. */
  readonly known: { readonly stored: number; readonly rejected: number };
  /** Chunks that something is settled of. */
  readonly chunks: readonly ChunkSettlement[];
  /** Records that were read and are not settled. */
  readonly open: number;
  /** Of them those that were handed over and got no verdict: they may be stored. */
  readonly unanswered: number;
};

/** @param damages places without a record; those that the journal does not keep as well */
export function settledChunks(journal: Journal, damages: readonly Damage[]): ChunkSettlement[] {
  const stored = journal.committedByChunk;
  const rejected = byChunk(journal.resume.rejected());
  const damaged = byChunk(damages);
  const chunks = new Set([...stored.keys(), ...rejected.keys(), ...damaged.keys()]);
  return [...chunks]
    .sort((a, b) => a - b)
    .map((chunk) => {
      const lines = rejected.get(chunk) ?? [];
      const settled = [
        ...journal.resume.coveredRanges(chunk),
        ...lines.map(({ offset, length }) => rangeAt(chunk, offset, length)),
        ...(damaged.get(chunk) ?? []).map(({ offset, bytes }) => rangeAt(chunk, offset, bytes)),
      ];
      return {
        chunk,
        stored: stored.get(chunk)?.episodes ?? 0,
        rejected: lines.length,
        endBytes: endOfFirst(merged(settled)),
      };
    });
}

function byChunk<T extends Pick<RejectedLine, 'chunk'>>(all: readonly T[]): Map<number, T[]> {
  const groups = new Map<number, T[]>();
  for (const one of all) {
    const group = groups.get(one.chunk);
    if (group === undefined) groups.set(one.chunk, [one]);
    else group.push(one);
  }
  return groups;
}

function rangeAt(chunk: number, start: number, bytes: number): SettledRange {
  return { chunk, start, end: start + bytes, physicalLines: null };
}

/** Where the stretch ends that begins with the chunk. */
function endOfFirst([first]: readonly SettledRange[]): number {
  return first?.start === 0 ? first.end : 0;
}
