/**
 * A producer's hold on the process that uploads for it: starts it, starts it again when it crashed, and ends it in time.
 * Nothing here keeps the producer's own process alive; what is not sent lies on disk.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { messageOf } from '../core/errors.js';
import { Restarts } from '../core/upload/restarts.js';
import type {
  FromUpload,
  RejectedRecord,
  StreamEnd,
  ToUpload,
  UploadBeginning,
  UploadEnd,
  UploadJob,
  UploadProgress,
} from './upload-messages.js';

export type UploadProcessOptions = {
  readonly job: UploadJob;
  /** Told in the order of the messages; each returns at once. */
  readonly listener: UploadListener;
  /** The built child; only tests that run from the sources give it. */
  readonly childUrl?: URL | undefined;
  /** Monotonic. */
  readonly nowMs: () => number;
};

export type UploadListener = {
  /** Of the first process alone: later ones go on with what it began. */
  readonly begun: (beginning: UploadBeginning) => void;
  readonly progress: (progress: UploadProgress) => void;
  readonly notice: (message: string) => void;
  /** It came to an end of its own. */
  readonly ended: (end: UploadEnd, rejected: readonly RejectedRecord[]) => void;
};

type Awaited = { readonly id: number; readonly place: StreamEnd; readonly resolve: (isSettled: boolean) => void };

const CHILD_URL = new URL('./upload-child.js', import.meta.url);
/** How long an end that was asked for may take. */
const END_BUDGET_MS = 2_000;
/** Longest wait for another start when somebody waits for the end. */
const HURRIED_MS = 2_000;
const KEPT_CHARACTERS = 2_000;

export class UploadProcess {
  readonly #options: UploadProcessOptions;
  readonly #restarts = new Restarts();
  readonly #awaited = new Map<number, Awaited>();
  #child: ChildProcess | null = null;
  #restart: NodeJS.Timeout | null = null;
  #isDraining = false;
  #isStopping = false;
  #hasBegun = false;
  #hasEnded = false;
  #nextId = 0;
  #crashes = 0;
  #isWantedAgain = false;
  /** Resolves when no process is left. */
  #gone: PromiseWithResolvers<void> | null = null;

  constructor(options: UploadProcessOptions) {
    this.#options = options;
  }

  /** Starts that followed a crash. */
  get restarts(): number {
    return this.#crashes;
  }

  /** Whether there is a process, or will be one. */
  get isRunning(): boolean {
    return this.#child !== null || this.#restart !== null;
  }

  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  /** Does nothing while it is at work; one that has come to its end, with the run, is followed by another. */
  start(): void {
    if (this.#isStopping) return;
    if (!this.isRunning) this.#spawn();
    else this.#isWantedAgain = this.#hasEnded;
  }

  /** Nothing more comes: it ends once everything on disk is settled. */
  drain(): void {
    this.#isDraining = true;
    if (this.#restart === null) {
      this.#send({ type: 'drain' });
    } else {
      clearTimeout(this.#restart);
      this.#spawn();
    }
  }

  /** Resolves with true when everything before the place is settled, with false when it never will be. */
  whenSettled(place: StreamEnd): Promise<boolean> {
    if (!this.isRunning) return Promise.resolve(false);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const id = this.#nextId;
    this.#nextId += 1;
    this.#awaited.set(id, { id, place, resolve });
    this.#send({ type: 'await', id, place });
    return promise;
  }

  /** Ends it now; what is settled is remembered. Resolves when it is gone, which takes 2 s at most. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    if (this.#restart !== null) clearTimeout(this.#restart);
    this.#restart = null;
    const child = this.#child;
    if (child !== null) {
      this.#send({ type: 'stop' });
      const timer = setTimeout(() => child.kill('SIGKILL'), END_BUDGET_MS);
      await this.#gone?.promise;
      clearTimeout(timer);
    }
    this.#giveUpAwaited();
  }

  #spawn(): void {
    const { job, childUrl = CHILD_URL } = this.#options;
    this.#restart = null;
    this.#hasEnded = false;
    this.#isWantedAgain = false;
    // Nothing of the producer's command line is meant for it: no debugger, no loader, no script.
    const child = fork(childUrl, [], { execArgv: [], stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
    this.#child = child;
    this.#gone = Promise.withResolvers();
    letGo(child);
    let lastWords = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      lastWords = (lastWords + text).slice(-KEPT_CHARACTERS);
    });
    const end = (how: string): void => {
      if (this.#child === child) this.#lost(how, lastWords);
    };
    child.on('message', (message: FromUpload) => this.#hear(message));
    child.once('error', (error) => end(messageOf(error)));
    // Not `exit`: by now everything it said has been heard.
    child.once('close', (status, signal) => end(signal ?? `status ${status}`));
    this.#send({ type: 'start', job: this.#hasBegun ? { ...job, leftUpTo: null } : job });
    if (this.#isDraining) this.#send({ type: 'drain' });
    for (const { id, place } of this.#awaited.values()) this.#send({ type: 'await', id, place });
  }

  #hear(message: FromUpload): void {
    const { listener } = this.#options;
    switch (message.type) {
      case 'begun':
        if (!this.#hasBegun) listener.begun(message.beginning);
        this.#hasBegun = true;
        return;
      case 'progress':
        listener.progress(message.progress);
        return;
      case 'passed':
        this.#awaited.get(message.id)?.resolve(true);
        this.#awaited.delete(message.id);
        return;
      case 'notice':
        listener.notice(message.message);
        return;
      case 'ended':
        this.#hasEnded = true;
        listener.ended(message.end, message.rejected);
        return;
    }
  }

  #lost(how: string, lastWords: string): void {
    this.#child = null;
    this.#gone?.resolve();
    if (this.#isStopping) this.#giveUpAwaited();
    else if (!this.#hasEnded) this.#startAgain(how, lastWords);
    else if (this.#isWantedAgain) this.#spawn();
    else this.#giveUpAwaited();
  }

  #startAgain(how: string, lastWords: string): void {
    this.#crashes += 1;
    const backoffMs = this.#restarts.crashed(this.#options.nowMs());
    const delayMs = this.#isDraining ? Math.min(backoffMs, HURRIED_MS) : backoffMs;
    this.#restart = setTimeout(() => this.#spawn(), delayMs);
    this.#restart.unref();
    const cause = this.#lastLineOf(lastWords);
    const message = `the process that uploads ended (${how})${cause}; it is started again in ${Math.round(delayMs / 1000)} s`;
    this.#options.listener.notice(message);
  }

  /** What a crash says of itself, without the key. */
  #lastLineOf(text: string): string {
    const { apiKey } = this.#options.job.access;
    const line = text.split('\n').findLast((one) => /\w*Error\b/.test(one)) ?? '';
    const safe = apiKey === '' ? line : line.replaceAll(apiKey, '[key]');
    return safe === '' ? '' : `: ${safe.trim()}`;
  }

  #giveUpAwaited(): void {
    for (const { resolve } of this.#awaited.values()) resolve(false);
    this.#awaited.clear();
  }

  /** A process that has gone meanwhile needs nothing; its end is told. */
  #send(message: ToUpload): void {
    if (this.#child?.connected === true) this.#child.send(message, () => {});
  }
}

/** The producer's process ends when it has nothing of its own to do. */
function letGo(child: ChildProcess): void {
  child.unref();
  child.channel?.unref();
  (child.stderr as (NodeJS.ReadableStream & { unref?: () => void }) | null)?.unref?.();
}
