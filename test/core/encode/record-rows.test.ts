/** The row of an episode in memory is the row of its encoded record, nulls of models and whole floats included (R-IDX-2). */
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

test.each([
  { tokens: 'auto', mode: 'compat' },
  { tokens: 'derived', mode: 'exact' },
] as const)('600 random episodes with numbers of JavaScript, %j', { timeout: 300_000 }, (variant) => {
  let encoded = 0;
  fc.assert(
    fc.property(episode, (tree) => {
      const object: unknown = JSON.parse(render(tree, SHORTEST));
      const bytes = recordOf(object);
      if (bytes === null) return;
      encoded += 1;
      const row = Buffer.from(indexRecord(object, { ...PLACE, ...variant, rules: 'record' })).toString();
      expect(row).toBe(`${oracleRow(bytes, { ...PLACE, ...variant })}\n`);
    }),
    { seed: 20261130, numRuns: 600 },
  );
  expect(encoded).toBeGreaterThan(300);
});

test.each([
  ['a root names no parent', { traces: [{ nodes: [{ parent: null }, { parent: 0 }, { parent: 1 }] }] }, '"branches":1'],
  [
    'a null is no stop',
    { traces: [{ stop_condition: 'max_turns' }, { stop_condition: null }] },
    '"stop_condition":"max_turns"',
  ],
  ['a whole cost is a float', { traces: [{ calls: [{ usage: { cost: 1 } }] }] }, '"cost":1.0'],
])('%s', (_name, object, part) => {
  const row = Buffer.from(indexRecord(object, { ...PLACE, rules: 'record' })).toString();
  expect(row).toContain(part);
  expect(row).toBe(`${oracleRow(recordOf(object) as Buffer, { ...PLACE, tokens: 'auto', mode: 'compat' })}\n`);
});
