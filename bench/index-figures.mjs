/**
 * Question: how fast are index rows made from a stream, by every way there is, and what does `prl index` cost a user?
 *
 * Contenders, one core, 256 MiB of each shape, each pass reading the file from the page cache and making every row:
 * JSON.parse and the row builder over objects; the TypeScript walker and the row builder; the WebAssembly walker and the
 * row builder, also with --strict; simdjson's on-demand walk in C++ without rows; jq on a sample. The command: 4 GiB of
 * each shape, plain and sealed, on one and two threads, against decompression alone; 1 MB to 4 GiB; one line of 560 MB.
 * Fixture: shapes A to D of design/scanning.md, made from a seed by test/helpers/shapes.ts.
 * All ways give the same rows, or sums where they make none: asserted before anything is timed.
 *
 * 30 Nov 2026, Node 24.21, 2-core VM (Zen 5), quiet (load 1 to 2); GB/s, medians of 5 over 192 MiB of each shape
 * (simdjson 3.0.1, icelake kernel; jq 1.6 over 32 MiB):
 *
 *                                               A      B      C      D
 *   JSON.parse, row from the object          0.25   0.32   0.06   0.29
 *   TypeScript walker, row builder           1.16   0.60   0.26   1.67
 *   WebAssembly walker, row builder          5.96   4.10   0.65   7.19
 *   the same with --strict                   2.26   1.72   0.42   2.31
 *   WebAssembly walker alone                 8.07   4.96   1.64   7.82
 *   simdjson, reading included, no rows      1.63   2.61   1.04   2.00
 *   simdjson, in memory, no rows             2.27   5.42   1.29   2.91
 *   jq                                       0.04   0.09   0.03   0.05
 *
 * `prl index` of 4 GiB, page cache warm, medians of 3, with the peak of its memory:
 *
 *   --jobs 1                                 6.05   3.60   0.50   6.12    95 to 159 MiB
 *   --jobs 2                                 7.95   5.14   0.76   7.73   120 to 227 MiB
 *   --jobs 2 --strict                        3.68   2.68   0.63   3.46   122 to 241 MiB
 *
 * Before the work of that day's end (slow code first, one more thread than cores, segments of 32 MiB, rows with garbage):
 * --jobs 2 7.43, 4.15, 0.77, 5.98 and up to 335 MiB.
 *
 * Reading: rows in WebAssembly cost 11 to 25 times less than JSON.parse, and less than simdjson's walk on A, B and D
 * while both read; C is bound by making rows. The digest of each block costs too little to be seen beside the noise.
 * Not measured: a cold page cache, other machines; simdjson checks UTF-8 and structure of payloads, jq parses all.
 *
 * It runs from built JavaScript, since the test runner turns imports into getter calls, which a hot loop feels:
 *
 *   npm run build && node bench/index-figures.mjs [--shape A,B] [--bytes 256MiB] [--run-bytes 4GiB] [--passes 7]
 *     [--only core,plain,sealed,linear,long] [--folder DIR]
 *
 * (as a script: "bench:index": "node bench/index-figures.mjs").
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import '../test/helpers/typescript-hooks.mjs';
import { decompressionSeconds, indexRun } from './figures/command.mjs';
import { CoreContenders, rowsOf } from './figures/contenders.mjs';
import { interleave, median, printSpeeds, sizeOf } from './figures/measure.mjs';
import { buildSimdjson, jqRows, sampleOf, simdjsonPass } from './figures/outside.mjs';

const { SHAPES, writeLongLine, writeShapeRun } = await import('../test/helpers/shapes.ts');

const MB = 1e6;
const JQ_SAMPLE_BYTES = 32 * 2 ** 20;
const LONG_LINE_BYTES = 560 * MB;
const LINEAR_BYTES = [1 * MB, 16 * MB, 64 * MB, 256 * MB, 1024 * MB];
const { values: given } = parseArgs({
  options: {
    shape: { type: 'string', default: SHAPES.join(',') },
    bytes: { type: 'string', default: '256MiB' },
    'run-bytes': { type: 'string', default: '4GiB' },
    passes: { type: 'string', default: '7' },
    only: { type: 'string', default: 'core,plain,sealed,linear,long' },
    folder: { type: 'string' },
  },
});
const options = {
  shapes: given.shape.split(','),
  bytes: sizeOf(given.bytes),
  runBytes: sizeOf(given['run-bytes']),
  passes: Number(given.passes),
  only: given.only.split(','),
};
/** A pass of the command is a process with its start. */
const commandPasses = Math.min(5, options.passes);
if (given.folder !== undefined) mkdirSync(given.folder, { recursive: true });
const folder = mkdtempSync(join(given.folder ?? tmpdir(), 'prl-figures-'));

