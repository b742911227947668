/** The package as a library: what the README shows must run as it stands there. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

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
