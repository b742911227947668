/** A stream of records with its index: where the records of one kind go, and in which order their rows follow. */
import type { ModelRule } from '../core/encode/record-rules.js';
import { IndexAppender } from '../io/index-appender.js';
import { catchUpIndex } from '../io/index-catch-up.js';
import type { RecordPlace, StreamLine, StreamSnapshot } from '../io/stream-types.js';
import { StreamWriter } from '../io/stream-writer.js';
import type { MonitorSettings } from './monitor-settings.js';
import { RowOutbox } from './row-outbox.js';

/** Makes the index row of a record, yielding now and then. @param value the record as it was encoded */
export type RowSteps = (value: object, place: RecordPlace & { readonly line: number }) => Generator<void, Uint8Array>;

/** What the records of a stream are. */
export type RecordForm = {
  readonly holds: 'episodes' | 'annotations';
  readonly model: ModelRule;
  readonly rowSteps: RowSteps;
};

export class RecordLane {
  readonly model: ModelRule;
  readonly rowSteps: RowSteps;
  /** Records that were in the stream when it was opened. */
  readonly earlierLines: number;
  readonly #stream: StreamWriter;
  readonly #index: IndexAppender;
  readonly #outbox: RowOutbox;
  #lines: number;

  private constructor({ model, rowSteps }: RecordForm, stream: StreamWriter, index: IndexAppender) {
    this.model = model;
    this.rowSteps = rowSteps;
    this.#stream = stream;
    this.#index = index;
    this.#outbox = new RowOutbox(index);
    this.earlierLines = index.rows;
    this.#lines = index.rows;
  }

  /**
   * Opens the stream in `directory`, and its index `<directory>.index.jsonl`, with the rows that a crash kept from it.
   * @throws PrlError `PRL_ERR_LOCKED` when another prl writes it, `PRL_ERR_LIMIT` without room, `PRL_ERR_USAGE` where
   *   nothing may be written
   */
  static async open(directory: string, settings: MonitorSettings, form: RecordForm): Promise<RecordLane> {
    const { chunkBytes, compress, fsync, onNotice, workerUrl } = settings;
    const stream = await StreamWriter.open(directory, {
      ...{ chunkBytes, compress, fsync, onNotice },
      ...(workerUrl === undefined ? {} : { workerUrl }),
    });
    let index: IndexAppender | null = null;
    try {
      index = await IndexAppender.open(`${directory}.index.jsonl`, { fsync, onNotice });
      await catchUpIndex(index, { directory, holds: form.holds, onNotice });
      return new RecordLane(form, stream, index);
    } catch (error) {
      await index?.close();
      await stream.leave().catch(() => {}); // the first failure is the one to tell
      throw error;
    }
  }

  /** Begins the line of a record; one at a time. */
  openLine(): StreamLine {
    return this.#stream.openLine();
  }

  /** The number of the row that comes next; each call counts. */
  nextLine(): number {
    this.#lines += 1;
    return this.#lines;
  }

  /** Takes the row of a record that is in the stream, in the order of the records. */
  addRow(row: Uint8Array): void {
    this.#outbox.add(row);
  }

  /** Resolves when all rows taken so far are in the index. @throws PrlError; they are kept for the next try */
  saved(): Promise<void> {
    return this.#outbox.saved();
  }

  /** Brings stream and index to the disk, in this order, if that is wanted. @throws PrlError of the first that failed */
  async flush(): Promise<void> {
    await this.#stream.flush();
    await this.#outbox.saved();
    await this.#index.flush();
  }

  /** The clean end: seals the last chunk. @throws PrlError of the first thing that failed; all the rest was done */
  async close(): Promise<void> {
    await this.#end([() => this.flush(), () => this.#stream.close(), () => this.#index.close()]);
  }

  /** The end of a lane that nothing was written to. */
  async leave(): Promise<void> {
    await this.#end([() => this.#stream.leave(), () => this.#index.close()]);
  }

  async #end(steps: readonly (() => Promise<void>)[]): Promise<void> {
    const failures: unknown[] = [];
    for (const step of steps) await step().catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw failures[0];
  }

  snapshot(): StreamSnapshot {
    return this.#stream.snapshot();
  }
}
