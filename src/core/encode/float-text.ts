/**
 * The text of one float as orjson 3.11.7 and newer prints it (spec 02 section 7, docs/decisions/0002): with at least one
 * decimal from 1e-5 up to but not including 1e16, else as `1.5e-6` and `1e+16`; anything not finite is `null`. The digits
 * are the engine's, which prints the shortest that stand for the value; only where the point goes differs.
 */

export function floatText(value: number): string {
  return Number.isFinite(value) ? orjsonText(String(value), value) : NOT_FINITE;
}

const NOT_FINITE = 'null';

/** `text` as the engine prints a float, positional from 1e-6 to 1e21, put into the form that orjson would give it. */
function orjsonText(text: string, value: number): string {
  const size = Math.abs(value);
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0';
  if (size >= 1e21 || size < 1e-6) return text;
  const sign = value < 0 ? '-' : '';
  const digits = value < 0 ? text.slice(1) : text;
  if (size >= 1e16) return sign + scientific(digits.replace(/0+$/, ''), digits.length - 1);
  const first = digits.search(/[1-9]/);
  if (size < 1e-5) return sign + scientific(digits.slice(first), 1 - first);
  return digits.includes('.') ? text : `${text}.0`;
}

/** `D.DDDe+NN` or `De-N`. */
function scientific(digits: string, exponent: number): string {
  const fraction = digits.length > 1 ? `.${digits.slice(1)}` : '';
  return `${digits.slice(0, 1)}${fraction}e${exponent < 0 ? '' : '+'}${exponent}`;
}
