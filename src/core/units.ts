/**
 * Sizes, durations and rates as users write them (cli.md: `30MiB`, `500MB`, `250ms`, `2h`, `40MiB/s`), the same in every
 * flag. Nothing here depends on the locale. Parsing is exact: the digits never pass through a float.
 */
import { PrlError } from './errors.js';

const SIZE_UNITS: Readonly<Record<string, bigint>> = {
  b: 1n,
  kb: 10n ** 3n,
  mb: 10n ** 6n,
  gb: 10n ** 9n,
  tb: 10n ** 12n,
  kib: 2n ** 10n,
  mib: 2n ** 20n,
  gib: 2n ** 30n,
  tib: 2n ** 40n,
};

const DURATION_UNITS_MS: Readonly<Record<string, bigint>> = {
  ms: 1n,
  s: 1000n,
  m: 60_000n,
  h: 3_600_000n,
  d: 86_400_000n,
};

/** `digits[.digits]` times a unit, rounded down to a whole number; null when it is no longer a safe integer. */
function scaled(number: string, unit: bigint): number | null {
  const [whole = '0', fraction = ''] = number.split('.');
  const product = (BigInt(whole + fraction) * unit) / 10n ** BigInt(fraction.length);
  return product > BigInt(Number.MAX_SAFE_INTEGER) ? null : Number(product);
}

function refuse(what: string, text: string, allowed: string): PrlError {
  return new PrlError('PRL_ERR_USAGE', `"${text}" is not a ${what}: ${allowed}`);
}

/**
 * Bytes of a size: a whole number of bytes, or a number with B, kB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB
 * (powers of 1024), in any case; a fraction of a byte is cut off. `30M` is refused, because it could mean either.
 *
 * @throws PrlError PRL_ERR_USAGE for anything else, and above 2^53 - 1 bytes.
 */
export function parseSize(text: string): number {
  const match = /^(\d{1,16}(?:\.\d{1,16})?) ?([a-z]*)$/i.exec(text.trim());
  const [, number = '', suffix = ''] = match ?? [];
  const unit = SIZE_UNITS[(suffix || 'b').toLowerCase()];
  if (match === null || unit === undefined || (suffix === '' && number.includes('.'))) {
    throw refuse('size', text, 'write bytes, or a number with kB, MB, GB, TB, KiB, MiB, GiB or TiB, e.g. 30MiB');
  }
  const sizeBytes = scaled(number, unit);
  if (sizeBytes === null) throw refuse('size', text, 'the most that can be counted is 8191TiB');
  return sizeBytes;
}

/**
 * Milliseconds of a duration: numbers with ms, s, m, h or d, largest first, e.g. `250ms`, `90s`, `1h30m`; a bare `0` is
 * allowed, any other number needs its unit.
 *
 * @throws PrlError PRL_ERR_USAGE for anything else, and above 2^53 - 1 milliseconds.
 */
export function parseDuration(text: string): number {
  const trimmed = text.trim();
  if (trimmed === '0') return 0;
  const allowed = 'write a number with ms, s, m, h or d, e.g. 250ms, 90s or 1h30m';
  if (!/^(?:\d{1,16}(?:\.\d{1,16})?(?:ms|s|m|h|d))+$/.test(trimmed)) throw refuse('duration', text, allowed);
  let totalMs = 0;
  let previousUnit: bigint | null = null;
  for (const [, number = '', suffix = ''] of trimmed.matchAll(/([\d.]+)(ms|s|m|h|d)/g)) {
    const unit = DURATION_UNITS_MS[suffix];
    if (unit === undefined || (previousUnit !== null && unit >= previousUnit)) throw refuse('duration', text, allowed);
    previousUnit = unit;
    totalMs += scaled(number, unit) ?? Number.POSITIVE_INFINITY;
  }
  if (totalMs > Number.MAX_SAFE_INTEGER) throw refuse('duration', text, 'it is too long to count in milliseconds');
  return totalMs;
}

/**
 * Bytes per second of a rate: a size followed by `/s`, e.g. `40MiB/s`; more than zero.
 *
 * @throws PrlError PRL_ERR_USAGE for anything else.
 */
export function parseRate(text: string): number {
  const allowed = 'write a size per second, e.g. 40MiB/s';
  const trimmed = text.trim();
  if (!trimmed.endsWith('/s')) throw refuse('rate', text, allowed);
  let bytesPerSecond: number;
  try {
    bytesPerSecond = parseSize(trimmed.slice(0, -2));
  } catch {
    // The message of a size would name only half of what was typed.
    throw refuse('rate', text, allowed);
  }
  if (bytesPerSecond === 0) throw refuse('rate', text, 'it must be more than nothing');
  return bytesPerSecond;
}

/** The shortest way to write a size so that `parseSize` gives the same bytes back, e.g. `30MiB`, `500MB`, `1234`. */
export function writeSize(sizeBytes: number): string {
  for (const suffix of ['TiB', 'TB', 'GiB', 'GB', 'MiB', 'MB', 'KiB', 'kB']) {
    const unit = Number(SIZE_UNITS[suffix.toLowerCase()]);
    if (sizeBytes >= unit && sizeBytes % unit === 0) return `${sizeBytes / unit}${suffix}`;
  }
  return String(sizeBytes);
}

/** The shortest way to write a whole number of milliseconds so that `parseDuration` gives it back, e.g. `90s`, `2h`. */
export function writeDuration(spanMs: number): string {
  if (spanMs === 0) return '0';
  for (const suffix of ['d', 'h', 'm', 's']) {
    const unitMs = Number(DURATION_UNITS_MS[suffix]);
    // Ninety seconds read better than a minute and a half, and a fraction is never written.
    if (spanMs % unitMs === 0) return `${spanMs / unitMs}${suffix}`;
  }
  return `${spanMs}ms`;
}
