/**
 * Question: what does `prl upload` make of a link, of a slow service, and of the cores when nothing else limits it?
 *
 * `link`: 1,000 episodes of 2.3 MiB to a service behind 15 MB/s with 80 ms latency; share of the link in wire bytes.
 * `slow`: 60 batches to a service that answers after 2 s, as many requests as the upload sees fit against one at a time.
 * `gzip`: no limit at all; bytes a second against gzip of the same bytes at the same level in one process, which is what
 * a core can do, and in two at a time, which is what this machine can.
 * `memory`: 4 GB in lines of 9 MB, no limit: the most memory beside the budget of 256 MiB (U7: 200 MiB).
 * `rerun`: a finished run of 8 GB once more: requests and seconds. `kill`: SIGKILL half way, then what is sent again.
 * `stopped`: the service gets SIGSTOP for ten minutes; peak memory of the upload meanwhile, and that nothing was lost.
 * `reader`: five minutes of a run of 8 GB to a service that reads 100 kB/s (U16): lag of the upload's event loop, with every
 * slot of 5 ms counted, beside that of a process which does nothing; and how far the upload went in reading ahead.
 * The service is `prl serve` in a process of its own, or a sink that stores nothing where its work would be measured.
 * Fixture: shape A of design/scanning.md from a seed (test/helpers/shape-episode).
 *
 *   npm run build && node bench/upload-figures.mjs [--only link,slow,gzip,memory,rerun,kill,stopped,reader] [--episodes 1000]
 *     [--stop-seconds 600] [--reader-seconds 300] [--run-bytes 8e9]
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import '../test/helpers/typescript-hooks.mjs';
import { median } from './figures/measure.mjs';

const { EpisodeSource } = await import('../test/helpers/shape-episode.ts');
const { writeShapeRun } = await import('../test/helpers/shapes.ts');

const PRL = fileURLToPath(new URL('../bin/run.js', import.meta.url));
const SINK = fileURLToPath(new URL('figures/sink.mjs', import.meta.url));
const TICKER = fileURLToPath(new URL('../test/helpers/lag-ticker.mjs', import.meta.url));
const MIB = 2 ** 20;
const LINK_BYTES_PER_SECOND = 15e6;
const { values: given } = parseArgs({
  options: {
    only: { type: 'string', default: 'link,slow,gzip,memory,rerun,kill,stopped,reader' },
    episodes: { type: 'string', default: '1000' },
    passes: { type: 'string', default: '3' },
    'stop-seconds': { type: 'string', default: '600' },
    'reader-seconds': { type: 'string', default: '300' },
    'run-bytes': { type: 'string', default: String(8e9) },
    folder: { type: 'string' },
  },
});
const only = given.only.split(',');
const folder = mkdtempSync(join(given.folder ?? tmpdir(), 'prl-upload-'));

/** A run of `count` episodes of `episodeBytes` in one plain chunk; its bytes. */
function writeRun(name, count, episodeBytes) {
  const stream = join(folder, name, 'monitors/file/traces/stream');
  mkdirSync(stream, { recursive: true });
  const source = new EpisodeSource('A', { episodeBytes });
  const file = openSync(join(stream, '00000.jsonl'), 'w');
  for (let index = 0; index < count; index += 1) writeSync(file, source.next());
  closeSync(file);
  return {
    run: join(folder, name),
    chunk: join(stream, '00000.jsonl'),
    bytes: statSync(join(stream, '00000.jsonl')).size,
  };
}

