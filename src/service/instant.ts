/** Wall times of the wire: ISO 8601 text on one side, whole microseconds since the epoch (`Us`) on the other. */

const ISO =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?)?(Z|z|[+-]\d{2}:?\d{2}(?::?\d{2})?)?$/;

/** `2026-08-27T12:00:00.123456Z`, always with six digits, so that equal times have equal text. */
export function formatInstant(atUs: number): string {
  const seconds = new Date(Math.floor(atUs / 1000)).toISOString().slice(0, 19);
  const fractionUs = ((atUs % 1_000_000) + 1_000_000) % 1_000_000;
  return `${seconds}.${String(fractionUs).padStart(6, '0')}Z`;
}

/** Microseconds since the epoch; a time without a zone is UTC. Null for anything but an existing ISO 8601 time. */
export function parseInstant(text: string): number | null {
  const match = ISO.exec(text);
  if (match === null) return null;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((part) => Number(part ?? 0)) as number[];
  const wallMs = Date.UTC(
    year as number,
    (month as number) - 1,
    day as number,
    hour as number,
    minute as number,
    second as number,
  );
  if (!isSameDay(wallMs, match) || (minute as number) > 59 || (second as number) > 59) return null;
  const fractionUs = Number((match[7] ?? '').padEnd(6, '0').slice(0, 6));
  const zoneMinutes = parseZone(match[8] ?? 'Z');
  return zoneMinutes === null ? null : (wallMs - zoneMinutes * 60_000) * 1000 + fractionUs;
}

/** Date.UTC carries 31 February over into March: the parts must come back as they went in. */
function isSameDay(wallMs: number, match: RegExpExecArray): boolean {
  const [, year, month, day, hour = '0'] = match;
  const at = new Date(wallMs);
  return (
    at.getUTCFullYear() === Number(year) &&
    at.getUTCMonth() + 1 === Number(month) &&
    at.getUTCDate() === Number(day) &&
    at.getUTCHours() === Number(hour)
  );
}

function parseZone(zone: string): number | null {
  if (zone === 'Z' || zone === 'z') return 0;
  const digits = zone.slice(1).replaceAll(':', '');
  const hours = Number(digits.slice(0, 2));
  const minutes = Number(digits.slice(2, 4)) + Number(digits.slice(4, 6) || 0) / 60;
  if (hours > 23 || minutes >= 60) return null;
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes);
}
