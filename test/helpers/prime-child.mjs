// A producer that logs episodes through the built prime monitor, for tests that kill it, its uploads or its service.
// One argument, JSON: { url, run, state, prefix, from, count, bytes, pauseMs, fileRun, options, end }. `end`: `finish` reports at the
// end, `leave` ends the script with what there is by then, `stay` logs nothing more and waits to be told `finish`.
// Says on its standard output, each in a line: `ready`, `logged ID`, `saved ID` when it is
// on the disk, `all-logged`, `notice KIND MESSAGE`, and `report JSON`.
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { FileMonitor, PrimeMonitor } from '../../dist/index.js';

const job = JSON.parse(process.argv[2]);
const {
  url,
  run,
  state,
  prefix = 'e',
  from = 0,
  count,
  bytes = 200,
  pauseMs = 0,
  fileRun,
  options = {},
  end = 'finish',
} = job;

// At once, so that whoever is killed has said all that it knew.
const say = (text) => writeSync(1, `${text}\n`);

const text = 'x'.repeat(bytes);
const episodeOf = (id) => ({
  id,
  env: { id: 'arith' },
  task: { type: 'T', data: { idx: 0 } },
  ok: true,
  errors: [],
  traces: [
    {
      id: `${id}-t`,
      task: { type: 'T', data: { idx: 0 } },
      agent: { config: {} },
      nodes: [{ message: { role: 'user', content: text } }],
    },
  ],
});

const file = fileRun === undefined ? undefined : await FileMonitor.open(fileRun, { run: { id: run } });
const monitor = await PrimeMonitor.open({
  ...(file === undefined ? {} : { file }),
  access: { url, apiKey: 'pk-of-tests' },
  run: { id: run },
  lingerMs: 50,
  environment: { PRL_STATE_DIR: state },
  onNotice: ({ kind, message }) => say(`notice ${kind} ${message}`),
  ...options,
});

// As any training script does: the first interrupt ends it in good order.
let isInterrupted = false;
process.once('SIGINT', () => {
  isInterrupted = true;
});

const calls = [];
let saved = from;
const tellSaved = () => {
  const { queuedRecords, submitted, dropped } = monitor.snapshot();
  for (const all = from + submitted - dropped - queuedRecords; saved < all; saved += 1) say(`saved ${prefix}${saved}`);
};
say('ready');
for (let index = from; index < from + count && !isInterrupted; index += 1) {
  const episode = episodeOf(`${prefix}${index}`);
  const startMs = performance.now();
  void file?.log(episode, { step: index, kind: 'train' });
  const isTaken = monitor.log(episode, { step: index, kind: 'train' });
  calls.push(performance.now() - startMs);
  say(`${isTaken ? 'logged' : 'dropped'} ${prefix}${index}`);
  if (pauseMs > 0) await sleep(pauseMs);
  else await new Promise((resolve) => setImmediate(resolve));
  tellSaved();
}
while (monitor.snapshot().queuedRecords > 0) {
  await new Promise((resolve) => setImmediate(resolve));
  tellSaved();
}
tellSaved();
calls.sort((a, b) => a - b);
say(
  `all-logged ${JSON.stringify({ longestMs: calls.at(-1), p99Ms: calls[Math.floor(calls.length * 0.99)], ...monitor.snapshot() })}`,
);
if (end === 'stay') {
  const lines = createInterface({ input: process.stdin });
  for await (const line of lines) {
    if (line === 'snapshot') say(`snapshot ${JSON.stringify(monitor.snapshot())}`);
    if (line === 'finish') break;
  }
  lines.close();
}
await file?.flush();
if (end !== 'leave') say(`report ${JSON.stringify(await monitor.finish())}`);
