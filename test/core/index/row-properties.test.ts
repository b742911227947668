/**
 * Random episodes in random legal spellings: the rows by way of each walker, of the tokens of stream-json and of the
 * object in memory are, byte for byte, those of an independent restatement of the formulas (R-IDX-2).
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { indexRecord } from '../../../src/core/index/index-record.js';
import type { RowOptions } from '../../../src/core/index/record-facts.js';
import { RowBuffer } from '../../../src/core/index/row-buffer.js';
import { RowBuilder } from '../../../src/core/index/row-builder.js';
import type { TapeSink } from '../../../src/core/scan/record-tape.js';
import { TextWalker } from '../../../src/core/scan/text-walker.js';
import { LINE, type RecordWalker } from '../../../src/core/scan/walker.js';
import { WasmWalker } from '../../../src/core/scan/wasm-walker.js';
import { TokenWalker } from '../../../src/io/token-walk.js';
import { wasmModule } from '../../../src/io/wasm-modules.js';
import { bareTrace, episode } from '../../helpers/episode-arbitrary.js';
import { type JsonTree, render, rewriting, SHORTEST } from '../../helpers/json-tree.js';
import { oracleRow } from '../../helpers/row-oracle.js';
import { byteSource } from '../../helpers/walked-lines.js';
import { WORKED_EXAMPLES } from './worked-examples.js';

const SEED = 20261130;
/** About 8 s of work; the machine may be busy with other things. */
const TIMEOUT_MS = 300_000;
const PLACE = { line: 7, offset: 4096, chunk: 3 } as const;

const VARIANTS = [
  { tokens: 'auto', mode: 'compat' },
  { tokens: 'derived', mode: 'exact' },
] as const satisfies readonly RowOptions[];

const record: fc.Arbitrary<JsonTree> = fc.oneof({ weight: 5, arbitrary: episode }, { weight: 1, arbitrary: bareTrace });

/** Gives one tape to a builder for each variant. */
class Builders implements TapeSink {
  readonly #builders = VARIANTS.map((options) => new RowBuilder(options));
  readonly #row = new RowBuffer();

  beginRecord(): void {
    for (const builder of this.#builders) builder.beginRecord();
  }

  take(...part: Parameters<TapeSink['take']>): void {
    for (const builder of this.#builders) builder.take(...part);
  }

  rows(): string[] {
    return this.#builders.map((builder) => {
      expect(builder.fault).toBeNull();
      this.#row.clear();
      builder.writeRow(this.#row, PLACE);
      return Buffer.from(this.#row.view()).toString();
    });
  }
}

function oracleRows(line: Uint8Array): string[] {
  return VARIANTS.map((variant) => `${oracleRow(line, { ...PLACE, ...variant })}\n`);
}

test('the restatement gives the rows of the worked examples', () => {
  let offset = 0;
  for (const [index, { name, record: text, row }] of WORKED_EXAMPLES.entries()) {
    const line = Buffer.from(`${text}\n`);
    expect(oracleRow(line, { ...VARIANTS[0], line: index + 1, offset, chunk: 0 }), name).toBe(row);
    offset += line.length;
  }
});

/** A way to the rows of a line. */
type Contender = (line: Buffer) => string[];

function walking(makeWalk: (sink: TapeSink) => (line: Buffer) => void): Contender {
  const builders = new Builders();
  const walk = makeWalk(builders);
  return (line) => {
    walk(line);
    return builders.rows();
  };
}

function walkWith(walker: RecordWalker): (line: Buffer) => void {
  return (line) => {
    walker.reset(byteSource(line), 0);
    expect(walker.next()).toBe(LINE.RECORD);
  };
}

const CONTENDERS: Readonly<Record<string, Contender>> = {
  'WebAssembly walker': walking((sink) => walkWith(new WasmWalker(wasmModule('walker'), { sink }))),
  'TypeScript walker': walking((sink) => walkWith(new TextWalker({ sink }))),
  'tokens of stream-json': walking((sink) => {
    const walker = new TokenWalker(sink);
    return (line) => walker.walk(line);
  }),
};

test('2,000 random records in random spellings, read in every way', { timeout: TIMEOUT_MS }, () => {
  fc.assert(
    fc.property(record, rewriting, (tree, how) => {
      const line = Buffer.from(`${render(tree, how)}\n`);
      const expected = oracleRows(line);
      const rows = Object.entries(CONTENDERS).map(([name, rowsOf]) => [name, rowsOf(line)]);
      expect(rows).toEqual(Object.keys(CONTENDERS).map((name) => [name, expected]));
    }),
    { seed: SEED, numRuns: 2000 },
  );
});

describe('1,000 random objects, as their encoded records', () => {
  test.each([
    ['with numbers as they are spelled', keepSpelling, VARIANTS[0]],
    ['with numbers of JavaScript', (_key: string, value: unknown) => value, VARIANTS[1]],
  ])(
    '%s',
    (_name, reviver, variant) => {
      fc.assert(
        fc.property(record, (tree) => {
          const object = JSON.parse(render(tree, SHORTEST), reviver);
          const options = { ...PLACE, ...variant };
          const encoded = Buffer.from(JSON.stringify(object));
          expect(Buffer.from(indexRecord(object, options)).toString()).toBe(`${oracleRow(encoded, options)}\n`);
        }),
        { seed: SEED, numRuns: 1000 },
      );
    },
    TIMEOUT_MS,
  );
});

/** Keeps a number as the literal that it is in the text. Node's types do not know raw literals yet. */
function keepSpelling(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== 'number') return value;
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(context?.source ?? '');
}

test('white space and escapes change no row', () => {
  fc.assert(
    fc.property(record, rewriting, (tree, how) => {
      const rewritten = render(tree, { ...how, shuffled: false, duplicates: false });
      expect(oracleRows(Buffer.from(rewritten))).toEqual(oracleRows(Buffer.from(render(tree, SHORTEST))));
    }),
    { seed: SEED, numRuns: 300 },
  );
});
