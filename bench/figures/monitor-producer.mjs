/** A producer: logs episodes through the file monitor, two outstanding, with a corrected ticker beside it. One JSON line. */
import { readFileSync } from 'node:fs';
import { FileMonitor } from '../../dist/index.js';
import { makeEpisode } from './episodes.mjs';

const [run, count, typed, compressed] = process.argv.slice(2);
const TURNS = 302;
const OUTSTANDING = 2;
const PERIOD_MS = 5;

const episodes = [1, 2, 3, 4].map((seed) => makeEpisode({ turns: TURNS, isTyped: typed === 'true', seed }));
globalThis.gc();

/** Peak and present resident memory of this process, MiB. */
function memoryMiB(field) {
  const [, kib] = new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(readFileSync('/proc/self/status', 'utf8'));
  return Number(kib) / 1024;
}

const lags = [];
let nextAtMs = performance.now() + PERIOD_MS;
let isOver = false;
function tick() {
  const nowMs = performance.now();
  // One lateness for each slot that was missed.
  for (; nextAtMs <= nowMs; nextAtMs += PERIOD_MS) lags.push(nowMs - nextAtMs);
  if (!isOver) setTimeout(tick, Math.max(0, nextAtMs - performance.now()));
}
tick();

const monitor = await FileMonitor.open(run, { compress: compressed === 'true' });
const beforeMiB = memoryMiB('VmRSS');
const cpu = process.threadCpuUsage();
const start = performance.now();
let bytes = 0;
let logMaxMs = 0;
let next = 0;
async function work() {
  while (next < Number(count)) {
    const episode = episodes[next % episodes.length];
    next += 1;
    const before = performance.now();
    const receipt = monitor.log(episode, { step: next, kind: 'train' });
    logMaxMs = Math.max(logMaxMs, performance.now() - before);
    for (const record of (await receipt).records) bytes += record.bytes;
  }
}
await Promise.all(Array.from({ length: OUTSTANDING }, work));
const seconds = (performance.now() - start) / 1e3;
const { user, system } = process.threadCpuUsage(cpu);
isOver = true;
const peakMiB = memoryMiB('VmHWM');
await monitor.finalize();
lags.sort((one, other) => one - other);
const at = (share) => lags[Math.min(lags.length - 1, Math.floor(share * lags.length))] ?? 0;
console.log(
  JSON.stringify({
    megabytesPerSecond: bytes / seconds / 1e6,
    lagP50Ms: at(0.5),
    lagP99Ms: at(0.99),
    lagMaxMs: at(1),
    logMaxMs,
    memoryAboveMiB: peakMiB - beforeMiB,
    cpuMsAnEpisode: (user + system) / 1e3 / Number(count),
  }),
);
