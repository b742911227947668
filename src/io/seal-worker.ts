/** The thread that seals one chunk, behind everybody else (io/chunk-sealer). It ends with its process, so no two meet. */
import { constants, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { messageOf } from '../core/errors.js';
import type { SealAnswer } from './chunk-sealer.js';
import { systemErrorCode } from './run-fault.js';
import { type SealJob, sealChunk } from './seal-chunk.js';

// On Linux this is the niceness of the calling thread; elsewhere it would be that of the whole process.
if (process.platform === 'linux') setPriority(0, constants.priority.PRIORITY_LOW);

function seal(): SealAnswer {
  try {
    return { kind: 'sealed', sealed: sealChunk(workerData as SealJob) };
  } catch (error) {
    const { hint = null } = error as { hint?: string };
    return { kind: 'failed', code: systemErrorCode(error), message: messageOf(error), hint };
  }
}

parentPort?.postMessage(seal());
