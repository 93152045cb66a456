import { AppError } from '@sealgate/errors';

const LIMIT = /^[1-9][0-9]{0,3}$/;

/**
 * Parses the query parameter `limit`, the number of items of a page; returns the default if it is absent.
 * @throws AppError INVALID_LIMIT unless it is a whole number from 1 to `max`, in plain digits without a leading zero.
 */
export function parseLimit(
  text: string | undefined,
  range: { readonly default: number; readonly max: number },
): number {
  if (text === undefined) return range.default;
  const limit = LIMIT.test(text) ? Number(text) : Number.NaN;
  if (limit <= range.max) return limit;
  const detail = `The limit must be a whole number from 1 to ${range.max}.`;
  throw new AppError('INVALID_LIMIT', detail, { faults: [{ in: 'query', pointer: '/limit', detail }] });
}
