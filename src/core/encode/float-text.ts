/**
 * The text of one float as orjson 3.11.7 and newer prints it (spec 02 section 7, docs/decisions/0002): with at least one
 * decimal from 1e-5 up to but not including 1e16, else as `1.5e-6` and `1e+16`; anything not finite is `null`. The digits
 * are the engine's, which prints the shortest that stand for the value; only where the point goes differs.
 */

/** Sizes that are printed without an exponent: from one up to but not including the other. */
export type PositionalRange = { readonly from: number; readonly to: number };

const DOUBLES: PositionalRange = { from: 1e-5, to: 1e16 };

/** @param range within 1e-6 to 1e21, where the engine prints without an exponent */
export function floatText(value: number, range = DOUBLES): string {
  if (!Number.isFinite(value)) return 'null';
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0';
  const text = String(value);
  const size = Math.abs(value);
  if (size >= 1e21 || size < 1e-6) return text;
  if (size >= range.from && size < range.to) return text.includes('.') ? text : `${text}.0`;
  const sign = value < 0 ? '-' : '';
  const digits = text.slice(sign.length);
  if (size >= range.to) return sign + scientific(digits.replace(/0+$/, ''), digits.length - 1);
  const first = digits.search(/[1-9]/);
  return sign + scientific(digits.slice(first), 1 - first);
}

/** `D.DDDe+NN` or `De-N`. */
function scientific(digits: string, exponent: number): string {
  const fraction = digits.length > 1 ? `.${digits.slice(1)}` : '';
  return `${digits.slice(0, 1)}${fraction}e${exponent < 0 ? '' : '+'}${exponent}`;
}
