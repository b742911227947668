/**
 * Threads that scan segments. Jobs are started in the order they are asked for; who asks waits for the results in that
 * order, so the output does not depend on the number of threads.
 */
import { Worker } from 'node:worker_threads';
import type { SegmentJob, SegmentResult } from './scan-types.js';

/** What a worker answers. */
export type WorkerAnswer =
  | { readonly kind: 'result'; readonly result: SegmentResult }
  /** Uncompressed bytes scanned since the last answer. */
  | { readonly kind: 'progress'; readonly bytes: number }
  | { readonly kind: 'failed'; readonly message: string; readonly stack: string };

type Task = {
  readonly job: SegmentJob;
  readonly resolve: (result: SegmentResult) => void;
  readonly reject: (error: Error) => void;
};

/** The built worker; under a test runner `src` has none, and tests name the built one. */
const WORKER_URL = new URL('./scan-worker.js', import.meta.url);

export class ScanPool {
  readonly #workers: Worker[] = [];
  readonly #idle: Worker[] = [];
  readonly #waiting: Task[] = [];
  readonly #running = new Map<Worker, Task>();
  readonly #onProgress: (bytes: number) => void;

  constructor(threads: number, onProgress: (bytes: number) => void, workerUrl = WORKER_URL) {
    this.#onProgress = onProgress;
    for (let index = 0; index < threads; index += 1) this.#start(workerUrl);
  }

  get threads(): number {
    return this.#workers.length;
  }

  /** Scans a segment. @throws Error when the thread fails, which is a bug */
  run(job: SegmentJob): Promise<SegmentResult> {
    const done = new Promise<SegmentResult>((resolve, reject) => this.#waiting.push({ job, resolve, reject }));
    this.#assign();
    return done;
  }

  /** Ends all threads, in the middle of a segment if need be. */
  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }

  #start(url: URL): void {
    const worker = new Worker(url);
    this.#workers.push(worker);
    this.#idle.push(worker);
    worker.on('message', (answer: WorkerAnswer) => this.#take(worker, answer));
    worker.on('error', (error) => this.#fail(worker, error instanceof Error ? error : new Error(String(error))));
  }

  #assign(): void {
    while (this.#waiting.length > 0) {
      const worker = this.#idle.pop();
      if (worker === undefined) return;
      const task = this.#waiting.shift() as Task;
      this.#running.set(worker, task);
      worker.postMessage(task.job);
    }
  }

  #take(worker: Worker, answer: WorkerAnswer): void {
    if (answer.kind === 'progress') {
      this.#onProgress(answer.bytes);
      return;
    }
    if (answer.kind === 'failed') {
      const error = new Error(answer.message);
      error.stack = answer.stack;
      this.#fail(worker, error);
      return;
    }
    const task = this.#running.get(worker);
    this.#running.delete(worker);
    this.#idle.push(worker);
    task?.resolve(answer.result);
    this.#assign();
  }

  /** A thread that failed takes no more work; whoever waits learns why. */
  #fail(worker: Worker, error: Error): void {
    this.#running.get(worker)?.reject(error);
    this.#running.delete(worker);
    if (this.#running.size > 0 || this.#idle.length > 0) return;
    for (const task of this.#waiting.splice(0)) task.reject(error);
  }
}
