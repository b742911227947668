/** Runs of a typed array's elements, printed by what the array is of. */
import { FLOAT_FORM } from './kernel.js';
import type { TypedList } from './odd-values.js';
import type { NumberRun, Printer } from './printer.js';

const { FLOAT, PLAIN, SINGLE } = FLOAT_FORM;

/**
 * Prints elements from `run.from` on and returns how many, at least one; 0 when flags are asked for and the first
 * element is neither 0 nor 1.
 *
 * @param run its form is PLAIN unless the record's rules say more; floats then still count as floats
 */
export function printTyped(printer: Printer, values: TypedList, run: NumberRun, isFlags: boolean): number {
  const { from, to } = run;
  if (values instanceof Float64Array) return printer.typedFloats(values, asFloats(run));
  if (values instanceof Float32Array) {
    // Every digit of a single is fewer digits than every digit of the double it converts to.
    if (run.form === PLAIN || run.form === FLOAT) run.form = SINGLE;
    return printer.typedFloats(values, run);
  }
  if (values instanceof BigInt64Array || values instanceof BigUint64Array) {
    printer.ascii(String(values[from]));
    return 1;
  }
  if (isFlags && values instanceof Uint8Array) return printer.typedFlags(values, from, to);
  if (values instanceof Uint32Array || run.form !== PLAIN) return printer.typedFloats(values, run);
  return printer.typedInts(values, from, to);
}

function asFloats(run: NumberRun): NumberRun {
  if (run.form === PLAIN) run.form = FLOAT;
  return run;
}
