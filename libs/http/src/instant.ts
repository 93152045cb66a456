/** RFC 3339 with `Z` or an offset and at most three fraction digits; no leap second, since nothing here counts them. */
const DATE = '(\\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])';
const TIME = '(?:[01]\\d|2[0-3]):[0-5]\\d';
const INSTANT = new RegExp(`^${DATE}T${TIME}:[0-5]\\d(?:\\.\\d{1,3})?(?:Z|[+-]${TIME})$`);

const FIRST_MOMENT = Date.parse('0001-01-01T00:00:00Z');
const LAST_MOMENT = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Whether a text names a moment that exists: there is no 30th of February. */
export function isInstant(text: string): boolean {
  const match = INSTANT.exec(text);
  if (match === null) return false;
  const [, year, month, day] = match.map(Number);
  if (Number(day) > daysIn(Number(year), Number(month))) return false;
  // An offset may move a moment out of the years that four digits can write again.
  const moment = Date.parse(text);
  return moment >= FIRST_MOMENT && moment <= LAST_MOMENT;
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}
