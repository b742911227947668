/**
 * The records of a stream that somebody else writes: a file monitor of this process, or whoever writes a run directory.
 * Nothing is encoded and nothing waits in memory; `log` counts, so that a record that never came into the stream is told.
 */

import { endOfRun } from '../io/run-end.js';
import type { ChunkSettlement } from '../io/settlement.js';
import type { StreamEnd } from '../io/upload-messages.js';
import type { FileMonitor } from './file-monitor.js';
import type { PrimeSource, SourceCounts } from './prime-source.js';

/** Where the records come from, and how many came since it was opened. */
type Stream = {
  readonly directory: string;
  readonly runId: string | null;
  /** Null where what was there before is not told apart. */
  readonly leftUpTo: StreamEnd | null;
  inStream(): number;
  /** Resolves when everything written by now is in the files. */
  end(): Promise<StreamEnd>;
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
    const { lines, chunk, liveBytes } = monitor.snapshot().stream;
    return new FollowedSource({
      directory: monitor.runDirectory,
      runId: monitor.runId,
      leftUpTo: { chunk, offset: liveBytes },
      inStream: () => monitor.snapshot().stream.lines - lines,
      end: async () => {
        await monitor.flush().catch(() => {}); // told by the monitor; what is in the stream is there
        const { stream } = monitor.snapshot();
        return { chunk: stream.chunk, offset: stream.liveBytes };
      },
    });
  }

  /**
   * The stream of a run directory, whoever writes it.
   * @param read records of it that were read and are not those of an earlier upload
   */
  static ofDirectory(directory: string, runId: string | null, read: () => number): FollowedSource {
    return new FollowedSource({ directory, runId, leftUpTo: null, inStream: read, end: () => endOfRun(directory) });
  }

  get directory(): string {
    return this.#stream.directory;
  }

  get runId(): string | null {
    return this.#stream.runId;
  }

  async open(onReady: (leftUpTo: StreamEnd | null) => void): Promise<void> {
    onReady(this.#stream.leftUpTo);
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
