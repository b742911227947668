/** The number of episodes a view announces before the run is read (screens.md, the line `send`). */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { estimateRows } from '../../src/io/index-rows.js';

const folder = mkdtempSync(join(tmpdir(), 'prl-index-rows-'));
afterAll(() => rmSync(folder, { recursive: true }));

test.each([
  ['no row', '', null],
  ['a torn row', '{"line":1', null],
  ['rows', '{"line":1}\n{"line":2}\n{"li', 2],
])('%s', async (_name, text, expected) => {
  const path = join(folder, 'index.jsonl');
  writeFileSync(path, text);
  expect(await estimateRows(path)).toBe(expected);
});

test('of a large index only the beginning is read', async () => {
  const path = join(folder, 'large.jsonl');
  writeFileSync(path, '{"line":1}\n'.repeat(1000));
  expect(await estimateRows(path, 1100)).toBe(1000);
});

test('without an index there is no estimate', async () => {
  expect(await estimateRows(join(folder, 'none.jsonl'))).toBeNull();
});

test('the index of a real run', async () => {
  expect(await estimateRows('fixtures/runs/prime-rl-stream/monitors/file/traces/stream.index.jsonl')).toBe(16);
});
