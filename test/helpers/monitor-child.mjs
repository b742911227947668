// Logs episodes through the built file monitor, for tests that kill it or fail its calls. Arguments: the run, when to
// wait for the disk (flush or never), then the ids. Says on its standard output, each in a line, what it was told:
// `stored ID` when an episode is flushed, `metrics STEP` and `annotated` when a call has resolved, `refused WHAT CODE`, `notice TEXT`,
// `closed`, or `closed CODE` for an end that failed.
import { writeSync } from 'node:fs';
import { FileMonitor } from '../../dist/index.js';

const [run, fsync, ...ids] = process.argv.slice(2);
const ATTEMPTS = 3;

// At once, so that whoever is killed has said all that it knew.
const say = (text) => writeSync(1, `${text}\n`);

const monitor = await FileMonitor.open(run, {
  run: { id: 'r1' },
  chunkBytes: 2000,
  fsync,
  onNotice: ({ message }) => say(`notice ${message}`),
});
for (const [step, id] of ids.entries()) {
  const log = () => monitor.log(episodeOf(id, step), { step, kind: 'train' });
  if ((await stores(id, log)) && (await stores(id, () => monitor.flush()))) say(`stored ${id}`);
  if (await stores(`metrics ${step}`, () => monitor.logMetrics({ loss: 1 / (step + 1) }, { step })))
    say(`metrics ${step}`);
}
const update = { trace_id: `${ids[0]}-t`, info: { effective: true } };
if (await stores('update', () => monitor.logAnnotations([update]))) say('annotated');
try {
  await monitor.finalize();
  say('closed');
} catch ({ code }) {
  say(`closed ${code}`);
}

/** Every second one is long, so that each has a chunk of its own. */
function episodeOf(id, step) {
  const task = { type: 'T', data: { idx: step, text: 'x'.repeat(step % 2 === 1 ? 1200 : 300) } };
  const trace = { id: `${id}-t`, task, agent: { config: {} }, nodes: [{ message: { role: 'user', content: 'hi' } }] };
  return { id, env: { id: 'e' }, task, ok: true, errors: [], traces: [trace] };
}

/** Whether it was done in the end. What is refused is tried again; an episode of which only the row is missing is there. */
async function stores(what, action) {
  for (let count = 0; count < ATTEMPTS; count += 1) {
    try {
      await action();
      return true;
    } catch (error) {
      say(`refused ${what} ${error.code}`);
      if (error.receipt?.records.length > 0) return true;
    }
  }
  return false;
}