/** Starts a service, hands its URL to `work`, and stops it. */
async function withService(command, work) {
  const service = spawn(process.execPath, command, { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const [line] = await once(service.stdout, 'data');
    return await work(/http:\S+/.exec(String(line))[0]);
  } finally {
    service.kill();
    await once(service, 'exit');
  }
}

let dataDirectories = 0;
function serve(...faults) {
  dataDirectories += 1;
  const data = join(folder, `data-${dataDirectories}`);
  return [PRL, 'serve', '--port', '0', '--data', data, ...faults.flatMap((fault) => ['--fault', fault])];
}

function uploadCommand(run, url, flags) {
  return [PRL, 'upload', run, '--url', url, '--json', ...flags];
}

const environment = { ...process.env, PRIME_API_KEY: 'bench', PRL_STATE_DIR: join(folder, 'state') };

/** One upload by the command, without a journal from before unless `keeps`. The document, and seconds around it all. */
async function upload(run, url, { flags = [], keeps = false } = {}) {
  if (!keeps) rmSync(join(run, 'monitors/prl'), { recursive: true, force: true });
  const start = performance.now();
  const child = spawn(process.execPath, uploadCommand(run, url, flags), {
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.on('data', (bytes) => {
    text += bytes;
  });
  const [status] = await once(child, 'exit');
  if (status !== 0) throw new Error(`upload ended with ${status}`);
  return { ...JSON.parse(text), wallSeconds: (performance.now() - start) / 1e3 };
}

async function link() {
  const { run, bytes } = writeRun('link', Number(given.episodes), 2.3 * MIB);
  await withService(serve('latency=80ms', `bandwidth=${LINK_BYTES_PER_SECOND / 1e6}MB/s`), async (url) => {
    const { sent, seconds, retries, peak_rss_bytes: peak } = await upload(run, url);
    const share = sent.wire_bytes / seconds / LINK_BYTES_PER_SECOND;
    console.log(
      `link   ${sent.episodes} episodes, ${(bytes / 1e9).toFixed(2)} GB as ${(sent.wire_bytes / 1e6).toFixed(0)} MB on the wire in ` +
        `${seconds.toFixed(1)} s: ${(100 * share).toFixed(1)} % of 15 MB/s; ${sent.requests} requests, ${retries} retries, ${(peak / MIB).toFixed(0)} MiB`,
    );
  });
  rmSync(run, { recursive: true });
}

async function slow() {
  const { run } = writeRun('slow', 60, 2 * MIB);
  await withService([SINK, '2000'], async (url) => {
    const flags = ['--batch', '2MiB'];
    const adaptive = await upload(run, url, { flags });
    const single = await upload(run, url, { flags: [...flags, '--concurrency', '1'] });
    console.log(
      `slow   ${adaptive.sent.requests} requests of 2 s: ${adaptive.seconds.toFixed(1)} s, one at a time ${single.seconds.toFixed(1)} s: ` +
        `${(single.seconds / adaptive.seconds).toFixed(1)} times as fast`,
    );
  });
  rmSync(run, { recursive: true });
}

function gzipSeconds(chunk, processes) {
  const command = processes === 1 ? 'gzip -1 -c CHUNK > /dev/null' : PARALLEL_GZIP;
  const start = performance.now();
  const { status } = spawnSync('sh', ['-c', command.replaceAll('CHUNK', chunk)]);
  if (status !== 0) throw new Error('gzip failed');
  return (performance.now() - start) / 1e3;
}

/** The two halves of a file at once. */
const PARALLEL_GZIP =
  'size=$(stat -c %s CHUNK); half=$((size / 2)); (head -c $half CHUNK | gzip -1 -c > /dev/null) & ' +
  '(tail -c +$((half + 1)) CHUNK | gzip -1 -c > /dev/null) & wait';

async function gzip() {
  const { run, chunk, bytes } = writeRun('gzip', 400, 2.3 * MIB);
  const taken = { upload: [], plain: [], one: [], two: [] };
  await withService([SINK, '0'], async (url) => {
    for (let pass = 0; pass < Number(given.passes); pass += 1) {
      taken.upload.push((await upload(run, url)).seconds);
      taken.plain.push((await upload(run, url, { flags: ['--compress', 'none'] })).seconds);
      taken.one.push(gzipSeconds(chunk, 1));
      taken.two.push(gzipSeconds(chunk, 2));
    }
  });
  const speed = (seconds) => `${(bytes / median(seconds) / 1e6).toFixed(0)} MB/s`;
  const share = (seconds) => (median(seconds) / median(taken.upload)).toFixed(2);
  console.log(
    `gzip   upload ${speed(taken.upload)}, without compression ${speed(taken.plain)}; gzip -1 on one core ${speed(taken.one)} ` +
      `(share ${share(taken.one)}), two at a time ${speed(taken.two)} (share ${share(taken.two)})`,
  );
  rmSync(run, { recursive: true });
}

async function memory() {
  const run = join(folder, 'memory');
  const { bytes } = writeShapeRun(run, { shape: 'A', bytes: Number(given['run-bytes']) / 2 });
  await withService([SINK, '0'], async (url) => {
    for (let pass = 0; pass < Number(given.passes); pass += 1) {
      const { peak_rss_bytes: peak, seconds } = await upload(run, url);
      console.log(
        `memory ${(bytes / 1e9).toFixed(2)} GB in ${seconds.toFixed(1)} s: ${(peak / MIB).toFixed(0)} MiB at most, ` +
          `${(peak / MIB - 256).toFixed(0)} beside the budget`,
      );
    }
  });
  rmSync(run, { recursive: true });
}

async function rerun() {
  const run = join(folder, 'rerun');
  const { bytes } = writeShapeRun(run, { shape: 'A', bytes: Number(given['run-bytes']) });
  // A finished run: nobody has written to it a moment ago.
  await new Promise((resolve) => setTimeout(resolve, 3000));
  await withService([SINK, '0'], async (url) => {
    const first = await upload(run, url);
    const again = await upload(run, url, { keeps: true });
    console.log(
      `rerun  ${(bytes / 1e9).toFixed(2)} GB in ${first.seconds.toFixed(1)} s; once more: ${again.sent.requests} requests, ` +
        `${again.seconds.toFixed(2)} s (${again.wallSeconds.toFixed(2)} s with the start)`,
    );
  });
  rmSync(run, { recursive: true });
}

async function kill() {
  const run = join(folder, 'kill');
  const { bytes } = writeShapeRun(run, { shape: 'A', bytes: Number(given['run-bytes']) / 4 });
  await withService([SINK, '0', 'look'], async (url) => {
    const child = spawn(process.execPath, uploadCommand(run, url, []), { env: environment, stdio: 'ignore' });
    const counted = async () => (await (await fetch(`${url}/counts`)).json()).lineBytes;
    while ((await counted()) < bytes / 2) await new Promise((resolve) => setTimeout(resolve, 50));
    child.kill('SIGKILL');
    await once(child, 'exit');
    await upload(run, url, { keeps: true });
    const twice = (await counted()) - bytes;
    console.log(`kill   ${(bytes / 1e9).toFixed(2)} GB, killed half way: ${(twice / MIB).toFixed(1)} MiB sent again`);
  });
  rmSync(run, { recursive: true });
}

/** The most memory that a process has had so far, by the kernel, in bytes. */
function peakOf({ pid }) {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) * 1024;
}

async function stopped() {
  const { run, bytes } = writeRun('stopped', 400, 2.3 * MIB);
  const service = spawn(process.execPath, [SINK, '0', 'look'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(service.stdout, 'data');
  const [url] = /http:\S+/.exec(String(line));
  service.kill('SIGSTOP');
  const child = spawn(process.execPath, uploadCommand(run, url, ['--max-attempts', '1000', '--concurrency', '8']), {
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.on('data', (part) => {
    text += part;
  });
  const ended = once(child, 'exit');
  await new Promise((resolve) => setTimeout(resolve, Number(given['stop-seconds']) * 1000));
  const peak = peakOf(child);
  service.kill('SIGCONT');
  const [status] = await ended;
  const { sent, retries } = JSON.parse(text);
  const { lineBytes } = await (await fetch(`${url}/counts`)).json();
  service.kill();
  console.log(
    `stopped ${given['stop-seconds']} s, --concurrency 8, budget 256 MiB: ${(peak / MIB).toFixed(0)} MiB at most; then ${retries} retries, status ${status}, ` +
      `${sent.episodes} episodes, ${(bytes / 1e6).toFixed(0)} MB of lines, ${(lineBytes / 1e6).toFixed(0)} MB arrived`,
  );
  rmSync(run, { recursive: true });
}

/** A process with a ticker in it that writes its lags when it ends. */
function startTicking(name, command) {
  const file = join(folder, `${name}-lag.json`);
  const child = spawn(process.execPath, ['--import', TICKER, ...command], {
    env: { ...environment, LAG_FILE: file },
    stdio: 'ignore',
  });
  const end = async () => {
    child.kill('SIGINT');
    await once(child, 'exit');
    const { samples, p50, p99, max } = JSON.parse(readFileSync(file, 'utf8'));
    return `p50 ${p50.toFixed(2)}, p99 ${p99.toFixed(2)}, max ${max.toFixed(1)} ms over ${samples} slots`;
  };
  return { child, end };
}

async function reader() {
  const run = join(folder, 'reader');
  const { bytes } = writeShapeRun(run, { shape: 'A', bytes: Number(given['run-bytes']) });
  await withService(serve('bandwidth=100kB/s'), async (url) => {
    const upload = startTicking('upload', uploadCommand(run, url, []));
    const idle = startTicking('idle', ['-e', 'setInterval(() => {}, 1e3); process.on("SIGINT", () => process.exit())']);
    await new Promise((resolve) => setTimeout(resolve, Number(given['reader-seconds']) * 1000));
    const [, read] = /^rchar: (\d+)$/m.exec(readFileSync(`/proc/${upload.child.pid}/io`, 'utf8'));
    const peak = peakOf(upload.child);
    const [lag, idleLag] = [await upload.end(), await idle.end()];
    console.log(
      `reader ${given['reader-seconds']} s at 100 kB/s: lag ${lag}; of a process that does nothing ${idleLag}; ` +
        `${(read / MIB).toFixed(0)} MiB of ${(bytes / MIB).toFixed(0)} read, ${(peak / MIB).toFixed(0)} MiB of memory at most`,
    );
  });
  rmSync(run, { recursive: true });
}

const SECTIONS = { link, slow, gzip, memory, rerun, kill, stopped, reader };
console.log(`Node ${process.version}`);
try {
  for (const name of only) await SECTIONS[name]();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
