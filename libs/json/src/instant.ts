/**
 * RFC 3339 as common libraries print it: `T` or `t`, `Z`, `z` or an offset, and at most 12 fraction digits. A space in
 * place of `T`, which the RFC leaves to applications, is not accepted.
 */
const INSTANT = /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,12}))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;

/** PostgreSQL and ECMAScript disagree about the year 0. */
const MIN_TIME_MS = Date.parse('0001-01-01T00:00:00.000Z');
const MAX_TIME_MS = Date.parse('9999-12-31T23:59:59.999Z');
const MINUTE_MS = 60_000;

/**
 * Milliseconds since the epoch of an RFC 3339 time of the years 1 to 9999 in UTC; further digits are cut, never rounded
 * up. A leap second, which RFC 3339 permits at the end of a month in UTC, becomes the last millisecond before it.
 * `-00:00` (unknown local offset) is UTC. Undefined for any other text.
 */
export function parseInstant(text: string): number | undefined {
  const match = INSTANT.exec(text);
  if (match === null) return undefined;
  const [, date = '', hour, minute, second, fraction = '', sign, offsetHour = '0', offsetMinute = '0'] = match;
  const minuteMs = startOfMinute(date, Number(hour), Number(minute));
  const offsetMs = offsetOf(sign, Number(offsetHour), Number(offsetMinute));
  if (minuteMs === undefined || offsetMs === undefined || Number(second) > 60) return undefined;
  const utcMs = minuteMs - offsetMs;
  if (Number(second) === 60 && !endsMonth(utcMs + MINUTE_MS)) return undefined;
  const withinMs =
    Number(second) === 60 ? MINUTE_MS - 1 : Number(second) * 1000 + Number(fraction.slice(0, 3).padEnd(3, '0'));
  const timeMs = utcMs + withinMs;
  return timeMs >= MIN_TIME_MS && timeMs <= MAX_TIME_MS ? timeMs : undefined;
}

/** The same as a Date, of a text that was validated. @throws Error for any other text. */
export function instantOf(text: string): Date {
  const timeMs = parseInstant(text);
  if (timeMs === undefined) throw new Error('A time was not validated before it was used.');
  return new Date(timeMs);
}

/** Undefined for a day or a time of day that does not exist. */
function startOfMinute(date: string, hour: number, minute: number): number | undefined {
  const dayMs = Date.parse(`${date}T00:00:00.000Z`);
  // ECMAScript reads February 31 as a day of March, or not at all.
  if (Number.isNaN(dayMs) || new Date(dayMs).toISOString().slice(0, 10) !== date) return undefined;
  return hour > 23 || minute > 59 ? undefined : dayMs + (hour * 60 + minute) * MINUTE_MS;
}

function offsetOf(sign: string | undefined, hours: number, minutes: number): number | undefined {
  if (hours > 23 || minutes > 59) return undefined;
  return (sign === '-' ? -1 : 1) * (hours * 60 + minutes) * MINUTE_MS;
}

/** Whether a month begins at this time. */
function endsMonth(timeMs: number): boolean {
  return new Date(timeMs).toISOString().endsWith('-01T00:00:00.000Z');
}
