/**
 * Threads that scan segments, beside the one that asks. Jobs are started in the order they are asked for; who asks waits for the results in that
 * order, so the output does not depend on the number of threads.
 */
import { Worker } from 'node:worker_threads';
import type { SegmentJob, SegmentResult } from './scan-types.js';
import { compiledModules } from './wasm-modules.js';

/** A segment that nobody has begun; whoever takes it must settle it. */
export type WaitingScan = {
  readonly job: SegmentJob;
  readonly resolve: (result: SegmentResult) => void;
  readonly reject: (error: Error) => void;
};

/** What a worker answers. */
export type WorkerAnswer =
  /** It is loaded. What waits until then is better scanned by the thread that asks. */
  | { readonly kind: 'ready' }
  | { readonly kind: 'result'; readonly result: SegmentResult }
  /** Uncompressed bytes scanned since the last answer. */
  | { readonly kind: 'progress'; readonly bytes: number }
  | { readonly kind: 'failed'; readonly message: string; readonly stack: string };

/** Segments that a worker has before it, so that it need not wait for this thread to look up from its own. */
const ASSIGNED = 2;

/** The built worker; under a test runner `src` has none, and tests name the built one. */
const WORKER_URL = new URL('./scan-worker.js', import.meta.url);

export class ScanPool {
  readonly #workers: Worker[] = [];
  readonly #waiting: WaitingScan[] = [];
  /** What each worker that is ready has before it, the first under way. */
  readonly #assigned = new Map<Worker, WaitingScan[]>();
  readonly #onProgress: (bytes: number) => void;

  /** `threads`: 2 or more, the one that asks included. */
  constructor(threads: number, onProgress: (bytes: number) => void, workerUrl = WORKER_URL) {
    this.#onProgress = onProgress;
    for (let index = 1; index < threads; index += 1) this.#start(workerUrl);
  }

  /** The one that asks included. */
  get threads(): number {
    return this.#workers.length + 1;
  }

  /** Scans a segment. @throws Error when the thread fails, which is a bug */
  run(job: SegmentJob): Promise<SegmentResult> {
    const done = new Promise<SegmentResult>((resolve, reject) => this.#waiting.push({ job, resolve, reject }));
    this.#assign();
    return done;
  }

  /** The next segment that waits for a thread, for the thread that asks; null when none waits. */
  takeWaiting(): WaitingScan | null {
    return this.#waiting.shift() ?? null;
  }

  /** Ends all threads, in the middle of a segment if need be. */
  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }

  #start(url: URL): void {
    const worker = new Worker(url, { workerData: compiledModules(), execArgv: [] });
    this.#workers.push(worker);
    worker.on('message', (answer: WorkerAnswer) => this.#take(worker, answer));
    worker.on('error', (error) => this.#fail(worker, error instanceof Error ? error : new Error(String(error))));
  }

  #assign(): void {
    for (let depth = 0; depth < ASSIGNED; depth += 1) {
      for (const [worker, scans] of this.#assigned) {
        if (scans.length > depth) continue;
        const next = this.#waiting.shift();
        if (next === undefined) return;
        scans.push(next);
        worker.postMessage(next.job);
      }
    }
  }

  #take(worker: Worker, answer: WorkerAnswer): void {
    switch (answer.kind) {
      case 'ready':
        this.#assigned.set(worker, []);
        this.#assign();
        break;
      case 'progress':
        this.#onProgress(answer.bytes);
        break;
      case 'failed':
        this.#fail(worker, Object.assign(new Error(answer.message), { stack: answer.stack }));
        break;
      case 'result':
        this.#assigned.get(worker)?.shift()?.resolve(answer.result);
        this.#assign();
        break;
    }
  }

  /** A thread that failed takes no more work; whoever waits learns why. */
  #fail(worker: Worker, error: Error): void {
    const scans = [...(this.#assigned.get(worker) ?? []), ...this.#waiting.splice(0)];
    this.#assigned.delete(worker);
    for (const scan of scans) scan.reject(error);
  }
}
