/**
 * What the processes that uploaded for a monitor have told, added up. Figures of chunks hold over processes, so that a
 * crash neither loses a record from the account nor counts one twice. Pure.
 */
import type { ChunkSettlement } from '../io/settlement.js';
import type { UploadBeginning, UploadProgress } from '../io/upload-messages.js';

const NOTHING: UploadProgress = {
  chunks: [],
  unanswered: 0,
  open: 0,
  requests: 0,
  wireBytes: 0,
  retries: 0,
  inFlightRequests: 0,
  waiting: null,
  lastRejectedCode: null,
};

export class PrimeLedger {
  /** What was settled before, which is not ours to count. */
  #known = { stored: 0, rejected: 0 };
  #adopted: number | null = null;
  readonly #chunks = new Map<number, ChunkSettlement>();
  #stored = 0;
  #rejected = 0;
  #last = NOTHING;
  readonly #activity = { requests: 0, wireBytes: 0, retries: 0 };

  /** @param adopted records that an earlier process left unsettled */
  begun({ stored, rejected }: UploadBeginning, adopted: number): void {
    this.#known = { stored, rejected };
    this.#adopted = adopted;
  }

  progress(progress: UploadProgress): void {
    this.#activity.requests += progress.requests;
    this.#activity.wireBytes += progress.wireBytes;
    this.#activity.retries += progress.retries;
    this.#last = progress;
    for (const chunk of progress.chunks) {
      const before = this.#chunks.get(chunk.chunk);
      this.#stored += chunk.stored - (before?.stored ?? 0);
      this.#rejected += chunk.rejected - (before?.rejected ?? 0);
      this.#chunks.set(chunk.chunk, chunk);
    }
  }

  /** How far each chunk is settled, of which that was told. */
  get chunks(): ReadonlyMap<number, ChunkSettlement> {
    return this.#chunks;
  }

  /** Whether it is known what was there before. */
  get hasBegun(): boolean {
    return this.#adopted !== null;
  }

  get adopted(): number {
    return this.#adopted ?? 0;
  }

  get stored(): number {
    return Math.max(0, this.#stored - this.#known.stored);
  }

  get rejected(): number {
    return Math.max(0, this.#rejected - this.#known.rejected);
  }

  /** Handed over without an answer. */
  get unanswered(): number {
    return this.#last.unanswered;
  }

  /** Read by the process and not settled. */
  get open(): number {
    return this.#last.open;
  }

  get lastRejectedCode(): string | null {
    return this.#last.lastRejectedCode;
  }

  get activity(): Pick<UploadProgress, 'requests' | 'wireBytes' | 'retries' | 'inFlightRequests' | 'waiting'> {
    const { inFlightRequests, waiting } = this.#last;
    return { ...this.#activity, inFlightRequests, waiting };
  }
}
