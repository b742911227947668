/** The contract of walker.ts, for every walker there is: the same nasty lines, at every alignment and window. */
import { describe, expect, test } from 'vitest';
import { ARENA_BYTES, TAPE_CAPACITY_ENTRIES } from '../../../src/core/scan/record-tape.js';
import { TextWalker } from '../../../src/core/scan/text-walker.js';
import { FAULT, LINE, type RecordWalker, type WalkerOptions } from '../../../src/core/scan/walker.js';
import { WasmWalker } from '../../../src/core/scan/wasm-walker.js';
import { wasmModule } from '../../../src/io/wasm-modules.js';
import { seededRandom } from '../../helpers/generated-run.js';
import { DEEP_CASES, LINE_CASES, type LineCase } from '../../helpers/line-cases.js';
import { TapeReader } from '../../helpers/tape-reader.js';
import { byteSource, expectedLine, type WalkedLine, walkLine, walkLines } from '../../helpers/walked-lines.js';

type NamedWalker = { readonly name: string; make(options: WalkerOptions): RecordWalker };

/** The first is what the others are compared with where there is no table. */
const WALKERS: readonly NamedWalker[] = [
  { name: 'TextWalker', make: (options) => new TextWalker(options) },
  { name: 'WasmWalker', make: (options) => new WasmWalker(wasmModule('walker'), options) },
];

const WINDOWS = [4096, 6000, 65_536, 1_048_576];

/** Stands behind every case: a line that a fault before it must not touch. */
const NEXT: LineCase = {
  name: 'the next line',
  line: Buffer.from('{"id":"next","traces":[]}'),
  kind: LINE.RECORD,
  fault: FAULT.NONE,
  at: -1,
  tape: ['ID STRING next', 'TRACES ARRAY', 'TRACES_END', 'UNIT_KEYS traces'],
};

const LF = Buffer.from('\n');

/** Lines each with LF behind, and what a walker must say of them. */
function fileOf(cases: readonly LineCase[], padding = 0): { bytes: Buffer; expected: WalkedLine[] } {
  const pad: LineCase = { ...NEXT, line: Buffer.concat([NEXT.line, Buffer.alloc(padding, ' ')]) };
  const expected: WalkedLine[] = [];
  const parts: Buffer[] = [];
  let start = 0;
  for (const one of [pad, ...cases]) {
    expected.push(expectedLine(one, start));
    parts.push(one.line, LF);
    start += one.line.length + 1;
  }
  return { bytes: Buffer.concat(parts), expected };
}

/** A walker and its sink, made once for all cases of a test, so that reuse is tested as well. */
function walkerOf(named: NamedWalker, windowBytes: number): (bytes: Buffer, readBytes?: number) => WalkedLine[] {
  const tape = new TapeReader();
  const walker = named.make({ sink: tape, windowBytes });
  return (bytes, readBytes) => walkLines(walker, tape, byteSource(bytes, readBytes));
}

/** The first few lines that came out otherwise, with the names of their cases. */
function differences(
  cases: readonly LineCase[],
  found: readonly WalkedLine[],
  expected: readonly WalkedLine[],
): unknown[] {
  const wrong: unknown[] = [];
  for (let index = 0; index < Math.max(found.length, expected.length) && wrong.length < 3; index += 1) {
    if (JSON.stringify(found[index]) !== JSON.stringify(expected[index])) {
      wrong.push({ name: cases[index - 1]?.name ?? 'padding', found: found[index], expected: expected[index] });
    }
  }
  return wrong;
}

test('the table is as long as it should be, and no line holds an LF', () => {
  expect(LINE_CASES.length).toBeGreaterThan(500);
  expect([...LINE_CASES, ...DEEP_CASES].filter((one) => one.line.includes(0x0a))).toEqual([]);
});

