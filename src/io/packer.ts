/**
 * Packs batches in threads, a batch a thread: hashing and compressing are nearly all that an upload costs, and the loop
 * that reads, sends and draws has no time for them. Lines reach a thread through a few windows that are used again and
 * again, so a batch that is packed costs its lines, its body and 3 MiB. Where no thread can be started (a bundle without
 * its file, no memory left) batches are packed in this one.
 */
import { Worker } from 'node:worker_threads';
import { PACK_WINDOW_BYTES, PACK_WINDOWS } from '../core/upload/limits.js';
import { Turns } from '../core/upload/turns.js';
import type { Batch, PackedBatch } from '../core/upload/types.js';
import { framed, GZIP_LEVEL, type PackOptions, packBatch } from './pack.js';
import type { PackAnswer, PackDigests, PackWindow, PackWindows } from './pack-messages.js';

const WORKER_URL = new URL('./pack-worker.js', import.meta.url);

export type PackerOptions = {
  /** 1 or more. */
  readonly threads: number;
  /** The built worker; only tests that run from the sources give it. */
  readonly workerUrl?: URL;
};

export class Packer {
  readonly #turns: Turns;
  readonly #workerUrl: URL;
  readonly #idle: PackThread[] = [];
  readonly #all = new Set<PackThread>();
  #hasThreads = true;

  constructor({ threads, workerUrl = WORKER_URL }: PackerOptions) {
    this.#turns = new Turns(threads);
    this.#workerUrl = workerUrl;
  }

  /** As `packBatch`. As many at once as there are threads: all of them at once would end at once, and the service wait. */
  pack(batch: Batch, options: PackOptions = {}): Promise<PackedBatch> {
    return this.#turns.take(() => this.#pack(batch, options));
  }

  /** Ends the threads, in the middle of a batch if need be. */
  async close(): Promise<void> {
    this.#hasThreads = false;
    await Promise.all([...this.#all].map((thread) => thread.close()));
  }

  async #pack(batch: Batch, options: PackOptions): Promise<PackedBatch> {
    options.signal?.throwIfAborted();
    if (!this.#hasThreads || batch.batchBytes < PACK_WINDOW_BYTES) return packBatch(batch, options);
    const thread = this.#idle.pop() ?? this.#start();
    try {
      const packed = await thread.pack(batch, options);
      this.#idle.push(thread);
      return packed;
    } catch (error) {
      this.#all.delete(thread);
      await thread.close();
      if (options.signal?.aborted === true || !(error instanceof LostThread)) throw error;
      this.#hasThreads = false;
      return packBatch(batch, options);
    }
  }

  #start(): PackThread {
    const thread = new PackThread(this.#workerUrl);
    this.#all.add(thread);
    return thread;
  }
}

/** The thread could not be started, or has ended by itself. */
class LostThread extends Error {}

/** One thread, and the windows through which it gets its lines. One batch at a time. */
class PackThread {
  readonly #worker: Worker;
  readonly #windows: readonly Uint8Array[];
  /** Which of them are not the thread's. */
  readonly #free: number[];
  /** What is being waited for: the batch, and on the way there a window. */
  #batch: PromiseWithResolvers<PackDigests> | null = null;
  #window: PromiseWithResolvers<number> | null = null;
  #payload: Buffer[] = [];
  #lost: LostThread | null = null;

  constructor(url: URL) {
    const workerData: PackWindows = Array.from(
      { length: PACK_WINDOWS },
      () => new SharedArrayBuffer(PACK_WINDOW_BYTES),
    );
    this.#windows = workerData.map((memory) => new Uint8Array(memory));
    this.#free = [...this.#windows.keys()];
    // Not with the options of the process: of a script given by --eval, some are refused for a file.
    this.#worker = new Worker(url, { workerData, execArgv: [] });
    this.#worker.on('message', (answer: PackAnswer) => this.#take(answer));
    this.#worker.on('error', (error) => this.#lose(String(error)));
    this.#worker.on('exit', () => this.#lose('the thread has ended'));
  }

  /** @throws LostThread, the signal's reason, and nothing else; the thread is of no use afterwards */
  async pack(batch: Batch, options: PackOptions): Promise<PackedBatch> {
    const { compress = 'gzip', level = GZIP_LEVEL, signal } = options;
    const packing = Promise.withResolvers<PackDigests>();
    packing.promise.catch(() => {}); // told where it is awaited
    this.#batch = packing;
    this.#payload = [];
    const onAbort = (): void => this.#fail(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    this.#worker.ref();
    try {
      await this.#feed(batch, compress === 'gzip' ? level : null, signal);
      const digests = await packing.promise;
      const payload = compress === 'gzip' ? this.#payload : batch.lines.flatMap(({ parts }) => parts);
      return framed(batch, options, { ...digests, payload });
    } finally {
      signal?.removeEventListener('abort', onAbort);
      this.#batch = null;
      this.#payload = [];
      // A thread that has nothing to do keeps no process alive.
      this.#worker.unref();
    }
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  async #feed(batch: Batch, level: number | null, signal: AbortSignal | undefined): Promise<void> {
    const filler = new WindowFiller(batch);
    for (let isLast = false; !isLast; ) {
      if (this.#lost !== null) throw this.#lost;
      const index = this.#free.pop() ?? (await this.#nextFree());
      signal?.throwIfAborted();
      const filled = filler.fill(this.#windows[index] as Uint8Array);
      isLast = filler.isAtEnd;
      const window: PackWindow = { index, ...filled, isLast, level };
      this.#worker.postMessage(window);
    }
  }

  #nextFree(): Promise<number> {
    this.#window = Promise.withResolvers<number>();
    return this.#window.promise;
  }

  #take({ index, payload, digests }: PackAnswer): void {
    if (payload !== null) this.#payload.push(Buffer.from(payload.buffer));
    if (digests !== null) this.#batch?.resolve(digests);
    if (this.#window === null) this.#free.push(index);
    else this.#window.resolve(index);
    this.#window = null;
  }

  #lose(reason: string): void {
    this.#lost ??= new LostThread(reason);
    this.#fail(this.#lost);
  }

  #fail(reason: unknown): void {
    this.#batch?.reject(reason);
    this.#window?.reject(reason);
  }
}

/** Fills windows with the lines of a batch, in order. */
class WindowFiller {
  readonly #batch: Batch;
  #line = 0;
  #part = 0;
  #offset = 0;

  constructor(batch: Batch) {
    this.#batch = batch;
  }

  get isAtEnd(): boolean {
    return this.#line >= this.#batch.lines.length;
  }

  fill(window: Uint8Array): Pick<PackWindow, 'length' | 'lineEnds'> {
    const lineEnds: number[] = [];
    let length = 0;
    while (!this.isAtEnd) {
      const part = this.#batch.lines[this.#line]?.parts[this.#part];
      if (part === undefined) {
        lineEnds.push(length);
        this.#line += 1;
        this.#part = 0;
        continue;
      }
      if (length === window.length) break;
      const slice = part.subarray(this.#offset, this.#offset + window.length - length);
      window.set(slice, length);
      length += slice.length;
      this.#offset += slice.length;
      if (this.#offset < part.length) continue;
      this.#part += 1;
      this.#offset = 0;
    }
    return { length, lineEnds };
  }
}
