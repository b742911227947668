/** A run that a process of its own uploads in the background of a test: what it says, and what it can be told. */
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type {
  RejectedRecord,
  UploadBeginning,
  UploadEnd,
  UploadJob,
  UploadProgress,
} from '../../src/io/upload-messages.js';
import { UploadProcess } from '../../src/io/upload-process.js';
import { accessTo } from './access.js';

/** From the sources. */
export const UPLOAD_CHILD = new URL('./upload-child.mjs', import.meta.url);

/** Longest wait for something to happen; only a failing test takes so long. */
const PATIENCE_MS = 100_000;

export type UploadingOptions = Partial<UploadJob> & {
  readonly root: string;
  readonly url: string;
  readonly childUrl?: URL;
};

export class Uploading {
  readonly process: UploadProcess;
  readonly beginnings: UploadBeginning[] = [];
  readonly progress: UploadProgress[] = [];
  readonly notices: string[] = [];
  end: UploadEnd | null = null;
  rejected: readonly RejectedRecord[] = [];
  readonly #chunks = new Map<number, UploadProgress['chunks'][number]>();

  /** Starts at once. */
  constructor({ root, url, childUrl = UPLOAD_CHILD, ...change }: UploadingOptions) {
    const job: UploadJob = {
      path: root,
      access: accessTo(url),
      serviceName: 'one service',
      fallbackRunId: null,
      concurrency: 2,
      targetBytes: 1_000_000,
      budgetBytes: 64_000_000,
      compress: 'none',
      lingerMs: 20,
      leftUpTo: null,
      environment: { PRL_STATE_DIR: join(root, '../state') },
      ...change,
    };
    this.process = new UploadProcess({
      job,
      childUrl,
      nowMs: () => performance.now(),
      listener: {
        begun: (beginning) => void this.beginnings.push(beginning),
        progress: (progress) => this.#note(progress),
        // Nobody has the files of these runs open, and they grow all the same.
        notice: (message) => void (/^nobody seems to write/.test(message) || this.notices.push(message)),
        ended: (end, rejected) => {
          this.end = end;
          this.rejected = rejected;
        },
      },
    });
    onTestFinished(() => this.process.stop());
    this.process.start();
  }

  get retries(): number {
    return this.progress.reduce((sum, { retries }) => sum + retries, 0);
  }

  /** Records stored, of all chunks. */
  get stored(): number {
    return [...this.#chunks.values()].reduce((sum, { stored }) => sum + stored, 0);
  }

  async until(condition: (uploading: this) => boolean): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    while (!condition(this)) {
      if (performance.now() > deadline) {
        throw new Error(`in vain: ${condition}; ${JSON.stringify([this.end, this.notices, this.progress.at(-1)])}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  #note(progress: UploadProgress): void {
    this.progress.push(progress);
    for (const chunk of progress.chunks) this.#chunks.set(chunk.chunk, chunk);
  }
}