describe.each(WALKERS)('$name', (named) => {
  describe.each(WINDOWS)('with a window of %d bytes', (windowBytes) => {
    const walk = walkerOf(named, windowBytes);

    test.each([0, 1, 7, 31, 62])('reads every line behind %d bytes, and the line after it', (padding) => {
      for (const one of LINE_CASES) {
        const cases = [one, NEXT];
        const { bytes, expected } = fileOf(cases, padding);
        expect(differences(cases, walk(bytes), expected)).toEqual([]);
      }
    });

    test('reads every line with the end of the first window in it', () => {
      for (const one of LINE_CASES) {
        const cases = [one, NEXT];
        const padding = 4096 - NEXT.line.length - 1 - (1 + Math.floor(one.line.length / 2));
        const { bytes, expected } = fileOf(cases, Math.max(0, padding));
        expect(differences(cases, walk(bytes), expected)).toEqual([]);
      }
    });

    test('reads every line without LF at the end of the bytes', () => {
      for (const one of LINE_CASES) {
        const expected = one.line.length === 0 ? [] : [expectedLine(one, 0, false)];
        expect(differences([NEXT, one], walk(one.line), expected)).toEqual([]);
      }
    });

    test('reads deep lines', () => {
      for (const one of DEEP_CASES) {
        const cases = [one, NEXT];
        const { bytes, expected } = fileOf(cases, 3);
        expect(differences(cases, walk(bytes), expected)).toEqual([]);
      }
    });
  });

  test.each([4096, 4500, 6000, 9999])('reads all lines as one file, through a window of %d bytes', (windowBytes) => {
    const walk = walkerOf(named, windowBytes);
    for (let rotation = 0; rotation < 8; rotation += 1) {
      const shift = Math.floor((rotation * LINE_CASES.length) / 8);
      const cases = [...LINE_CASES.slice(shift), ...LINE_CASES.slice(0, shift)];
      const { bytes, expected } = fileOf(cases, rotation * 511);
      expect(differences(cases, walk(bytes), expected)).toEqual([]);
    }
  });

  test.each([1, 2, 3, 5, 64])('reads all lines when %d bytes come at a time', (readBytes) => {
    const walk = walkerOf(named, 4096);
    const { bytes, expected } = fileOf(LINE_CASES);
    expect(differences(LINE_CASES, walk(bytes, readBytes), expected)).toEqual([]);
  });
});

/** Bytes that mean something somewhere. */
const ALPHABET = Buffer.from('{}[]",:\\u0069d1-.eE+tfnNI \t\r\v\x01\x00\xff', 'latin1');

/** Lines of the table with a few bytes changed, left out or put in. */
function mutatedLines(seed: number, count: number): Buffer[] {
  const random = seededRandom(seed);
  const short = LINE_CASES.filter((one) => one.line.length > 0 && one.line.length < 600);
  const records = short.filter((one) => one.kind === LINE.RECORD);
  return Array.from({ length: count }, (_, index) => {
    const cases = index % 2 === 0 ? records : short;
    const from = (cases[Math.floor(random() * cases.length)] as LineCase).line;
    let bytes = Buffer.from(from);
    for (let changes = 1 + Math.floor(random() * 3); changes > 0; changes -= 1) {
      const at = Math.floor(random() * bytes.length);
      const put = ALPHABET.subarray(Math.floor(random() * ALPHABET.length)).subarray(0, random() < 0.3 ? 0 : 1);
      bytes = Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + (random() < 0.5 ? 1 : 0))]);
    }
    return bytes;
  });
}

/** Whether JavaScript reads the line as an object. */
function isObjectText(line: Buffer): boolean {
  try {
    const value: unknown = JSON.parse(line.toString());
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false; // Not JSON is an answer here.
  }
}

describe.each(WALKERS)('$name on 20,000 lines changed at random', (named) => {
  const lines = mutatedLines(20_261_130, 20_000);
  const bytes = Buffer.concat(lines.flatMap((line) => [line, LF]));
  const expected = walkerOf(WALKERS[0] as NamedWalker, 1_048_576)(bytes);

  test('refuses none that is a JSON object', () => {
    const found = walkerOf(named, 1_048_576)(bytes);
    expect(found.length).toBe(lines.length);
    const legal = lines.flatMap((line, index) => (isObjectText(line) ? [found[index]?.kind] : []));
    expect(legal.length).toBeGreaterThan(2000);
    expect(legal.filter((kind) => kind !== LINE.RECORD)).toEqual([]);
  });

  test.each([
    { windowBytes: 1_048_576, readBytes: 1_048_576 },
    { windowBytes: 4096, readBytes: 4096 },
    { windowBytes: 4096, readBytes: 1 },
    { windowBytes: 5003, readBytes: 17 },
  ])('says the same with a window of $windowBytes bytes, $readBytes at a time', ({ windowBytes, readBytes }) => {
    const found = walkerOf(named, windowBytes)(bytes, readBytes);
    const wrong = expected.flatMap((line, index) =>
      JSON.stringify(line) === JSON.stringify(found[index])
        ? []
        : [{ text: lines[index]?.toString('latin1'), expected: line, found: found[index] }],
    );
    expect(wrong.slice(0, 3)).toEqual([]);
    expect(found.length).toBe(expected.length);
  });
});

