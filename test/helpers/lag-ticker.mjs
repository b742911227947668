/**
 * Loaded into a process before its program (`--import`): a ticker due every 5 ms on an absolute schedule, where each
 * slot that a stall made it miss counts with its own lateness (spec 07 section 7). SIGUSR2 begins anew, and the end of
 * the process writes what was seen to `$LAG_FILE`: `{samples, p50, p99, max}`, in milliseconds.
 */
import { writeFileSync } from 'node:fs';

const PERIOD_MS = 5;
let lagsMs = [];
let dueMs = performance.now() + PERIOD_MS;

function tick() {
  const nowMs = performance.now();
  for (; dueMs <= nowMs; dueMs += PERIOD_MS) lagsMs.push(nowMs - dueMs);
  setTimeout(tick, Math.max(1, dueMs - performance.now())).unref();
}

setTimeout(tick, PERIOD_MS).unref();
process.on('SIGUSR2', () => {
  lagsMs = [];
});
process.on('exit', () => {
  const sorted = lagsMs.sort((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? null;
  const seen = { samples: sorted.length, p50: at(0.5), p99: at(0.99), max: at(1) };
  writeFileSync(process.env.LAG_FILE ?? '/dev/null', JSON.stringify(seen));
});
