/** What following a run takes and tells. No logic. */
import type { StreamRecord } from '../core/scan/types.js';
import type { Clock } from '../core/upload/types.js';
import type { ReadRecordsOptions, RunEvent } from './run-records.js';
import type { Subset } from './run-rollouts.js';
import type { WriterEvidence } from './writer-alive.js';

/** A place in a run: the first byte of a line, or the end of the last one. */
export type FollowPlace = {
  /** Number in the stream, or position in `Run.files`; the chunks before it are passed over. */
  readonly chunk: number;
  /** Uncompressed bytes. */
  readonly offset: number;
  /** Physical line at the place, from 1; left out, the lines of the chunk are counted from the place on. */
  readonly lineNumber?: number;
};

export type FollowOptions = Pick<
  ReadRecordsOptions,
  'skip' | 'maxLineBytes' | 'lenient' | 'units' | 'unitOf' | 'signal'
> & {
  /**
   * Where to begin; default `start`. `end`: behind the last whole line there is when the first event is asked for, lines
   * then counted from 1. `skip` holds for what is read from there on, as far as nothing is rewritten.
   */
  readonly from?: 'start' | 'end' | FollowPlace;
  /** Longest time between two looks at the files, in milliseconds; default 500. A look that takes long is followed by a longer pause. */
  readonly pollMs?: number;
  /** A stream untouched for as long as this counts as idle, in milliseconds; default 300,000. */
  readonly idleMs?: number;
  /** End by itself once the writer is finished (spec 05 section 6) and all it wrote has been told. */
  readonly untilFinished?: boolean;
  /** Once aborted nothing more is awaited: what is there by then is told, a last line without its LF too, and it ends. */
  readonly ends?: AbortSignal;
  /** After a rewrite tell every record once more, to whoever knows records by their bytes; default false. */
  readonly retells?: boolean;
  /** Let the system report changes, which only makes the next look come sooner; default true. */
  readonly watches?: boolean;
  /** Which copy of R1 rollouts to read, for a run given by its path. */
  readonly subset?: Subset;
  readonly clock?: Clock;
};

export type FollowEvent =
  /** As `readRecords` tells them; the `file` event with sums comes when a chunk can no longer grow. */
  | RunEvent
  /** What was read of a file no longer stands: it is read again from its start, without the episodes told before. */
  | { readonly type: 'rewritten'; readonly file: string; readonly chunk: number; readonly reason: string }
  /** A line without its LF stands at the end: no data yet. Told when it changes; `bytes` is 0 when it was taken back. */
  | {
      readonly type: 'growing';
      readonly file: string;
      readonly chunk: number;
      readonly offset: number;
      readonly bytes: number;
    }
  /** All that is there was told. Comes once after the first look, then after each look that told something. */
  | { readonly type: 'caught-up' }
  /** Whether somebody still writes; comes when that changes. */
  | ({ readonly type: 'writer' } & WriterEvidence)
  /** What a user may want to know and no data was lost by. */
  | { readonly type: 'notice'; readonly message: string };

/** What all parts of one following share. */
export type FollowContext = {
  /** Of the run; links resolved. */
  readonly root: string;
  readonly reading: Omit<ReadRecordsOptions, 'signal'>;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Whether a record is to be told: after a rewrite, one that was told before is not. */
  readonly told: ToldRecords;
};

export type ToldRecords = {
  /** Notes a record; false when it was told before the last rewrite. */
  admit(record: Pick<StreamRecord, 'bytes'>): boolean;
  /** From here on what was noted counts as told before. */
  rewritten(): void;
};

/** A directory, and the one entry of it that matters; null for all of them. */
export type WatchedPlace = { readonly directory: string; readonly name: string | null };

/** The files of a run, looked at again and again. */
export type FollowSource = {
  /** Tells what is new, to its end; handles stay open for the next sweep. */
  sweep(): AsyncGenerator<FollowEvent, void>;
  /** Tells what is left when nothing will be added any more, and closes. */
  finish(): AsyncGenerator<FollowEvent, void>;
  close(): Promise<void>;
  /** What changes when a sweep is worth its while; null when that cannot be said. */
  readonly watched: WatchedPlace | null;
};
