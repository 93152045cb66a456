import type { ReactNode } from 'react';
import { Tooltip } from '@mantine/core';
import { formatAgo, formatDay, formatMoment } from './formats.ts';

/**
 * A time in the reader's time zone, with UTC as tooltip. `form`: `moment` (default), `day`, or `ago`, whose tooltip
 * also shows the exact time.
 */
export function Time({ value, form = 'moment' }: { value: string; form?: 'moment' | 'day' | 'ago' }): ReactNode {
  const date = new Date(value);
  if (Number.isNaN(date.getTime())) return <span>{value}</span>;
  const moment = formatMoment(date);
  const words = form === 'day' ? formatDay(date) : form === 'ago' ? formatAgo(date.getTime(), Date.now()) : moment;
  const utc = `${date.toISOString().replace('T', ' ').replace('Z', '')} UTC`;
  return (
    <Tooltip label={form === 'ago' ? `${moment} (${utc})` : utc} events={{ hover: true, focus: true, touch: true }}>
      <time dateTime={date.toISOString()}>{words}</time>
    </Tooltip>
  );
}
