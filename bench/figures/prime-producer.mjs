// A producer: logs episodes through the prime monitor, and times each call. One argument, JSON: { url, state, episodes,
// turns, burst, budgetBytes }. Says `logged JSON` when the last call has returned and the disk has all of them, and on a
// line of its standard input ends: `finish` with everything settled, `leave` with what there is. Then it says `report JSON`.
import { createInterface } from 'node:readline';
import { PrimeMonitor } from '../../dist/index.js';
import { makeEpisode } from './episodes.mjs';

const { url, state, episodes: count, turns, burst, budgetBytes } = JSON.parse(process.argv[2]);
const EPISODES = 4;
/** Of an episode as it is encoded, and above what one counts as that nobody has measured. */
const MOST_BYTES = Math.max(1, (turns / 92) * 2.6) * 2 ** 20;
const held = Array.from({ length: EPISODES }, (_, index) => makeEpisode({ turns, seed: index + 1 }));
globalThis.gc();

const monitor = await PrimeMonitor.open({
  access: { url, apiKey: 'bench' },
  run: { id: 'bench' },
  environment: { PRL_STATE_DIR: state },
  budgetBytes,
  uploadBudgetBytes: budgetBytes,
});
const calls = [];
/** The same clock around nothing, at the same moments: what the machine adds. */
const nothings = [];
const nothing = () => {};
/** As every episode has ids of its own; what it holds is shared. */
const underId = (episode, id) => ({
  ...episode,
  id: `e${id}`,
  traces: episode.traces.map((trace) => ({ ...trace, id: `t${id}` })),
});
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

for (let logged = 0; logged < count; ) {
  // A producer that logs more than there is room for is told so by drops, which are not what is measured here.
  const { queuedBytes } = monitor.snapshot();
  if (queuedBytes + burst * MOST_BYTES > budgetBytes) {
    await nextTurn();
    continue;
  }
  for (const end = Math.min(count, logged + burst); logged < end; logged += 1) {
    const episode = underId(held[logged % EPISODES], logged);
    const beforeMs = performance.now();
    nothing(episode, { step: logged, kind: 'train' });
    nothings.push(performance.now() - beforeMs);
    const startMs = performance.now();
    monitor.log(episode, { step: logged, kind: 'train' });
    calls.push(performance.now() - startMs);
  }
  await nextTurn();
}
while (monitor.snapshot().queuedRecords > 0) await nextTurn();

const tell = (word, value) => console.log(`${word} ${JSON.stringify(value)}`);
for (const times of [calls, nothings]) times.sort((one, other) => one - other);
const at = (share, times = calls) => times[Math.min(times.length - 1, Math.floor(share * times.length))];
const { dropped, spoolBytes } = monitor.snapshot();
const beside = { p99Ms: at(0.99, nothings), longestMs: at(1, nothings) };
tell('logged', { medianMs: at(0.5), p99Ms: at(0.99), longestMs: at(1), beside, dropped, spoolBytes });
const lines = createInterface({ input: process.stdin });
for await (const line of lines) {
  tell('report', await monitor.finish(line === 'leave' ? 0 : undefined));
  break;
}
lines.close();
