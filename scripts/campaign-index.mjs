/**
 * Demands I3, I7 and I9 on a run of many gigabytes: `prl index` is killed at random points and goes on, its memory stays
 * small, and undisturbed passes are timed. Started by campaign-index.sh, explained in docs/campaigns.md. Ends with
 * status 1 when rows differ from those of a fresh index or a process had too much memory; times are told, not judged.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  createReadStream,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { median, sizeOf } from '../bench/figures/measure.mjs';
import '../test/helpers/typescript-hooks.mjs';

const { seededRandom } = await import('../test/helpers/generated-run.ts');
const { writeShapeRun } = await import('../test/helpers/shapes.ts');

const PRL = fileURLToPath(new URL('../bin/run.js', import.meta.url));
const MIB = 2 ** 20;
/** I7, for a run of any size on two threads. */
const MOST_MEMORY_BYTES = 300 * MIB;
/** Rows of tiny episodes take a fifth of the stream, and lie in up to three files at once. */
const ROOM = 1.7;
/** Between two looks at the memory of a process. */
const LOOK_MS = 50;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    shape: { type: 'string', default: 'A' },
    bytes: { type: 'string', default: '8GB' },
    kills: { type: 'string', default: '10' },
    passes: { type: 'string', default: '5' },
    jobs: { type: 'string', default: '2' },
    seed: { type: 'string', default: '1' },
    'limit-with': { type: 'string' },
  },
});
const [parent] = positionals;
if (parent === undefined || positionals.length !== 1) {
  console.error(
    'usage: campaign-index.sh FOLDER [--shape A] [--bytes 8GB] [--kills 10] [--passes 5] [--jobs 2] [--seed 1]',
  );
  process.exit(2);
}
const random = seededRandom(Number(values.seed));
const prefix = values['limit-with']?.split(' ') ?? [];

/** What the kernel knows of a process; null when it is gone. */
function lookAt(pid) {
  try {
    const kibibytes = /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    const readBytes = /^rchar: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1];
    return kibibytes === undefined ? null : { peakBytes: Number(kibibytes) * 1024, readBytes: Number(readBytes) };
  } catch {
    return null;
  }
}

/** Runs `prl index … --json`; with `killAfterMs` it gets SIGKILL then, unless it ended before. */
function indexRun(args, killAfterMs = null) {
  const [program, ...rest] = [...prefix, process.execPath, PRL, 'index', ...args, '--json', '--jobs', values.jobs];
  const startedMs = performance.now();
  const child = spawn(program, rest, { stdio: ['ignore', 'pipe', 'inherit'] });
  let seen = { peakBytes: 0, readBytes: 0 };
  const look = () => {
    seen = lookAt(child.pid) ?? seen;
  };
  const looks = setInterval(look, LOOK_MS);
  let killedAtMs = 0;
  const kill = () => {
    look();
    killedAtMs = Date.now();
    child.kill('SIGKILL');
  };
  const killer = killAfterMs === null ? null : setTimeout(kill, killAfterMs);
  const parts = [];
  child.stdout.on('data', (part) => parts.push(part));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status, signal) => {
      clearInterval(looks);
      if (killer !== null) clearTimeout(killer);
      const seconds = (performance.now() - startedMs) / 1000;
      if (signal === 'SIGKILL' && killAfterMs !== null)
        return resolve({ isKilled: true, seconds, killedAtMs, ...seen });
      if (status !== 0) return reject(new Error(`prl index ended with ${status ?? signal}`));
      const document = JSON.parse(Buffer.concat(parts).toString('utf8'));
      const [stream] = document.streams;
      const peakBytes = Math.max(document.peak_rss_bytes, seen.peakBytes);
      resolve({ isKilled: false, seconds, document, stream, peakBytes });
    });
  });
}

async function digestOf(path) {
  const hash = createHash('sha256');
  for await (const part of createReadStream(path, { highWaterMark: MIB })) hash.update(part);
  return hash.digest('hex');
}

/** What the last note of an indexing in place says; a run without one begins at the beginning. */
function readNote(place) {
  const name = existsSync(place) ? readdirSync(place).find((one) => /^index-.*\.json$/.test(one)) : undefined;
  if (name === undefined) return { settledBytes: 0, rowBytes: 0, savedAtMs: 0 };
  const path = join(place, name);
  const { chunks, index } = JSON.parse(readFileSync(path, 'utf8'));
  const settledBytes = chunks.reduce((sum, { bytes }) => sum + bytes, 0);
  return { settledBytes, rowBytes: index.bytes, savedAtMs: statSync(path).mtimeMs };
}

const HEAD = ['what', 'seconds', 'resumed MiB', 'repeated MiB', 'repeated s', 'GB/s', 'peak MiB'];
const table = [];

/** A line of the table; what is left out is not known. */
function addLine(what, { seconds, resumedBytes, repeatedBytes, repeatedSeconds, bytesPerSecond, peakBytes }) {
  const mib = (bytes) => (bytes === undefined ? '' : String(Math.round(bytes / MIB)));
  const told = (value, digits) => (value === undefined ? '' : value.toFixed(digits));
  const speed = bytesPerSecond === undefined ? undefined : bytesPerSecond / 1e9;
  const work = [mib(resumedBytes), mib(repeatedBytes), told(repeatedSeconds, 1)];
  table.push([what, told(seconds, 1), ...work, told(speed, 2), mib(peakBytes)]);
}

