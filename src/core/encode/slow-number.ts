/** The text of one number that the kernel leaves alone: any value in any form, exact, at the price of a string. */
import { floatText } from './float-text.js';
import { float32Text } from './float32-text.js';
import { FLOAT_FORM } from './kernel.js';

/** From here on doubles are whole numbers, and the engine's decimals of a fraction are exact below. */
const WHOLE_FROM = 2 ** 52;

/**
 * The text of a value as `EncodeKernel.writeFloats` prints it.
 *
 * @param form one of FLOAT_FORM
 * @param decimals 0 to 9, for ROUNDED
 */
export function slowNumberText(value: number, form: number, decimals: number): string {
  if (form === FLOAT_FORM.ROUNDED) return floatText(roundDecimals(value, decimals));
  if (form === FLOAT_FORM.SINGLE) return float32Text(value);
  // A whole number is the integer that the engine prints for it; one from 1e21 on reads the same either way.
  return form === FLOAT_FORM.PLAIN && Number.isInteger(value) ? String(value) : floatText(value);
}

/**
 * Python's `round(value, decimals)`: to the nearest decimal of the exact value, ties to even, the sign kept for zero.
 * What is not finite stays as it is (spec 02 section 7).
 */
export function roundDecimals(value: number, decimals: number): number {
  const size = Math.abs(value);
  if (!(size < WHOLE_FROM)) return value;
  // Exact but for ties, of which the engine takes the larger.
  let text = size.toFixed(decimals);
  if (isTie(size, decimals) && isOdd(text)) text = text.slice(0, -1) + String(Number(text.slice(-1)) - 1);
  const rounded = Number(text);
  return value < 0 || Object.is(value, -0) ? -rounded : rounded;
}

/** In the middle between two decimals lie the odd multiples of 2^-(decimals + 1), and nothing else. */
function isTie(size: number, decimals: number): boolean {
  return (size * 2 ** (decimals + 1)) % 2 === 1;
}

function isOdd(digits: string): boolean {
  return digits.charCodeAt(digits.length - 1) % 2 === 1;
}
