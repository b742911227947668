/**
 * The records of a stream that somebody else writes: a file monitor of this process, or whoever writes a run directory.
 * Nothing is encoded and nothing waits in memory; `log` counts, so that a record that never came into the stream is told.
 */

import { endOfRun } from '../io/run-end.js';
import type { ChunkSettlement } from '../io/settlement.js';
import type { StreamEnd, UploadBeginning } from '../io/upload-messages.js';
import type { FileMonitor } from './file-monitor.js';
import type { PrimeSource, SourceCounts } from './prime-source.js';

/** Where the records come from, and how many came since it was opened. */
type Stream = {
  readonly directory: string;
  readonly runId: string | null;
  /** Records that were there; null where those are not told apart from what came since. */
  readonly earlier: number | null;
  inStream(): number;
  /** Resolves when everything written by now is in the files; with null when they cannot be read. */
  end(): Promise<StreamEnd | null>;
};

export class FollowedSource implements PrimeSource {
  readonly #stream: Stream;
  #afterClose = 0;
  #isClosed = false;

  private constructor(stream: Stream) {
    this.#stream = stream;
  }

  /** The stream of a monitor, from where it is now. */
  static ofMonitor(monitor: FileMonitor): FollowedSource {
    const { earlierEpisodes, stream } = monitor.snapshot();
    const { lines } = stream;
    return new FollowedSource({
      directory: monitor.runDirectory,
      runId: monitor.runId,
      earlier: earlierEpisodes + lines,
      inStream: () => monitor.snapshot().stream.lines - lines,
      end: async () => {
        await monitor.flush().catch(() => {}); // told by the monitor; what is in the stream is there
        const { chunk, liveBytes } = monitor.snapshot().stream;
        return { chunk, offset: liveBytes };
      },
    });
  }

  /**
   * The stream of a run directory, whoever writes it.
   * @param read records of it that were read and are not those of an earlier upload
   */
  static ofDirectory(directory: string, runId: string | null, read: () => number): FollowedSource {
    return new FollowedSource({ directory, runId, earlier: null, inStream: read, end: () => endOfRun(directory) });
  }

  get directory(): string {
    return this.#stream.directory;
  }

  get runId(): string | null {
    return this.#stream.runId;
  }

  async open(onReady: (leftUpTo: StreamEnd | null) => void): Promise<void> {
    onReady(null);
  }

  hasEarlier(): boolean {
    return this.#stream.earlier !== 0;
  }

  adopted({ stored, rejected }: UploadBeginning): number {
    const { earlier } = this.#stream;
    return earlier === null ? 0 : Math.max(0, earlier - stored - rejected);
  }

  log(episodes: readonly unknown[]): boolean {
    if (this.#isClosed) this.#afterClose += episodes.length;
    return !this.#isClosed;
  }

  saved(): Promise<StreamEnd | null> {
    return this.#stream.end();
  }

  counts(): SourceCounts {
    const inStream = this.#stream.inStream();
    const afterClose = this.#afterClose;
    const nothing = { dropped: 0, waiting: 0, waitingBytes: 0, refused: 0, failed: 0, skipped: 0, spoolBytes: 0 };
    return { ...nothing, inStream, admitted: inStream, submitted: inStream + afterClose, afterClose };
  }

  settled(_chunks: ReadonlyMap<number, ChunkSettlement>): void {}

  close(): void {
    this.#isClosed = true;
  }

  async end(): Promise<void> {}
}
