/** What only the walker in WebAssembly has: a window in its own memory, blocks of 64 bytes, key tables that learn. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { TextWalker } from '../../../src/core/scan/text-walker.js';
import { type ByteSource, FAULT, LINE } from '../../../src/core/scan/walker.js';
import { WasmWalker } from '../../../src/core/scan/wasm-walker.js';
import { wasmModule } from '../../../src/io/wasm-modules.js';
import { bareTrace, episode } from '../../helpers/episode-arbitrary.js';
import { render, rewriting } from '../../helpers/json-tree.js';
import { TapeReader } from '../../helpers/tape-reader.js';
import { byteSource, type WalkedLine, walkLine, walkLines } from '../../helpers/walked-lines.js';

const WINDOWS = [4096, 4500, 6000, 9999, 65_536];

/** Bytes that mean something somewhere. */
const ALPHABET = [...Buffer.from('{}[]",:\\u0e1-.+tfnNI_yY \t\r\n\v\x01\x00\x7f\xff', 'latin1')];

type Walk = (bytes: Buffer, readBytes?: number) => WalkedLine[];

function wasmWalk(windowBytes: number): Walk {
  const tape = new TapeReader();
  const walker = new WasmWalker(wasmModule('walker'), { sink: tape, windowBytes });
  return (bytes, readBytes) => walkLines(walker, tape, byteSource(bytes, readBytes));
}

function textWalk(): Walk {
  const tape = new TapeReader();
  const walker = new TextWalker({ sink: tape });
  return (bytes) => walkLines(walker, tape, byteSource(bytes));
}

/** A part of a stream: a text, or so many times the byte `x`. */
type Part = string | number;

/** Parts one after the other, without ever having them whole. */
function longSource(parts: readonly Part[]): ByteSource {
  let part = 0;
  let position = 0;
  return {
    read(target) {
      const current = parts[part];
      if (current === undefined) return 0;
      const length = typeof current === 'number' ? current : current.length;
      const count = Math.min(length - position, target.length);
      if (typeof current === 'number') target.fill(0x78, 0, count);
      else target.set(Buffer.from(current.slice(position, position + count), 'latin1'));
      position += count;
      if (position === length) {
        part += 1;
        position = 0;
      }
      return count;
    },
  };
}

describe('by the TypeScript walker', () => {
  const expected = textWalk();
  const walks = WINDOWS.map(wasmWalk);
  const edit = fc.record({
    at: fc.nat(),
    put: fc.array(fc.constantFrom(...ALPHABET), { maxLength: 2 }),
    removed: fc.nat(3),
  });
  const line = fc
    .tuple(
      fc.oneof(episode, bareTrace),
      rewriting,
      fc.oneof(fc.constant([]), fc.array(edit, { minLength: 1, maxLength: 3 })),
    )
    .map(([tree, how, edits]) => {
      let bytes = Buffer.from(render(tree, how));
      for (const { at, put, removed } of edits) {
        const start = at % (bytes.length + 1);
        bytes = Buffer.concat([bytes.subarray(0, start), Buffer.from(put), bytes.subarray(start + removed)]);
      }
      return bytes;
    });

  test('random episodes, written in every legal way and some illegal ones, read the same', () => {
    const kinds = new Set<number>();
    const arbitrary = fc.record({
      lines: fc.array(line, { minLength: 1, maxLength: 5 }),
      lineEnd: fc.constantFrom('\n', '\r\n'),
      window: fc.nat(WINDOWS.length - 1),
      readBytes: fc.constantFrom(1, 7, 100, 5000, 100_000),
    });
    const property = fc.property(arbitrary, ({ lines, lineEnd, window, readBytes }) => {
      const bytes = Buffer.concat(lines.flatMap((one) => [one, Buffer.from(lineEnd)]));
      const wanted = expected(bytes);
      for (const { kind, fault } of wanted) kinds.add(kind === LINE.BAD ? (fault?.code ?? 0) + 10 : kind);
      expect(walks[window]?.(bytes, readBytes)).toEqual(wanted);
    });
    fc.assert(property, { numRuns: 400, seed: 20_261_130 });
    expect(kinds).toContain(LINE.RECORD);
    for (const fault of [FAULT.TORN, FAULT.CONTROL, FAULT.BRACKETS, FAULT.GRAMMAR, FAULT.NUL]) {
      expect(kinds).toContain(fault + 10);
    }
  });
});

