/**
 * What an upload holds in memory, against its budget (U7): lines of batches that are open, counted as they are read; and
 * of each batch its lines and its body until it is settled, so that what is kept for a retry is inside. A body counts as
 * large as it could become until it is packed: a batch on its way then never needs more than it holds, and only the
 * reader waits.
 */
import { ByteBudget, type Share } from './byte-budget.js';
import { PACK_WINDOW_BYTES, PACK_WINDOWS } from './limits.js';
import type { Batch } from './types.js';

export type UploadMemoryOptions = {
  readonly budgetBytes: number;
  /** Bodies are slices of the lines, as without compression, and cost nothing of their own. */
  readonly sharesLines: boolean;
  /** Default none. */
  readonly packingThreads?: number;
};

/** Lines of batches that are not closed yet. */
export type OpenLines = { readonly lines: number; readonly bytes: number };

/** The memory of one batch. */
export type BatchMemory = {
  /** The body is there, and so large; that of an earlier attempt to send the same lines is gone. */
  packed(bodyBytes: number): void;
  release(): void;
};

/** A line beside its bytes: slices, ids, address, evidence, digest (resident memory of 300,000 lines of 100 bytes, Node 24). */
const LINE_BYTES = 1280;
/** Deflate stores what it cannot compress, in blocks that cost 5 bytes in 16 KiB or more; 1 in 1,000 is above that. */
const GROWTH_RATIO = 1.001;
/** The most of the budget that is kept for a line which is still to be read: after a huge one comes a small one. */
const NEXT_LINE_SHARE = 1 / 8;
/** Frame of a body, and the state of its compression. */
const BODY_BYTES = 512 * 1024;

/** More threads than this are ahead of any network that a run is sent over. */
const MOST_THREADS = 4;
/** Of the budget for each thread: a small budget has no work for many. */
const BUDGET_OF_THREAD = 64 * 1024 * 1024;
/** What a thread takes, its heap and what it has not collected yet (Node 24). */
const THREAD_BYTES = 26 * 1024 * 1024;
/** Threads that are part of the program itself, beside the budget; what more of them take is inside. */
const OWN_THREADS = 2;

/** How many threads pack: one a core, as far as there is work and memory for them. */
export function packingThreads(budgetBytes: number, cores: number): number {
  return Math.max(1, Math.min(MOST_THREADS, cores, Math.floor(budgetBytes / BUDGET_OF_THREAD)));
}

export class UploadMemory {
  readonly #budget: ByteBudget;
  readonly #threadBytes: number;
  readonly #sharesLines: boolean;
  readonly #reading: Share;

  constructor({ budgetBytes, sharesLines, packingThreads: threads = 0 }: UploadMemoryOptions) {
    this.#threadBytes = THREAD_BYTES * Math.max(0, threads - OWN_THREADS);
    this.#budget = new ByteBudget(budgetBytes - this.#threadBytes);
    this.#sharesLines = sharesLines;
    this.#reading = this.#budget.share();
  }

  get usage(): { readonly usedBytes: number; readonly budgetBytes: number; readonly peakBytes: number } {
    const { usedBytes, budgetBytes, peakBytes } = this.#budget;
    const threadBytes = this.#threadBytes;
    return {
      usedBytes: usedBytes + threadBytes,
      budgetBytes: budgetBytes + threadBytes,
      peakBytes: peakBytes + threadBytes,
    };
  }

  /** The bytes a batch may aim at: a batch and its body fit into the budget together, so that only a line can be above it. */
  fitBatch(targetBytes: number, onNotice: (message: string) => void): number {
    const { budgetBytes } = this.#budget;
    const fitting = (room: number): number => Math.max(1, Math.floor(room / (1 + GROWTH_RATIO)));
    const small = Math.min(PACK_WINDOW_BYTES - 1, fitting(budgetBytes - BODY_BYTES));
    const largest = Math.max(small, fitting(budgetBytes - BODY_BYTES - windowBytes(PACK_WINDOW_BYTES)));
    if (targetBytes <= largest) return targetBytes;
    onNotice(
      `requests aim at ${largest} bytes, not at ${targetBytes}: a budget of ${this.usage.budgetBytes} has no room for more`,
    );
    return largest;
  }

  /**
   * For the reader, before it reads on: waits until the lines of open batches fit, and another line as large as the last,
   * which will be in memory before anybody knows its size. A reader that nobody else can make room for goes on all the
   * same. Rejects with the reason of the signal.
   */
  hold({ lines, bytes }: OpenLines, lastLineBytes: number, signal: AbortSignal): Promise<void> {
    const nextLineBytes = Math.min(lastLineBytes, this.#budget.budgetBytes * NEXT_LINE_SHARE);
    return this.#reading.resize(this.#unpackedBytes(lines, bytes) + nextLineBytes, signal);
  }

  /** The reader holds nothing any more. */
  endReading(): void {
    this.#reading.release();
  }

  /** A closed batch, which the reader holds no longer. To be released once it is settled. */
  take({ lines, batchBytes }: Batch): BatchMemory {
    const share = this.#reading.split(this.#unpackedBytes(lines.length, batchBytes));
    const linesBytes = lineCost(lines.length, batchBytes);
    return {
      packed: (bodyBytes) => share.settle(linesBytes + (this.#sharesLines ? BODY_BYTES : bodyBytes)),
      release: () => share.release(),
    };
  }

  #unpackedBytes(lines: number, bytes: number): number {
    if (lines === 0) return 0;
    const bodyBytes = this.#sharesLines ? 0 : Math.ceil(bytes * GROWTH_RATIO);
    return lineCost(lines, bytes) + bodyBytes + BODY_BYTES + windowBytes(bytes);
  }
}

/** What a thread holds of a batch while it packs it. */
function windowBytes(batchBytes: number): number {
  return batchBytes < PACK_WINDOW_BYTES ? 0 : PACK_WINDOWS * PACK_WINDOW_BYTES;
}

function lineCost(lines: number, bytes: number): number {
  return bytes + lines * LINE_BYTES;
}
