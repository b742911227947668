/**
 * Question: does `prl index` find everything that is wrong with a run of any size, at its byte, and lose nothing else?
 *
 * Fixture: a run with every kind of damage at known places (test/helpers/broken-run.ts), from a seed.
 * Writes the run, indexes it, with --strict and on one and two threads too, compares what was reported and which records
 * have rows with what was written, and prints the table of damage. Ends with an error at the first difference.
 * Not measured: time; `unreadable` and `line_too_large`, which are no properties of the bytes.
 *
 * Run: npm run build && node bench/damage-table.mjs [SIZE, default 1GiB] [SEED, default 1]
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import '../test/helpers/typescript-hooks.mjs';
import { sizeOf } from './figures/measure.mjs';

const { damageSeenBy, recordsSeenBy, writeBrokenRun } = await import('../test/helpers/broken-run.ts');

const PRL = fileURLToPath(new URL('../bin/run.js', import.meta.url));
const [size = '1GiB', seed = '1'] = process.argv.slice(2);
/** Finished, but some records were damaged: cli.md. */
const DAMAGED = 3;

function damageOf({ damaged, torn }) {
  const last = torn === null ? [] : [{ ...torn, kind: 'torn', recovered: false }];
  return [...damaged, ...last]
    .map(({ chunk, offset, bytes, kind, recovered }) => ({ chunk, offset, bytes, kind, recovered }))
    .sort((a, b) => a.chunk - b.chunk || a.offset - b.offset);
}

function indexOf(directory, out, flags) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [PRL, 'index', directory, '--out', out, '--json', ...flags],
    { encoding: 'utf8', maxBuffer: 2 ** 28 },
  );
  assert.equal(status, DAMAGED, stdout + stderr);
  const rows = readFileSync(out, 'utf8').trimEnd().split('\n');
  return { stream: JSON.parse(stdout).streams[0], places: rows.map((row) => JSON.parse(row)) };
}

const folder = mkdtempSync(join(tmpdir(), 'prl-damage-'));
try {
  const directory = join(folder, 'run');
  const run = writeBrokenRun(directory, { bytes: sizeOf(size), seed: Number(seed) });
  for (const [reader, strict] of [
    ['index', []],
    ['strict', ['--strict']],
  ]) {
    for (const jobs of ['1', '2']) {
      const { stream, places } = indexOf(directory, join(folder, 'rows.jsonl'), ['--jobs', jobs, ...strict]);
      assert.deepEqual(damageOf(stream), damageSeenBy(run, reader));
      assert.deepEqual(
        places.map(({ chunk, offset }) => ({ chunk, offset })),
        recordsSeenBy(run, reader).map(({ chunk, offset }) => ({ chunk, offset })),
      );
    }
  }
  console.log(
    `${run.bytes} bytes written; rows: ${recordsSeenBy(run, 'index').length}, with --strict ${recordsSeenBy(run, 'strict').length}\n`,
  );
  console.log('| chunk | offset | bytes | kind | recovered | seen by |\n|---|---|---|---|---|---|');
  const plain = new Set(damageSeenBy(run, 'index').map(({ chunk, offset }) => `${chunk} ${offset}`));
  for (const { chunk, offset, bytes, kind, recovered } of damageSeenBy(run, 'strict')) {
    const seenBy = plain.has(`${chunk} ${offset}`) ? 'every index' : '--strict';
    console.log(`| ${chunk} | ${offset} | ${bytes} | ${kind} | ${recovered ? 'yes' : 'no'} | ${seenBy} |`);
  }
} finally {
  rmSync(folder, { recursive: true });
}
