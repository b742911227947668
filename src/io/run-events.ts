/**
 * The events of a run, with a look at its first record before the pass that uses them. A file is simply read again;
 * standard input can be read once, so what the look took from it comes first in the pass. A run that grows is followed.
 */
import type { StreamRecord } from '../core/scan/types.js';
import { type RunEvent, readRecords } from './run-records.js';
import type { Run } from './run-types.js';
import type { UploadEvent, UploadFollower, UploadReading } from './upload-follower.js';

export class RunEvents {
  readonly #run: Run;
  readonly #follower: UploadFollower | null;
  #looked: { readonly events: RunEvent[]; readonly rest: AsyncGenerator<RunEvent, void> } | null = null;

  /** @param follower null reads what there is */
  constructor(run: Run, follower: UploadFollower | null = null) {
    this.#run = run;
    this.#follower = follower;
  }

  /**
   * The first record that `accepts` takes; null for a run without one. A run that grows is waited for. Of standard input only the first record is
   * looked at: what was read has to be kept. To be called before `read`, once.
   */
  async firstRecord(
    signal: AbortSignal,
    accepts: (record: StreamRecord) => boolean = () => true,
  ): Promise<StreamRecord | null> {
    if (this.#follower !== null) return this.#follower.firstRecord(signal, accepts);
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
  async *read(options: UploadReading): AsyncGenerator<UploadEvent, void> {
    if (this.#follower !== null) return yield* this.#follower.read(options);
    if (this.#looked === null) return yield* readRecords(this.#run, options);
    yield* this.#looked.events;
    yield* this.#looked.rest;
  }

  #isReadOnce(): boolean {
    return this.#run.files.some((file) => file.form === 'stdin');
  }
}
