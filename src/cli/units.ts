/** Sizes, rates, counts and times as people read them. Nothing here depends on the locale. */

const BINARY_PREFIXES: readonly (readonly [string, number])[] = [
  ['TiB', 2 ** 40],
  ['GiB', 2 ** 30],
  ['MiB', 2 ** 20],
  ['KiB', 2 ** 10],
];

/** Three digits that matter: `9.13`, `41.8`, `612`; an exact whole number without a fraction. */
function threeDigits(value: number): string {
  if (Number.isInteger(value) || value >= 100) return formatCount(Math.round(value));
  return value.toFixed(value >= 9.995 ? 1 : 2);
}

/** A size for people, in binary units with three digits: `2.31 GiB`, `30 MiB`, `512 B`. */
export function formatSize(sizeBytes: number): string {
  for (const [prefix, unit] of BINARY_PREFIXES) {
    // From 1,000 of the smaller unit on the larger one is shorter: 0.98 GiB rather than 1,003 MiB.
    if (sizeBytes >= unit * 0.9765625) return `${threeDigits(sizeBytes / unit)} ${prefix}`;
  }
  return `${formatCount(Math.round(sizeBytes))} B`;
}

/** A rate for people: `41.8 MiB/s`. */
export function formatRate(bytesPerSecond: number): string {
  return `${formatSize(bytesPerSecond)}/s`;
}

/** A count with its thousands separated: `1,284`. */
export function formatCount(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** A span for people: `250 ms`, `56.2 s`, `9m12s`, `2h05m`, `3d04h`. */
export function formatSpan(spanMs: number): string {
  if (spanMs < 999.5) return `${Math.round(spanMs)} ms`;
  if (spanMs < 59_950) return `${(spanMs / 1000).toFixed(1)} s`;
  const seconds = Math.round(spanMs / 1000);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m${String(seconds % 60).padStart(2, '0')}s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours}h${String(minutes % 60).padStart(2, '0')}m`;
  return `${Math.floor(hours / 24)}d${String(hours % 24).padStart(2, '0')}h`;
}

/** Remaining time as a clock, minutes and seconds or more: `0:22`, `1:04:09`. */
export function formatRemaining(spanMs: number): string {
  const seconds = Math.ceil(spanMs / 1000);
  const two = (value: number): string => String(value).padStart(2, '0');
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

/** The wall time of an epoch time in milliseconds, in the user's zone: `12:04:31`. */
export function formatClock(atMs: number): string {
  const at = new Date(atMs);
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map((part) => String(part).padStart(2, '0')).join(':');
}
