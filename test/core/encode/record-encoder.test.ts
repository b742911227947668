/** The encoder against one-shot encodes of the same values: whatever the value, the stops and the buffers. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodeTo, encodeToBuffer } from '../../../src/core/encode/drivers.js';
import { MAX_DEPTH, RecordEncoder } from '../../../src/core/encode/record-encoder.js';
import { EPISODE_RULES } from '../../../src/core/encode/record-rules.js';
import type { EncodedPart } from '../../../src/core/encode/types.js';
import { wasmModule } from '../../../src/io/wasm-modules.js';
import { slowEncode } from '../../helpers/slow-encode.js';

const encoder = new RecordEncoder(wasmModule('encoder'));
const exact = new RecordEncoder(wasmModule('encoder'), { floatDecimals: null });

const raw = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON;

/** Parts that come when every look stops, and are held until no buffer is left. */
function encodeStopping(value: unknown, from = encoder): Buffer {
  from.begin(value, null);
  const bytes: Buffer[] = [];
  let held: EncodedPart[] = [];
  for (;;) {
    const step = from.step(() => true);
    const parts = from.takeParts();
    bytes.push(...parts.map((part) => Buffer.from(part.bytes)));
    held.push(...parts);
    if (step === 'more') continue;
    if (step === 'full') expect(from.hasRoom).toBe(false);
    for (const part of held) part.release();
    held = [];
    if (step === 'done') return Buffer.concat(bytes);
  }
}

const LONG = 'word "quoted" \\ and\nline\tend é ü 漢字 🚀 '.repeat(4000);

const VALUES: Readonly<Record<string, unknown>> = {
  null: null,
  booleans: [true, false],
  'an empty object': {},
  'an empty list': [],
  'an empty name': { '': '' },
  nested: { a: { b: [{ c: [[]] }] } },
  'members that are not there': { a: undefined, b: 1 },
  'elements that are not there': [undefined, 1, undefined],
  'names with escapes': { 'a"b\\c\n\u0001é漢🚀': 1 },
  'whole numbers': [0, -0, 1, -1, 9, 10, 99, 100, 2 ** 31 - 1, -(2 ** 31), 2 ** 31, 999999999, 1e9, 2 ** 53, 1e20],
  'scalar numbers': { a: 0, b: -7, c: 1e9, d: -2147483648, e: 123456789012, f: 0.5, g: -0.25 },
  'not finite': [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
  floats: [0.1, -1.5, 1e-5, 1.5e-6, 1e21, 1.7976931348623157e308, 5e-324, 0.1 + 0.2, 1e-7],
  'whole numbers among floats': [1, 0.5, 2, 0.25, 3, 4, 5, 0.1 + 0.2, 6],
  'lists of everything': [1, 'a', null, true, 2, 0.5, {}, [], false, 'b'],
  'a control of every kind': Array.from({ length: 33 }, (_, code) => `x${String.fromCharCode(code)}y`),
  'delete, separators, slash': '\u007f\u2028\u2029/',
  'a long text': LONG,
  'a long name': { [LONG]: { [LONG]: LONG } },
  'many numbers': Array.from({ length: 10_000 }, (_, index) => index * 7919),
  'many floats': Array.from({ length: 5_000 }, (_, index) => index / 7),
  'many decimals': Array.from({ length: 20_000 }, (_, index) => -index / 10_000),
  'many booleans': Array.from({ length: 20_000 }, (_, index) => index % 1000 < 500),
  'many small objects': Array.from({ length: 3_000 }, (_, index) => ({ node: index, usage: { prompt_tokens: index } })),
};

describe('plain JSON', () => {
  test.each(Object.entries(VALUES))('%s: the bytes of a one-shot encode', (_name, value) => {
    const expected = slowEncode(value);
    expect(encodeToBuffer(encoder, value).toString()).toBe(expected);
    expect(encodeStopping(value).toString()).toBe(expected);
  });

  test('what the engine says of the same values, where JavaScript and Python print numbers alike', () => {
    const { 'whole numbers': _whole, floats: _floats, ...alike } = VALUES;
    for (const value of Object.values(alike)) {
      expect(encodeToBuffer(encoder, value).toString()).toBe(JSON.stringify(value));
    }
  });

  test('random values', () => {
    const value = fc.anything({
      maxDepth: 5,
      withBigInt: false,
      withNullPrototype: true,
      values: [
        fc.string({ unit: 'binary', maxLength: 90 }),
        fc.boolean(),
        fc.integer(),
        fc.double(),
        fc.constant(null),
        fc.constant(undefined),
        fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }),
        fc.constantFrom('1.0', '-0.0', '1e+16', '123456789012345678901234567890').map(raw),
      ],
    });
    fc.assert(
      fc.property(value, (one) => {
        expect(encodeToBuffer(encoder, [one]).toString()).toBe(slowEncode([one]));
      }),
      { numRuns: 2_000, seed: 4 },
    );
  });

  test('numbers of a record that was read with its text are written as they were', () => {
    const line = '{"a":1.0,"b":[1e+16,0.00001,-0.0,18446744073709551616,12345678901234567890],"c":1.50}';
    const value: unknown = JSON.parse(line, (_key, parsed: unknown, context?: { source?: string }) =>
      typeof parsed === 'number' && context?.source !== undefined ? raw(context.source) : parsed,
    );
    expect(encodeToBuffer(encoder, value).toString()).toBe(line);
  });
});

