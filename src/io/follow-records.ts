/**
 * The records of one followed file as they are told: all of them, except those that were told before a rewrite, which
 * count as passed over in the sums.
 */
import type { LineEvent, SkipRange } from './chunk-reader.js';
import type { FollowContext, FollowEvent } from './follow-types.js';
import { FileRecords, type FileSummary, type RunEvent } from './run-records.js';
import type { ChunkFile } from './run-types.js';

export class FollowedRecords {
  readonly #file: ChunkFile;
  readonly #skip: readonly SkipRange[];
  readonly #told: FollowContext['told'];
  readonly #records: FileRecords;
  #withheldRecords = 0;
  #withheldBytes = 0;

  /** `skip`: what is passed over. */
  constructor(file: ChunkFile, skip: readonly SkipRange[], { reading, told }: FollowContext) {
    this.#file = file;
    this.#skip = skip;
    this.#told = told;
    this.#records = new FileRecords(file, reading);
  }

  /** Tells what lines hold, in order, and what was lost behind the last of them. */
  async *tellLines(lines: AsyncIterable<LineEvent>): AsyncGenerator<FollowEvent, void> {
    for await (const event of lines) yield* this.#admit(this.#records.take(event));
    yield* this.#admit(this.#records.settle());
  }

  /** Tells a file that was read by others. */
  async *tellEvents(events: AsyncIterable<RunEvent>): AsyncGenerator<FollowEvent, void> {
    for await (const event of events) {
      if (event.type !== 'file') yield* this.#admit([event]);
      else if (event.summary !== null) yield { ...event, summary: this.#withoutWithheld(event.summary) };
    }
  }

  /** Tells the sums of the lines so far. */
  *tellSummary(): Generator<FollowEvent, void> {
    yield { type: 'file', file: this.#file, summary: this.#withoutWithheld(this.#records.summary(this.#skip)) };
  }

  *#admit(events: Iterable<RunEvent>): Generator<FollowEvent, void> {
    for (const event of events) {
      if (event.type !== 'record' || this.#told.admit(event.record)) {
        yield event;
      } else {
        this.#withheldRecords += 1;
        this.#withheldBytes += event.record.length;
      }
    }
  }

  #withoutWithheld(summary: FileSummary): FileSummary {
    return {
      ...summary,
      records: summary.records - this.#withheldRecords,
      recordBytes: summary.recordBytes - this.#withheldBytes,
      skippedBytes: summary.skippedBytes + this.#withheldBytes,
    };
  }
}