/** Makes a run for as long as `work` takes: two of 4 GiB do not fit into the page cache beside each other. */
function withRun(run, work) {
  const directory = join(folder, `${run.shape}-${run.bytes}${run.sealed ? '-sealed' : ''}`);
  const written = writeShapeRun(directory, run);
  try {
    return work(directory, written);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function close(actual, expected, what) {
  assert.ok(Math.abs(actual - expected) <= 1e-9 * Math.max(1, Math.abs(expected)), `${what}: ${actual}, ${expected}`);
}

/** All contenders that make rows agree; returns the rows. */
function agreedRows([parsed, ...walked]) {
  const [reference, ...others] = walked.slice(0, 3).map((contender) => ({ contender, made: rowsOf(contender) }));
  for (const { contender, made } of others) assert.equal(made.digest, reference.made.digest, contender.name);
  const rows = linesOf(reference.made.text);
  assert.ok(rows.length > 0);
  // Without the text of its numbers an object cannot tell 1.0 from 1; the values are the same.
  assert.deepEqual(linesOf(rowsOf(parsed).text), rows, parsed.name);
  return rows;
}

function linesOf(text) {
  return text
    .trimEnd()
    .split('\n')
    .map((row) => JSON.parse(row));
}

/** What simdjson's walk found, against the rows. */
function checkSums(sums, rows) {
  const total = (key) => rows.reduce((sum, row) => sum + (row[key] ?? 0), 0);
  assert.equal(sums.records, rows.length);
  for (const key of ['turns', 'input_tokens', 'output_tokens']) assert.equal(sums[key], total(key), key);
  assert.equal(
    sums.traces,
    rows.reduce((sum, row) => sum + row.trace_ids.length, 0),
  );
  close(sums.cost, total('cost'), 'cost');
}

function checkJq(found, rows) {
  for (const [index, row] of found.entries()) {
    for (const [key, value] of Object.entries(row)) {
      if (typeof value === 'number') close(value, rows[index][key], `${key} of row ${index}`);
      else assert.deepEqual(value, rows[index][key], `${key} of row ${index}`);
    }
  }
}

function measureCore(shape, simdjson) {
  withRun({ shape, bytes: options.bytes }, (_directory, { chunks, bytes, episodes }) => {
    const core = new CoreContenders(chunks[0]);
    const contenders = core.list();
    const rows = agreedRows(contenders);
    assert.equal(rows.length, episodes);
    if (simdjson !== null) {
      checkSums(simdjsonPass(simdjson, chunks[0]), rows);
      for (const [name, key] of [
        ['simdjson on demand, reading included, no rows', 'with_reading'],
        ['simdjson on demand, in memory, no rows', 'in_memory'],
      ]) {
        contenders.push({ name, bytes, run: () => simdjsonPass(simdjson, chunks[0])[key][0] });
      }
    }
    printSpeeds(`${shape}, one core, ${bytes} bytes, ${episodes} episodes`, interleave(contenders, options.passes));
    measureJq(chunks[0], rows);
    core.close();
  });
}

function measureJq(chunk, rows) {
  const sample = sampleOf(chunk, JQ_SAMPLE_BYTES);
  const found = jqRows(sample);
  if (found === null) return;
  checkJq(found.rows, rows);
  const seconds = [found.seconds, ...Array.from({ length: 2 }, () => jqRows(sample).seconds)];
  const speed = (sample.length / median(seconds) / 1e9).toFixed(3);
  console.log(`  ${'jq, values of a row'.padEnd(46)} median ${speed} GB/s over ${sample.length} bytes`);
}

/** Runs the command in turn with each set of flags and prints what it took; all must write the same rows. */
function measureCommand(title, directory, written, variants) {
  const out = join(folder, 'rows.jsonl');
  const digests = new Set();
  const results = variants.map(() => []);
  for (let pass = -1; pass < commandPasses; pass += 1) {
    variants.forEach((flags, index) => {
      const result = indexRun(directory, out, flags);
      assert.equal(result.rows, written.episodes);
      digests.add(createHash('sha256').update(readFileSync(out)).digest('hex'));
      rmSync(out);
      if (pass >= 0) results[index].push(result);
    });
  }
  assert.equal(digests.size, 1, 'the rows depend on the flags');
  console.log(`\n${title}, ${written.bytes} bytes, ${written.episodes} episodes`);
  return variants.map((flags, index) => printCommand(flags, written.bytes, results[index]));
}

/** Prints one line; returns the median of the command's own seconds. */
function printCommand(flags, bytes, results) {
  const seconds = results.map((result) => result.seconds);
  const middle = (key) => median(results.map((result) => result[key]));
  const most = (key) => (Math.max(...results.map((result) => result[key] ?? 0)) / 2 ** 20).toFixed(0);
  const speed = (value) => (bytes / value / 1e9).toFixed(2).padStart(6);
  console.log(
    [
      `  ${(flags.join(' ') || 'default').padEnd(18)}`,
      `best ${speed(Math.min(...seconds))}  median ${speed(median(seconds))} GB/s`,
      `whole process ${middle('wallSeconds').toFixed(2)} s, CPU ${middle('cpuSeconds').toFixed(2)} s`,
      `peak ${most('peakBytes')} MiB, by its own count ${most('peakRssBytes')}`,
    ].join('  '),
  );
  return median(seconds);
}

function measurePlain(shape) {
  withRun({ shape, bytes: options.runBytes }, (directory, written) => {
    measureCommand(`prl index, ${shape} plain`, directory, written, [
      ['--jobs', '1'],
      ['--jobs', '2'],
      ['--jobs', '2', '--strict'],
    ]);
  });
}

function measureSealed(shape) {
  withRun({ shape, bytes: options.runBytes, sealed: true }, (directory, written) => {
    const variants = [
      ['--jobs', '1'],
      ['--jobs', '2'],
    ];
    const alone = variants.map(() => []);
    const seconds = measureCommand(`prl index, ${shape} sealed`, directory, written, variants);
    for (let pass = 0; pass < commandPasses; pass += 1) {
      for (const [index, [, threads]] of variants.entries()) {
        alone[index].push(decompressionSeconds(written.chunks[0], Number(threads)));
      }
    }
    variants.forEach(([, threads], index) => {
      const reference = median(alone[index]);
      const speed = (written.bytes / reference / 1e9).toFixed(2);
      const share = (seconds[index] / reference).toFixed(2);
      console.log(`  decompression alone, ${threads} thread(s): ${speed} GB/s; the index takes ${share} times as long`);
    });
  });
}

function measureLinear(shape) {
  for (const bytes of [...LINEAR_BYTES, options.runBytes]) {
    withRun({ shape, bytes }, (directory, written) => {
      measureCommand(`prl index, ${shape}, how cost grows`, directory, written, [['--jobs', '1'], ['--jobs', '2'], []]);
    });
  }
}

function measureLongLine() {
  const path = join(folder, 'long.jsonl');
  const bytes = writeLongLine(path, 'A', LONG_LINE_BYTES);
  const variants = [
    ['--jobs', '1'],
    ['--jobs', '2'],
    ['--jobs', '1', '--strict'],
  ];
  measureCommand('prl index, one line', path, { bytes, episodes: 1 }, variants);
}

try {
  const simdjson = options.only.includes('core') ? buildSimdjson(folder) : null;
  for (const shape of options.shapes) {
    if (options.only.includes('core')) measureCore(shape, simdjson);
    if (options.only.includes('plain')) measurePlain(shape);
    if (options.only.includes('sealed')) measureSealed(shape);
    if (options.only.includes('linear')) measureLinear(shape);
  }
  if (options.only.includes('long')) measureLongLine();
} finally {
  rmSync(folder, { recursive: true });
}
