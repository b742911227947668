/** Runs a kernel and watches its memory: nothing may change in front of a run, nor behind its room and the slack of it. */
import { expect } from 'vitest';
import {
  EncodeKernel,
  FLAG_BYTES,
  FLOAT_BYTES,
  FLOAT_FORM,
  INT_BYTES,
  TEXT_UNIT_BYTES,
} from '../../../src/core/encode/kernel.js';
import { slowNumberText } from '../../../src/core/encode/slow-number.js';
import { wasmModule } from '../../../src/io/wasm-modules.js';
import { floatText } from '../../helpers/slow-encode.js';

export const kernel = new EncodeKernel(wasmModule('encoder'), 2);

/** What the kernel may overwrite behind the room of a run. */
const SLACK_BYTES = 32;
const MARGIN_BYTES = 48;
const PAINT = 0xa5;

const paint = Buffer.alloc(MARGIN_BYTES, PAINT);
const memory = Buffer.from(kernel.bytes.buffer);

/** Calls `print` with an address in the first slot; returns what it printed, or its result when that is negative. */
function watch(roomBytes: number, shift: number, print: (at: number) => number): Buffer | number {
  const at = kernel.slotAddress(0) + MARGIN_BYTES + shift;
  const limit = at + roomBytes + SLACK_BYTES;
  paint.copy(memory, at - MARGIN_BYTES);
  paint.copy(memory, limit);
  const end = print(at);
  // Not by way of expect: a million calls of it take seconds.
  if (memory.compare(paint, 0, MARGIN_BYTES, at - MARGIN_BYTES, at) !== 0) expect.fail('written in front of the run');
  if (memory.compare(paint, 0, MARGIN_BYTES, limit, limit + MARGIN_BYTES) !== 0)
    expect.fail('written behind the slack');
  if (end < 0) return end;
  if (end > at + roomBytes) expect.fail(`${end - at} bytes printed into a room of ${roomBytes}`);
  return Buffer.from(memory.subarray(at, end));
}

export function printInts(values: ArrayLike<number>, shift = 0): string {
  kernel.ints.set(values);
  return String(watch(values.length * INT_BYTES, shift, (at) => kernel.writeInts(at, values.length)));
}

export function printFlags(values: readonly boolean[], shift = 0): string {
  kernel.flags.set(values.map(Number));
  return String(watch(values.length * FLAG_BYTES, shift, (at) => kernel.writeFlags(at, values.length)));
}

export type FloatRun = { readonly text: string; readonly slow: number };

/** Prints all values, by way of `slowNumberText` where the kernel stops; `slow` counts those. */
export function printFloats(values: ArrayLike<number>, form: number, decimals = 0): FloatRun {
  const { length } = values;
  kernel.floats.set(values);
  const texts: string[] = [];
  let slow = 0;
  for (let from = 0; from < length; ) {
    let stop = from;
    const printed = watch((length - from) * FLOAT_BYTES, from % 16, (at) => {
      stop = kernel.writeFloats(at, length, form, decimals, from);
      return kernel.end;
    });
    if (stop > from) texts.push(String(printed));
    else expect(String(printed)).toBe('');
    if (stop < length) {
      texts.push(slowNumberText(values[stop] as number, form, decimals));
      slow += 1;
      stop += 1;
    }
    from = stop;
  }
  return { text: texts.join(','), slow };
}

/** The bytes, or the negative number that stands for a lone surrogate. */
export function printText(text: string, shift = 0): Buffer | number {
  // What was there before must not matter: the end of a run is loaded with what lies behind it.
  kernel.text.fill(0xdc, text.length * 2);
  kernel.text.write(text, 'ucs2');
  return watch(text.length * TEXT_UNIT_BYTES, shift, (at) => kernel.writeText(at, text.length));
}

/** The text that a run of one form has when each value is printed by itself, without the kernel. */
export function expectedFloats(values: readonly number[], form: number, roundedTo: (value: number) => number): string {
  return values
    .map((value) => {
      if (form === FLOAT_FORM.PLAIN && (Number.isInteger(value) || !Number.isFinite(value)))
        return JSON.stringify(value);
      return Number.isFinite(value) ? floatText(form === FLOAT_FORM.ROUNDED ? roundedTo(value) : value) : 'null';
    })
    .join(',');
}
