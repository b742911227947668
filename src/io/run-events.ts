/**
 * The events of a run, with a look at its first record before the pass that uses them. A file is simply read again;
 * standard input can be read once, so what the look took from it comes first in the pass.
 */
import type { StreamRecord } from '../core/scan/types.js';
import { type ReadRecordsOptions, type RunEvent, readRecords } from './run-records.js';
import type { Run } from './run-types.js';

export class RunEvents {
  readonly #run: Run;
  #looked: { readonly events: RunEvent[]; readonly rest: AsyncGenerator<RunEvent, void> } | null = null;

  constructor(run: Run) {
    this.#run = run;
  }

  /**
   * The first record that `accepts` takes; null for a run without one. Of standard input only the first record is
   * looked at: what was read has to be kept. To be called before `read`, once.
   */
  async firstRecord(
    signal: AbortSignal,
    accepts: (record: StreamRecord) => boolean = () => true,
  ): Promise<StreamRecord | null> {
    const rest = readRecords(this.#run, { signal });
    const events: RunEvent[] = [];
    for (let next = await rest.next(); next.done !== true; next = await rest.next()) {
      if (this.#isReadOnce()) events.push(next.value);
      if (next.value.type !== 'record') continue;
      const { record } = next.value;
      const isTaken = accepts(record);
      if (this.#isReadOnce()) this.#looked = { events, rest };
      else if (isTaken) await rest.return();
      else continue;
      return isTaken ? record : null;
    }
    if (this.#isReadOnce()) this.#looked = { events, rest };
    return null;
  }

  /** The pass itself; may be repeated unless the run is standard input. */
  async *read(options: ReadRecordsOptions): AsyncGenerator<RunEvent, void> {
    if (this.#looked === null) return yield* readRecords(this.#run, options);
    yield* this.#looked.events;
    yield* this.#looked.rest;
  }

  #isReadOnce(): boolean {
    return this.#run.files.some((file) => file.form === 'stdin');
  }
}
