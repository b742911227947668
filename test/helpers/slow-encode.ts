/**
 * The oracle of the encoder: the text of a value in one go, by recursion, engine functions and exact decimals. Slow and
 * obvious; it shares nothing with src/core/encode but the tables of rules.
 */
import type { MemberRule, ModelRule } from '../../src/core/encode/record-rules.js';

export type SlowOptions = { readonly model?: ModelRule | null; readonly floatDecimals?: number | null };

const rawJson = JSON as unknown as { isRawJSON(value: unknown): value is { readonly rawJSON: string } };

export function slowEncode(value: unknown, { model = null, floatDecimals = 4 }: SlowOptions = {}): string {
  const root: Partial<MemberRule> = model === null ? {} : { inside: model };
  return text(value, root, floatDecimals);
}

function text(value: unknown, rule: Partial<MemberRule>, decimals: number | null): string {
  if (typeof value === 'number') return numberText(value, rule, decimals);
  if (typeof value === 'bigint') return String(value);
  if (rawJson.isRawJSON(value)) return value.rawJSON;
  if (ArrayBuffer.isView(value)) return typedText(value as never, rule, decimals);
  if (Array.isArray(value)) return `[${value.map((item) => text(item, rule, decimals)).join(',')}]`;
  if (typeof value === 'object' && value !== null) return objectText(value, rule, decimals);
  return JSON.stringify(value) ?? 'null';
}

function objectText(value: object, rule: Partial<MemberRule>, decimals: number | null): string {
  const model = rule.isMap === true ? null : (rule.inside ?? null);
  const entry: Partial<MemberRule> = rule.isMap === true ? { ...rule, isMap: false, onNull: 'keep' } : {};
  const members = Object.entries(value).map(([name, member]) => {
    const own: Partial<MemberRule> = model === null ? entry : (model.members.get(name) ?? model.other);
    return { name, member, own, rank: model === null ? 0 : (own.rank ?? 0) };
  });
  const written = members
    .filter(({ own }) => own.isLeftOut !== true)
    .filter(({ member, own }) => member !== undefined && !(member === null && own.onNull === 'drop'))
    .filter(({ member, own }) => !(own.onEmpty === 'drop' && Array.isArray(member) && member.length === 0))
    .sort((one, other) => one.rank - other.rank);
  return `{${written.map(({ name, member, own }) => `${JSON.stringify(name)}:${text(member, own, decimals)}`).join(',')}}`;
}

function typedText(values: ArrayLike<number | bigint>, rule: Partial<MemberRule>, decimals: number | null): string {
  const isFloats = values instanceof Float64Array || values instanceof Float32Array;
  const isRounded = rule.stream === 'rounded' && decimals !== null;
  const print = (value: number | bigint): string => {
    if (typeof value === 'bigint') return String(value);
    if (rule.stream === 'flags' && values instanceof Uint8Array) return String(value === 1);
    if (values instanceof Float32Array && !isRounded) return singleText(value);
    return isFloats ? numberText(value, { ...rule, isFloat: true }, decimals) : numberText(value, rule, decimals);
  };
  return `[${Array.from(values, print).join(',')}]`;
}

/** The fewest digits that read back as the same single; the nearest such decimal, the even one of two as near. */
function singleText(value: number): string {
  if (!Number.isFinite(value)) return 'null';
  if (value === 0) return floatText(value);
  const size = Math.abs(value);
  for (let digits = 1; ; digits += 1) {
    const [mantissa = '', exponent] = size.toExponential(digits - 1).split('e');
    const whole = Number(mantissa.replace('.', ''));
    const decimals = [whole - 1, whole, whole + 1]
      .map((near) => ({ near, value: Number(`${near}e${Number(exponent) - digits + 1}`) }))
      .filter((decimal) => Math.fround(decimal.value) === size);
    const distance = Math.min(...decimals.map((decimal) => Math.abs(decimal.value - size)));
    // Doubles lie so much closer than singles that what is as near shows.
    const [chosen] = decimals
      .filter((decimal) => Math.abs(decimal.value - size) <= distance * 1.000001)
      .sort((one, other) => (one.near % 2) - (other.near % 2));
    if (chosen !== undefined) return floatText(value < 0 ? -chosen.value : chosen.value, 1e-6, 1e13);
  }
}

function numberText(value: number, rule: Partial<MemberRule>, decimals: number | null): string {
  if (!Number.isFinite(value)) return 'null';
  const { stream = null, isFloat = false } = rule;
  if (stream === 'rounded' && decimals !== null) return floatText(roundExactly(value, decimals));
  if (isFloat || stream === 'rounded' || stream === 'floats' || !Number.isInteger(value) || Math.abs(value) >= 1e21) {
    return floatText(value);
  }
  return JSON.stringify(value);
}

/** As orjson 3.11.7 and later prints a float (spec 02 section 7): between these without an exponent, other ones for singles. */
export function floatText(value: number, from = 1e-5, to = 1e16): string {
  if (Object.is(value, -0)) return '-0.0';
  const size = Math.abs(value);
  const sign = value < 0 ? '-' : '';
  if (size !== 0 && (size < from || size >= to))
    return sign + size.toExponential().replace(/^(\d)\.?(\d*)e/, shortened);
  const plain = String(size);
  return sign + (plain.includes('.') ? plain : `${plain}.0`);
}

function shortened(_all: string, first: string, rest: string): string {
  return `${first}${rest === '' ? '' : `.${rest}`}e`;
}

/** Python's `round`: the exact binary value, ties to even. */
export function roundExactly(value: number, decimals: number): number {
  if (!Number.isFinite(value) || value === 0) return value;
  // value = mantissa * 2^exponent, both exact.
  let exponent = 0;
  let mantissa = Math.abs(value);
  while (!Number.isInteger(mantissa)) {
    mantissa *= 2;
    exponent -= 1;
  }
  const scaled = BigInt(mantissa) * 10n ** BigInt(decimals);
  const divisor = 2n ** BigInt(-exponent);
  let whole = scaled / divisor;
  const twice = (scaled % divisor) * 2n;
  if (twice > divisor || (twice === divisor && whole % 2n === 1n)) whole += 1n;
  const digits = String(whole).padStart(decimals + 1, '0');
  const split = digits.length - decimals;
  const rounded = Number(`${digits.slice(0, split)}.${digits.slice(split)}`);
  return value < 0 ? -rounded : rounded;
}
