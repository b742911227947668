/**
 * Index rows against the official libraries: what verifiers derives from its own objects, the rows of the Python
 * restatement as the real orjson prints them, and orjson's text of single numbers and strings.
 */
import { globSync } from 'node:fs';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import type { RowOptions } from '../../src/core/index/record-facts.js';
import { RowBuffer } from '../../src/core/index/row-buffer.js';
import { RowBuilder } from '../../src/core/index/row-builder.js';
import { LINE } from '../../src/core/scan/walker.js';
import { WasmWalker } from '../../src/core/scan/wasm-walker.js';
import { wasmModule } from '../../src/io/wasm-modules.js';
import { render, rewriting, string } from '../helpers/json-tree.js';
import { oracleRow } from '../helpers/row-oracle.js';
import { byteSource } from '../helpers/walked-lines.js';
import { ask, judge } from './python.js';

const SEED = 20261130;
const EPISODES = 500;

const STORED_OR_DERIVED = [
  { tokens: 'auto', mode: 'compat' },
  { tokens: 'derived', mode: 'compat' },
] as const satisfies readonly RowOptions[];

/** A line in base64, and where it stands. */
type Place = { readonly line: string; readonly offset: number };

/** What index_episodes.py says of one line; the counts are the library's own. */
type Facts = Place & {
  readonly row: string;
  readonly num_input_tokens: number;
  readonly num_output_tokens: number;
  readonly is_truncated: boolean;
  readonly num_turns: number;
  readonly num_branches: number;
  readonly unsampled_assistants: number;
};

/** Our rows of these lines, one behind the other, each at its offset. */
function rowsOf(facts: readonly Place[], options: RowOptions): string[] {
  const builder = new RowBuilder(options);
  const walker = new WasmWalker(wasmModule('walker'), { sink: builder });
  const row = new RowBuffer();
  return numbered(facts).map(({ bytes, line, offset }) => {
    walker.reset(byteSource(bytes), offset);
    expect([walker.next(), builder.fault]).toEqual([LINE.RECORD, null]);
    row.clear();
    builder.writeRow(row, { line, offset: walker.lineStart, chunk: 0 });
    return Buffer.from(row.view()).toString();
  });
}

/** Lines with their place; a file of a run begins where the offset is 0. */
function numbered(facts: readonly Place[]): { bytes: Buffer; line: number; offset: number }[] {
  let line = 0;
  return facts.map(({ line: text, offset }) => {
    line = offset === 0 ? 1 : line + 1;
    return { bytes: Buffer.from(text, 'base64'), line, offset };
  });
}

function decoded(texts: readonly string[]): string[] {
  return texts.map((text) => Buffer.from(text, 'base64').toString());
}

describe.skipIf(judge.missing !== null)(`rows against the official libraries (${judge.missing ?? 'orjson'})`, () => {
  const sources: Record<string, Facts[]> = {};

  beforeAll(async () => {
    const files = globSync(
      'fixtures/runs/{*/traces.jsonl,*/rollouts/**/traces.jsonl,prime-rl-*/**/stream{,/*}.jsonl{,.zst}}',
    );
    sources['generated episodes'] = (await ask('index_episodes.py', {
      kind: 'generate',
      seed: SEED,
      count: EPISODES,
    })) as Facts[];
    sources['recorded runs'] = (await ask('index_episodes.py', { kind: 'recorded', files: files.sort() })) as Facts[];
  });

  test.each([
    ['generated episodes', EPISODES],
    ['recorded runs', 76],
  ])('of %s: counts and truncation are what verifiers derives', (name, least) => {
    const facts = sources[name] ?? [];
    expect(facts.length).toBeGreaterThanOrEqual(least);
    for (const options of STORED_OR_DERIVED) {
      const ours = rowsOf(facts, options).map((text) => {
        const row = JSON.parse(text);
        return [row.input_tokens, row.output_tokens, row.truncated, row.branches, row.turns];
      });
      // A turn of a row is a message of the assistant, one of verifiers a sampled node (spec 04 section 6.2): they differ
      // by the messages of an assistant that no model call made.
      const theirs = facts.map((fact) => [
        fact.num_input_tokens,
        fact.num_output_tokens,
        fact.is_truncated,
        fact.num_branches,
        fact.num_turns + fact.unsampled_assistants,
      ]);
      expect(ours).toEqual(theirs);
    }
  });

  test('the generated episodes have what the comparison is about', () => {
    const facts = sources['generated episodes'] ?? [];
    const having = (is: (fact: Facts) => boolean) => facts.filter(is).length;
    expect(having((fact) => fact.num_input_tokens > 0)).toBeGreaterThan(EPISODES / 2);
    expect(having((fact) => fact.is_truncated)).toBeGreaterThan(EPISODES / 4);
    expect(having((fact) => !fact.is_truncated)).toBeGreaterThan(EPISODES / 4);
    expect(having((fact) => fact.num_branches > 1)).toBeGreaterThan(EPISODES / 4);
    expect(having((fact) => fact.unsampled_assistants === 0 && fact.num_turns > 0)).toBeGreaterThan(EPISODES / 10);
    expect(having((fact) => fact.unsampled_assistants > 0)).toBeGreaterThan(EPISODES / 10);
  });

  test.each(['generated episodes', 'recorded runs'])('of %s: rows are equal byte for byte', (name) => {
    const facts = sources[name] ?? [];
    const theirs = decoded(facts.map(({ row }) => row));
    for (const options of STORED_OR_DERIVED) {
      expect(rowsOf(facts, options)).toEqual(theirs);
      const judged = numbered(facts).map(
        ({ bytes, line, offset }) => `${oracleRow(bytes, { line, offset, chunk: 0, ...options })}\n`,
      );
      expect(judged).toEqual(theirs);
    }
  });

  test('numbers are printed as orjson prints what it reads', async () => {
    await expectReprinted(numberTexts(), 'dispatch', (text) => `{"traces":[{"info":{"dispatch":{"time":${text}}}}]}`);
  });

  test('strings are printed as orjson prints what it reads', async () => {
    await expectReprinted(stringTexts(), 'id', (text) => `{"id":${text}}`);
  });
});

