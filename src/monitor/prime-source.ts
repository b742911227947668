/** Where a prime monitor has its records from: a spool of its own, or a stream that somebody else writes. No logic. */
import type { ChunkSettlement } from '../io/settlement.js';
import type { StreamEnd, UploadBeginning } from '../io/upload-messages.js';
import type { LogOptions } from './monitor-types.js';

/** Records. `admitted = inStream + waiting + refused + failed + skipped`. */
export type SourceCounts = {
  readonly submitted: number;
  readonly admitted: number;
  readonly dropped: number;
  readonly afterClose: number;
  /** In the stream since the monitor was opened. */
  readonly inStream: number;
  /** In memory. */
  readonly waiting: number;
  readonly waitingBytes: number;
  /** Without a JSON form. */
  readonly refused: number;
  readonly failed: number;
  readonly skipped: number;
  /** Bytes of a spool. */
  readonly spoolBytes: number;
};

export type PrimeSource = {
  /** The run directory that is uploaded. */
  readonly directory: string;
  readonly runId: string | null;
  /**
   * Begins. `onReady` is called, once, when there is a stream that can be uploaded, with the end of what an earlier
   * process left in it if that is to be counted.
   * @throws PrlError `PRL_ERR_LOCKED` when another prl writes it
   */
  open(onReady: (leftUpTo: StreamEnd | null) => void): Promise<void>;
  /** Whether there may be records in the stream that did not come since. */
  hasEarlier(): boolean;
  /** Records that an earlier process left unsettled, by what the upload found settled when it began. */
  adopted(beginning: UploadBeginning): number;
  /** Takes records or drops them, at once. False when they were dropped, or came after `close`. */
  log(episodes: readonly unknown[], options: LogOptions): boolean;
  /** Resolves with the end of the stream when everything logged by now is in it or refused; null when it never will be. */
  saved(): Promise<StreamEnd | null>;
  counts(): SourceCounts;
  /** More of the stream is settled. */
  settled(chunks: ReadonlyMap<number, ChunkSettlement>): void;
  /** Takes no more records. */
  close(): void;
  /** Takes to the disk what is still in memory, gives up what it does not take in time, and lets go of the stream. */
  end(chunks: ReadonlyMap<number, ChunkSettlement>, patienceMs: number): Promise<void>;
};