function printTable() {
  const widths = HEAD.map((name, column) => Math.max(name.length, ...table.map((line) => line[column].length)));
  const print = (line) => console.log(`| ${line.map((cell, column) => cell.padStart(widths[column])).join(' | ')} |`);
  print(HEAD);
  console.log(`|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`);
  for (const line of table) print(line);
}

/** Undisturbed passes, each a process of its own; returns what the others are measured by. */
async function timePasses(run, passes) {
  const out = join(folder, 'rows.jsonl');
  const digests = new Set();
  const speeds = [];
  let [startSeconds, rows] = [0, 0];
  for (let pass = 1; pass <= passes; pass += 1) {
    rmSync(out, { force: true });
    const { document, stream, seconds, peakBytes } = await indexRun([run.directory, '--out', out]);
    assert.equal(stream.bytes, run.bytes);
    assert.equal(stream.rows_written, run.episodes);
    rows = stream.rows_written;
    digests.add(await digestOf(out));
    speeds.push(document.bytes_per_second);
    startSeconds = seconds - document.seconds;
    addLine(`pass ${pass}`, { seconds, bytesPerSecond: document.bytes_per_second, peakBytes });
    notePeak(peakBytes);
  }
  rmSync(out);
  assert.equal(digests.size, 1, 'two passes wrote other rows');
  return { digest: [...digests][0], rows, startSeconds, bytesPerSecond: median(speeds) };
}

/** Kills an indexing in place at random points, `kills` times, then lets it end; once more when it ended before. */
async function killAndGoOn(run, right, kills) {
  const index = join(run.directory, 'monitors/file/traces/stream.index.jsonl');
  const place = join(run.directory, 'monitors/prl');
  for (let killed = 0; ; ) {
    const before = readNote(place);
    const expectedSeconds = right.startSeconds + (run.bytes - before.settledBytes) / right.bytesPerSecond;
    const killAfterMs = killed < kills ? 1000 * expectedSeconds * (0.1 + 0.85 * random()) : null;
    const startedAtMs = Date.now();
    const result = await indexRun([run.directory, '--force'], killAfterMs);
    const { seconds, peakBytes } = result;
    notePeak(peakBytes);
    if (result.isKilled) {
      killed += 1;
      assert.ok(!existsSync(index), 'a killed indexing left an index');
      const after = readNote(place);
      addLine(`kill ${killed}`, { seconds, peakBytes, ...costOf(result, before, after, startedAtMs) });
      assert.ok(after.settledBytes >= before.settledBytes, 'what was settled before the kill is not any more');
      continue;
    }
    const { resumed_bytes: resumedBytes, bytes, rows_written: rows } = result.stream;
    assert.equal(resumedBytes, before.settledBytes, 'it did not go on where the last note says');
    assert.equal(bytes, run.bytes);
    assert.equal(rows, right.rows);
    assert.equal(await digestOf(index), right.digest, `after ${killed} kills the rows are others`);
    addLine('finished', { seconds, peakBytes, resumedBytes, bytesPerSecond: result.document.bytes_per_second });
    if (killed >= kills) return;
    rmSync(index);
    rmSync(place, { recursive: true });
  }
}

/** What a kill costs: what was done since the last note, in seconds, and in bytes that were read and not settled. */
function costOf({ readBytes, killedAtMs }, before, after, startedAtMs) {
  // Who goes on reads its own rows twice: for their ids, and into the digest of what stays.
  const streamBytes = readBytes - 2 * before.rowBytes;
  const repeatedBytes = Math.max(0, streamBytes - (after.settledBytes - before.settledBytes));
  const repeatedSeconds = (killedAtMs - Math.max(startedAtMs, after.savedAtMs)) / 1000;
  return { resumedBytes: before.settledBytes, repeatedBytes, repeatedSeconds };
}

let peakBytes = 0;
function notePeak(bytes) {
  peakBytes = Math.max(peakBytes, bytes);
}

async function main() {
  const { shape } = values;
  const bytes = sizeOf(values.bytes);
  const { bavail, bsize } = statfsSync(parent);
  if (bavail * bsize < bytes * ROOM)
    throw new Error(`${parent} has ${bavail * bsize} bytes free; ${bytes * ROOM} are needed`);
  const directory = join(folder, 'run');
  const { episodes, bytes: written, chunks } = writeShapeRun(directory, { shape, bytes, seed: Number(values.seed) });
  const run = { directory, episodes, bytes: written };
  console.log(
    `shape ${shape}: ${written} bytes, ${episodes} episodes, ${chunks.length} chunks, ${values.jobs} threads`,
  );
  console.log(
    prefix.length > 0
      ? 'memory: every process is held to 512 MiB without swap by a cgroup'
      : 'memory: no cgroup of version 2 to hold a process to a limit; the peak that the kernel tells is checked alone',
  );
  const right = await timePasses(run, Number(values.passes));
  await killAndGoOn(run, right, Number(values.kills));
  printTable();
  console.log(`rows: ${right.rows}, the same in every pass and after every kill; sha256 ${right.digest}`);
  assert.ok(
    peakBytes < MOST_MEMORY_BYTES,
    `a process had ${peakBytes} bytes of memory; ${MOST_MEMORY_BYTES} are allowed`,
  );
}

const folder = mkdtempSync(join(parent, 'prl-campaign-'));
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
try {
  await main();
} catch (error) {
  if (table.length > 0) printTable();
  console.error(`failed: ${error.message}`);
  process.exitCode = 1;
}
