/** The walk over stream-json's tokens: the tape of the TypeScript walker for the same text, and its own faults. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ARENA_BYTES, TAPE_CAPACITY_ENTRIES } from '../../src/core/scan/record-tape.js';
import { TextWalker } from '../../src/core/scan/text-walker.js';
import { LINE } from '../../src/core/scan/walker.js';
import { TokenWalker } from '../../src/io/token-walk.js';
import { INVALID_TEXTS, VALID_TEXTS } from '../core/scan/json-cases.js';
import { BAD_LINES } from '../helpers/bad-lines.js';
import { bareTrace, episode } from '../helpers/episode-arbitrary.js';
import { render, rewriting, SHORTEST } from '../helpers/json-tree.js';
import { LEGAL_LINES } from '../helpers/legal-lines.js';
import type { LineCase } from '../helpers/line-case.js';
import { TapeReader } from '../helpers/tape-reader.js';
import { byteSource } from '../helpers/walked-lines.js';

const SEED = 20261130;

function tapeOf(text: string | Uint8Array | Iterable<Uint8Array>): readonly string[] {
  const reader = new TapeReader();
  new TokenWalker(reader).walk(typeof text === 'string' ? Buffer.from(text) : text);
  expect(reader.isComplete).toBe(true);
  return reader.items;
}

/** To the engine; unlike orjson it takes half surrogates and numbers out of range, as stream-json does. */
function isJson({ line }: LineCase): boolean {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(line));
    return true;
  } catch {
    return false;
  }
}

/** Items whose strings are all escaped in one way, without white space between tokens. */
function normalised(items: readonly string[]): string[] {
  return items.map((item) => {
    const [, head = '', text] = /^(\S+ (?:STRING|ESCAPED|RAW)) (.*)$/s.exec(item) ?? [];
    if (text === undefined) return item;
    const utf8 = Buffer.from(text, 'latin1').toString();
    return `${head.replace('ESCAPED', 'STRING')} ${reprinted(head.endsWith('RAW') ? utf8 : `"${utf8}"`)}`;
  });
}

function reprinted(json: string): string {
  return json.replace(/"(?:[^"\\]|\\.)*"|\s+/gs, (found) =>
    found[0] === '"' ? JSON.stringify(JSON.parse(found)) : '',
  );
}

function piecesOf(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
}

test('leaves the wanted values in the order of the text, repeated keys twice', () => {
  const text = `{"id":"e\\u0031","env":{"name":null,"x":{"id":1}},"errors":[[],{}],"ok":true,"version":1,
    "traces":[{"id":"t","nodes":[{"parent":0,"message":{"role":"user","content":["role"]}},7],"rewards":{ "a" : [1.50, {}] },
    "calls":[{"node":3000000000,"error":{"type":"x"},"usage":{"cost":-0.5}}],"timing":null,"id":{"id":"no"}},[]],
    "num_input_tokens":1,"num_input_tokens":"2","nodes":"x"}`;
  expect(tapeOf(text)).toEqual([
    'ID STRING e1',
    'ENV OBJECT',
    'ENV_NAME NULL',
    'ERRORS ARRAY 2',
    'OK TRUE',
    'TRACES ARRAY',
    'TRACE OBJECT',
    'TRACE_ID STRING t',
    'NODES ARRAY',
    'NODE OBJECT',
    'PARENT INT 0',
    'MESSAGE OBJECT',
    'ROLE STRING user',
    'NODE INT 7',
    'REWARDS RAW {"a":[1.50,{}]}',
    'CALLS ARRAY',
    'CALL OBJECT',
    'CALL_NODE NUMBER 3000000000',
    'CALL_ERROR OBJECT',
    'USAGE OBJECT',
    'COST NUMBER -0.5',
    'TIMING NULL',
    'TRACE_ID OBJECT',
    'TRACE ARRAY',
    'TRACES_END',
    'INPUT_TOKENS INT 1',
    'INPUT_TOKENS STRING 2',
    'NODES STRING x',
    'UNIT_KEYS traces,nodes,version',
  ]);
});

test('leaves the tape of the TypeScript walker for random records, whatever the pieces', () => {
  const walked = new TapeReader();
  const walker = new TextWalker({ sink: walked });
  const judged = new TapeReader();
  const tokens = new TokenWalker(judged);
  const record = fc.oneof({ weight: 4, arbitrary: episode }, { weight: 1, arbitrary: bareTrace });
  fc.assert(
    fc.property(record, rewriting, fc.constantFrom(1, 2, 3, 5, 1 << 20), (tree, how, size) => {
      const line = Buffer.from(`${render(tree, how)}\n`);
      walker.reset(byteSource(line), 0);
      expect(walker.next()).toBe(LINE.RECORD);
      tokens.walk(piecesOf(line, size));
      expect(normalised(judged.items)).toEqual(normalised(walked.items));
    }),
    { seed: SEED, numRuns: 500 },
  );
});

