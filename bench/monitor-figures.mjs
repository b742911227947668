/**
 * Question: how fast does a producer log large episodes through the file monitor, what does it cost its event loop and
 * memory, and how far is that from copying the same bytes?
 *
 * Contenders: `FileMonitor` in a process of its own, two episodes of 8 MB outstanding, plain arrays and typed ones,
 * chunks left plain; `cat` of the same stream to the same disk. A corrected 5 ms ticker runs in the producer. Memory is
 * the peak of the process less what it held with its episodes in hand before the first was logged.
 * Fixture: four episodes of 302 turns (bench/figures/episodes.mjs), logged over and over.
 *
 *   npm run build && node bench/monitor-figures.mjs [--episodes 1000] [--passes 3] [--folder DIR] [--compress]
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { median } from './figures/measure.mjs';

const { values: given } = parseArgs({
  options: {
    episodes: { type: 'string', default: '1000' },
    passes: { type: 'string', default: '3' },
    folder: { type: 'string' },
    compress: { type: 'boolean', default: false },
  },
});
const PRODUCER = fileURLToPath(new URL('figures/monitor-producer.mjs', import.meta.url));
const folder = mkdtempSync(join(given.folder ?? tmpdir(), 'prl-monitor-'));
const run = join(folder, 'run');

function logAll(isTyped) {
  rmSync(run, { recursive: true, force: true });
  const options = [given.episodes, String(isTyped), String(given.compress)];
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--expose-gc', PRODUCER, run, ...options], {
    encoding: 'utf8',
    maxBuffer: 1e8,
  });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

function copyAll() {
  const stream = join(run, 'monitors/file/traces/stream');
  const files = readdirSync(stream).map((name) => join(stream, name));
  const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0);
  const start = performance.now();
  const { status } = spawnSync('sh', ['-c', 'cat "$@" > "$0"', join(folder, 'copy'), ...files]);
  const seconds = (performance.now() - start) / 1e3;
  if (status !== 0) throw new Error('cat failed');
  rmSync(join(folder, 'copy'));
  return bytes / seconds / 1e6;
}

try {
  console.log(
    `Node ${process.version}, ${given.episodes} episodes, chunks ${given.compress ? 'sealed' : 'left plain'}`,
  );
  const copies = [];
  for (const isTyped of [false, true]) {
    const results = [];
    for (let pass = 0; pass < Number(given.passes); pass += 1) {
      results.push(logAll(isTyped));
      if (!given.compress) copies.push(copyAll());
    }
    const of = (pick) => median(results.map(pick)).toFixed(1).padStart(8);
    console.log(
      `  ${isTyped ? 'typed arrays' : 'plain arrays'}  ${of((one) => one.megabytesPerSecond)} MB/s` +
        `   lag p50 ${of((one) => one.lagP50Ms)} p99 ${of((one) => one.lagP99Ms)} max ${of((one) => one.lagMaxMs)} ms` +
        `   log() max ${of((one) => one.logMaxMs)} ms   memory above episodes ${of((one) => one.memoryAboveMiB)} MiB` +
        `   CPU ${of((one) => one.cpuMsAnEpisode)} ms an episode`,
    );
  }
  if (copies.length > 0) console.log(`  cat           ${median(copies).toFixed(1).padStart(8)} MB/s`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
