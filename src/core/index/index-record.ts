/** The row of an episode that is in memory (spec 04 section 5): equal to the row of its encoded record. */
import { STEP_ITEMS } from './item-steps.js';
import { ObjectFeed } from './object-feed.js';
import { DEFAULT_ROW_OPTIONS, type RowOptions } from './record-facts.js';
import { RowBuffer } from './row-buffer.js';
import { type RowPlace, RowWriter } from './row-writer.js';

/** Where the record will lie, and how its row is computed. */
export type IndexRecordOptions = RowPlace & Partial<RowOptions>;

/**
 * Makes the rows of one episode after another, in memory that is used again. Between episodes it holds nothing of one.
 */
export class RecordIndexer {
  readonly #feed: ObjectFeed;
  readonly #writer: RowWriter;
  readonly #row = new RowBuffer(1024);
  /** Episodes begun. */
  #begun = 0;

  /** @param options how rows are computed; DEFAULT_ROW_OPTIONS stand for what is left out */
  constructor(options: Partial<RowOptions> = {}) {
    const rowOptions: RowOptions = { ...DEFAULT_ROW_OPTIONS, ...options };
    this.#feed = new ObjectFeed(rowOptions);
    this.#writer = new RowWriter(this.#feed.facts, this.#feed.kept, rowOptions.tokens);
  }

  /**
   * The row of an episode or a bare trace as bytes, LF included: a view, until the next episode begins. Numbers are
   * told apart as core/index/object-values says: `JSON.stringify` of the episode gives a record with the same row.
   *
   * Yields after each trace, and inside one after 256 of its nodes, calls, rewards and phases, each counted at every
   * pass over it, so that the caller can give the event loop its turn. The episode must not change before the end.
   *
   * @throws PrlError PRL_ERR_REJECTED for an episode too large for a row: a trace of more than 4,194,304 nodes or
   * 2,097,152 calls, an id or name of more than 1 MiB, more than 64 MiB of them. Error when another episode was begun
   * before this one ended, which gives this one up
   */
  *steps(episode: unknown, place: RowPlace): Generator<void, Uint8Array, void> {
    this.#begun += 1;
    const own = this.#begun;
    try {
      for (const _ of this.#work(episode, place)) {
        yield;
        if (own !== this.#begun) throw new Error('another episode is being indexed');
      }
      return this.#row.view();
    } finally {
      if (own === this.#begun) this.#feed.letGo();
    }
  }

  *#work(episode: unknown, place: RowPlace): Generator<void, void, void> {
    yield* this.#feed.take(episode);
    const row = this.#row;
    const { idCount } = this.#feed.facts;
    row.clear();
    this.#writer.writeHead(row, place);
    for (let from = 0; from < idCount; from += STEP_ITEMS) {
      if (from > 0) yield;
      this.#writer.writeTraceIds(row, from, Math.min(idCount, from + STEP_ITEMS));
    }
    this.#writer.writeTail(row, place);
  }
}

/** The row of one episode, as `RecordIndexer` makes it, in memory of its own. */
export function indexRecord(episode: unknown, options: IndexRecordOptions): Uint8Array {
  const steps = indexRecordSteps(episode, options);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** The same, in the steps of `RecordIndexer`. */
export function indexRecordSteps(episode: unknown, options: IndexRecordOptions): Generator<void, Uint8Array, void> {
  return new RecordIndexer(options).steps(episode, options);
}