describe.each(WALKERS)('$name, moving through bytes', (named) => {
  const tape = new TapeReader();
  const make = (windowBytes = 4096): RecordWalker => named.make({ sink: tape, windowBytes });
  const walk = (walker: RecordWalker, text: string, offset = 0): WalkedLine[] =>
    walkLines(walker, tape, byteSource(Buffer.from(text)), offset);

  test('finds no line in no bytes, however often it is asked', () => {
    const walker = make();
    walker.reset(byteSource(Buffer.alloc(0)), 17);
    for (let times = 0; times < 3; times += 1) {
      expect(walker.next()).toBe(LINE.END);
      expect([walker.lineStart, walker.lineEnd, walker.fault]).toEqual([17, 17, FAULT.NONE]);
    }
  });

  test('stays at the end', () => {
    const walker = make();
    expect(walk(walker, '{}\n').length).toBe(1);
    expect(walker.next()).toBe(LINE.END);
    expect([walker.lineStart, walker.lineEnd]).toEqual([3, 3]);
    expect(walker.skipLine()).toBe(3);
  });

  test.each([2 ** 31 - 2, 2 ** 32 - 2, 2 ** 45])('counts offsets from %d', (offset) => {
    const lines = walk(make(), '{"id":1}\n\n{"id":x}\n{', offset);
    expect(lines.map(({ start, end, fault }) => [start - offset, end - offset, fault?.offset])).toEqual([
      [0, 9, undefined],
      [9, 10, undefined],
      [10, 19, offset + 16],
      [19, 20, offset + 20],
    ]);
  });

  test('tells a last line without LF', () => {
    expect(walk(make(), '{}\n{}').map(({ isTerminated }) => isTerminated)).toEqual([true, false]);
    expect(walk(make(), '[\n[').map(({ isTerminated }) => isTerminated)).toEqual([true, false]);
    expect(walk(make(), '{}\n \v').map(({ kind, isTerminated }) => [kind, isTerminated])).toEqual([
      [LINE.RECORD, true],
      [LINE.BLANK, false],
    ]);
  });

  test('skips a line at its start, behind a read one, and without LF', () => {
    const walker = make();
    walker.reset(byteSource(Buffer.from('{"x":\n{"id":1}\n\n{"id":2}')), 100);
    expect(walker.skipLine()).toBe(106);
    expect(walkLine(walker, tape)).toMatchObject({ kind: LINE.RECORD, start: 106, end: 115 });
    expect(walker.skipLine()).toBe(116);
    expect([walker.lineStart, walker.lineEnd]).toEqual([106, 115]);
    expect(walker.skipLine()).toBe(124);
    expect(walker.next()).toBe(LINE.END);
  });

  test('skips a line longer than its window, and reads on behind it', () => {
    const walker = make();
    walker.reset(byteSource(Buffer.from(`${'"\\'.repeat(20_000)}\n{"id":1}\n`), 1000), 0);
    expect(walker.skipLine()).toBe(40_001);
    expect(walkLine(walker, tape)).toMatchObject({ kind: LINE.RECORD, tape: ['ID INT 1', 'UNIT_KEYS'] });
  });

  test('starts anew in the middle of anything', () => {
    const walker = make();
    for (const text of ['{"id":"a"}\n{"id":', '{"x":[[[', '{"id":"a', '{"\\u0069', '{"id":12', '{"rewards":{"a":[']) {
      walker.reset(byteSource(Buffer.from(`${text}${' '.repeat(9000)}\n{"id":0}\n`)), 0);
      walker.next();
      expect(walk(walker, '{"id":"b"}\n', 5)).toEqual([
        { kind: LINE.RECORD, start: 5, end: 16, isTerminated: true, fault: null, tape: ['ID STRING b', 'UNIT_KEYS'] },
      ]);
    }
  });

  test('starts anew after a source that failed', () => {
    const walker = make();
    const broken = byteSource(Buffer.from('{"id":"abc'), 5);
    let reads = 0;
    const failing = {
      read(target: Uint8Array) {
        reads += 1;
        if (reads === 3) throw new Error('the disk is gone');
        return broken.read(target);
      },
    };
    walker.reset(failing, 0);
    expect(() => walker.next()).toThrow('the disk is gone');
    expect(walk(walker, '{"id":"b"}\n').map((line) => line.tape)).toEqual([['ID STRING b', 'UNIT_KEYS']]);
  });
});

