import type { ReactNode } from 'react';
import { Tooltip } from '@mantine/core';

const inZone = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const dayInZone = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });

const steps: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
];

/** A relative time: "3 minutes ago", "in 2 days". */
function ago(timeMs: number, nowMs: number): string {
  const [unit, unitMs] = steps.find(([, size]) => Math.abs(timeMs - nowMs) >= size) ?? ['second', 1_000];
  return relative.format(Math.round((timeMs - nowMs) / unitMs), unit);
}

/**
 * A time in the reader's time zone, with UTC as tooltip. `form`: `moment` (default), `day`, or `ago`, whose tooltip
 * also shows the exact time.
 */
export function Time({ value, form = 'moment' }: { value: string; form?: 'moment' | 'day' | 'ago' }): ReactNode {
  const date = new Date(value);
  if (Number.isNaN(date.getTime())) return <span>{value}</span>;
  const moment = inZone.format(date);
  const words = form === 'day' ? dayInZone.format(date) : form === 'ago' ? ago(date.getTime(), Date.now()) : moment;
  const utc = `${date.toISOString().replace('T', ' ').replace('Z', '')} UTC`;
  return (
    <Tooltip label={form === 'ago' ? `${moment} (${utc})` : utc} events={{ hover: true, focus: true, touch: true }}>
      <time dateTime={date.toISOString()}>{words}</time>
    </Tooltip>
  );
}
