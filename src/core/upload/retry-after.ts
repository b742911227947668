/**
 * Reads a Retry-After header: decimal seconds or one of the three HTTP-date forms, strictly (RFC 9110 sections 5.6.7
 * and 10.2.3; spec 06 section 6). `Date.parse` takes far more than HTTP dates, so it is not used.
 */

/** Longest wait taken for meant: a date or number beyond it is garbage, not a wish. */
const MAX_PLAUSIBLE_MS = 366 * 24 * 3_600_000;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const TIME = '(\\d{2}):(\\d{2}):(\\d{2})';
/** A missing zone means UTC (spec 06 section 6). */
const ZONE = '(?: (?:GMT|UTC|\\+0000|-0000))?';
const IMF_FIXDATE = new RegExp(`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (\\d{2}) (\\w{3}) (\\d{4}) ${TIME}${ZONE}$`);
const RFC850 = new RegExp(`^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (\\d{2})-(\\w{3})-(\\d{2}) ${TIME}${ZONE}$`);
const ASCTIME = new RegExp(`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (\\w{3}) ([ \\d]\\d) ${TIME} (\\d{4})$`);

/**
 * @param header the header's value, null when absent
 * @param nowEpochMs wall time the date forms are measured against; the answer's own Date header where there is one
 * @returns milliseconds to wait, 0 for the past and for negative seconds; null for absent or unusable values
 */
export function parseRetryAfter(header: string | null, nowEpochMs: number): number | null {
  if (header === null) return null;
  const text = header.trim();
  if (/^[+-]?\d+(?:\.\d+)?$/.test(text)) return plausible(Number(text) * 1000);
  const atMs = parseHttpDate(text, nowEpochMs);
  return atMs === null ? null : plausible(atMs - nowEpochMs);
}

/**
 * @param nowEpochMs decides the century of a two-digit year: the nearest one not more than 50 years ahead
 * @returns epoch milliseconds, or null for anything but an HTTP date that exists in the calendar
 */
export function parseHttpDate(text: string, nowEpochMs: number): number | null {
  const fixed = IMF_FIXDATE.exec(text);
  if (fixed !== null) return epoch(fixed[3], fixed[2], fixed[1], fixed.slice(4, 7));
  const old = RFC850.exec(text);
  if (old !== null) return epoch(fullYear(Number(old[3]), nowEpochMs), old[2], old[1], old.slice(4, 7));
  const asc = ASCTIME.exec(text);
  return asc === null ? null : epoch(asc[6], asc[1], asc[2], asc.slice(3, 6));
}

function plausible(waitMs: number): number | null {
  return waitMs > MAX_PLAUSIBLE_MS ? null : Math.max(0, Math.round(waitMs));
}

function fullYear(twoDigits: number, nowEpochMs: number): string {
  const thisYear = new Date(nowEpochMs).getUTCFullYear();
  const candidate = thisYear - (thisYear % 100) + twoDigits;
  return String(candidate > thisYear + 50 ? candidate - 100 : candidate);
}

type Text = string | undefined;

function epoch(year: Text, month: Text, day: Text, time: readonly string[]): number | null {
  const monthIndex = MONTHS.indexOf(month ?? '');
  const [hours, minutes, seconds] = time.map(Number) as [number, number, number];
  // 60 is a leap second; it counts as the last one of the minute.
  if (monthIndex < 0 || hours > 23 || minutes > 59 || seconds > 60) return null;
  const atMs = Date.UTC(Number(year), monthIndex, Number(day), hours, minutes, Math.min(seconds, 59));
  return new Date(atMs).getUTCDate() === Number(day) ? atMs : null;
}
