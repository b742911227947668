/**
 * Everything that is logged goes through here, call by call and record by record: prepared, encoded, written, and its
 * row made from the object once its place is known. One loop does all of the work in slices, so that between two turns
 * of the event loop lies one slice, however many calls wait (R-REC-2). Writing overlaps with the encoding that follows.
 */
import { encodeParts } from '../core/encode/drivers.js';
import { refusalOf } from '../core/encode/encode-error.js';
import type { RecordEncoder } from '../core/encode/record-encoder.js';
import type { Slices } from '../core/encode/slices.js';
import type { RecordPlace, StreamLine } from '../io/stream-types.js';
import { Fifo } from './fifo.js';
import type { LogCall } from './log-call.js';
import type { RecordLane } from './record-lane.js';

/** Records that wait for the disk; the encoder's buffers bound their bytes. */
const MAX_IN_FLIGHT = 1024;

/** A call and what is to be done with its records. */
export type RecordJob = {
  readonly call: LogCall;
  /** Where they go, opened when it is needed. */
  lane(): Promise<RecordLane>;
  /** What is written of a record: a copy with more in it, as a rule. @throws EncodeError for what cannot be written */
  prepare(record: unknown): Generator<void, object, void>;
};

/** A record that is encoded, and on its way into the file. */
class InFlight {
  readonly job: RecordJob;
  readonly index: number;
  readonly lane: RecordLane;
  readonly value: object;
  /** Resolves, never rejects, when one of the following is there. */
  readonly settled: Promise<void>;
  place: RecordPlace | null = null;
  failure: unknown = null;

  constructor(from: Pick<InFlight, 'job' | 'index' | 'lane' | 'value'>, placed: Promise<RecordPlace>) {
    this.job = from.job;
    this.index = from.index;
    this.lane = from.lane;
    this.value = from.value;
    this.settled = placed.then(
      (place) => {
        this.place = place;
      },
      (failure: unknown) => {
        this.failure = failure;
      },
    );
  }

  get isSettled(): boolean {
    return this.place !== null || this.failure !== null;
  }
}

export class RecordPump {
  readonly #encoder: RecordEncoder;
  readonly #slices: Slices;
  readonly #jobs = new Fifo<RecordJob>();
  readonly #inFlight = new Fifo<InFlight>();
  #isRunning = false;

  constructor(encoder: RecordEncoder, slices: Slices) {
    this.#encoder = encoder;
    this.#slices = slices;
  }

  /** Takes a call, behind all that came before. Returns at once. */
  add(job: RecordJob): void {
    this.#jobs.push(job);
    if (this.#isRunning) return;
    this.#isRunning = true;
    void this.#run();
  }

  async #run(): Promise<void> {
    // The first slice is never in the turn of whoever logs.
    await this.#slices.giveBack();
    for (;;) {
      if (this.#slices.isOver()) await this.#slices.giveBack();
      await this.#indexSettled();
      const job = this.#jobs.first;
      const oldest = this.#inFlight.first;
      if (job !== undefined && this.#inFlight.length < MAX_IN_FLIGHT) await this.#writeNext(job);
      else if (oldest !== undefined) await oldest.settled;
      else break;
    }
    this.#isRunning = false;
  }

  async #writeNext(job: RecordJob): Promise<void> {
    const { call } = job;
    const index = call.begin();
    if (index === null) {
      this.#jobs.shift();
      if (call.records.length === 0) call.settle();
      return;
    }
    let lane: RecordLane | null = null;
    try {
      lane = await job.lane();
      await this.#write(job, index, lane);
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal === null) call.endFailed(error);
      else call.endRefused(index, refusal);
      this.#settleIfOver(call, lane);
    }
  }

  async #write(job: RecordJob, index: number, lane: RecordLane): Promise<void> {
    const value = await this.#slices.run(job.prepare(job.call.records[index]));
    const line = lane.openLine();
    try {
      await this.#encode(value, lane, line);
    } catch (error) {
      await line.abort();
      throw error;
    }
    this.#inFlight.push(new InFlight({ job, index, lane, value }, line.commit()));
  }

  async #encode(value: object, { model }: RecordLane, line: StreamLine): Promise<void> {
    for await (const part of encodeParts(this.#encoder, value, { model, slices: this.#slices })) {
      line.write(part);
      if (line.failure !== null) throw line.failure;
      // A record may take long; what was written before it should not wait for that.
      await this.#indexSettled();
    }
  }

  /** Makes the rows of records that are in their file, oldest first, up to one that is not. */
  async #indexSettled(): Promise<void> {
    for (let head = this.#inFlight.first; head?.isSettled === true; head = this.#inFlight.first) {
      this.#inFlight.shift();
      const { job, lane, place } = head;
      if (place === null) job.call.endFailed(head.failure);
      else await this.#index(head, place);
      this.#settleIfOver(job.call, lane);
    }
  }

  async #index({ job, index, lane, value }: InFlight, place: RecordPlace): Promise<void> {
    const line = lane.nextLine();
    try {
      lane.addRow(await this.#slices.run(lane.rowSteps(value, { ...place, line })));
    } catch (error) {
      job.call.fail(error);
    }
    job.call.endWritten(index, { ...place, line });
  }

  /** Settles a call whose last record has ended, once its rows are in their file. */
  #settleIfOver(call: LogCall, lane: RecordLane | null): void {
    if (!call.isOver) return;
    const saved = lane === null ? Promise.resolve() : lane.saved();
    void saved.catch((error: unknown) => call.fail(error)).then(() => call.settle());
  }
}
