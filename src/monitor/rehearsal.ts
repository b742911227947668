/**
 * Calls of `log` before the first that counts. The engine compiles what it runs often, function by function, and takes that
 * back when it meets what it has not met before; each time a call waits 0.05 to 2 ms for it, fifteen of the first
 * thousand, were they the producer's (R-Q-1). So the rehearsal meets everything: several ways to write the same call,
 * several objects of each class, and sums as a long run has them.
 */
import { RecordQueue } from '../core/upload/record-queue.js';
import type { LogOptions } from './monitor-types.js';

/** The last function is compiled after a thousand calls; forty are a tenth of a millisecond. */
const TURNS = 50;
const CALLS_A_TURN = 40;
const CALLS_A_WRITE = 20;
const TURNS_A_MONITOR = 20;
/** Beyond 32 bits. */
const BYTES_OF_A_RECORD = 2 ** 32;
const BUDGET_BYTES = 2 ** 43;

const WAYS: readonly ((step: number) => LogOptions)[] = [
  (step) => ({ kind: 'train', step }),
  (step) => ({ step, kind: 'train' }),
  (step) => ({ kind: 'eval', step, ...{ name: '' } }),
  (step) => ({ step, ...{ name: '' }, kind: 'eval' }),
  (step) => ({ ...{ name: '' }, kind: 'train', step }),
];

type Rehearsed = {
  log(episodes: readonly object[] | object, options: LogOptions): boolean;
  snapshot(): unknown;
};

/** @param make makes a monitor that keeps nothing and tells nobody */
export async function rehearse(make: () => Rehearsed): Promise<void> {
  let monitor = make();
  for (let turn = 1; turn <= TURNS; turn += 1) {
    if (turn % TURNS_A_MONITOR === 0) monitor = make();
    rehearseTurn(monitor);
    // What was logged is settled meanwhile, and what was compiled is put into place.
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function rehearseTurn(monitor: Rehearsed): void {
  const episode = {};
  const queue = new RecordQueue<unknown>({ nowMs: () => 0, onWarning: () => {}, budgetBytes: BUDGET_BYTES });
  for (let call = 0; call < CALLS_A_TURN; call += 1) {
    const options = (WAYS[call % WAYS.length] as (typeof WAYS)[number])(call);
    monitor.log(call % 2 === 0 ? episode : [episode], options);
    queue.submit([{ record: episode, format: 'episode', bytes: null }]);
    if (call % CALLS_A_WRITE === 0) settleAll(queue);
  }
  // Whoever copies an object changes what the engine knows of it.
  monitor.snapshot();
}

function settleAll(queue: RecordQueue<unknown>): void {
  for (let work = queue.next(); work !== null; work = queue.next()) {
    // Sizes with means between whole numbers.
    if (work.kind === 'measure') queue.measured(work.record, BYTES_OF_A_RECORD + (work.record.sequence % 3), 'stored');
    else queue.settle(work.write, { stored: work.write.records.length });
  }
}
