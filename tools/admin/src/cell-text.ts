import type { JsonValue } from '@sealgate/json';
import { printable } from './printable.ts';

/** How one member is told to people. */
export type Format = (value: JsonValue) => string;

/** A value in one line, whatever is in it: `-` for nothing, lists with commas. */
export function cellText(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return '-';
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.map(cellText).join(', ');
  return printable(typeof value === 'object' ? JSON.stringify(value) : String(value));
}

/** Lists where null allows everything and the empty list nothing. */
export const grantText: Format = (value) => {
  if (value === null) return 'all';
  return Array.isArray(value) && value.length === 0 ? 'none' : cellText(value);
};

/** The length of a list. */
export const countText: Format = (value) => (Array.isArray(value) ? String(value.length) : cellText(value));