/** Compares a field of the rows of records that hold the texts. What orjson refuses is no record, and left out. */
async function expectReprinted(
  texts: readonly string[],
  field: 'dispatch' | 'id',
  recordOf: (text: string) => string,
): Promise<void> {
  const theirs = (await ask('index_episodes.py', {
    kind: 'reprint',
    texts: texts.map((text) => Buffer.from(text).toString('base64')),
  })) as (string | null)[];
  const known = texts.flatMap((text, index) => {
    const reprinted = theirs[index];
    return typeof reprinted === 'string' ? [[text, Buffer.from(reprinted, 'base64').toString()] as const] : [];
  });
  expect(known.length).toBeGreaterThan(3000);
  const lines = known.map(([text]) => ({ line: Buffer.from(`${recordOf(text)}\n`).toString('base64'), offset: 0 }));
  const ours = rowsOf(lines, STORED_OR_DERIVED[0]).map((row, index) => [known[index]?.[0], textOf(row, field)]);
  expect(ours).toEqual(known);
}

/** The text of a field of a row. */
function textOf(row: string, field: 'dispatch' | 'id'): string {
  const start = row.indexOf(`"${field}":`) + field.length + 3;
  return row.slice(start, row.indexOf(field === 'id' ? ',"kind":' : ',"arrival":', start));
}

/** Numbers of every size and spelling, and those around each place where kind or form changes. */
function numberTexts(): string[] {
  const texts: string[] = ['0', '-0', '0.0', '-0.0', '0e0', '-0E-5', '1E+2', '1e02', '1.50'];
  for (let power = -330; power <= 310; power += 1) {
    texts.push(`1e${power}`, `-9.999999999999999e${power}`, `1.2345678901234567e${power}`);
  }
  for (const bits of [31n, 32n, 52n, 53n, 54n, 63n, 64n, 65n, 100n]) {
    for (let step = -2n; step <= 2n; step += 1n) {
      const integer = 2n ** bits + step;
      texts.push(`${integer}`, `-${integer}`, `${integer}.0`, `${integer}e0`, `${integer}.5`);
    }
  }
  for (let digits = 1; digits <= 40; digits += 1) {
    texts.push('9'.repeat(digits), `0.${'3'.repeat(digits)}`, `${'7'.repeat(digits)}.25`, `0.${'0'.repeat(digits)}5`);
  }
  const double = fc.double({ noNaN: true, noDefaultInfinity: true });
  for (const value of fc.sample(double, { seed: SEED, numRuns: 1500 })) {
    texts.push(value.toExponential(), value.toExponential(25));
  }
  return texts;
}

/** Each code unit below U+0800 and some above, raw and escaped, and random texts in random spellings. */
function stringTexts(): string[] {
  const texts: string[] = ['"\\/"', '"\\ud83d\\ude00"', '"\\ud83d\\uDE00"', '"\\u2028\\u2029\\ufeff\\uffff"'];
  for (let unit = 0; unit < 0x10000; unit += unit < 0x800 ? 1 : 97) {
    const escaped = `\\u${unit.toString(16).padStart(4, '0')}`;
    texts.push(`"a${escaped}z"`, `"${escaped.toUpperCase().replace('U', 'u')}"`);
    if (unit >= 0x20) texts.push(JSON.stringify(String.fromCharCode(unit)));
  }
  const random = fc.tuple(fc.string({ unit: 'binary', maxLength: 40 }), rewriting);
  for (const [text, how] of fc.sample(random, { seed: SEED, numRuns: 2000 })) texts.push(render(string(text), how));
  return texts;
}
