/** The package as a library: what the README shows must run as it stands there. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempFolder } from '../helpers/temp-folder.js';

test("the README's example reads a run by the package's own name", () => {
  const example = /```ts\n(import [^`]+from 'prl';[^`]+)```/.exec(readFileSync('README.md', 'utf8'))?.[1] ?? '';
  const code = example.replace("'./run'", "'fixtures/runs/prime-rl-stream'");
  expect(code).not.toBe(example);
  const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', code], { encoding: 'utf8' });
  const addresses = printed
    .trimEnd()
    .split('\n')
    .map((line) => line.split(' ').map(Number));
  const rows = readFileSync('fixtures/runs/prime-rl-stream/monitors/file/traces/stream.index.jsonl', 'utf8');
  const indexed = rows
    .trimEnd()
    .split('\n')
    .map((row) => JSON.parse(row) as { chunk: number; offset: number });
  expect(addresses.map(([chunk, offset]) => [chunk, offset])).toEqual(
    indexed.map(({ chunk, offset }) => [chunk, offset]),
  );
});

test("the README's example logs an episode and reads it back", () => {
  const readme = readFileSync('README.md', 'utf8');
  const example = /```ts\n(import [^`]*\bFileMonitor\b[^`]*from 'prl';[^`]+)```/.exec(readme)?.[1] ?? '';
  const run = join(tempFolder(), 'run');
  const code = example.replaceAll("'./run'", JSON.stringify(run));
  expect(code).not.toBe(example);
  const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', code], { encoding: 'utf8' });
  expect(printed).toMatch(/^\{ index: 0, id: 'e1', line: 1, chunk: 0, offset: 0, bytes: \d+ \}\n/);
  expect(printed).toContain("{ type: 'train', id: 'my-run', work: { type: 'train', step: 3 } }\n");
  expect(readdirSync(join(run, 'monitors/file/traces/stream'))).toEqual(['00000.jsonl.zst']);
});
