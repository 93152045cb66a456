import type { Option } from 'commander';
import type { Format } from './cell-text.ts';
import { cellText } from './cell-text.ts';
import { integerOption } from './command-spec.ts';
import { isObject } from './json-object.ts';
import { UsageError } from './usage-error.ts';

export interface LimitOptions {
  readonly rate?: number;
  readonly burst?: number;
}

export function limitOptions(): Option[] {
  return [
    integerOption('--rate <n>', 'records each second; with --burst'),
    integerOption('--burst <n>', 'records at once; with --rate'),
  ];
}

/** The limits of a body, or undefined where none were given. Throws UsageError for one without the other. */
export function limitsOf({ rate, burst }: LimitOptions): { ratePerSecond: number; burst: number } | undefined {
  if (rate === undefined && burst === undefined) return undefined;
  if (rate === undefined || burst === undefined) throw new UsageError('--rate and --burst go together.');
  return { ratePerSecond: rate, burst };
}

export const limitsText: Format = (value) => {
  if (value === null) return 'default';
  if (!isObject(value)) return cellText(value);
  return `${cellText(value['ratePerSecond'])} records/s, ${cellText(value['burst'])} at once`;
};
