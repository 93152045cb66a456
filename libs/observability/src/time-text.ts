/** Every count of milliseconds within a second as three digits, so that a line never pads. */
const THREE_DIGITS: readonly string[] = Array.from({ length: 1000 }, (_, value) => String(value).padStart(3, '0'));

/**
 * Makes a printer of RFC 3339 times in UTC with exactly three fraction digits.
 *
 * The date part is kept between calls: thousands of lines fall into one second, and `toISOString` for each of them
 * would cost as much as the rest of the line.
 *
 * @returns A function from milliseconds since the epoch to text such as `2026-01-31T12:00:00.042Z`.
 */
export function timePrinter(): (epochMs: number) => string {
  let second = Number.NaN;
  let dateText = '';
  return (epochMs) => {
    const wholeMs = Math.floor(epochMs);
    const current = Math.floor(wholeMs / 1000);
    if (current !== second) {
      dateText = new Date(current * 1000).toISOString().slice(0, 20);
      second = current;
    }
    return dateText + (THREE_DIGITS[wholeMs - current * 1000] ?? '000') + 'Z';
  };
}
