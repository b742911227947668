/**
 * Question: what does it cost to find the whole records of a run, compared with parsing each line?
 *
 * Contenders: readRecords over a plain chunk; the same over a sealed one; JSON.parse of each line of the plain chunk.
 * Fixture: 32 episodes of about 4 MB, production shape: messages, token ids, masks and logprobs (made here, 128 MB).
 * One pass of 128 MB a sample. Not measured: a cold page cache, many tiny records, escapes in every word.
 *
 * 29 Nov 2026, Node 24.21, 2-core VM with six other builds on it, mean of 7: plain 0.73 s (176 MB/s), sealed 1.24 s
 * (104 MB/s), JSON.parse 1.40 s (92 MB/s). Outside the test runner, same machine, CPU time alone: plain 0.60 s, sealed
 * 0.92 s, JSON.parse 1.6 s for 258 MB. Most of the plain pass is the copy that makes each line its receiver's.
 *
 * Run: npx vitest bench --run --config vitest.bench.config.ts bench/read-records.bench.ts
 */
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openRun } from '../src/io/run.js';
import { readRecords } from '../src/io/run-records.js';
import { seal } from '../test/helpers/seal.js';

const EPISODES = 32;
const NODES = 180;
const TOKENS = 1_000;

const folder = mkdtempSync(join(tmpdir(), 'prl-bench-'));
const plain = join(folder, 'run.jsonl');
const sealed = join(folder, 'sealed.jsonl.zst');

function node(index: number): unknown {
  const text = `Step ${index}: the "answer" is in \n\tthe table below. `.repeat(60);
  return {
    parent: index === 0 ? null : index - 1,
    message: { role: index % 2 === 0 ? 'user' : 'assistant', content: text },
    sampled: index % 2 === 1,
    token_ids: Array.from({ length: TOKENS }, (_, at) => (at * 7_919 + index * 104_729) % 150_000),
    mask: Array.from({ length: TOKENS }, (_, at) => at > index),
    logprobs: Array.from({ length: TOKENS }, (_, at) => -((at * 31 + index * 17) % 10_000) / 10_000),
  };
}

beforeAll(() => {
  const nodes = Array.from({ length: NODES }, (_, index) => node(index));
  const file = openSync(plain, 'w');
  for (let count = 0; count < EPISODES; count += 1) {
    const trace = { version: 1, id: `t${count}`, nodes, calls: [] };
    writeSync(file, `${JSON.stringify({ id: `e${count}`, env: { id: 'bench' }, ok: true, traces: [trace] })}\n`);
  }
  closeSync(file);
  writeFileSync(sealed, seal(readFileSync(plain)));
});

afterAll(() => rmSync(folder, { recursive: true }));

async function countRecords(path: string): Promise<number> {
  let records = 0;
  for await (const event of readRecords(await openRun(path))) if (event.type === 'record') records += 1;
  return records;
}

function countParsed(): number {
  const bytes = readFileSync(plain);
  let records = 0;
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(0x0a, start);
    const record = JSON.parse(bytes.toString('utf8', start, end)) as { traces: unknown };
    if (Array.isArray(record.traces)) records += 1;
    start = end + 1;
  }
  return records;
}

test('whole records of 128 MB', { timeout: 300_000 }, async ({ bench }) => {
  expect([await countRecords(plain), await countRecords(sealed), countParsed()]).toEqual([
    EPISODES,
    EPISODES,
    EPISODES,
  ]);
  await bench.compare(
    bench('readRecords, plain', async () => {
      await countRecords(plain);
    }),
    bench('readRecords, sealed', async () => {
      await countRecords(sealed);
    }),
    bench('JSON.parse a line', () => {
      countParsed();
    }),
    { iterations: 7, warmupIterations: 1, time: 0, warmupTime: 0 },
  );
});
