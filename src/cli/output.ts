/**
 * The two streams of a command: data on stdout, waiting for a slow reader (demand C2), notices on stderr, each kind at
 * most once in ten seconds (demand C10). A reader that leaves is an event for the command, not an error (demand C3).
 */
import type { Writable } from 'node:stream';
import type { ChalkInstance } from 'chalk';
import type { Environment } from '../core/environment.js';
import { painter, paintViews, wantsColour } from './colour.js';
import { visible } from './text.js';

/** Least time between two notices of one kind on the terminal, in milliseconds. */
export const NOTICE_INTERVAL_MS = 10_000;

/** A stream as Node has it: a terminal says so in `isTTY`. */
export type OutputStream = Writable & { readonly isTTY?: boolean | undefined };

export type OutputOptions = {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly environment: Environment;
  /** `--json`: stdout carries JSON documents and stderr nothing but failures. */
  readonly json: boolean;
  readonly noColour: boolean;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
};

type NoticeState = { count: number; shownAtMs: number; unshown: number };

/** True for the errors of a pipe whose reader closed it, and of a terminal that went away. */
function isReaderGone(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  return code === 'EPIPE' || code === 'EIO' || code === 'ERR_STREAM_DESTROYED';
}

/** What a command writes through. It adds one error listener to each stream and removes it in `dispose`. */
export class Output {
  readonly json: boolean;
  /** Painters of the two streams; without colour they return the text as it is. */
  readonly dataPaint: ChalkInstance;
  readonly noticePaint: ChalkInstance;
  readonly #options: OutputOptions;
  readonly #notices = new Map<string, NoticeState>();
  #wroteData = false;
  #readerLeft = false;
  #onReaderLeft: () => void = () => {};
  #noticeSink: ((line: string) => void) | null = null;

  constructor(options: OutputOptions) {
    this.#options = options;
    this.json = options.json;
    const coloured = (stream: OutputStream): boolean =>
      wantsColour({
        noColourFlag: options.noColour,
        environment: options.environment,
        isTerminal: stream.isTTY === true,
      });
    this.dataPaint = painter(coloured(options.stdout));
    this.noticePaint = painter(coloured(options.stderr));
    paintViews(coloured(options.stderr));
    options.stdout.on('error', this.#stdoutFailed);
    options.stderr.on('error', this.#stderrFailed);
  }

  /** True once the reader of stdout is gone; what is written after that is dropped. */
  get readerLeft(): boolean {
    return this.#readerLeft;
  }

  /** True once anything went to stdout. */
  get wroteData(): boolean {
    return this.#wroteData;
  }

  /** Called once, when a write to stdout finds nobody reading. */
  onReaderLeft(listener: () => void): void {
    this.#onReaderLeft = listener;
    if (this.#readerLeft) listener();
  }

  /**
   * Writes bytes or text to stdout; resolves when the stream has handed them over, or when its reader left.
   *
   * @throws the system's error when they could not be written, e.g. ENOSPC; it becomes exit status 8.
   */
  async data(content: string | Uint8Array): Promise<void> {
    if (this.#readerLeft || content.length === 0) return;
    this.#wroteData = true;
    const error = await new Promise<Error | null | undefined>((resolve) => {
      this.#options.stdout.write(content, resolve);
    });
    if (error && !isReaderGone(error)) throw error;
    if (error) this.#noticeReaderLeft();
  }

  /** Writes one line of text data. Text of a record must have passed `visible`. */
  line(text: string): Promise<void> {
    return this.data(`${text}\n`);
  }

  /** Writes one JSON document as one line. */
  document<Document extends { readonly schema: string }>(document: Document): Promise<void> {
    return this.data(`${JSON.stringify(document)}\n`);
  }

  /**
   * Tells the person at the terminal something. Within ten seconds of a shown notice of the same kind it is only counted;
   * the next one shown says how many were held back. Silent with `--json`, whose document carries the counts.
   */
  notice(kind: string, text: string): void {
    const nowMs = this.#options.nowMs();
    const state = this.#notices.get(kind) ?? { count: 0, shownAtMs: Number.NEGATIVE_INFINITY, unshown: 0 };
    this.#notices.set(kind, state);
    state.count += 1;
    if (nowMs - state.shownAtMs < NOTICE_INTERVAL_MS) {
      state.unshown += 1;
      return;
    }
    const more = state.unshown > 0 ? ` (and ${state.unshown} more like it)` : '';
    state.shownAtMs = nowMs;
    state.unshown = 0;
    if (!this.json) this.progress(`${this.noticePaint.yellow('!')} ${visible(text)}${more}`);
  }

  /** How often each kind of notice was given, shown or not. */
  noticeCounts(): ReadonlyMap<string, number> {
    return new Map([...this.#notices].map(([kind, state]) => [kind, state.count]));
  }

  /** Writes one line to stderr, above the live view if there is one. Not with `--json`. */
  progress(line: string): void {
    if (this.json) return;
    if (this.#noticeSink === null) this.failure(line);
    else this.#noticeSink(line);
  }

  /** Writes a line narrower than the terminal to stderr, without an end; what it returns takes it away again. */
  hold(line: string): () => void {
    this.#options.stderr.write(line);
    return () => this.#options.stderr.write('\r\u001b[2K');
  }

  /** Writes one line to stderr in every mode: what failed. */
  failure(line: string): void {
    this.#options.stderr.write(`${line}\n`);
  }

  /** Hands the lines for stderr to a live view while it is mounted; null gives them back to the stream. */
  routeNotices(sink: ((line: string) => void) | null): void {
    this.#noticeSink = sink;
  }

  /** Takes the listeners away. Both streams stay open. */
  dispose(): void {
    this.#options.stdout.off('error', this.#stdoutFailed);
    this.#options.stderr.off('error', this.#stderrFailed);
  }

  #noticeReaderLeft(): void {
    if (this.#readerLeft) return;
    this.#readerLeft = true;
    this.#onReaderLeft();
  }

  /** Other errors than a reader that left reach whoever wrote, through `data`. */
  readonly #stdoutFailed = (error: unknown): void => {
    if (isReaderGone(error)) this.#noticeReaderLeft();
  };

  /** Nobody reads the notices, or their disk is full: the work goes on, and the exit status still tells. */
  readonly #stderrFailed = (): void => {};
}