test('a record over many lines has the tape of the same record on one', () => {
  fc.assert(
    fc.property(episode, fc.noShrink(fc.nat()), (tree, seed) => {
      const lines = render(tree, { ...SHORTEST, seed, spacing: 'lines' });
      expect(tapeOf(lines)).toEqual(tapeOf(render(tree, SHORTEST)));
    }),
    { seed: SEED, numRuns: 100 },
  );
});

describe('lines that break walkers', () => {
  const records = LEGAL_LINES.filter(({ kind }) => kind === LINE.RECORD);

  test.each(records.filter(isJson))('$name has the tape of every walker', ({ line, tape }) => {
    expect(normalised(tapeOf(line))).toEqual(normalised(tape ?? []));
  });

  test('lines that only a walker passes are refused', () => {
    const lenient = records.filter((line) => !isJson(line));
    expect(lenient.length).toBeGreaterThan(0);
    for (const { line, name } of lenient) expect(() => tapeOf(line), name).toThrow();
  });

  test.each(BAD_LINES)('$name is refused', ({ line }) => {
    expect(() => tapeOf(line)).toThrow();
  });
});

describe('texts', () => {
  test.each(VALID_TEXTS)('takes %j as a member', (text) => {
    expect(tapeOf(`{"x":${text},"id":"e"}`)).toEqual(['ID STRING e', 'UNIT_KEYS']);
  });

  test.each(INVALID_TEXTS.filter((text) => text !== '{}}'))('refuses %j as a member', (text) => {
    expect(() => tapeOf(`{"x":${text},"id":"e"}`)).toThrow();
  });

  test.each([
    ['nothing', '', 'expected a value'],
    ['white space', ' \n', 'expected a value'],
    ['an array', '[{"id":"e"}]', 'something other than an object'],
    ['a string', '"id"', 'something other than an object'],
    ['a number', '1', 'something other than an object'],
    ['a torn object', '{"id":"e"', "expected ','"],
    ['a torn list', '{"traces":[', 'expected a value'],
    ['two objects', '{"id":"e"}{}', 'unexpected characters'],
    ['a byte order mark', '\ufeff{}', 'expected a value'],
    ['NaN', '{"traces":[{"info":{"advantage":NaN}}]}', 'expected a value'],
  ])('refuses %s', (_name, text, reason) => {
    expect(() => tapeOf(text)).toThrow(reason);
  });

  test('refuses bytes that are not UTF-8, also a character cut off at the end', () => {
    expect(() => tapeOf(Buffer.from('{"x":"\xff"}', 'latin1'))).toThrow('not valid');
    expect(() => tapeOf(Buffer.from('{}\xc3', 'latin1'))).toThrow('not valid');
  });
});

describe('limits', () => {
  test('counts a value that is longer than the arena, and keeps the one that just fits', () => {
    const long = 'é'.repeat(ARENA_BYTES / 2);
    const items = tapeOf(`{"id":"${long}a","env":{"id":"${long}"},"rewards":{"a":"${long}"}}`);
    expect(items.map((item) => item.slice(0, 40))).toEqual([
      `ID TOO_LARGE ${ARENA_BYTES + 1}`,
      'ENV OBJECT',
      `ENV_ID STRING ${Buffer.from(long).toString('latin1')}`.slice(0, 40),
      `REWARDS TOO_LARGE ${ARENA_BYTES + '{"a":""}'.length}`,
      'UNIT_KEYS',
    ]);
  });

  test('hands over a full tape in the middle of a record', () => {
    const reader = new TapeReader();
    const count = TAPE_CAPACITY_ENTRIES + 10;
    new TokenWalker(reader).walk(Buffer.from(`{"nodes":[${'1,'.repeat(count)}2]}`));
    expect(reader.takes).toBe(2);
    expect(reader.items).toHaveLength(count + 3);
    expect(reader.items.at(-2)).toBe('NODE INT 2');
  });

  test('hands over a full arena in the middle of a record', () => {
    const reader = new TapeReader();
    const role = 'r'.repeat(ARENA_BYTES / 4);
    new TokenWalker(reader).walk(Buffer.from(`{"nodes":[${`{"message":{"role":"${role}"}},`.repeat(9)}1]}`));
    expect(reader.takes).toBe(3);
    expect(reader.items.filter((item) => item === `ROLE STRING ${role}`)).toHaveLength(9);
  });

  test('follows 200,000 open brackets', () => {
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    expect(tapeOf(`{"x":${deep},"id":"e"}`)).toEqual(['ID STRING e', 'UNIT_KEYS']);
  });
});