describe('typed arrays', () => {
  const doubles = Array.from({ length: 9_001 }, (_, index) => Math.sin(index) * 10 ** ((index % 13) - 6));
  const TYPED: Readonly<Record<string, object>> = {
    'Int32Array of ids': Int32Array.from({ length: 9_001 }, (_, index) => index * 31 - 1000),
    Uint32Array: Uint32Array.of(0, 1, 2 ** 31, 2 ** 32 - 1),
    'Uint8Array, Uint8ClampedArray': [Uint8Array.of(0, 1, 255), Uint8ClampedArray.of(7, 8)],
    'Int8Array, Int16Array, Uint16Array': [Int8Array.of(-128, 127), Int16Array.of(-32768), Uint16Array.of(65535)],
    Float64Array: Float64Array.from([...doubles, 0, -0, 1, 1e16, Number.NaN, Number.POSITIVE_INFINITY]),
    Float32Array: Float32Array.from([...doubles, 0, -0, 1, 3e38, Number.NaN]),
    BigInt64Array: BigInt64Array.of(-(2n ** 63n), 0n, 2n ** 63n - 1n),
    BigUint64Array: BigUint64Array.of(0n, 2n ** 64n - 1n),
    empty: [new Float64Array(0), new Int32Array(0)],
  };

  test.each(Object.entries(TYPED))('%s', (_name, values) => {
    expect(encodeToBuffer(encoder, { values }).toString()).toBe(slowEncode({ values }));
    expect(encodeStopping(values).toString()).toBe(slowEncode(values));
  });

  test('in a node they say what plain arrays say', () => {
    const length = 5_000;
    const plain = {
      token_ids: Array.from({ length }, (_, index) => (index * 7919) % 150_000),
      mask: Array.from({ length }, (_, index) => index % 3 === 0),
      is_content: Array.from({ length }, () => true),
      logprobs: Array.from({ length }, (_, index) => -Math.log(index + 1) / 3),
    };
    const typed = {
      token_ids: Int32Array.from(plain.token_ids),
      mask: Uint8Array.from(plain.mask, Number),
      is_content: Uint8Array.from(plain.is_content, Number),
      logprobs: Float64Array.from(plain.logprobs),
    };
    const [one, other] = [plain, typed].map((node) => encodeToBuffer(encoder, episodeOf(node), EPISODE_RULES));
    expect(other?.equals(one as Buffer)).toBe(true);
    expect(one?.toString()).toBe(slowEncode(episodeOf(plain), { model: EPISODE_RULES }));
  });
});

function episodeOf(node: object, message: object = { role: 'user', content: 'hello' }): object {
  return { id: 'e', env: { id: 'x' }, traces: [{ id: 't', nodes: [{ message, ...node }] }] };
}

