/**
 * Seals chunks in the background, one after the other, each in a thread of its own: compressing a chunk takes seconds,
 * and the thread that logs has not one millisecond to spare. A process that goes on to its end waits for them; one that
 * is killed leaves a plain chunk, which the next writer seals.
 */
import { unlink } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import { PrlError, type PrlErrorCode } from '../core/errors.js';
import type { Sealed, SealJob } from './seal-chunk.js';
import { writeFailure } from './write-failure.js';

/** What the thread answers. `code` is the system's, or one of ours. */
export type SealAnswer =
  | { readonly kind: 'sealed'; readonly sealed: Sealed }
  | { readonly kind: 'failed'; readonly code: string | null; readonly message: string; readonly hint: string | null };

export type ChunkSealerOptions = Omit<SealJob, 'path'> & {
  readonly onFailure: (error: PrlError) => void;
  /** The built worker; only tests that run from the sources give it. */
  readonly workerUrl?: URL | undefined;
};

const WORKER_URL = new URL('./seal-worker.js', import.meta.url);

export class ChunkSealer {
  readonly #options: ChunkSealerOptions;
  readonly #waiting: string[] = [];
  #work: Promise<void> | null = null;
  #current: string | null = null;
  readonly #failures: PrlError[] = [];
  #sealed = 0;

  constructor(options: ChunkSealerOptions) {
    this.#options = options;
  }

  /** Chunks that wait for it, and the one that is being sealed. */
  get backlog(): number {
    return this.#waiting.length + (this.#current === null ? 0 : 1);
  }

  get sealed(): number {
    return this.#sealed;
  }

  /** Why chunks stayed plain, in the order it happened. */
  get failures(): readonly PrlError[] {
    return this.#failures;
  }

  /** Seals a plain chunk, after those that were given before. */
  add(path: string): void {
    this.#waiting.push(path);
    this.#work ??= this.#sealAll();
  }

  /** Leaves those that wait plain. */
  giveUpWaiting(): void {
    this.#waiting.length = 0;
  }

  /** Resolves when nothing is left to do. */
  async idle(): Promise<void> {
    while (this.#work !== null) await this.#work;
  }

  async #sealAll(): Promise<void> {
    for (let path = this.#waiting.shift(); path !== undefined; path = this.#waiting.shift()) {
      this.#current = path;
      try {
        await this.#seal(path);
        this.#sealed += 1;
      } catch (cause) {
        const error = cause instanceof PrlError ? cause : writeFailure(`seal ${path}`, cause, 'it stays plain');
        this.#failures.push(error);
        this.#options.onFailure(error);
      }
      this.#current = null;
    }
    this.#work = null;
  }

  async #seal(path: string): Promise<void> {
    const { level, frameBytes, workerUrl = WORKER_URL } = this.#options;
    const job: SealJob = { path, level, frameBytes };
    let answer: SealAnswer | null;
    try {
      // Not with the options of the process: of a script given by --eval, some are refused for a file.
      answer = await ask(new Worker(workerUrl, { workerData: job, execArgv: [] }));
    } catch (error) {
      await unlink(`${path}.zst.tmp`).catch(() => {}); // the thread had no time to; there may be none
      throw error;
    }
    if (answer.kind === 'failed') throw asError(answer);
  }
}

/** What a thread answers. @throws Error when it ends without an answer, of want of memory for instance */
function ask(worker: Worker): Promise<SealAnswer> {
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('the thread ended without an answer')));
  });
}

function asError({ code, message, hint }: Extract<SealAnswer, { kind: 'failed' }>): Error {
  if (code === null || !code.startsWith('PRL_ERR_')) return Object.assign(new Error(message), { code });
  return new PrlError(code as PrlErrorCode, message, hint === null ? {} : { hint });
}
