/** A producer with a prime monitor as a process of its own (prime-child.mjs), and the process that uploads for it. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { onTestFinished } from 'vitest';
import { processExists } from '../../src/io/run-lock.js';
import type { FinishReport, PrimeSnapshot } from '../../src/monitor/prime-types.js';
import { type Running, watchChild } from './child.js';

const CHILD = resolve('test/helpers/prime-child.mjs');

/** Longest wait for something to happen; only a failing test takes so long. */
const PATIENCE_MS = 60_000;

export type ProducerJob = {
  readonly url: string;
  /** Id of the run. */
  readonly run: string;
  readonly state: string;
  readonly count: number;
  readonly prefix?: string;
  readonly from?: number;
  /** Of the text of each episode. */
  readonly bytes?: number;
  readonly pauseMs?: number;
  /** Log into a file monitor of this run as well, and follow its stream. */
  readonly fileRun?: string;
  readonly options?: object;
  readonly end?: 'finish' | 'leave' | 'stay';
};

/** What the producer measured of its calls, with a snapshot. */
export type Logged = PrimeSnapshot & { readonly longestMs: number; readonly p99Ms: number };

export class Producer {
  readonly #running: Running;

  /** In a process group of its own, so that a signal can be sent to all of it. */
  constructor(job: ProducerJob) {
    const child = spawn(process.execPath, [CHILD, JSON.stringify(job)], {
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
      env: { PATH: process.env.PATH ?? '', HOME: job.state },
    });
    this.#running = watchChild(child);
    onTestFinished(async () => {
      child.kill('SIGKILL');
      await this.#running.ended;
    });
  }

  get pid(): number {
    return this.#running.child.pid ?? 0;
  }

  get ended(): Running['ended'] {
    return this.#running.ended;
  }

  /** What was said with this word, in order. */
  said(word: string): string[] {
    return [...this.#running.stdout().matchAll(new RegExp(`^${word} (.*)$`, 'gm'))].map(([, text = '']) => text);
  }

  tell(word: string): void {
    this.#running.child.stdin?.write(`${word}\n`);
  }

  async until(condition: (producer: this) => boolean): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    while (!condition(this)) {
      if (performance.now() > deadline) throw new Error(`in vain: ${condition}; ${this.#said()}`);
      await new Promise((done) => setTimeout(done, 5));
    }
  }

  /** The process that uploads; null while there is none. */
  get uploadPid(): number | null {
    try {
      const children = readFileSync(`/proc/${this.pid}/task/${this.pid}/children`, 'utf8');
      // One that has just died is listed until it was asked how.
      return (
        children
          .trim()
          .split(' ')
          .map(Number)
          .find((pid) => pid > 0 && processExists(pid)) ?? null
      );
    } catch {
      return null; // gone
    }
  }

  /** Waits for the snapshot it takes now. */
  async snapshot(): Promise<PrimeSnapshot> {
    const before = this.said('snapshot').length;
    this.tell('snapshot');
    await this.until((producer) => producer.said('snapshot').length > before);
    return JSON.parse(this.said('snapshot').at(-1) ?? '') as PrimeSnapshot;
  }

  async logged(): Promise<Logged> {
    await this.until((producer) => producer.said('all-logged').length > 0);
    return JSON.parse(this.said('all-logged')[0] ?? '') as Logged;
  }

  /** What `finish` reported; the process has ended by then. */
  async report(): Promise<FinishReport> {
    const { status } = await this.ended;
    if (status !== 0) throw new Error(`status ${status}: ${this.#said()}`);
    return JSON.parse(this.said('report')[0] ?? '') as FinishReport;
  }

  #said(): string {
    return `${this.#running.stdout().slice(-2000)}${this.#running.stderr().slice(-2000)}`;
  }
}

/** Waits until a process is gone. */
export async function gone(pid: number): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (processExists(pid)) {
    if (performance.now() > deadline) throw new Error(`process ${pid} is still there`);
    await new Promise((done) => setTimeout(done, 5));
  }
}

/** Peak resident memory of a process so far, in bytes. */
export function peakBytesOf(pid: number): number {
  return 1024 * Number(/^VmHWM:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}
