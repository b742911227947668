/** The row of an episode in memory is the row of its encoded record, whole numbers of declared floats included (R-IDX-2). */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { encodeToBuffer } from '../../../src/core/encode/drivers.js';
import { EncodeError } from '../../../src/core/encode/encode-error.js';
import { RecordEncoder } from '../../../src/core/encode/record-encoder.js';
import { EPISODE_RULES } from '../../../src/core/encode/record-rules.js';
import { indexRecord } from '../../../src/core/index/index-record.js';
import { wasmModule } from '../../../src/io/wasm-modules.js';
import { episode } from '../../helpers/episode-arbitrary.js';
import { render, SHORTEST } from '../../helpers/json-tree.js';
import { oracleRow } from '../../helpers/row-oracle.js';

const PLACE = { line: 7, offset: 4096, chunk: 3 } as const;
const encoder = new RecordEncoder(wasmModule('encoder'));

/** The record of an object; null when it has no JSON text. */
function recordOf(object: unknown): Buffer | null {
  try {
    return encodeToBuffer(encoder, object, EPISODE_RULES);
  } catch (error) {
    if (error instanceof EncodeError) return null;
    throw error;
  }
}

test('1,000 random episodes with numbers of JavaScript', { timeout: 300_000 }, () => {
  const variant = { tokens: 'derived', mode: 'exact' } as const;
  let encoded = 0;
  fc.assert(
    fc.property(episode, (tree) => {
      const object: unknown = JSON.parse(render(tree, SHORTEST));
      const bytes = recordOf(object);
      if (bytes === null) return;
      encoded += 1;
      const row = Buffer.from(indexRecord(object, { ...PLACE, ...variant, floats: 'declared' })).toString();
      expect(row).toBe(`${oracleRow(bytes, { ...PLACE, ...variant })}\n`);
    }),
    { seed: 20261130, numRuns: 1000 },
  );
  expect(encoded).toBeGreaterThan(500);
});

test.each([
  ['cost', { traces: [{ calls: [{ usage: { cost: 1 } }] }] }, '"cost":1.0'],
  [
    'score and weight',
    {
      traces: [{ rewards: { a: { score: 1, weight: 1 }, b: { score: 0.1, weight: 1 }, c: { score: 0.2, weight: 1 } } }],
    },
    '"reward":1.3',
  ],
  ['a span', { traces: [{ timing: { scoring: { start: 2 ** 60, end: 2 ** 60 + 512 } } }] }, '"duration":512.0'],
  ['a start of seconds', { traces: [{ timing: { boot: { start: 1, end: 3 } } }] }, '"duration":2.0'],
])('whole numbers of %s are floats in the record and in its row', (_name, object, part) => {
  const row = Buffer.from(indexRecord(object, { ...PLACE, floats: 'declared' })).toString();
  expect(row).toContain(part);
  expect(row).toBe(`${oracleRow(recordOf(object) as Buffer, { ...PLACE, tokens: 'auto', mode: 'compat' })}\n`);
});