describe('the rules of an episode', () => {
  test('members in the order of the record, nulls of models and tensors left out, nulls of maps kept', () => {
    const episode = {
      traces: [{ nodes: [{ message: { content: 'hi', role: 'user' }, parent: null }], info: { x: null }, id: 't' }],
      env: { name: null, id: 'x' },
      group: null,
      id: 'e',
    };
    const text = encodeToBuffer(encoder, episode, EPISODE_RULES).toString();
    expect(text).toBe(
      '{"id":"e","env":{"id":"x"},"traces":[{"id":"t","nodes":[{"message":{"role":"user","content":"hi"}}],"info":{"x":null}}]}',
    );
  });

  test('per-token streams are rounded as Python rounds, ties to even, or written in full', () => {
    const logprobs = [0.03125, -0.03125, 0.09375, -0.123456, -0, 0, 1, -1e-9, Number.NaN, 1e300, 0.1 + 0.2];
    const rounded = encodeToBuffer(encoder, episodeOf({ logprobs }), EPISODE_RULES).toString();
    expect(rounded).toContain('"logprobs":[0.0312,-0.0312,0.0938,-0.1235,-0.0,0.0,1.0,-0.0,null,1e+300,0.3]');
    const full = encodeToBuffer(exact, episodeOf({ logprobs }), EPISODE_RULES).toString();
    expect(full).toContain(
      '"logprobs":[0.03125,-0.03125,0.09375,-0.123456,-0.0,0.0,1.0,-1e-9,null,1e+300,0.30000000000000004]',
    );
  });
});

describe('what has no JSON text is refused by its path', () => {
  const cycle: { self?: unknown } = {};
  cycle.self = [cycle];
  const deep = (levels: number): unknown => {
    let value: unknown = 0;
    for (let level = 0; level < levels; level += 1) value = [value];
    return value;
  };
  const CASES: readonly (readonly [string, unknown, string, RegExp])[] = [
    ['a surrogate alone', { a: [{ b: 'x\ud800' }] }, 'a[0].b', /surrogate pair at UTF-16 unit 1/],
    ['a surrogate alone far into a long text', { a: `${'é'.repeat(50_000)}\udc00` }, 'a', /UTF-16 unit 50000/],
    ['a surrogate alone in a name', { a: { '\ud800': 1 } }, 'a["\\ud800"]', /name of a member/],
    ['a cycle', cycle, 'self[0]', /holds itself/],
    ['a bigint beyond 64 bits', { a: [1n, 2n ** 64n] }, 'a[1]', /beyond 64 bits/],
    ['a bigint below 64 bits', [-(2n ** 63n) - 1n], '[0]', /beyond 64 bits/],
    ['a function', { f: () => 1 }, 'f', /function/],
    ['a symbol', [0, Symbol('s')], '[1]', /symbol/],
    ['a map', { m: new Map([[1, 2]]) }, 'm', /Map/],
    ['a date', { at: new Date(0) }, 'at', /Date/],
    ['an object with toJSON', { url: new URL('http://x') }, 'url', /toJSON/],
    ['depth', deep(MAX_DEPTH + 2), '', /deeper than 1024/],
    ['a mask that is no mask', episodeOf({ mask: Uint8Array.of(1, 1, 2) }), 'traces[0].nodes[0].mask[2]', /flag of 2/],
  ];

  test.each(CASES)('%s', (_name, value, path, reason) => {
    const model = path.startsWith('traces') ? EPISODE_RULES : null;
    expect(() => encodeToBuffer(encoder, value, model)).toThrow(
      expect.objectContaining({ code: 'PRL_ERR_REJECTED', message: expect.stringMatching(reason) }),
    );
    if (path !== '') {
      expect(() => encodeToBuffer(encoder, value, model)).toThrow(expect.objectContaining({ path }));
    }
    // Nothing of it is left in the way of the next one.
    expect(encodeToBuffer(encoder, ['next']).toString()).toBe('["next"]');
  });

  test('an episode is an object', () => {
    expect(() => encodeToBuffer(encoder, [1], EPISODE_RULES)).toThrow(/Episode is an object/i);
  });

  test('depth up to the limit is written', () => {
    expect(encodeToBuffer(encoder, deep(MAX_DEPTH)).toString()).toBe(slowEncode(deep(MAX_DEPTH)));
  });

  test('one object in two places is no cycle', () => {
    const shared = { a: 1 };
    expect(encodeToBuffer(encoder, [shared, { shared }]).toString()).toBe('[{"a":1},{"shared":{"a":1}}]');
  });
});

