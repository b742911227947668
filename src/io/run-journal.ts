/** The journal of one run for one destination: which names last, and where its bytes are read to be compared. */
import type { RunStamp } from '../core/stream/stamp.js';
import { readChunkRange } from './chunk-range.js';
import { type Journal, openJournal } from './journal.js';
import type { JournalPlaces } from './journal-place.js';
import type { ChunkFile, Run } from './run-types.js';
import type { RunUploadOptions } from './run-upload-options.js';

export type RunJournalOptions = Pick<
  RunUploadOptions,
  'run' | 'access' | 'serviceName' | 'context' | 'retriesRejected' | 'onNotice'
> & {
  readonly places: JournalPlaces;
  /** Takes what is known and writes nothing. */
  readonly readsOnly: boolean;
  /** Null when records travel byte for byte. */
  readonly stamp: RunStamp | null;
};

export function openRunJournal({ run, access, stamp, ...options }: RunJournalOptions): Promise<Journal> {
  const files = new Map(run.files.map((file) => [file.chunk, file]));
  return openJournal({
    places: options.places,
    readsOnly: options.readsOnly,
    isRetry: options.retriesRejected,
    destination: {
      baseUrl: options.serviceName,
      teamId: access.teamId,
      context: options.context,
      stamp: stamp === null ? { unstamped: true } : (stamp.runId ?? stamp.fallbackRunId),
    },
    chunkNames: new Map(run.files.map((file) => [file.chunk, chunkNameOf(run, file)])),
    readRange: async (chunk, start, end) => {
      const file = files.get(chunk);
      return file === undefined ? null : readChunkRange(file, start, end);
    },
    onNotice: options.onNotice,
  });
}

/** A chunk of a stream keeps its number when it is sealed under another name; elsewhere the name is what lasts. */
export function chunkNameOf({ layout }: Pick<Run, 'layout'>, file: ChunkFile): string {
  return layout === 'R3' ? String(file.chunk) : file.relativePath;
}
