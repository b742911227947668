/** One moment of a run's upload as plain numbers, put together from whoever keeps them. */
import type { UploadPhase, UploadSnapshot } from '../core/snapshot.js';
import type { Backlog } from '../core/upload/backlog.js';
import type { UploadTally } from '../core/upload/tally.js';
import type { UploadMemory } from '../core/upload/upload-memory.js';
import type { UploaderSnapshot } from '../core/upload/uploader.js';
import { monotonicClock } from './clock.js';
import type { RecordFilter } from './record-filter.js';
import type { RunUploadOptions } from './run-upload-options.js';
import type { UploadFollower } from './upload-follower.js';
import type { UploadSource } from './upload-source.js';

export type SnapshotParts = {
  readonly options: Pick<RunUploadOptions, 'run' | 'name' | 'access' | 'runId'>;
  readonly phase: UploadPhase;
  /** Null before the run was looked at. */
  readonly prepared: {
    readonly runId: string | null;
    readonly tally: UploadTally;
    readonly filter: RecordFilter | null;
    readonly source: UploadSource;
  } | null;
  /** Null before the first request. */
  readonly uploader: UploaderSnapshot | null;
  /** Null where the run is read as it is. */
  readonly follower: UploadFollower | null;
  readonly backlog: Backlog;
  readonly memory: UploadMemory;
  readonly verify: UploadSnapshot['verify'];
  /** Rows of the index of the run, about; null when there is none. */
  readonly indexRows: number | null;
};

const NOTHING_SENT = { episodes: 0, bytes: 0, wireBytes: 0, requests: 0 };

export function snapshotOf(parts: SnapshotParts): UploadSnapshot {
  const { options, prepared, uploader, follower, backlog, memory } = parts;
  const { usedBytes, budgetBytes } = memory.usage;
  const tally = prepared?.tally;
  return {
    run: options.name,
    url: options.access.baseUrl,
    runId: prepared?.runId ?? options.runId,
    team: options.access.teamId,
    phase: phaseOf(parts),
    plan: planOf(parts),
    leftOut: prepared?.filter?.totals.leftOut.episodes ?? null,
    sent: uploader?.sent ?? NOTHING_SENT,
    already: tally?.already ?? { episodes: 0, bytes: 0 },
    queued: uploader?.queued ?? { episodes: 0, bytes: 0 },
    inFlight: { ...(uploader?.inFlight ?? { requests: 0, bytes: 0 }), limit: uploader?.limit ?? null },
    backlog:
      follower === null
        ? null
        : {
            ...backlog.totals(monotonicClock.nowMs()),
            unreadBytes: follower.growth.unreadBytes,
            writer: follower.growth.writer,
          },
    budget: { usedBytes, budgetBytes },
    retries: uploader?.retries ?? 0,
    waiting: waitingOf(uploader?.waiting ?? null),
    verify: parts.verify,
    rejected: uploader?.rejected ?? { count: 0, lastCode: null },
    damaged: tally?.damages().length ?? 0,
  };
}

function phaseOf({ phase, follower }: SnapshotParts): UploadPhase {
  const isUnderWay = phase === 'plan' || phase === 'send';
  return isUnderWay && follower?.hasCaughtUp === true ? 'following' : phase;
}

function planOf(parts: SnapshotParts): UploadSnapshot['plan'] {
  const { options, prepared, follower, indexRows } = parts;
  const leftOut = prepared?.filter?.totals.leftOut ?? { episodes: 0, bytes: 0 };
  const { files } = options.run;
  const runBytes =
    follower?.growth.runBytes ?? files.reduce((sum, file) => sum + (file.uncompressedBytes ?? file.sizeBytes), 0);
  return {
    episodes: ['plan', 'send'].includes(phaseOf(parts)) ? null : (prepared?.tally.planned.episodes ?? 0),
    // An index may lag behind its stream, and the size of a sealed chunk may be known only compressed.
    estimatedEpisodes: indexRows === null ? null : Math.max(0, indexRows - leftOut.episodes),
    bytes: Math.max(0, runBytes - leftOut.bytes),
    chunks: follower?.growth.chunks ?? files.length,
    growing: follower?.growth.growing ?? prepared?.source.growing ?? 0,
  };
}

function waitingOf(waiting: UploaderSnapshot['waiting']): UploadSnapshot['waiting'] {
  if (waiting === null) return null;
  const untilAtMs = Date.now() + Math.max(0, waiting.untilMs - monotonicClock.nowMs());
  return { untilAtMs, asked: waiting.isAsked, code: waiting.code };
}
