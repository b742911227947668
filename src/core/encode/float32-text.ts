/**
 * The text of one float32 as orjson prints those of a float32 array: the shortest decimal that reads back as the same
 * float32, the nearest of them, the even one of two as near. Exact, in big integers: the kernel prints what is usual.
 */
import { floatText } from './float-text.js';

/** Unlike doubles, from 1e-6 up to but not including 1e13 without an exponent. */
const SINGLES = { from: 1e-6, to: 1e13 } as const;

/** Bits of a significand behind its first one. */
const FRACTION_BITS = 23;
/** The smallest float32 is 2 to the power of this. */
const LOWEST_POWER = -149;

/** @param value a number that a Float32Array holds */
export function float32Text(value: number): string {
  if (value === 0 || !Number.isFinite(value)) return floatText(value);
  const size = shortest(Math.abs(value));
  return floatText(value < 0 ? -size : size, SINGLES);
}

/** The double that has the shortest decimal as its own. */
function shortest(size: number): number {
  const [bits = 0] = new Uint32Array(Float32Array.of(size).buffer);
  const fraction = bits % 2 ** FRACTION_BITS;
  const exponent = bits >>> FRACTION_BITS;
  const significand = exponent === 0 ? fraction : fraction + 2 ** FRACTION_BITS;
  const isEven = significand % 2 === 0;
  // In quarters of the distance to the next float32; below a power of two they lie closer together.
  const power = Math.max(exponent, 1) - 1 + LOWEST_POWER - 2;
  const down = fraction === 0 && exponent > 1 ? 1n : 2n;
  for (let decimal = Math.floor(Math.log10(size)) + 1; ; decimal -= 1) {
    // A quarter and a unit of the decimal, both as whole numbers of something smaller.
    const quarter = shift(power) * 10n ** BigInt(Math.max(-decimal, 0));
    const unit = shift(-power) * 10n ** BigInt(Math.max(decimal, 0));
    const position = BigInt(significand) * 4n * quarter;
    const below = position / unit;
    const toBelow = position % unit;
    const toAbove = unit - toBelow;
    const isInside = below > 0n && isWithin(toBelow, down * quarter, isEven);
    const isNextInside = isWithin(toAbove, 2n * quarter, isEven);
    if (!isInside && !isNextInside) continue;
    const isNextNearer = toAbove < toBelow || (toAbove === toBelow && below % 2n === 1n);
    return Number(`${!isInside || (isNextInside && isNextNearer) ? below + 1n : below}e${decimal}`);
  }
}

function shift(power: number): bigint {
  return 1n << BigInt(Math.max(power, 0));
}

/** The ends of an interval belong to it when the significand is even. */
function isWithin(distance: bigint, reach: bigint, isEven: boolean): boolean {
  return isEven ? distance <= reach : distance < reach;
}