describe.each(WINDOWS)('with a window of %d bytes', (windowBytes) => {
  const walk = wasmWalk(windowBytes);

  test('reads a line the same wherever the window ends in it', () => {
    const raw = '{"a":{"score":1.5,"weight":[{}]},"\\"b\\\\":null}';
    const values = `"\\u0069d":"i\\"d","x":[1,[2,"]\\\\"],{"y":"\\\\"}],"ok":false,"rewards":${raw},"num_input_tokens":-1.25e-7`;
    const line = `{ ${values},"errors":[ 1 , "e" ],"traces":[{"nodes":[{"parent":12,"message":{"role":"user"}}]}]}`;
    const tape = [
      'ID ESCAPED i\\"d',
      'OK FALSE',
      `REWARDS RAW ${raw}`,
      'INPUT_TOKENS NUMBER -1.25e-7',
      'ERRORS ARRAY 2',
      ...['TRACES ARRAY', 'TRACE OBJECT', 'NODES ARRAY', 'NODE OBJECT', 'PARENT INT 12', 'MESSAGE OBJECT'],
      ...['ROLE STRING user', 'TRACES_END', 'UNIT_KEYS traces'],
    ];
    for (let before = 0; before <= line.length + 1; before += 1) {
      const bytes = Buffer.from(`${' '.repeat(windowBytes - before)}\n${line}\n${line}`);
      const found = walk(bytes);
      expect(found.map((one) => one.kind)).toEqual([LINE.BLANK, LINE.RECORD, LINE.RECORD]);
      expect(found[1]?.tape).toEqual(tape);
      expect(found[2]?.tape).toEqual(tape);
    }
  });

  test.each([0, 1, 2, 3, 63, 64, 65])('ends strings behind %d backslashes at every place of a block', (slashes) => {
    const run = '\\\\'.repeat(slashes >> 1) + (slashes % 2 === 1 ? '\\"' : '');
    for (let place = 0; place < 130; place += 1) {
      const text = `"${'s'.repeat(place)}${run}"`;
      const line = `{"x":${text},"y":[${text},"]}"],"z":{${text}:[]},${text}:1,"id":${text}}`;
      const [found] = walk(Buffer.from(`${' '.repeat(windowBytes - 400)}${line}\n`));
      expect(found?.tape).toEqual([`ID ${run === '' ? 'STRING' : 'ESCAPED'} ${text.slice(1, -1)}`, 'UNIT_KEYS']);
    }
  });

  test('finds a control character at every place of a block, in strings and between values', () => {
    for (let place = 0; place < 130; place += 1) {
      const filler = 'x'.repeat(place);
      for (const before of [`{"s":"${filler}`, `{"s":["${filler}`]) {
        const [found] = walk(Buffer.from(`${before}\x1f"`));
        expect(found?.fault).toEqual({ code: FAULT.CONTROL, offset: before.length });
      }
      const before = `{"s":[${'1'.repeat(place)}`;
      expect(walk(Buffer.from(`${before}\f]}`))[0]?.fault).toEqual({ code: FAULT.GRAMMAR, offset: before.length });
      expect(walk(Buffer.from(`${before}\t\r]}`))[0]?.kind).toBe(LINE.RECORD);
      expect(walk(Buffer.from(`${before}\\]}`))[0]?.kind).toBe(LINE.RECORD);
      expect(walk(Buffer.from(`${before}\n]}`))[0]?.fault).toEqual({ code: FAULT.TORN, offset: before.length });
    }
  });

  test('reads numbers of every length', () => {
    const digits = '1234567890'.repeat(7);
    for (let whole = 1; whole <= 66; whole += 1) {
      for (const fraction of [0, 1, 2, 30 - whole, 31 - whole, 32 - whole, 66].filter((length) => length >= 0)) {
        for (const [sign, exponent] of [
          ['', ''],
          ['-', 'E-7'],
        ]) {
          const number = `${sign}${digits.slice(0, whole)}${fraction > 0 ? `.${digits.slice(0, fraction)}` : ''}${exponent}`;
          const [found] = walk(Buffer.from(`{"x":${number},"id":${number}}`));
          const isShort = fraction === 0 && whole <= 9 && sign === '';
          expect(found?.tape).toEqual([`ID ${isShort ? 'INT' : 'NUMBER'} ${number}`, 'UNIT_KEYS']);
          const [bad] = walk(Buffer.from(`{"x":${number}x}`));
          expect(bad?.fault).toEqual({ code: FAULT.GRAMMAR, offset: 5 + number.length });
        }
      }
    }
  });

  test.each([63, 64, 65, 127, 128, 129, 5000])('keeps the kinds of %d open brackets apart', (depth) => {
    const kinds = Array.from({ length: depth }, (_, level) => (level * level * 7) % 5 < 2);
    const open = kinds.map((isCurly) => (isCurly ? '{"k":' : '[')).join('');
    const close = kinds.map((isCurly) => (isCurly ? '}' : ']')).reverse();
    expect(walk(Buffer.from(`{"x":${open}1${close.join('')},"id":1}`))[0]?.tape).toEqual(['ID INT 1', 'UNIT_KEYS']);
    for (const wrong of [0, 1, 62, 63, depth - 1].filter((index) => index < depth)) {
      const crossed = close.map((bracket, index) => (index === wrong ? (bracket === '}' ? ']' : '}') : bracket));
      const [found] = walk(Buffer.from(`{"x":${open}1${crossed.join('')},"id":1}`));
      expect(found?.fault).toEqual({ code: FAULT.BRACKETS, offset: 5 + open.length + 1 + wrong });
    }
  });
});

