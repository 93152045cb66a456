import { formatNumber } from './formats.ts';

/** How many rows a list has: exact up to 10,000, then `10000+`. */
export type Total = number | string;

/** 1,234 or 10,000+, in the reader's way to write numbers. */
export function totalInWords(total: Total): string {
  if (typeof total === 'number') return formatNumber(total);
  const [, count, more] = /^(\d+)(\+?)$/.exec(total) ?? [];
  return count === undefined ? total : `${formatNumber(Number(count))}${more ?? ''}`;
}

/** The total in `X-Total-Count`; undefined without one. */
export function totalOf(response: Response): Total | undefined {
  const text = response.headers.get('X-Total-Count');
  if (text === null) return undefined;
  return /^\d+$/.test(text) ? Number(text) : text;
}
