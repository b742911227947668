/**
 * Question: what does a call of `PrimeMonitor.log` cost its producer, and what does a service that does not answer, for as
 * long as it likes, cost in memory?
 *
 * Contenders: a service at work (a sink that stores nothing), one that is stopped (SIGSTOP, its connections open), and none
 * at all; the producer in a process of its own, its uploads in another. Times are of each call, all of them, the first
 * included; a burst is logged within one turn of the loop. Memory is the resident set of both processes, looked at from
 * outside every 100 ms for the whole duration, which goes on when everything is logged; the peak is the kernel's.
 * Demands: longest 0.2 ms, p99 0.02 ms (spec 07, R-Q-1); peaks within the budget and 200 MiB, after ten minutes as well.
 * Fixture: four episodes of 92 turns, 2.4 MiB as they are encoded (bench/figures/episodes.mjs), logged over and over under ids of their own. It does not
 * measure the memory of the producer's own episodes, which a queue only refers to, nor the lag of the loop.
 *
 *   npm run build && node bench/submit-figures.mjs [--only stopped,none,working] [--seconds 600] [--episodes 1000]
 *     [--turns 92] [--burst 1] [--budget 256MiB] [--folder DIR]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { sizeOf } from './figures/measure.mjs';

const PRODUCER = fileURLToPath(new URL('figures/prime-producer.mjs', import.meta.url));
const SINK = fileURLToPath(new URL('figures/sink.mjs', import.meta.url));
const MIB = 2 ** 20;
const LONGEST_MS = 0.2;
const P99_MS = 0.02;
const BESIDE_BUDGET_BYTES = 200 * MIB;
const SAMPLE_MS = 100;
const { values: given } = parseArgs({
  options: {
    only: { type: 'string', default: 'stopped,none,working' },
    seconds: { type: 'string', default: '600' },
    episodes: { type: 'string', default: '1000' },
    turns: { type: 'string', default: '92' },
    burst: { type: 'string', default: '1' },
    budget: { type: 'string', default: '256MiB' },
    folder: { type: 'string' },
  },
});
const [durationMs, episodes, turns, burst] = [
  1e3 * Number(given.seconds),
  Number(given.episodes),
  Number(given.turns),
  Number(given.burst),
];
const budgetBytes = sizeOf(given.budget);
const folder = mkdtempSync(join(given.folder ?? tmpdir(), 'prl-submit-'));

async function startSink() {
  const service = spawn(process.execPath, [SINK, '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(service.stdout, 'data');
  return { url: String(line).trim(), service };
}

/** An address where nobody listens. */
async function deadUrl() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return `http://127.0.0.1:${port}`;
}

/** One field of the status of a process, in bytes; 0 when it has gone. */
function memoryOf(pid, field) {
  try {
    return (
      1024 * Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0)
    );
  } catch {
    return 0;
  }
}

function childOf(pid) {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0]);
  } catch {
    return 0;
  }
}

/** Looks at a process and its child until it is told to stop; peaks, and what they hold at the end. */
function watch(pid) {
  const seen = { samples: 0, producerPeak: 0, childPeak: 0, producerLast: 0, childLast: 0 };
  const look = () => {
    const child = childOf(pid);
    seen.samples += 1;
    seen.producerPeak = Math.max(seen.producerPeak, memoryOf(pid, 'VmHWM'));
    seen.childPeak = Math.max(seen.childPeak, memoryOf(child, 'VmHWM'));
    seen.producerLast = memoryOf(pid, 'VmRSS');
    seen.childLast = memoryOf(child, 'VmRSS');
  };
  const timer = setInterval(look, SAMPLE_MS);
  return () => {
    clearInterval(timer);
    look();
    return seen;
  };
}

/** What a producer says, by its words. */
function listen(producer) {
  const said = new Map();
  const word = (name) => {
    if (!said.has(name)) said.set(name, Promise.withResolvers());
    return said.get(name);
  };
  createInterface({ input: producer.stdout }).on('line', (line) => {
    const [name] = line.split(' ', 1);
    word(name).resolve(JSON.parse(line.slice(name.length + 1)));
  });
  producer.once('exit', (status) => {
    for (const name of ['logged', 'report']) word(name).reject(new Error(`the producer ended with ${status}`));
  });
  return (name) => word(name).promise;
}

async function measure(name) {
  const { url, service = null } = name === 'none' ? { url: await deadUrl() } : await startSink();
  if (name === 'stopped') service.kill('SIGSTOP');
  const job = { url, state: join(folder, name), episodes, turns, burst, budgetBytes };
  const producer = spawn(process.execPath, ['--expose-gc', PRODUCER, JSON.stringify(job)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  try {
    const word = listen(producer);
    const startMs = performance.now();
    const endWatch = watch(producer.pid);
    const logged = await word('logged');
    const loggedMs = performance.now() - startMs;
    await sleep(Math.max(0, durationMs - loggedMs));
    const memory = endWatch();
    producer.stdin.end(name === 'working' ? 'finish\n' : 'leave\n');
    print(name, { logged, loggedMs, memory, report: await word('report') });
  } finally {
    producer.kill('SIGKILL');
    service?.kill('SIGKILL');
    rmSync(job.state, { recursive: true, force: true });
  }
}

function print(name, { logged, loggedMs, memory, report }) {
  const { medianMs, p99Ms, longestMs, beside, dropped, spoolBytes } = logged;
  const { stored, unsent, unknown } = report.counts;
  if (stored + unsent + unknown + dropped !== episodes) throw new Error(JSON.stringify(report));
  const allowed = budgetBytes + BESIDE_BUDGET_BYTES;
  const mib = (bytes) => `${(bytes / MIB).toFixed(0)} MiB`;
  const verdict = (isMet) => (isMet ? 'met' : 'NOT met');
  console.log(
    `${name.padEnd(8)} ${episodes} episodes, ${burst} a turn, on the disk in ${(loggedMs / 1e3).toFixed(1)} s (${mib(spoolBytes)} of them there by then); ` +
      `${stored} stored, ${unsent + unknown} left, ${dropped} dropped\n` +
      `         log(): median ${medianMs.toFixed(4)} ms, p99 ${p99Ms.toFixed(4)} (${P99_MS} ${verdict(p99Ms <= P99_MS)}), ` +
      `longest ${longestMs.toFixed(4)} (${LONGEST_MS} ${verdict(longestMs <= LONGEST_MS)}); an empty function at the same moments: ` +
      `p99 ${beside.p99Ms.toFixed(4)}, longest ${beside.longestMs.toFixed(4)}\n` +
      `         peak of the producer ${mib(memory.producerPeak)}, of its uploads ${mib(memory.childPeak)}; allowed ${mib(allowed)}: ` +
      `${verdict(memory.producerPeak <= allowed && memory.childPeak <= allowed)}; at the end ${mib(memory.producerLast)} and ` +
      `${mib(memory.childLast)}, ${memory.samples} looks in ${(Math.max(durationMs, loggedMs) / 1e3).toFixed(0)} s`,
  );
}

console.log(`Node ${process.version}, budget ${given.budget}`);
try {
  for (const name of given.only.split(',')) await measure(name);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
