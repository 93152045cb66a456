import * as texts from './format-texts.ts';

/**
 * The pages' language with the reader's region: words such as "3 minutes ago" and names of months are never in another
 * language than the sentence around them, while the order of a date, the clock and the separators of numbers are what
 * the reader is used to. A region without formats in the pages' language gets those of the whole world.
 */
export function localeOf(languages: readonly string[]): string {
  const first = languages.find(isTag) ?? texts.language;
  const { language, region } = new Intl.Locale(first).maximize();
  if (language === texts.language && first !== texts.language) return first;
  if (region === undefined || first === texts.language) return texts.language;
  const locale = `${texts.language}-${region}`;
  const known = new Intl.Locale(new Intl.DateTimeFormat(locale).resolvedOptions().locale).region;
  return known === region || region === 'US' ? locale : `${texts.language}-001`;
}

/** Browsers pass on what the system says, such as `en-US@posix`. */
function isTag(text: string): boolean {
  try {
    return Intl.getCanonicalLocales(text).length === 1;
  } catch {
    return false;
  }
}

const locale = localeOf(globalThis.navigator?.languages ?? []);

const formatOf = (options: Intl.DateTimeFormatOptions): ((date: Date) => string) => {
  const format = new Intl.DateTimeFormat(locale, options);
  return (date) => format.format(date);
};

/** With the seconds, in the reader's time zone, as all that do not say otherwise. */
export const formatMoment = formatOf({ dateStyle: 'medium', timeStyle: 'medium' });
export const formatDay = formatOf({ dateStyle: 'medium' });
export const formatHour = formatOf({ hour: '2-digit', minute: '2-digit' });
export const formatWeekdayHour = formatOf({ weekday: 'short', hour: '2-digit', minute: '2-digit' });
export const formatUtcDayOfYear = formatOf({ day: 'numeric', month: 'short', timeZone: 'UTC' });
export const formatUtcMonth = formatOf({ month: 'short', year: 'numeric', timeZone: 'UTC' });

const numbers = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 });
const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
const collator = new Intl.Collator(locale, { numeric: true });

/** 1,234 or 1.5: at most one digit after the decimal sign. */
export const formatNumber = (value: number): string => numbers.format(value);

const SPANS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const;

/** "45 s", "5 min", "6 min 52 s", "36 h": in its largest unit and the next one; days count from the second on. */
export function formatSpan(seconds: number): string {
  const whole = Math.round(Math.abs(seconds));
  const from = SPANS.findIndex(([unit, length]) => whole >= (unit === 'd' ? 2 * length : length));
  if (from === -1) return `${numbers.format(whole)} s`;
  const [[unit, length], next] = [SPANS[from]!, SPANS[from + 1]];
  const rest = next === undefined ? 0 : Math.floor((whole % length) / next[1]);
  const first = `${numbers.format(Math.floor(whole / length))} ${unit}`;
  return next === undefined || rest === 0 ? first : `${first} ${rest} ${next[0]}`;
}

const MEBIBYTE = 1_048_576;

/** "1,234 bytes", and from one mebibyte on "1.5 MiB". */
export const formatBytes = (bytes: number): string =>
  bytes < MEBIBYTE ? texts.bytes(numbers.format(bytes)) : `${numbers.format(bytes / MEBIBYTE)} MiB`;

/** The order of texts for `sort`; numbers in them by value: A.2 is before A.10. */
export const compareTexts = (one: string, other: string): number => collator.compare(one, other);

const DAY_MS = 86_400_000;

/** Units with their length, and from how long on they are used. */
const STEPS: readonly (readonly [unit: Intl.RelativeTimeFormatUnit, ms: number, fromMs: number])[] = [
  ['year', 365.25 * DAY_MS, 2 * 365.25 * DAY_MS],
  ['month', 30.4375 * DAY_MS, 60 * DAY_MS],
  ['day', DAY_MS, DAY_MS],
  ['hour', 3_600_000, 3_600_000],
  ['minute', 60_000, 60_000],
  ['second', 1_000, 0],
];

/** "3 minutes ago", "in 2 days", "14 months ago". */
export function formatAgo(timeMs: number, nowMs: number): string {
  const [unit, unitMs] = STEPS.find(([, , fromMs]) => Math.abs(timeMs - nowMs) >= fromMs)!; // The last is from 0 on.
  return relative.format(Math.round((timeMs - nowMs) / unitMs), unit);
}
