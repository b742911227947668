/** From the records of a run to the batches that are still to be sent, in order, one at a time. */
import { isBlank } from '../scan/pick.js';
import type { StreamRecord } from '../scan/types.js';
import type { RunStamp } from '../stream/stamp.js';
import type { BatcherOptions, Candidate } from './batcher.js';
import { Lanes } from './lanes.js';
import { type Prepared, prepareRecord } from './prepare.js';
import type { Address, Placement } from './resume.js';
import type { Batch, Cut, RejectedLine } from './types.js';
import type { OpenLines } from './upload-memory.js';

export type BatchesOptions = BatcherOptions & {
  /** Null sends every record byte for byte. */
  readonly stamp: RunStamp | null;
  /** What an earlier run left to do; by default everything is sent. */
  readonly placementOf?: (address: Address) => Placement;
  /** False for a record that is not asked for: it is neither sent nor settled. Asked once for each record, in order. */
  readonly selects?: (record: StreamRecord) => boolean;
  /** Cuts that an earlier run made and that must be repeated (U2). */
  readonly pinAt?: (address: Address) => Cut | null;
  /** A line that is left out, told before the batch that it would have been part of. */
  readonly onRejected: (line: RejectedLine, parts: readonly Buffer[]) => void | Promise<void>;
  /** True for a line that turns out to be settled by what it says, not by where it stands; it is passed over. */
  readonly recognises?: (candidate: Candidate) => Promise<boolean>;
  /** Told of each record that goes into a batch. */
  readonly onPrepared?: (prepared: Extract<Prepared, { ok: true }>) => void;
  /** Waited for before the next record is read: until there is memory for what is open, and for a line like the last one. */
  readonly hold?: (open: OpenLines, lastLineBytes: number) => Promise<void>;
};

/** Among records: batches that are open are cut here. A growing run has no end at which they would be. */
export type CutMark = 'cut';

/**
 * Cuts records into batches. Records of a chunk must come in order of their offsets. What is settled or not selected
 * leaves a gap in the batch around it, which is cut by the lines that it carries alone.
 *
 * @throws PrlError `PRL_ERR_USAGE` for a bad batch size, and for a record without a run where one must be stamped
 */
export async function* batchesOf(
  records: AsyncIterable<StreamRecord | CutMark> | Iterable<StreamRecord | CutMark>,
  options: BatchesOptions,
): AsyncGenerator<Batch> {
  const lanes = new Lanes(options);
  const placementOf = (address: Address): Placement => options.placementOf?.(address) ?? 'send';
  let previousEnd: Address | null = null;
  for await (const record of records) {
    if (record === 'cut') {
      yield* lanes.closeAll();
      continue;
    }
    const placement = placementOf(record);
    // A reader that passes over settled bytes leaves a gap where they were.
    if (previousEnd !== null && placementOf(previousEnd) === 'settled') lanes.pass();
    previousEnd = { chunk: record.chunk, offset: record.offset + record.length };
    const isSelected = options.selects?.(record) ?? true;
    if (isSelected && placement === 'skip') continue;
    const pin = isSelected && placement === 'send' ? (options.pinAt?.(record) ?? null) : null;
    yield* lanes.closedBefore(record, pin);
    if (!isSelected || placement === 'settled') {
      lanes.pass();
      continue;
    }
    const prepared = prepareRecord(asPlanned(record, pin), options.stamp);
    if (!prepared.ok) {
      await options.onRejected(prepared.rejected, [record.bytes]);
      continue;
    }
    if ((await options.recognises?.(prepared.candidate)) === true) {
      lanes.pass();
      continue;
    }
    const { closed, rejected } = lanes.push(prepared.candidate, pin);
    if (rejected === null) options.onPrepared?.(prepared);
    else await options.onRejected(rejected, prepared.candidate.line.parts);
    if (closed !== null) yield closed;
    await options.hold?.(lanes.open, prepared.candidate.line.byteLength);
  }
  yield* lanes.closeAll();
}

/**
 * The last record of a growing chunk may have been sent without its LF, which has come since. A repeat sends what was
 * sent: with the LF it would be another upload of the same record (U2). The LF is read as a blank line later.
 */
function asPlanned(record: StreamRecord, pin: Cut | null): StreamRecord {
  const { offset, length, bytes } = record;
  if (pin === null || offset + length <= pin.end || bytes.length !== length) return record;
  const planned = pin.end - offset;
  return isBlank(bytes, planned, length) ? { ...record, length: planned, bytes: bytes.subarray(0, planned) } : record;
}
