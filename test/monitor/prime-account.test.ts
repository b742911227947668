/** The account of a prime monitor under any order of events: every record in one counter (spec 07 section 5.4). */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ChunkSettlement } from '../../src/io/settlement.js';
import type { UploadProgress } from '../../src/io/upload-messages.js';
import { PrimeLedger } from '../../src/monitor/prime-ledger.js';
import { countsOf, leftOvers, reportOf } from '../../src/monitor/prime-report.js';
import type { SourceCounts } from '../../src/monitor/prime-source.js';
import { expectAccount } from '../helpers/primed.js';

const NOTHING: SourceCounts = {
  ...{ submitted: 0, admitted: 0, dropped: 0, afterClose: 0, inStream: 0 },
  ...{ waiting: 0, waitingBytes: 0, refused: 0, failed: 0, skipped: 0, spoolBytes: 0 },
};

/** Records of one chunk: how many are in it, and what the journal knows. */
type Chunk = { written: number; stored: number; rejected: number };

/** A run as it is in truth, with the processes that upload it. */
class Model {
  readonly chunks: Chunk[] = [{ written: 0, stored: 0, rejected: 0 }];
  readonly ledger = new PrimeLedger();
  ours = 0;
  unanswered = 0;
  #told = new Map<number, string>();

  constructor(earlier: number, stored: number) {
    const [first] = this.chunks as [Chunk];
    first.written = earlier;
    first.stored = Math.min(stored, earlier);
    this.ledger.begun({ stored: first.stored, rejected: 0, left: null }, earlier - first.stored);
  }

  get unsettled(): number {
    return this.chunks.reduce((sum, { written, stored, rejected }) => sum + written - stored - rejected, 0);
  }

  write(records: number): void {
    (this.chunks.at(-1) as Chunk).written += records;
    this.ours += records;
  }

  settle(records: number, as: 'stored' | 'rejected'): void {
    let left = Math.min(records, this.unsettled);
    for (const chunk of this.chunks) {
      const share = Math.min(left, chunk.written - chunk.stored - chunk.rejected);
      chunk[as] += share;
      left -= share;
    }
    this.unanswered = Math.min(this.unanswered, this.unsettled);
  }

  /** The process says what has changed since it last did. */
  tell(): void {
    const all = this.chunks.map(
      (one, chunk): ChunkSettlement => ({ chunk, stored: one.stored, rejected: one.rejected, endBytes: 0 }),
    );
    const chunks = all.filter((one) => this.#told.get(one.chunk) !== JSON.stringify(one));
    for (const one of chunks) this.#told.set(one.chunk, JSON.stringify(one));
    this.ledger.progress(progressOf({ chunks, unanswered: this.unanswered, requests: 1 }));
  }

  /** Another process takes over, which says everything anew. */
  crash(): void {
    this.#told = new Map();
    this.unanswered = 0;
  }
}

function progressOf(some: Partial<UploadProgress>): UploadProgress {
  return {
    ...{ chunks: [], unanswered: 0, open: 0, requests: 0, wireBytes: 0, retries: 0 },
    ...{ inFlightRequests: 0, waiting: null, lastRejectedCode: null, ...some },
  };
}

type Step = (model: Model) => void;

const small = fc.integer({ min: 1, max: 9 });
const step: fc.Arbitrary<Step> = fc.oneof(
  small.map(
    (records): Step =>
      (model) =>
        model.write(records),
  ),
  small.map(
    (records): Step =>
      (model) =>
        model.settle(records, 'stored'),
  ),
  small.map(
    (records): Step =>
      (model) =>
        model.settle(records, 'rejected'),
  ),
  small.map(
    (records): Step =>
      (model) => {
        model.unanswered = Math.min(records, model.unsettled);
      },
  ),
  fc.constant<Step>((model) => model.chunks.push({ written: 0, stored: 0, rejected: 0 })),
  fc.constant<Step>((model) => model.tell()),
  fc.constant<Step>((model) => model.crash()),
);

test('the account holds at every moment, and once told it is the truth, whatever crashed in between', () => {
  fc.assert(
    fc.property(fc.nat(20), fc.nat(20), small, fc.array(step, { maxLength: 60 }), (earlier, stored, waiting, steps) => {
      const model = new Model(earlier, stored);
      const before = earlier - Math.min(earlier, stored);
      const counts = () => {
        const admitted = model.ours + waiting;
        return countsOf({ ...NOTHING, submitted: admitted, admitted, inStream: model.ours, waiting }, model.ledger);
      };
      for (const next of steps) {
        next(model);
        expectAccount(counts());
      }
      model.tell();
      const { stored: ours, rejected, unsent, unknown, adopted } = counts();
      expect(adopted).toBe(before);
      expect(ours + rejected).toBe(before + model.ours - model.unsettled);
      expect([unknown, unsent]).toEqual([model.unanswered, model.unsettled - model.unanswered + waiting]);
    }),
    { seed: 20261130, numRuns: 500 },
  );
});

test('what every process did adds up', () => {
  const ledger = new PrimeLedger();
  for (const requests of [3, 0, 2])
    ledger.progress(progressOf({ requests, wireBytes: 10 * requests, retries: 1, inFlightRequests: 1 }));
  expect(ledger.activity).toMatchObject({ requests: 5, wireBytes: 50, retries: 3, inFlightRequests: 1 });
});

test.each([
  [{}, true, null, []],
  [{ unsent: 3, unknown: 2 }, false, 4, [/^4 episodes are not confirmed .* kept in \/spool;/, /^1 episode is lost/]],
  [{ unsent: 1 }, false, null, [/^1 episode is lost/]],
  [{ failed: 1 }, false, 'none', []],
  [{ dropped: 2, skipped: 1 }, false, 'none', []],
] as const)('a report of %o', (some, isComplete, records, lines) => {
  const zero = { submitted: 0, admitted: 0, dropped: 0, afterClose: 0, adopted: 0, stored: 0, failed: 0, rejected: 0 };
  const counts = { ...zero, skipped: 0, unsent: 0, unknown: 0, ...some };
  const waiting = counts.unsent > 0 ? 1 : 0;
  const report = reportOf({
    counts,
    waiting,
    missing: 0,
    isCounted: true,
    directory: '/spool',
    rejected: [],
    stopped: null,
  });
  expect(report).toMatchObject({ isComplete, lost: waiting });
  expect(report.left).toEqual(typeof records === 'number' ? { directory: '/spool', records, isCounted: true } : null);
  expect(leftOvers(report)).toEqual(lines.map((line) => expect.stringMatching(line)));
});
