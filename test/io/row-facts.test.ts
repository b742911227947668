/** What a filter sees of a record is its index row, in every layout, with the step at which it arrived. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { RowFacts } from '../../src/core/index/episode-row.js';
import { RowReader } from '../../src/io/row-facts.js';
import { openRun } from '../../src/io/run.js';
import { RunIndex } from '../../src/io/run-index.js';
import { readRecords } from '../../src/io/run-records.js';
import { tempFolder, writeTree } from '../helpers/temp-folder.js';
import { writeVariedRun } from '../helpers/varied-run.js';

const never = new AbortController().signal;

async function factsOf(path: string): Promise<(RowFacts | null)[]> {
  const run = await openRun(path);
  const rows = new RowReader(run);
  const facts: (RowFacts | null)[] = [];
  for await (const event of readRecords(run)) if (event.type === 'record') facts.push(rows.read(event.record));
  return facts;
}

/** The rows as `prl index --rows` gives them. */
async function indexRows(path: string): Promise<unknown[]> {
  const parts: Buffer[] = [];
  const index = new RunIndex({
    run: await openRun(path),
    target: { kind: 'rows', write: async (bytes) => void parts.push(Buffer.from(bytes)) },
    jobs: 1,
    tokens: 'auto',
    mode: null,
    isStrict: false,
    subset: 'all',
    startsOver: false,
    environment: { PRL_STATE_DIR: tempFolder() },
    onNotice: () => {},
  });
  await index.run(never);
  const lines = Buffer.concat(parts).toString().split('\n');
  return lines.flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
}

describe('rows are those of the index, lines numbered over all chunks', () => {
  test.each(['prime-rl-stream', 'prime-rl-stream-r2', 'prime-rl-rollouts-r1b', 'verifiers-eval'])(
    '%s',
    async (name) => {
      const path = join('fixtures/runs', name);
      const facts = await factsOf(path);
      expect(facts.length).toBeGreaterThan(3);
      const rows = (await indexRows(path)).filter((row) => !Object.hasOwn(row as object, 'prl_index'));
      expect(facts.map((one) => one?.row)).toEqual(rows);
    },
  );

  test('a generated run of sealed chunks and a growing one', async () => {
    const { root, episodes } = writeVariedRun(tempFolder());
    const facts = await factsOf(root);
    expect(facts.map((one) => one?.row)).toEqual(await indexRows(root));
    expect(facts.map((one) => one?.arrivalStep)).toEqual(episodes.map(({ step }) => step));
    expect(facts.map((one) => one?.row.env)).toEqual(episodes.map(({ env }) => env));
  });
});

test('the step is that of the arrival, else that of the directory in layouts that have one a step', async () => {
  const line = (info: object): string =>
    `${JSON.stringify({ id: 'e', env: { id: 'x' }, ok: true, errors: [], traces: [{ id: 't', nodes: [], info }] })}\n`;
  const root = writeTree(tempFolder(), {
    'rollouts/step_7/train/all/traces.jsonl': line({}) + line({ arrival: { step: 9, time: 1 } }),
    'rollouts/step_12/eval/all/traces.jsonl': line({ arrival: { step: 'nine' } }),
  });
  expect((await factsOf(root)).map((facts) => facts?.arrivalStep)).toEqual([7, 9, 12]);
  const other = writeTree(tempFolder(), { 'step_7/traces.jsonl': line({}) });
  expect((await factsOf(join(other, 'step_7'))).map((facts) => facts?.arrivalStep)).toEqual([null]);
});

test.each([
  ['"parent":0', '"parent":tru7'],
  ['"score":1', '"score":01'],
  ['"id":"t"', '"id":"\\q"'],
])('a record that is no JSON where a row looks has no facts, and the next one has its own: %s', async (from, to) => {
  const trace = '{"id":"t","nodes":[{"parent":0}],"rewards":{"a":{"score":1}}}';
  const good = `{"id":"a","env":{"id":"x"},"ok":true,"errors":[],"traces":[${trace}]}\n`;
  const bad = good.replace(from, to);
  expect(bad).not.toBe(good);
  const path = join(writeTree(tempFolder(), { 'a.jsonl': good + bad + good }), 'a.jsonl');
  expect((await factsOf(path)).map((one) => one?.row.line ?? null)).toEqual([1, null, 2]);
});
