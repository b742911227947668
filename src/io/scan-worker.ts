/** A thread that scans segments: jobs in, rows out, one at a time (io/scan-pool). */
import { parentPort, workerData } from 'node:worker_threads';
import type { WorkerAnswer } from './scan-pool.js';
import type { SegmentJob } from './scan-types.js';
import { SegmentRunner } from './segment-runner.js';
import { adoptModules } from './wasm-modules.js';

/** Bytes between two signs of life. */
const PROGRESS_BYTES = 33_554_432;

const port = parentPort;
if (port === null) throw new Error('scan-worker is started by io/scan-pool alone');

adoptModules(workerData);
const runner = new SegmentRunner();

function answer(message: WorkerAnswer, transfer: ArrayBuffer[] = []): void {
  port?.postMessage(message, transfer);
}

port.on('message', (job: SegmentJob) => {
  try {
    const scan = runner.open(job);
    let told = scan.position;
    let isMore = true;
    while (isMore) {
      isMore = scan.step(PROGRESS_BYTES);
      answer({ kind: 'progress', bytes: scan.position - told });
      told = scan.position;
    }
    const result = runner.take(scan);
    answer({ kind: 'result', result }, [
      result.rows.buffer as ArrayBuffer,
      result.lineAt.buffer as ArrayBuffer,
      result.idHashes.buffer as ArrayBuffer,
      result.steps.buffer as ArrayBuffer,
    ]);
  } catch (error) {
    const failure = error instanceof Error ? error : new Error(String(error));
    answer({ kind: 'failed', message: failure.message, stack: failure.stack ?? failure.message });
  }
});

answer({ kind: 'ready' });
