/**
 * A producer's hold on the process that uploads for it: starts it, starts it again when it crashed, and ends it in time.
 * Nothing here keeps the producer's own process alive; what is not sent lies on disk.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { messageOf } from '../core/errors.js';
import { Restarts } from '../core/upload/restarts.js';
import { within } from './patience.js';
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
  /** It came to an end of its own, and had heard all that it was asked. */
  readonly ended: (end: UploadEnd, rejected: readonly RejectedRecord[]) => void;
};

type Awaited = { readonly id: number; readonly place: StreamEnd; readonly resolve: (isSettled: boolean) => void };

const CHILD_URL = new URL('./upload-child.js', import.meta.url);
/** How long an end that was asked for may take, and what comes after that. */
const END_BUDGET_MS = 2_000;
const KILL_BUDGET_MS = 1_000;
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
  /** How the process at hand, or the last one, ended of itself; null until it did. */
  #end: UploadEnd['kind'] | null = null;
  #nextId = 0;
  /** What the process at hand was told with its start: to drain, and what is awaited below this id. */
  #heard = { isDraining: false, nextId: 0 };
  #crashes = 0;
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

  /** To be called once. */
  start(): void {
    if (!this.#isStopping && !this.isRunning) this.#spawn();
  }

  /**
   * Nothing more comes: it ends once everything on disk is settled.
   * @param upTo is on the disk by now; null when that is not known
   */
  drain(upTo: StreamEnd | null = null): void {
    if (this.#isStopping) return;
    this.#isDraining = true;
    if (upTo !== null) this.#note(upTo);
    if (this.#restart !== null || this.#isAtRest) this.#spawn();
    else this.#send({ type: 'drain' });
  }

  /**
   * Resolves with true when everything before the place is settled, with false when it never will be. The place is on the
   * disk by now: a process that has come to its end with the run, whether that was heard here or not, is followed by
   * another one, which sees it.
   */
  whenSettled(place: StreamEnd): Promise<boolean> {
    if (this.#isStopping || this.#isGivenUp || !(this.isRunning || this.#isAtRest)) return Promise.resolve(false);
    const settled = this.#note(place);
    if (this.#isAtRest) this.#spawn();
    return settled;
  }

  /** Ends it now; what is settled is remembered. Resolves when it is gone, or after 3 s when the system does not end it. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    if (this.#restart !== null) clearTimeout(this.#restart);
    this.#restart = null;
    const child = this.#child;
    if (child !== null && this.#gone !== null) {
      const gone = this.#gone.promise;
      this.#send({ type: 'stop' });
      if ((await within(END_BUDGET_MS, gone)) === 'late') {
        child.kill('SIGKILL');
        await within(KILL_BUDGET_MS, gone);
      }
    }
    this.#answer(false);
  }

  /** Whether it has come to its end with a run that looked finished, and may be started for what comes all the same. */
  get #isAtRest(): boolean {
    return !this.isRunning && this.#end === 'finished';
  }

  /** Whether nothing will be settled any more, by the service's word or by what is configured. */
  get #isGivenUp(): boolean {
    return this.#end === 'refused' || this.#end === 'failed';
  }

  /**
   * Whether the process at hand ended before it had heard all that it was asked. Then only another look at the run can
   * tell: one, since that process hears of it with its start.
   */
  get #isBehind(): boolean {
    if (this.#end !== 'finished' && this.#end !== 'drained') return false;
    const isDrainNew = this.#isDraining && !this.#heard.isDraining && this.#end === 'finished';
    return isDrainNew || [...this.#awaited.keys()].some((id) => id >= this.#heard.nextId);
  }

  #note(place: StreamEnd): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const id = this.#nextId;
    this.#nextId += 1;
    this.#awaited.set(id, { id, place, resolve });
    this.#send({ type: 'await', id, place });
    return promise;
  }

  #spawn(): void {
    const { job, childUrl = CHILD_URL } = this.#options;
    if (this.#restart !== null) clearTimeout(this.#restart);
    this.#restart = null;
    this.#end = null;
    this.#heard = { isDraining: this.#isDraining, nextId: this.#nextId };
    let child: ChildProcess;
    try {
      // Nothing of the producer's command line is meant for it: no debugger, no loader, no script.
      child = fork(childUrl, [], { execArgv: [], stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
    } catch (error) {
      // For want of memory, above all.
      this.#startAgain(messageOf(error), '');
      return;
    }
    this.#child = child;
    this.#gone = Promise.withResolvers();
    letGo(child);
    putBehind(child);
    let lastWords = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      lastWords = (lastWords + text).slice(-KEPT_CHARACTERS);
    });
    const end = (how: string): void => {
      if (this.#child === child) this.#lost(how, lastWords);
    };
    child.on('message', (message: FromUpload) => this.#hear(message));
    child.on('error', (error) => end(messageOf(error)));
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
        this.#answer(true, (id) => id === message.id);
        return;
      case 'notice':
        listener.notice(message.message);
        return;
      case 'ended':
        this.#end = message.end.kind;
        // What it heard of with its start it has looked for.
        this.#answer(false, (id) => this.#isGivenUp || id < this.#heard.nextId);
        if (!this.#isBehind) listener.ended(message.end, message.rejected);
        return;
    }
  }

  #lost(how: string, lastWords: string): void {
    this.#child = null;
    this.#gone?.resolve();
    if (this.#isStopping) return;
    if (this.#end === null) this.#startAgain(how, lastWords);
    else if (this.#isBehind) this.#spawn();
    else this.#answer(false);
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

  #answer(isSettled: boolean, isMeant: (id: number) => boolean = () => true): void {
    for (const { id, resolve } of this.#awaited.values()) {
      if (!isMeant(id)) continue;
      this.#awaited.delete(id);
      resolve(isSettled);
    }
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

/** Behind everybody else before it has begun: its threads inherit it, and as it loads it takes no core from anybody. */
function putBehind({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW);
  } catch {
    // It has gone already, or the system does not let us: then it is as everybody else.
  }
}
