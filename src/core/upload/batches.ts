/** From the records of a run to the batches that are still to be sent, in order, one at a time. */
import type { StreamRecord } from '../scan/types.js';
import type { RunStamp } from '../stream/stamp.js';
import { Batcher, type BatcherOptions } from './batcher.js';
import { type Prepared, prepareRecord } from './prepare.js';
import type { Address, Placement } from './resume.js';
import type { Batch, RejectedLine, SourceRange } from './types.js';

export type BatchesOptions = BatcherOptions & {
  /** Null sends every record byte for byte. */
  readonly stamp: RunStamp | null;
  /** What an earlier run left to do; by default everything is sent. */
  readonly placementOf?: (address: Address) => Placement;
  /** Cuts that an earlier run made and that must be repeated (U2). */
  readonly pinAt?: (address: Address) => SourceRange | null;
  /** A line that is left out, told before the batch that it would have been part of. */
  readonly onRejected: (line: RejectedLine) => void | Promise<void>;
  /** Told of each record that goes into a batch. */
  readonly onPrepared?: (prepared: Extract<Prepared, { ok: true }>) => void;
};

/**
 * Cuts records into batches. Records must come in order of chunk and offset.
 *
 * @throws PrlError `PRL_ERR_USAGE` for a bad batch size, and for a record without a run where one must be stamped
 */
export async function* batchesOf(
  records: AsyncIterable<StreamRecord> | Iterable<StreamRecord>,
  options: BatchesOptions,
): AsyncGenerator<Batch> {
  const batcher = new Batcher(options);
  const placementOf = (address: Address): Placement => options.placementOf?.(address) ?? 'send';
  let openPin: SourceRange | null = null;
  let previousEnd: Address | null = null;
  for await (const record of records) {
    const placement = placementOf(record);
    // A reader that passes over settled bytes leaves a gap where they were.
    const isAfterSettled = previousEnd !== null && placementOf(previousEnd) === 'settled';
    previousEnd = { chunk: record.chunk, offset: record.offset + record.length };
    if (placement === 'skip') continue;
    const pin = placement === 'send' ? (options.pinAt?.(record) ?? null) : null;
    if (placement === 'settled' || isAfterSettled || pin !== openPin) {
      const closed = batcher.flush();
      if (closed !== null) yield closed;
    }
    openPin = pin;
    if (placement === 'settled') continue;
    const prepared = prepareRecord(record, options.stamp);
    if (!prepared.ok) {
      await options.onRejected(prepared.rejected);
      continue;
    }
    const { closed, rejected } = batcher.push(prepared.candidate, pin !== null);
    if (rejected === null) options.onPrepared?.(prepared);
    else await options.onRejected(rejected);
    if (closed !== null) yield closed;
  }
  const last = batcher.flush();
  if (last !== null) yield last;
}
