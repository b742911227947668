/**
 * One call of `log` or `logAnnotations` from its start until its promise settles: which of its records are written,
 * refused or failed. Knows nothing of files.
 */
import type { EncodeError } from '../core/encode/encode-error.js';
import { messageOf, PrlError } from '../core/errors.js';
import { memberOf } from '../core/index/object-values.js';
import type { RecordPlace } from '../io/stream-types.js';
import { LogError, type LogErrorFacts } from './log-error.js';
import type { LoggedRecord, LogReceipt, RefusedRecord } from './monitor-types.js';

/** What became of the records of one kind, over all calls. */
export type RecordCounts = {
  /** Not settled. */
  calls: number;
  queued: number;
  written: number;
  writtenBytes: number;
  refused: number;
  failed: number;
};

export type LogCallOptions = {
  /** The member that names a record. */
  readonly idKey: 'id' | 'trace_id';
  readonly counts: RecordCounts;
  /** Is told once of a call that rejects. */
  readonly onError: (error: LogError) => void;
};

export class LogCall {
  readonly records: readonly unknown[];
  readonly receipt: Promise<LogReceipt>;
  readonly #options: LogCallOptions;
  readonly #written: LoggedRecord[] = [];
  readonly #refused: RefusedRecord[] = [];
  readonly #outcome = Promise.withResolvers<LogReceipt>();
  #refusal: EncodeError | null = null;
  #failure: PrlError | null = null;
  /** A write failed, so that no more records are tried. */
  #isStopped = false;
  #begun = 0;
  #ended = 0;

  constructor(records: readonly unknown[], options: LogCallOptions) {
    this.records = records;
    this.#options = options;
    options.counts.calls += 1;
    options.counts.queued += records.length;
    this.receipt = this.#outcome.promise;
    // Who does not wait for it is told by notices and counts; it must not end their process.
    this.receipt.catch(() => {});
  }

  /** The position of the next record to write; null when there is none, or a write failed and no more are tried. */
  begin(): number | null {
    if (this.#isAllBegun) return null;
    this.#begun += 1;
    return this.#begun - 1;
  }

  /** Whether nothing is left to do for it. */
  get isOver(): boolean {
    return this.#isAllBegun && this.#ended === this.#begun;
  }

  get #isAllBegun(): boolean {
    return this.#isStopped || this.#begun === this.records.length;
  }

  /** @param place with the line of its row */
  endWritten(index: number, place: RecordPlace & { readonly line: number }): void {
    const { line, chunk, offset, bytes } = place;
    this.#end('written');
    this.#options.counts.writtenBytes += bytes;
    this.#written.push({ index, id: this.#idOf(index), line, chunk, offset, bytes });
  }

  endRefused(index: number, error: EncodeError): void {
    this.#end('refused');
    this.#refusal ??= error;
    this.#refused.push({ index, id: this.#idOf(index), path: error.path, message: error.message });
  }

  endFailed(error: unknown): void {
    this.#end('failed');
    this.#isStopped = true;
    this.fail(error);
  }

  /** Something went wrong that keeps no record out of the stream. */
  fail(error: unknown): void {
    this.#failure ??=
      error instanceof PrlError ? error : new PrlError('PRL_ERR_BUG', messageOf(error), { cause: error });
  }

  /** Settles the promise; once, when it is over. */
  settle(): void {
    const { counts, onError } = this.#options;
    const untried = this.records.length - this.#begun;
    counts.calls -= 1;
    counts.queued -= untried;
    counts.failed += untried;
    const receipt: LogReceipt = { records: this.#written };
    const error = this.#errorWith({ records: this.records.length, refused: this.#refused, receipt });
    if (error === null) {
      this.#outcome.resolve(receipt);
    } else {
      this.#outcome.reject(error);
      onError(error);
    }
  }

  #errorWith(facts: LogErrorFacts): LogError | null {
    if (this.#failure !== null) return LogError.ofFailure(facts, this.#failure);
    return this.#refusal === null ? null : LogError.ofRefusals(facts, this.#refusal.hint);
  }

  #end(outcome: 'written' | 'refused' | 'failed'): void {
    const { counts } = this.#options;
    this.#ended += 1;
    counts.queued -= 1;
    counts[outcome] += 1;
  }

  #idOf(index: number): string | null {
    const id = memberOf(this.records[index], this.#options.idKey);
    return typeof id === 'string' ? id : null;
  }
}
