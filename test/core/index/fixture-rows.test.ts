/** Rows of recorded runs against the indexes that their producers wrote. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { annotationRow } from '../../../src/core/index/annotation-row.js';
import { indexRecord } from '../../../src/core/index/index-record.js';
import { openRun } from '../../../src/io/run.js';
import { readRun } from '../../helpers/read-run.js';
import { buildRows } from './built-rows.js';

const RUNS = join(import.meta.dirname, '../../../fixtures/runs');
const TRACES = 'monitors/file/traces';

describe.each([
  ['prime-rl-stream', true],
  ['prime-rl-stream-r2', false],
])('%s', (run, hasChunks) => {
  const index = readFileSync(join(RUNS, run, TRACES, 'stream.index.jsonl'), 'utf8');

  test('the index comes out byte for byte', async () => {
    const { records } = await readRun(join(RUNS, run));
    let line = 0;
    const rows = records.map(({ bytes, chunk, offset }) => {
      line += 1;
      const [built] = buildRows(bytes, {}, hasChunks ? chunk : null);
      expect(built?.notes).toEqual([]);
      return built?.row?.replace('"line":1,"offset":0', `"line":${line},"offset":${offset}`);
    });
    expect(rows.join('')).toBe(index);
  });

  test('also from the parsed records, with the text of their numbers', async () => {
    const { records } = await readRun(join(RUNS, run));
    const rows = records.map(({ bytes, chunk, offset }, at) => {
      const place = { line: at + 1, offset, chunk: hasChunks ? chunk : null };
      return Buffer.from(indexRecord(parseKeepingText(bytes.toString()), place)).toString();
    });
    expect(rows.join('')).toBe(index);
  });

  test('and with derived counts, which their calls bear out', async () => {
    const { records } = await readRun(join(RUNS, run));
    const derived = records.map(({ bytes }) => buildRows(bytes, { tokens: 'derived' })[0]?.row);
    // What the producer wrote: its own counts where it stores them (R3), else derived ones.
    const written = records.map(({ bytes }) => buildRows(bytes)[0]?.row);
    expect(derived).toEqual(written);
  });
});

describe('annotation streams of prime-rl-stream', () => {
  test.each(['orch', 'trainer'])('%s', async (producer) => {
    const directory = join(RUNS, 'prime-rl-stream', TRACES, 'annotations');
    const index = readFileSync(join(directory, `${producer}.index.jsonl`), 'utf8');
    const rows = JSON.parse(`[${index.trimEnd().replaceAll('\n', ',')}]`) as { chunk: number; offset: number }[];
    const plain = readFileSync(join(directory, producer, '00001.jsonl'));
    const expected = index.split('\n').filter((_, at) => rows[at]?.chunk === 1);
    expect(expected.length).toBeGreaterThan(1);
    let offset = 0;
    for (const row of expected) {
      const end = plain.indexOf(10, offset) + 1;
      const made = annotationRow(plain.subarray(offset, end), { chunk: 1, offset });
      expect(made).toBeInstanceOf(Uint8Array);
      expect(Buffer.from(made as Uint8Array).toString()).toBe(`${row}\n`);
      offset = end;
    }
    expect(offset).toBe(plain.length);
  });
});

describe('runs without an index', () => {
  test.each(['prime-rl-rollouts-r1b', 'verifiers-eval'])(
    '%s: every record has a row and nothing is odd',
    async (run) => {
      const path = join(RUNS, run);
      expect((await openRun(path)).files.length).toBeGreaterThan(0);
      const { records } = await readRun(path);
      const built = records.map(({ bytes }) => buildRows(bytes, { bothCounts: true })[0]);
      expect(built.every((row) => row?.row !== null && row?.notes.length === 0)).toBe(true);
    },
  );
});

function parseKeepingText(text: string): unknown {
  const raw = JSON as unknown as { readonly rawJSON: (text: string) => unknown };
  const keep = (_key: string, value: unknown, context: { readonly source?: string }): unknown =>
    typeof value === 'number' ? raw.rawJSON(context.source ?? '') : value;
  return JSON.parse(text, keep as (key: string, value: unknown) => unknown);
}
