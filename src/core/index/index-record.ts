/** The row of an episode that is in memory (spec 04 section 5): equal to the row of its encoded record. */
import { ObjectFeed } from './object-feed.js';
import { DEFAULT_ROW_OPTIONS, type RowOptions } from './record-facts.js';
import { RowBuffer } from './row-buffer.js';
import { type RowPlace, RowWriter } from './row-writer.js';

/** Where the record will lie, and how its row is computed. */
export type IndexRecordOptions = RowPlace & Partial<RowOptions>;

/**
 * The row of an episode or a bare trace as bytes, LF included. Numbers are told apart as core/index/object-values says:
 * `JSON.stringify` of the episode gives a record with the same row.
 */
export function indexRecord(episode: unknown, options: IndexRecordOptions): Uint8Array {
  const steps = indexRecordSteps(episode, options);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** The same, stopping after each trace so that the caller can give the event loop its turn. The episode must not change. */
export function* indexRecordSteps(episode: unknown, options: IndexRecordOptions): Generator<void, Uint8Array, void> {
  const rowOptions: RowOptions = { ...DEFAULT_ROW_OPTIONS, ...options };
  const feed = new ObjectFeed(rowOptions);
  yield* feed.take(episode);
  const row = new RowBuffer(1024);
  new RowWriter(feed.facts, feed.kept, rowOptions.tokens).write(row, options);
  return row.view();
}