describe('keys that are learned', () => {
  const walk = wasmWalk(4096);
  const line = (text: string): readonly string[] | null | undefined => walk(Buffer.from(text))[0]?.tape;

  test('are told from those that begin alike, in any order and with any spacing', () => {
    const names = [
      'id',
      'i',
      'ids',
      'id"',
      'ok',
      'o',
      '',
      'okay',
      'num_input_tokens',
      'num_input_tokens_',
      'num_input_token',
    ];
    for (let round = 0; round < 200; round += 1) {
      const order = names.map((_, index) => names[(index * (1 + (round % 10)) + round) % names.length] as string);
      const colon = [':', ' :', ': ', '\t:\t'][round % 4];
      const members = order.map((name, index) => `${JSON.stringify(name)}${colon}${index}`);
      const wanted = order.flatMap((name, index) => {
        const field = new Map([
          ['id', 'ID'],
          ['ok', 'OK'],
          ['num_input_tokens', 'INPUT_TOKENS'],
        ]).get(name);
        return field === undefined ? [] : [`${field} INT ${index}`];
      });
      expect(line(`{${members.join(',')}}`)).toEqual([...wanted, 'UNIT_KEYS']);
    }
  });

  test('do not crowd out the others when there are thousands of them', () => {
    for (let round = 0; round < 20; round += 1) {
      const unknown = Array.from({ length: 200 }, (_, index) => `"k${round * 200 + index}":{"id":1}`);
      expect(line(`{${unknown.join(',')},"id":${round},"chunk":1}`)).toEqual([`ID INT ${round}`, 'UNIT_KEYS chunk']);
      expect(line(`{"info":{${unknown.join(',')},"kind":"k"}}`)).toContain('INFO_KIND STRING k');
    }
  });

  test('are not taken for the NULs of a hole', () => {
    expect(walk(Buffer.concat([Buffer.from('{"'), Buffer.alloc(100)]))[0]?.fault).toEqual({
      code: FAULT.NUL,
      offset: 2,
    });
  });
});

describe('long lines', () => {
  test('of 100 MB pass in constant memory', () => {
    const tape = new TapeReader();
    const walker = new WasmWalker(wasmModule('walker'), { sink: tape });
    const parts = ['{"id":"a","x":"', 50_000_000, '","y":["', 50_000_000, '"],"ok":true}\n{"id":"b"}\n'];
    walker.reset(longSource(parts), 0);
    const before = process.memoryUsage();
    const found = walkLine(walker, tape);
    const after = process.memoryUsage();
    expect(found).toMatchObject({ kind: LINE.RECORD, start: 0, tape: ['ID STRING a', 'OK TRUE', 'UNIT_KEYS'] });
    expect(found?.end).toBe(100_000_000 + 15 + 8 + 14);
    expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(4_000_000);
    expect(walkLine(walker, tape)?.tape).toEqual(['ID STRING b', 'UNIT_KEYS']);
  });

  test('of over 4 GB have their offsets, and a value of over 2 GB the largest length', () => {
    const tape = new TapeReader();
    const walker = new WasmWalker(wasmModule('walker'), { sink: tape, windowBytes: 4_194_304 });
    const half = 2 ** 31 + 10;
    walker.reset(longSource(['{"id":"', half, '","x":"', half, '"}\n{"id":}']), 2 ** 40);
    const end = 2 ** 40 + 7 + half + 7 + half + 3;
    expect(walkLine(walker, tape)).toMatchObject({
      start: 2 ** 40,
      end,
      tape: [`ID TOO_LARGE ${2 ** 31 - 1}`, 'UNIT_KEYS'],
    });
    expect(walkLine(walker, tape)?.fault).toEqual({ code: FAULT.GRAMMAR, offset: end + 6 });
  });
});

describe('the window', () => {
  const sink = new TapeReader();

  test.each([0, 4095, -1, Number.NaN, 2 ** 31])('cannot have %d bytes', (windowBytes) => {
    expect(() => new WasmWalker(wasmModule('walker'), { sink, windowBytes })).toThrow(RangeError);
  });

  test.each([4096, 100_000])('of %d bytes is filled whole, and no more than that', (windowBytes) => {
    const walker = new WasmWalker(wasmModule('walker'), { sink, windowBytes });
    const lengths: number[] = [];
    const source = longSource(['{"x":"', windowBytes * 3, '"}']);
    const measured: ByteSource = {
      read(target) {
        lengths.push(target.length);
        return source.read(target);
      },
    };
    walker.reset(measured, 0);
    expect(walker.next()).toBe(LINE.RECORD);
    expect(Math.max(...lengths)).toBe(windowBytes);
  });

  test.each([5000, -1, Number.NaN])('refuses a source that says it read %d bytes', (count) => {
    const walker = new WasmWalker(wasmModule('walker'), { sink, windowBytes: 4096 });
    walker.reset({ read: () => count }, 0);
    expect(() => walker.next()).toThrow(RangeError);
  });
});
