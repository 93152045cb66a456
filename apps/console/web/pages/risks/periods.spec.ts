import { expect, it } from '@jest/globals';
import { beginOf, type Period } from './periods.ts';

it.each<[Period, Date, Date]>([
  ['quarter', new Date(2026, 10, 29, 18, 30), new Date(2026, 9, 1)],
  ['quarter', new Date(2026, 0, 1), new Date(2026, 0, 1)],
  ['quarter', new Date(2026, 2, 31, 23, 59), new Date(2026, 0, 1)],
  ['days', new Date(2026, 2, 1, 12), new Date(2026, 0, 30)],
  ['year', new Date(2026, 10, 29, 18), new Date(2025, 10, 29)],
])('a period of one %s at %s began at %s, in the time zone of the reader', (period, now, begin) =>
  expect(beginOf(period, now.getTime())).toBe(begin.toISOString()),
);
