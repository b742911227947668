/** A filter at work on the records of one run: what it selects, and the counts of what it did not. */
import type { RowSelector } from '../core/index/episode-row.js';
import type { StreamRecord } from '../core/scan/types.js';
import type { FilterTotals } from '../core/upload/outcome.js';
import { RowReader } from './row-facts.js';
import type { Run } from './run-types.js';

export class RecordFilter {
  readonly #rows: RowReader;
  readonly #selects: RowSelector;
  readonly #selected = { episodes: 0, bytes: 0 };
  readonly #leftOut = { episodes: 0, bytes: 0 };
  #unjudged = 0;

  constructor(run: Run, selects: RowSelector) {
    this.#rows = new RowReader(run);
    this.#selects = selects;
  }

  /** Whether a record is asked for. To be asked of every record of the run, in order, once. */
  accepts(record: StreamRecord): boolean {
    const facts = this.#rows.read(record);
    if (facts === null) this.#unjudged += 1;
    const isSelected = facts !== null && this.#selects(facts);
    const totals = isSelected ? this.#selected : this.#leftOut;
    totals.episodes += 1;
    totals.bytes += record.length;
    return isSelected;
  }

  /** Notes a record that is too long to be read, and has a row in the index all the same. */
  passOver(): void {
    this.#rows.passOver();
  }

  get totals(): FilterTotals {
    return { selected: { ...this.#selected }, leftOut: { ...this.#leftOut }, unjudged: this.#unjudged };
  }

  /** What a user should know of records that could not be judged; null when all could. */
  notice(): string | null {
    if (this.#unjudged === 0) return null;
    const records = `${this.#unjudged} ${this.#unjudged === 1 ? 'record' : 'records'}`;
    return `${records} left out: no index row can be made of them for a filter to judge; an upload without filters tells what is wrong`;
  }
}
