/** The thread that hashes and compresses batches, one after the other and behind everybody else (io/packer). */
import { constants, setPriority } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { parentPort, workerData } from 'node:worker_threads';
import type { PackWindow, PackWindows } from './pack-messages.js';
import { WindowPacker } from './window-packer.js';

// On Linux this is the niceness of the calling thread; elsewhere it would be that of the whole process.
if (process.platform === 'linux') setPriority(0, constants.priority.PRIORITY_LOW);

/** About 160 ms of work, and 10 MiB that zlib has written. */
const COLLECTED_WINDOWS = 16;

/**
 * What zlib writes lies outside the heap, where the engine lets 64 MiB of garbage gather before it looks: of two threads as
 * much as half a budget. A look at what is new alone leaves half of it, which has become old meanwhile; one at everything
 * takes 3 ms, since there is hardly anything else in this thread: 60 MiB at most instead of 94 (Node 24, 600 windows).
 */
function openCollector(): () => void {
  // Never taken back: the flag is the process's, and the next thread may be just before its own.
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}

const collect = openCollector();
const windows = (workerData as PackWindows).map((memory) => Buffer.from(memory));
let packer = new WindowPacker();
let taken = 0;

parentPort?.on('message', (window: PackWindow) => {
  const bytes = windows[window.index]?.subarray(0, window.length) ?? Buffer.alloc(0);
  const answer = packer.add(bytes, window);
  parentPort?.postMessage(answer, answer.payload === null ? [] : [answer.payload.buffer]);
  if (answer.digests !== null) packer = new WindowPacker();
  taken += 1;
  if (taken % COLLECTED_WINDOWS === 0) collect();
});
