/**
 * Tells how an upload stands, ten times a second at most and only what changed, to a producer whose event loop is its
 * own; and when everything before a place is settled. Looks, and is never called by the upload.
 */
import { openRun } from './run.js';
import type { RunUpload } from './run-upload.js';
import type { ChunkSettlement, UploadSettlement } from './settlement.js';
import type { FromUpload, StreamEnd, UploadBeginning, UploadProgress } from './upload-messages.js';

const REPORT_MS = 100;
/** How often as long as a look the rest after it is. */
const RESTS = 9;

const NO_ACTIVITY = { requests: 0, wireBytes: 0, retries: 0 };

export type UploadReporterOptions = {
  /** Of the run. */
  readonly path: string;
  readonly tell: (message: FromUpload) => void;
};

export class UploadReporter {
  readonly #path: string;
  readonly #tell: (message: FromUpload) => void;
  readonly #awaited = new Map<number, StreamEnd>();
  readonly #timer: NodeJS.Timeout;
  #upload: RunUpload | null = null;
  #hasBegun = false;
  readonly #toldChunks = new Map<number, string>();
  #toldActivity = NO_ACTIVITY;
  #told = '';
  #looking: Promise<void> | null = null;
  #restUntilMs = 0;

  constructor({ path, tell }: UploadReporterOptions) {
    this.#path = path;
    this.#tell = tell;
    this.#timer = setInterval(() => this.#tick(), REPORT_MS);
  }

  /** Tells with what the work of this process begins; once. */
  begin(beginning: UploadBeginning): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    this.#tell({ type: 'begun', beginning });
  }

  /** From now on this upload of the run is told of. */
  watch(upload: RunUpload): void {
    this.#upload = upload;
    this.#toldActivity = NO_ACTIVITY;
  }

  tellWhenSettled(id: number, place: StreamEnd): void {
    this.#awaited.set(id, place);
    void this.#look();
  }

  /** Tells once more, and no more after that. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
    await this.#look();
  }

  #tick(): void {
    if (performance.now() >= this.#restUntilMs) void this.#look();
  }

  /** One look at a time, and a tenth of the time at most: a run of a million requests has much to look through. */
  #look(): Promise<void> {
    const startMs = performance.now();
    this.#looking ??= this.#report().finally(() => {
      this.#looking = null;
      this.#restUntilMs = performance.now() + (performance.now() - startMs) * RESTS;
    });
    return this.#looking;
  }

  async #report(): Promise<void> {
    const settlement = this.#upload?.settlement() ?? null;
    if (settlement !== null) this.#tellProgress(settlement);
    for (const [id, place] of this.#awaited) {
      if (!(await this.#isSettled(place, settlement?.chunks ?? []))) continue;
      this.#awaited.delete(id);
      this.#tell({ type: 'passed', id });
    }
  }

  #tellProgress(settlement: UploadSettlement): void {
    const progress = this.#progressOf(settlement);
    const { chunks, requests, wireBytes, retries, ...state } = progress;
    const text = JSON.stringify(state);
    if (text === this.#told && chunks.length === 0 && requests + wireBytes + retries === 0) return;
    this.#told = text;
    this.#tell({ type: 'progress', progress });
  }

  #progressOf({ chunks, open, unanswered }: UploadSettlement): UploadProgress {
    const { sent, retries, inFlight, waiting, rejected } = (this.#upload as RunUpload).snapshot();
    const changed = chunks.filter((chunk) => this.#toldChunks.get(chunk.chunk) !== JSON.stringify(chunk));
    for (const chunk of changed) this.#toldChunks.set(chunk.chunk, JSON.stringify(chunk));
    const before = this.#toldActivity;
    this.#toldActivity = { requests: sent.requests, wireBytes: sent.wireBytes, retries };
    return {
      chunks: changed,
      unanswered,
      open,
      requests: sent.requests - before.requests,
      wireBytes: sent.wireBytes - before.wireBytes,
      retries: retries - before.retries,
      inFlightRequests: inFlight.requests,
      waiting,
      lastRejectedCode: rejected.lastCode,
    };
  }

  /** Whether every line that ends at the place or before is settled. */
  async #isSettled({ chunk, offset }: StreamEnd, chunks: readonly ChunkSettlement[]): Promise<boolean> {
    const ends = new Map(chunks.map((one) => [one.chunk, one.endBytes]));
    if ((ends.get(chunk) ?? 0) < offset) return false;
    const run = await openRun(this.#path).catch(() => null); // not there yet, or away for the moment
    if (run === null) return chunk === 0 && offset === 0;
    return run.files.every((file) => {
      const bytes = file.uncompressedBytes ?? file.sizeBytes;
      return file.chunk >= chunk || (ends.get(file.chunk) ?? 0) >= bytes;
    });
  }
}