describe('an episode that changes while it is encoded', () => {
  const big = 'x'.repeat(100_000);

  test.each([
    ['a list that grows', (list: unknown[]) => list.push('more'), 2],
    ['a list that shrinks', (list: unknown[]) => list.pop(), 0],
  ])('%s is refused', (_name, change, left) => {
    const list: unknown[] = [big];
    encoder.begin({ list }, null);
    expect(encoder.step(() => true)).toBe('more');
    change(list);
    const finish = (): void => {
      while (encoder.step(() => true) !== 'done') for (const part of encoder.takeParts()) part.release();
    };
    expect(finish).toThrow(expect.objectContaining({ path: 'list', message: expect.stringContaining(`had ${left}`) }));
    expect(encodeToBuffer(encoder, 1).toString()).toBe('1');
  });

  test('members that come or go, and other values, still make legal JSON', () => {
    const episode: Record<string, unknown> = { big, goes: 1, changes: 'old', last: true };
    encoder.begin(episode, null);
    encoder.step(() => true);
    delete episode.goes;
    episode.changes = { now: ['new'] };
    episode.comes = 1;
    encoder.step(() => false);
    const text = Buffer.concat(encoder.takeParts().map((part) => Buffer.from(part.bytes))).toString();
    expect(JSON.parse(text)).toEqual({ big, changes: { now: ['new'] }, last: true });
  });
});

describe('buffers', () => {
  test('parts lie in the pool until they are released, and no more than the pool is held', () => {
    const small = new RecordEncoder(wasmModule('encoder'), { slots: 2 });
    const value = Array.from({ length: 400 }, (_, index) => `${index} ${'text '.repeat(4_000)}`);
    small.begin(value, null);
    const parts: EncodedPart[] = [];
    while (small.step(() => false) === 'full') {
      const taken = small.takeParts();
      expect(taken.length).toBeGreaterThan(0);
      expect(taken.every((part) => part.bytes.buffer === taken[0]?.bytes.buffer)).toBe(true);
      // Without a release nothing moves.
      expect(small.step(() => false)).toBe('full');
      for (const part of taken) {
        parts.push({ bytes: Buffer.from(part.bytes), release: () => {} });
        part.release();
      }
    }
    parts.push(...small.takeParts());
    expect(Buffer.concat(parts.map((part) => part.bytes)).toString()).toBe(slowEncode(value));
  });

  test('small values share a buffer', () => {
    const taken: Uint8Array[] = [];
    for (let index = 0; index < 1000; index += 1) encodeTo(encoder, { index }, { take: (bytes) => taken.push(bytes) });
    expect(new Set(taken.map((bytes) => bytes.byteOffset >> 20)).size).toBeLessThanOrEqual(2);
  });

  test('an abandoned value leaves no part behind', () => {
    encoder.begin([LONG, LONG], null);
    encoder.step(() => true);
    encoder.abandon();
    expect(encoder.takeParts()).toEqual([]);
    expect(encodeToBuffer(encoder, [1, 2]).toString()).toBe('[1,2]');
  });

  test.each([
    [{ slots: 1 }, /slots/],
    [{ slots: 65 }, /slots/],
    [{ floatDecimals: 10 }, /floatDecimals/],
    [{ floatDecimals: -1 }, /floatDecimals/],
  ])('options out of range: %o', (options, message) => {
    expect(() => new RecordEncoder(wasmModule('encoder'), options)).toThrow(message);
  });
});
