/** Contenders that are programs of their own: simdjson's on-demand walk in C++ and jq. Null where they are missing. */
import { spawnSync } from 'node:child_process';
import { closeSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { time } from './measure.mjs';

const WALK = fileURLToPath(new URL('../simdjson/walk.cpp', import.meta.url));
const ROW = fileURLToPath(new URL('./row.jq', import.meta.url));

/** Compiles the walk into `folder`; says why where it cannot. */
export function buildSimdjson(folder) {
  const program = join(folder, 'simdjson-walk');
  const compiler = ['-O3', '-march=native', '-std=c++17', WALK, '-lsimdjson', '-o', program];
  const { status, stderr, error } = spawnSync('g++', compiler, { encoding: 'utf8' });
  if (status === 0) return program;
  console.log(`simdjson is left out: ${error?.message ?? stderr.trim().split('\n')[0]}`);
  return null;
}

/** One timed pass of each kind; the program makes one more before, as its memory is fresh. */
export function simdjsonPass(program, path) {
  const { status, stdout, stderr } = spawnSync(program, [path, '1'], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`the simdjson walk of ${path} ended with ${status}: ${stderr}`);
  return JSON.parse(stdout);
}

/** Whole lines of the first `bytes` of a file. */
export function sampleOf(path, bytes) {
  const file = openSync(path, 'r');
  const sample = Buffer.alloc(bytes);
  const read = readSync(file, sample, 0, bytes, 0);
  closeSync(file);
  return sample.subarray(0, sample.lastIndexOf(0x0a, read - 1) + 1);
}

/** The rows jq makes of a sample and the seconds it takes, its start included; null without jq. */
export function jqRows(sample) {
  let result;
  const { seconds } = time(() => {
    result = spawnSync('jq', ['-c', '-f', ROW], { input: sample, encoding: 'utf8', maxBuffer: 2 ** 28 });
  });
  if (result.error !== undefined) {
    console.log(`jq is left out: ${result.error.message}`);
    return null;
  }
  if (result.status !== 0) throw new Error(`jq ended with ${result.status}: ${result.stderr}`);
  return {
    seconds,
    rows: result.stdout
      .trimEnd()
      .split('\n')
      .map((row) => JSON.parse(row)),
  };
}
