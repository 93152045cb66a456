/** The periods that lists of what got worse begin with, up to now. */
export const PERIODS = ['quarter', 'days', 'year'] as const;
export type Period = (typeof PERIODS)[number];

/** When a period began, in the reader's time zone: the quarter of the year, 30 days, or 12 months. RFC 3339. */
export function beginOf(period: Period, nowMs: number): string {
  const now = new Date(nowMs);
  const [year, month, day] = [now.getFullYear(), now.getMonth(), now.getDate()];
  const begins: Readonly<Record<Period, Date>> = {
    quarter: new Date(year, month - (month % 3), 1),
    days: new Date(year, month, day - 30),
    year: new Date(year - 1, month, day),
  };
  return begins[period].toISOString();
}
