import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EncodeKernel, RUN_VALUES, SLOT_BYTES, TEXT_UNITS } from '../../../src/core/encode/kernel.js';
import { wasmModule } from '../../../src/io/wasm-modules.js';
import { seededRandom } from '../../helpers/generated-run.js';
import { kernel, printFlags, printInts } from './kernel-probe.js';

const SEED = 20_261;

/** Prints in runs of at most RUN_VALUES and compares each with the engine's own text. */
function checkInts(values: Int32Array): void {
  for (let from = 0; from < values.length; from += RUN_VALUES) {
    const run = values.subarray(from, from + RUN_VALUES);
    expect(printInts(run) === run.join(',')).toBe(true);
  }
}

describe('integers', () => {
  const powers = Array.from({ length: 10 }, (_, power) => 10 ** power);
  const edges = [...powers.flatMap((power) => [power - 1, power, power + 1]), 2 ** 31 - 1, 2 ** 31 - 2];
  const both = [...edges, ...edges.map((edge) => -edge), -(2 ** 31), 0, 214_748_364, 99_999_999, 100_000_001];

  test('powers of ten, their neighbours and the ends of 32 bits, alone and in a run', () => {
    for (const value of both) expect(printInts([value])).toBe(String(value));
    expect(printInts(both)).toBe(both.join(','));
  });

  test('every integer up to 2^20, with both signs', () => {
    checkInts(Int32Array.from({ length: 2 ** 20 }, (_, index) => index));
    checkInts(Int32Array.from({ length: 2 ** 20 }, (_, index) => -index));
  });

  test('300,000 random ones, as many of each length', () => {
    const random = seededRandom(SEED);
    checkInts(Int32Array.from({ length: 300_000 }, () => Math.trunc((random() * 2 - 1) * 2 ** (random() * 31))));
  });

  test('runs of every length up to 40 and of RUN_VALUES, at every alignment', () => {
    for (let length = 0; length <= 40; length += 1) {
      const values = Array.from({ length }, (_, index) => both[(index * 7 + length) % both.length] as number);
      expect(printInts(values, length % 16)).toBe(values.join(','));
    }
    const longest = new Int32Array(RUN_VALUES).fill(-(2 ** 31));
    expect(printInts(longest)).toBe(longest.join(','));
  });

  test('any run, drawn by fast-check', () => {
    fc.assert(
      fc.property(fc.int32Array({ maxLength: 200 }), fc.nat(15), (values, shift) => {
        expect(printInts(values, shift)).toBe(values.join(','));
      }),
      { seed: SEED, numRuns: 500 },
    );
  });
});

describe('flags', () => {
  test('runs of equal flags of every length up to 70 and of RUN_VALUES, at every alignment', () => {
    for (const flag of [true, false]) {
      for (const length of [...Array.from({ length: 71 }, (_, index) => index), RUN_VALUES]) {
        const values = Array.from({ length }, () => flag);
        expect(printFlags(values, length % 16)).toBe(values.join(','));
      }
    }
  });

  test('one flag that differs, at every place of 70', () => {
    for (let place = 0; place < 70; place += 1) {
      const values = Array.from({ length: 70 }, (_, index) => index === place);
      expect(printFlags(values)).toBe(values.join(','));
      const opposite = values.map((flag) => !flag);
      expect(printFlags(opposite)).toBe(opposite.join(','));
    }
  });

  test('any run, drawn by fast-check', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 200 }), fc.nat(15), (values, shift) => {
        expect(printFlags(values, shift)).toBe(values.join(','));
      }),
      { seed: SEED, numRuns: 500 },
    );
  });
});

describe('slots', () => {
  test('lie behind the scratch, do not overlap, and the last one may be filled to its end', () => {
    const three = new EncodeKernel(wasmModule('encoder'), 3);
    const addresses = [0, 1, 2].map((slot) => three.slotAddress(slot));
    const scratchEnd = Math.max(
      ...[three.ints, three.floats, three.flags, three.text].map((view) => view.byteOffset + view.byteLength),
    );
    expect(addresses[0]).toBeGreaterThanOrEqual(scratchEnd);
    expect((addresses[1] as number) - (addresses[0] as number)).toBeGreaterThan(SLOT_BYTES);
    expect((addresses[2] as number) - (addresses[1] as number)).toBeGreaterThan(SLOT_BYTES);
    const last = (addresses[2] as number) + SLOT_BYTES - 6;
    three.flags[0] = 0;
    three.text.write('\u0001', 'ucs2');
    expect(three.writeFlags(last, 1)).toBe(last + 5);
    expect(three.writeText(last, 1)).toBe(last + 6);
    expect(Buffer.from(three.bytes.subarray(last, last + 6)).toString()).toBe('\\u0001');
  });

  test('the limits of runs are those of the module, and each scratch is as long', () => {
    const { exports } = new WebAssembly.Instance(wasmModule('encoder'));
    expect(exports).toMatchObject({ RUN_VALUES: { value: RUN_VALUES }, TEXT_UNITS: { value: TEXT_UNITS } });
    expect([kernel.ints, kernel.floats, kernel.flags].map(({ length }) => length)).toEqual(Array(3).fill(RUN_VALUES));
    expect(kernel.text.length).toBe(TEXT_UNITS * 2);
  });
});
