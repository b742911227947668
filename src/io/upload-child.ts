/**
 * The process that uploads for a producer, behind everybody else: hashing, compression and requests cost the event loop
 * of whoever logs a p99 of 20 ms in its own process and 4 in this one (design/event-loop.md section 5). It belongs to
 * its parent: it ends with the channel to it, whatever cuts that, and signals for the whole group are the parent's.
 */
import { monotonicClock } from './clock.js';
import { SteadyUpload } from './steady-upload.js';
import type { FromUpload, ToUpload } from './upload-messages.js';

/** How long the end may take when nobody listens any more. */
const END_BUDGET_MS = 2_000;

let upload: SteadyUpload | null = null;

/** Resolves when what was told last has left this process. */
let told: Promise<void> = Promise.resolve();

function tell(message: FromUpload): void {
  // A parent that has gone needs no answer; `disconnect` says so.
  if (!process.connected) return;
  told = new Promise((resolve) => process.send?.(message, undefined, undefined, () => resolve()));
}

function onMessage(message: ToUpload): void {
  switch (message.type) {
    case 'start':
      void start(message.job);
      return;
    case 'drain':
      upload?.drain();
      return;
    case 'stop':
      upload?.stop();
      return;
    case 'await':
      upload?.tellWhenSettled(message.id, message.place);
      return;
  }
}

async function start(job: Extract<ToUpload, { type: 'start' }>['job']): Promise<void> {
  upload = new SteadyUpload({ job, clock: monotonicClock, tell });
  await upload.run();
  // A channel that is closed loses what it still holds, and a parent at work may listen only later.
  await told;
  if (process.connected) process.disconnect();
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
process.on('message', onMessage);
process.on('disconnect', () => {
  upload?.stop();
  setTimeout(() => process.exit(1), END_BUDGET_MS).unref();
});
