/**
 * Takes what waits in memory to the disk, one record after the other and in slices of the event loop. A record that the
 * disk does not take stays where it is and is tried again, and all others behind it, so that their order stands; what
 * cannot be written as JSON is refused alone.
 */
import { encodeParts } from '../core/encode/drivers.js';
import { refusalOf } from '../core/encode/encode-error.js';
import type { RecordEncoder } from '../core/encode/record-encoder.js';
import { EPISODE_RULES } from '../core/encode/record-rules.js';
import type { Arrival, RunInfo } from '../core/encode/record-run.js';
import type { Slices } from '../core/encode/slices.js';
import { messageOf, PrlError } from '../core/errors.js';
import { DropWarnings } from '../core/upload/drop-warnings.js';
import type { QueuedRecord, QueuedWrite, RecordQueue } from '../core/upload/record-queue.js';
import { backoffMs } from '../core/upload/retry.js';
import type { CountedAs } from '../core/upload/strikes.js';
import { Nap, within } from '../io/patience.js';
import type { Spool } from '../io/spool.js';
import type { RecordPlace } from '../io/stream-types.js';
import { episodeSteps } from './episode-steps.js';
import { episodesAre, WERE } from './prime-report.js';
import type { PrimeNotice } from './prime-types.js';

/** What was logged, until it is known what it counts as. `stored` is what is in the spool. */
export type Waiting = { episode: unknown; readonly arrival: Arrival } | CountedAs;

export type SpoolPumpOptions = {
  readonly queue: RecordQueue<Waiting>;
  readonly encoder: RecordEncoder;
  readonly slices: Slices;
  readonly run: RunInfo;
  /** Most bytes of the spool. */
  readonly spoolBytes: number;
  /** Opens the spool; tried again when it fails. @throws PrlError */
  readonly open: () => Promise<Spool>;
  /** Called when the disk or the spool takes no more; returns whether there is room again. */
  readonly makeRoom: () => Promise<boolean>;
  /** What records count as that the service will never get; null when it may. Asked for each. */
  readonly passesBy: () => CountedAs | null;
  readonly onNotice: (notice: PrimeNotice) => void;
  /** Monotonic. */
  readonly nowMs: () => number;
};

/** What follows it comes when whoever runs now is done. */
const SOON = Promise.resolve();

export class SpoolPump {
  readonly #options: SpoolPumpOptions;
  readonly #nap = new Nap();
  #spool: Spool | null = null;
  #working: Promise<void> | null = null;
  /** Failures in a row of the record at hand. */
  #failures = 0;
  /** Records without a JSON form are told of as drops are, however many there are. */
  readonly #refusals: DropWarnings;
  #lastRefusal = '';
  #isStopping = false;
  /** What waits stays where it is: after `stop` the disk took nothing more, or time is over. */
  #isOver = false;

  constructor(options: SpoolPumpOptions) {
    this.#options = options;
    this.#refusals = new DropWarnings(({ records, total }) => {
      const what = `${episodesAre(records, WERE)} refused, ${total} in all`;
      options.onNotice({ kind: 'refused', message: `${what}; the last one: ${this.#lastRefusal}` });
    });
  }

  /** Null until it could be opened. */
  get spool(): Spool | null {
    return this.#spool;
  }

  /** @throws PrlError */
  async open(): Promise<Spool> {
    this.#spool ??= await this.#options.open();
    return this.#spool;
  }

  /** There is work. Returns at once, without as much as a timer; the first slice is never in the turn of whoever logs. */
  wake(): void {
    if (this.#isStopping) return;
    this.#working ??= SOON.then(this.#run);
  }

  /** Tries again now what was refused. */
  hurry(): void {
    this.#nap.wake();
  }

  /**
   * Takes what still waits to the disk (spec 07 section 5.1: what is left at the end is written, not lost). Ends with the
   * last record, with the first that the disk does not take, or after `patienceMs`; what the record at hand comes to
   * later counts no more.
   */
  async stop(patienceMs: number): Promise<void> {
    this.#isStopping = true;
    this.hurry();
    if (this.#working !== null) await within(patienceMs, this.#working);
    this.#isOver = true;
    this.#refusals.close();
  }

  readonly #run = async (): Promise<void> => {
    const { queue, slices } = this.#options;
    await slices.giveBack();
    while (!this.#isOver) {
      if (slices.isOver()) await slices.giveBack();
      const work = queue.next();
      if (work === null) break;
      if (work.kind === 'write') this.#settle(work.write);
      else await this.#take(work.record);
    }
    // In one go with the look above, so that nothing is overlooked that comes meanwhile.
    this.#working = null;
  };

  async #take(record: QueuedRecord<Waiting>): Promise<void> {
    const { queue, passesBy, nowMs } = this.#options;
    const passed = passesBy();
    if (passed !== null) return queue.measured(record, 0, passed);
    try {
      const { bytes } = await this.#write(record.record);
      if (this.#isOver) return;
      queue.measured(record, bytes, 'stored');
      this.#recover();
    } catch (error) {
      if (this.#isOver) return;
      const refusal = refusalOf(error);
      if (refusal === null) return this.#waitForRoom(error);
      queue.refuse(record);
      this.#lastRefusal = refusal.message;
      this.#refusals.drop(1, nowMs());
    }
  }

  async #write(waiting: Waiting): Promise<RecordPlace> {
    if (typeof waiting === 'string') throw new Error('a record that was counted before');
    const { encoder, slices, run, spoolBytes } = this.#options;
    const spool = await this.open();
    if (spool.bytes >= spoolBytes) throw isFull(spool, spoolBytes);
    const value = await slices.run(episodeSteps(waiting.episode, run, waiting.arrival));
    const line = spool.openLine();
    try {
      for await (const part of encodeParts(encoder, value, { model: EPISODE_RULES, slices })) {
        line.write(part);
        if (line.failure !== null) throw line.failure;
      }
    } catch (error) {
      await line.abort();
      throw error;
    }
    const place = await line.commit();
    spool.note(place);
    return place;
  }

  async #waitForRoom(error: unknown): Promise<void> {
    this.#failures += 1;
    if (this.#failures === 1) {
      const message = `${messageOf(error)}; episodes wait in memory, and it is tried again`;
      this.#options.onNotice({ kind: 'spool', message });
    }
    if (this.#spool !== null && (await this.#options.makeRoom())) return;
    if (this.#isStopping) this.#isOver = true;
    else await this.#nap.sleep(backoffMs(this.#failures, 0));
  }

  #recover(): void {
    if (this.#failures === 0) return;
    this.#failures = 0;
    this.#options.onNotice({ kind: 'spool', message: 'the disk takes episodes again' });
  }

  #settle(write: QueuedWrite<Waiting>): void {
    const counts: Partial<Record<CountedAs, number>> = {};
    for (const { record } of write.records) {
      if (typeof record === 'string') counts[record] = (counts[record] ?? 0) + 1;
    }
    this.#options.queue.settle(write, counts);
  }
}

function isFull({ directory, bytes }: Spool, spoolBytes: number): PrlError {
  return new PrlError('PRL_ERR_LIMIT', `the spool ${directory} holds ${bytes} bytes, of ${spoolBytes} that it may`);
}