describe.each(WALKERS)('$name, with long records', (named) => {
  const tape = new TapeReader();
  const walker = named.make({ sink: tape, windowBytes: 65_536 });
  const walk = (line: string): WalkedLine['tape'] | undefined => {
    walker.reset(byteSource(Buffer.from(`${line}\n`)), 0);
    return walkLine(walker, tape)?.tape;
  };

  test('hands over a tape that is full and goes on', () => {
    const nodes = 30_000;
    const found = walk(`{"nodes":[${Array.from({ length: nodes }, (_, index) => `{"parent":${index}}`).join(',')}]}`);
    expect(tape.takes).toBe(Math.ceil((2 * nodes + 2) / TAPE_CAPACITY_ENTRIES));
    const entries = Array.from({ length: nodes }, (_, index) => ['NODE OBJECT', `PARENT INT ${index}`]).flat();
    expect(found).toEqual(['NODES ARRAY', ...entries, 'UNIT_KEYS nodes']);
  });

  test.each([-3, -2, -1, 0, 1, 2])('keeps texts that come when a tape is full, %d entries off', (more) => {
    const numbers = TAPE_CAPACITY_ENTRIES - 2 + more;
    const found = walk(`{"calls":[${'7,'.repeat(numbers)}"first","second","third"]}`);
    const entries = Array.from({ length: numbers }, () => 'CALL INT 7');
    const texts = ['CALL STRING first', 'CALL STRING second', 'CALL STRING third'];
    expect(found).toEqual(['CALLS ARRAY', ...entries, ...texts, 'UNIT_KEYS calls']);
  });

  test('hands over an arena that is full and goes on', () => {
    const texts = Array.from({ length: 9 }, (_, index) => String(index).repeat(300_000));
    const found = walk(`{${texts.map((text) => `"id":"${text}"`).join(',')}}`);
    expect(tape.takes).toBeGreaterThan(2);
    expect(found).toEqual([...texts.map((text) => `ID STRING ${text}`), 'UNIT_KEYS']);
  });

  test('keeps a value as long as the arena and measures a longer one', () => {
    const text = 'x'.repeat(ARENA_BYTES);
    const raw = `{"a":"${'y'.repeat(ARENA_BYTES - 8)}"}`;
    const digits = `1${'0'.repeat(ARENA_BYTES)}`;
    const line = `{"ok":0.5,"id":"${text}","id":"${text}z","rewards":${raw},"timing":{"b":${raw}},"ok":${digits},"id":"\\"${text}","id":7}`;
    expect(walk(line)).toEqual([
      'OK NUMBER 0.5',
      `ID STRING ${text}`,
      `ID TOO_LARGE ${ARENA_BYTES + 1}`,
      `REWARDS RAW ${raw}`,
      `TIMING TOO_LARGE ${ARENA_BYTES + 6}`,
      `OK TOO_LARGE ${ARENA_BYTES + 1}`,
      `ID TOO_LARGE ${ARENA_BYTES + 2}`,
      'ID INT 7',
      'UNIT_KEYS',
    ]);
  });

  test('reads keys and white space longer than the arena', () => {
    const space = ' '.repeat(ARENA_BYTES + 10);
    const line = `{"id":"a","${'k'.repeat(ARENA_BYTES + 10)}":1,"\\u0069d":${space}"b"${space}}`;
    expect(walk(line)).toEqual(['ID STRING a', 'ID STRING b', 'UNIT_KEYS']);
  });
});
